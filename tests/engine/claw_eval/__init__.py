"""Plays folders of Claw-Eval tasks and says what of their services was read and written.

`python -m tests.engine.claw_eval TASKS` prints the table; `tests/engine/test_claw_eval.py` requires what it must show.
"""
