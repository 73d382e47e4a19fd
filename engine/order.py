"""The order of what happens at one instant of virtual time.

Knows ranks, and nothing else. What arrives exactly at a deadline is in time.
"""

from __future__ import annotations

TIMELINE, DELIVERY, RETURN, BOUND, DUE, TIMER, LIMIT = range(7)
