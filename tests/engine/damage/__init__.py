"""Damages logs on purpose, one byte at a time, and asks `verify` whether it saw.

Knows files, tables and bytes. Does not know what a finding should say. `python -m tests.engine.damage` takes its time.
"""
