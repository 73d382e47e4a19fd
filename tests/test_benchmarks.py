"""The benchmarks run, and say what they measured. What the figures are is for a quiet machine to tell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_every_figure_is_measured() -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert len(figures["floors"]) == 6
    assert all(row["a second"] > 0 and row["ratio"] > 0 for row in figures["floors"])
    assert figures["episodes"]["mean bytes"] >= 250
    assert figures["episodes"]["record events and tool results"] >= 0.3
    assert all(figure > 0 for figure in figures["synthesis"].values())
    assert all(figure > 0 for figure in figures["rollouts"].values())
    assert figures["synthesis"]["capabilities in one, mean"] > 1
    assert abs(sum(figures["profile"].values()) - 1) < 0.1
