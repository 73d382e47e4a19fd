"""What a Claw-Eval grader imports, without what the benchmark's own package needs.

Put on the path of the process in which a task's `grader.py` runs, in place of the benchmark's package of this name.
Knows the names and the behaviour that graders rely on; the graders themselves, and the families that some of them
share, stay in the user's checkout. Nothing here asks a model or opens a socket.
"""
