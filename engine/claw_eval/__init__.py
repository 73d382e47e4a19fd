"""Claw-Eval's own graders, run in a worker: `grading` asks them, `judging` is whom they ask, `hosted` is inside.

Nothing is imported here: the worker imports `hosted`, and is to start fast.
"""
