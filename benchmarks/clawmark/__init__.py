"""All ClawMark tasks of a user's checkout: `python -m benchmarks.clawmark CHECKOUT`.

Each is loaded, played by an agent that does nothing (or by scripts of yours, `--scripts FOLDER` with DOMAIN.TASK.yaml),
graded twice, verified, and its stages are driven again. Nothing of the checkout is kept.
"""
