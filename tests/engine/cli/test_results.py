"""What is said at the end of a run is what happened, whatever did."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest

from coworkenv.engine.cli.results import say_summary, summary
from coworkenv.engine.cli.screen import Screen
from coworkenv.engine.grading import Graded
from coworkenv.engine.rollouts import Result


def graded(score: str) -> Graded:
    return Graded(id="a" * 8, episode="e" * 8, grader="", rule="coworkenv", score=score, passed=score == "1", checks=())


def result(status: Any = "ended", reason: str = "finished", grade: Graded | None = None, trial: int = 0) -> Result:
    return Result(
        id="e" * 8, environment="a/1", agent="x", seed=0, trial=trial, status=status, reason=reason, grade=grade
    )


def task(ungraded: str = "") -> Result:
    return msgspec.structs.replace(result(), benchmark="claw-eval", ungraded=ungraded)


SUSPENDED, ERROR = result("suspended", "no server"), result("error", "no such trap")
UNGRADED, FAILED = result(), result(reason="failed")
GOOD, BAD = result(grade=graded("1")), result(grade=graded("0"), trial=1)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([SUSPENDED] * 2, "x  none graded: 2 suspended"),
        ([ERROR], "x  none graded: 1 could not be played"),
        ([UNGRADED], "x  none graded: 1 ended in environments that have no grader of their own"),
        (
            [task(), task(), task("its grader failed"), UNGRADED],
            "x  none graded: 2 are tasks of claw-eval, whose own code grades: add --graders CHECKOUT, "
            "1 ended in environments that have no grader of their own, 1 not graded by their benchmark's code",
        ),
        (
            [FAILED],
            "x  none graded: 1 ended in environments that have no grader of their own   "
            "1 ended by a failure of the agent or a coworker",
        ),
        ([SUSPENDED, ERROR], "x  none graded: 1 suspended, 1 could not be played"),
        ([GOOD], "x  mean 1.00   pass@1 1.00"),
        ([GOOD, BAD], "x  mean 0.50   pass@1 0.50   pass^2 0.00"),
        ([GOOD, SUSPENDED, ERROR], "x  mean 1.00   pass@1 1.00   1 graded, 1 suspended, 1 could not be played"),
    ],
)
def test_the_sentence_about_an_agent_says_what_became_of_all_its_episodes(results, said):
    file = io.StringIO()
    say_summary(Screen(file=file, width=200), results)
    assert file.getvalue().splitlines()[-1] == said


def test_a_run_that_was_stopped_has_no_figure_over_all_trials():
    whole, part = (summary([GOOD, BAD], whole=whole)["agents"]["x"] for whole in (True, False))
    assert (whole["trials"], whole["pass_hat"]) == (2, 0.0)
    assert (part["trials"], part["pass_hat"]) == (None, None)
    assert part["mean"] == 0.5
