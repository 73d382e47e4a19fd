"""τ²-bench's own code, run in a worker: `loading` makes tasks of it, `host` has it play, `grading` has it grade.

`hosted` is inside. Nothing is imported here: the worker imports `hosted`, and is to start fast.
"""
