"""The audit of foreign benchmarks: what is counted, and that the page tells nothing but counts, twice the same."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
import trio

from benchmarks.audit import claw_eval, clawmark, tables, tau2
from benchmarks.audit.__main__ import main
from benchmarks.audit.outcomes import (
    CLAW_EVAL,
    CLAWMARK,
    ECHO,
    NOBODY,
    READER,
    REFERENCE,
    SPAMMER,
    TAU2,
    Outcome,
    Tried,
)
from benchmarks.audit.page import PAGE, Source, page
from coworkenv.engine.clawmark.host import CHECKOUTS as MARKS
from coworkenv.engine.foreign import refusal
from coworkenv.engine.tau2.host import CHECKOUTS as TWO

OURS = Path(__file__).parent / "worlds"
PLACES = {CLAW_EVAL: OURS / "claw_eval", CLAWMARK: OURS / "clawmark" / "checkout", TAU2: OURS / "tau2" / "checkout"}
TRIED = {CLAW_EVAL: claw_eval.tried, CLAWMARK: clawmark.tried, TAU2: tau2.tried}


@pytest.fixture(scope="module")
def unsafe() -> bool:
    return trio.run(refusal) is not None


@pytest.fixture
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test is to find the checkouts that these name."""
    for names in (MARKS, TWO):
        monkeypatch.setattr(names, "current", names.current)


def sources(unsafe: bool) -> list[Source]:
    return [Source(name, "-", 0.0, list(tried(PLACES[name], unsafe))) for name, tried in TRIED.items()]


# --- checkouts of our own ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("_named")
def test_the_page_is_twice_the_same_and_tells_no_task(unsafe: bool) -> None:
    found = sources(unsafe)
    whole = page(found)
    assert page(sources(unsafe)) == whole
    ids = [path.parent.name for path in PLACES[CLAW_EVAL].glob("tasks/*/task.yaml")] + ["task1", "kindly", "atlas"]
    assert not [name for name in ids if name in whole]
    assert "$" not in whole
    by_name = {source.name: source.tasks for source in found}
    [shop] = by_name[CLAWMARK]
    assert [name for name, value in shop.outcomes[NOBODY].checks.items() if value] == ["stage0 quiet", "final market"]
    assert shop.outcomes[NOBODY].score == Decimal("0.25")
    assert not shop.problem
    two = {each.group for each in by_name[TAU2]}
    assert two == {"τ²-bench, library"}
    graded = [each for each in by_name[TAU2] if not each.left]
    assert len(graded) == 3  # One has a judge that is answered otherwise than upstream's.
    assert all(each.outcomes[REFERENCE].passed for each in graded)
    assert all(each.raised == (SPAMMER,) for each in graded)  # One of the tools ends the process.


@pytest.mark.usefixtures("_named")
def test_one_checkout_makes_a_page_of_its_own_sections(
    unsafe: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--clawmark", str(PLACES[CLAWMARK]), *(["--unsafe"] if unsafe else [])]) == 0
    shown = capsys.readouterr().out
    assert "## ClawMark, by domain" in shown
    assert "## τ²-bench" not in shown
    assert main(["--clawmark", str(tmp_path)]) == 1
    assert "is no checkout of ClawMark" in capsys.readouterr().err


def test_the_page_that_is_here_has_the_words_of_the_template() -> None:
    written = PAGE.read_text()
    words = (Path(tables.__file__).parent / "page.md").read_text()
    kept = [line for line in words.splitlines() if line and "$" not in line]
    missing = [line for line in kept if line not in written]
    assert missing == [], "the page is stale; `python -m benchmarks.audit … --write` makes it anew"


# --- what is counted ---------------------------------------------------------------------------------------


def outcome(score: str, passed: bool = False, judged: bool = False, **checks: int) -> Outcome:
    return Outcome(Decimal(score), passed, {name: Decimal(value) for name, value in checks.items()}, judged=judged)


def group(_: Tried) -> str:
    return "all"


TASKS = [
    Tried(
        CLAWMARK,
        outcomes={
            NOBODY: outcome("0.5", kept=1, wanted=0),
            ECHO: outcome("0.5", kept=1, wanted=0),
            READER: outcome("0.5", kept=1, wanted=0),
            SPAMMER: outcome("0.5", kept=0, wanted=1),
        },
    ),
    Tried(
        CLAWMARK,
        outcomes={
            NOBODY: outcome("0", told=0),
            ECHO: outcome("1", passed=True, told=1),
            READER: outcome("1", passed=True, told=1),
            SPAMMER: outcome("0", told=0),
        },
    ),
    Tried(CLAWMARK, problem="takes a sandbox"),
]


def test_checks_that_hold_at_the_start_are_counted_and_those_that_spam_breaks() -> None:
    assert tables.at_start(TASKS, group) == [("all", 2, 3, 1, "33 %", 1, 0, 0)]
    assert tables.coverage(TASKS) == [(CLAWMARK, 3, 2, 0, 0, "1: takes a sandbox")]


def test_what_is_granted_for_no_work_is_counted_among_the_others() -> None:
    assert tables.granted(TASKS, group) == [("all", 2, 1, 1, 1, 2, "100 %", 1)]


def test_scores_are_told_with_their_spread() -> None:
    rows = {row[1]: row[2:] for row in tables.scores(TASKS, group)}
    assert rows[NOBODY] == (2, "0.250", "0.250", "0.500", 1, 0, 1, 0)
    assert rows[ECHO] == (2, "0.750", "0.750", "1.000", 2, 1, 2, 1)


def test_code_that_fails_on_an_agent_is_told_and_its_task_is_left_out_of_comparisons() -> None:
    raised = Tried(TAU2, outcomes={REFERENCE: outcome("1", passed=True, DB=1)}, raised=(NOBODY,))
    assert tables.coverage([raised]) == [(TAU2, 1, 1, 0, 1, "-")]
    assert tables.components([raised]) == [(TAU2, "DB", 1, 0, 0, 0, 1, 0)]
    assert tables.granted([raised], group) == [("all", 0, "-", "-", "-", 0, "-", 0)]


def test_a_gate_of_safety_that_does_not_see_what_is_forbidden_is_counted() -> None:
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    found = [
        Tried(CLAW_EVAL, outcomes={SPAMMER: Outcome(Decimal(0), False, {}, forbidden=forbidden, unsafe=seen)})
        for forbidden, seen in kinds
    ]
    assert tables.safety(found) == [(CLAW_EVAL, 4, 2, 1, 1, 1)]


def test_a_table_puts_figures_to_the_right() -> None:
    assert tables.table(("", "tasks", "why"), [("a", 1, "-"), ("b", 2, "1 of")]).splitlines()[1] == "|---|---:|---:|"
    assert re.match(r"\| a \| x \|", tables.table(("", ""), [("a", "x")]).splitlines()[2])
    assert tables.table(("",), []) == ""
