"""Plays the same episodes under conditions that must not matter, and compares their digests.

`python -m tests.engine.determinism` is the whole comparison; `tests/engine/test_determinism.py` is a part of it.
"""
