"""The side of the speed comparison that is ours does what it is asked, and says what it took."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.claw_eval.speed import Measured, report

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "tests" / "worlds" / "claw_eval" / "tasks"


def test_a_script_is_played_as_often_as_asked() -> None:
    lines = [
        {"open": "K01_answer_the_customer"},
        {"script": [["gmail_list_messages", {}], ["gmail_get_message", {}]], "episodes": 3},
        {"close": True},
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.claw_eval.ours", str(TASKS)],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    opened, played, closed = map(json.loads, ran.stdout.splitlines())
    assert played["statuses"] == [200, 422]
    assert played["seconds"] > 0
    assert played["memory"] > 1
    assert set(opened) == set(closed) == {"seconds"}


def test_the_factor_is_that_of_the_sums() -> None:
    def side(wall: float) -> Measured:
        return Measured(start=1, wall=wall, cpu=wall, memory=50, statuses=[200])

    assert report({"K01_a": [side(0.2), side(0.01)], "K02_b": [side(0.4), side(0.01)]}) == (0.2 + 0.4) / (0.01 + 0.01)
