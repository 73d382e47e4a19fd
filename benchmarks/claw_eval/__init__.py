"""Claw-Eval as a whole: what of a user's checkout is loaded and graded, and whether upstream's own code agrees.

python -m benchmarks.claw_eval CHECKOUT                     # the table
python -m benchmarks.claw_eval CHECKOUT --parity PYTHON     # and each score by upstream's package, beside ours

PYTHON is an interpreter that has what upstream's package needs (pydantic, pyyaml). Nothing of a task is printed.
"""
