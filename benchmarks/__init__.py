"""How fast the hot paths are, as ratios to what this machine can do at all. `python -m benchmarks` prints the table."""
