"""The benchmark of ClawMark, on the stand-in: nobody, noise and a script, and the tables of what they did."""

# ruff: noqa: F811

from __future__ import annotations

from pathlib import Path

from benchmarks.clawmark import tables
from benchmarks.clawmark.__main__ import agents_of, rows_of
from benchmarks.clawmark.playing import SCRIPTS, Row
from coworkenv.agents.registry import register_coworker
from coworkenv.engine.clawmark.host import Setup
from coworkenv.engine.clawmark.people import KIND, user

from .shop import setup  # noqa: F401

register_coworker(KIND, user)

SCRIPT = """
- {wait: user}
- {call: shell, args: {command: echo 12 > output/report.txt}}
- {ask: user, text: Reported.}
- {ask: user, text: Done.}
"""


async def rows(setup: Setup, scripts: Path) -> list[Row]:
    return await rows_of(setup, setup.checkout.tasks(), agents_of(None, scripts))


async def test_each_agent_plays_each_task_and_is_graded_alike_again(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "shop.task1.yaml").write_text(SCRIPT)
    found = await rows(setup, tmp_path)
    assert [(row.agent, row.good, row.ran, row.stages) for row in found] == [
        ("nobody", True, 2, 2),
        ("noise", True, 2, 2),
        ("scripted", True, 2, 2),
    ]
    nobody, noise, scripted = (row.verdicts for row in found)
    assert nobody
    assert noise
    assert scripted
    assert (str(nobody.score), str(scripted.score)) == ("0.25", "0.5")
    assert found[1].calls > 50
    assert noise == next(row.verdicts for row in await rows(setup, tmp_path) if row.agent == "noise")
    assert "| score | 0.2500 | " in tables.figures(found)
    assert tables.scripts(found).splitlines()[-1].startswith("| shop/task1 | 0.2500 | ")
    assert not list(tables.refused(found))


async def test_a_task_that_cannot_be_loaded_is_a_row_that_says_so(setup: Setup) -> None:
    (setup.checkout.folder("shop/task1") / "task.py").write_text("METADATA = {}\n")
    [row] = await rows(setup, SCRIPTS)
    assert not row.good
    assert "RUBRIC" in row.error
    assert "| errors | 1 |" in tables.figures([row])
