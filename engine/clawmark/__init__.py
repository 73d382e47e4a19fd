"""ClawMark's stages and checkers, run in a worker (`hosted` is inside), and episodes of its tasks.

Nothing is imported here: the worker imports `hosted`, and is to start fast.
"""
