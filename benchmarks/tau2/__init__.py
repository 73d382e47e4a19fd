"""All tasks of a checkout of τ²-bench, played and graded here, and the same trajectories graded by upstream itself.

    python -m benchmarks.tau2 CHECKOUT [--parity PYTHON] [--only DOMAIN] [--solo]

needs what the benchmark's own code imports (`pip install pydantic loguru docstring-parser addict deepdiff toml PyYAML
python-dotenv pandas`). `--parity` names an interpreter that can import the whole of upstream's package.
"""
