"""Claw-Eval as a whole: what of a user's checkout is loaded and graded, and whether upstream's own code agrees.

python -m benchmarks.claw_eval CHECKOUT                     # the table
python -m benchmarks.claw_eval CHECKOUT --parity PYTHON     # and each score by upstream's package, beside ours

python -m benchmarks.claw_eval.solving CHECKOUT             # scripted agents that pass what needs no judge
python -m benchmarks.claw_eval.services CHECKOUT --python PYTHON    # upstream's servers and ours, call by call
python -m benchmarks.claw_eval.speed CHECKOUT --python PYTHON       # episodes a second, beside upstream's loop

PYTHON is an interpreter that has what upstream's package needs (pydantic and pyyaml; its servers and its loop take
fastapi, uvicorn, httpx and openai, too). Nothing of a task is printed.
"""
