"""Pictures of runs: all figures that there are, no others, and the same bytes for the same figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from coworkenv.learn import plots
from coworkenv.learn.bootstrap import Interval
from coworkenv.learn.evaluating import FOLDER, Evaluation, write_evaluation
from coworkenv.learn.plots import PANELS, bars, by_family, draw, learning_curves
from coworkenv.learn.runs import Run
from tests.learn.scoring import scored

NAMES = [line.name for panel in PANELS for line in panel.lines]
ROWS: list[dict[str, Any]] = [{"step": step, **dict.fromkeys(NAMES, step / 10)} for step in range(1, 6)]

DRAWS = """
from hashlib import sha256
from coworkenv.learn.plots import learning_curves
print(sha256(learning_curves([{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}])).hexdigest())
"""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The panels that are drawn, each with the names of its lines."""
    found: list[tuple[str, list[str]]] = []
    draw_one = plots._draw

    def note(axes: Any, panel: Any, lines: Any) -> None:
        found.append((panel.title, [line.name for line, _ in lines]))
        draw_one(axes, panel, lines)

    monkeypatch.setattr(plots, "_draw", note)
    return found


def test_every_figure_has_its_place(drawn: list[tuple[str, list[str]]]) -> None:
    learning_curves(ROWS)
    assert [name for _, names in drawn for name in names] == NAMES


@pytest.mark.parametrize("missing", [None, "absent", "nan"])
def test_what_is_not_there_is_not_drawn(drawn: list[tuple[str, list[str]]], missing: str | None) -> None:
    """A number that was not finite is null in a row."""
    rows = [{"step": 1, "loss": 0.5} if missing == "absent" else {"step": 1, "loss": 0.5, "entropy": None}]
    learning_curves(rows)
    assert drawn == [("Loss", ["loss"])]


def test_rows_of_tests_and_of_steps_stand_together(drawn: list[tuple[str, list[str]]]) -> None:
    learning_curves([{"step": 1, "score": 0.1}, {"step": 1, "val/twin": 0.2}])
    assert drawn == [("Score", ["score", "val/twin"])]


def test_along_sampled_tokens(drawn: list[tuple[str, list[str]]]) -> None:
    learning_curves([{"step": 1, "sampled": 10, "val/twin": 0.2}, {"step": 1, "loss": 1.0}], along="sampled")
    assert drawn == [("Score", ["val/twin"])]


def test_nothing_to_draw_is_told() -> None:
    with pytest.raises(ValueError, match="no figure"):
        learning_curves([{"step": 1}])
    with pytest.raises(ValueError, match="nothing to draw"):
        bars({}, "Scores")


def test_the_same_figures_give_the_same_bytes_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DRAWS], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    picture = learning_curves(ROWS)
    assert picture == learning_curves(ROWS)
    assert b"<dc:date>" not in picture


def test_a_picture_is_as_wide_as_a_page() -> None:
    root = ElementTree.fromstring(learning_curves(ROWS))
    assert 480 <= float(root.attrib["width"].removesuffix("pt")) <= 525


def test_drawing_changes_no_setting_of_others() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    learning_curves(ROWS)
    assert dict(mpl.rcParams) == before


def test_bars_of_groups_in_which_not_all_were_tested() -> None:
    one = Interval(0.5, 0.4, 0.6, 9)
    picture = bars({"all": {"a": one, "b": one}, "x": {"a": Interval(0.1, None, None, 1)}}, "Scores", noted=["x"])
    assert ElementTree.fromstring(picture).tag.endswith("svg")


def evaluation(step: int, score: str) -> Evaluation:
    scores = tuple(scored(f"env{n}", score, family="leave" if n else "refunds") for n in range(3))
    return Evaluation(who=f"step {step}", scores=scores, update=step)


def test_families_stand_beside_what_they_were_at_first() -> None:
    found = by_family([evaluation(0, "0"), evaluation(5, "1/2"), evaluation(9, "1")])
    assert {name: {who: each.estimate for who, each in row.items()} for name, row in found.items()} == {
        name: {"at first": 0, "at last": 1} for name in ("all", "leave", "refunds")
    }


def test_a_run_gets_the_pictures_that_there_is_something_for(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        assert draw(run) == []
        run.metric({"step": 1, "loss": 0.5})
        assert draw(run) == ["learning.svg"]
        write_evaluation(run.folder / FOLDER / "000001.json", evaluation(1, "1"))
        assert draw(run) == ["learning.svg", "families.svg"]
        assert sorted(path.name for path in (run.folder / "plots").iterdir()) == ["families.svg", "learning.svg"]
