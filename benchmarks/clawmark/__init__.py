"""All ClawMark tasks of a user's checkout: `python -m benchmarks.clawmark CHECKOUT`.

Each is loaded, played by an agent that does nothing, by one that makes noise, and by a script where there is one
(`scripts`, or a folder of yours with DOMAIN.TASK.yaml), graded twice, verified, and its stages are driven again.
Scripts have ids, numbers and addresses of a task, and no sentence of it. Nothing of the checkout is kept.
"""
