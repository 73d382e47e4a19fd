"""Claw-Eval tasks graded by their own `grader.py`: what it is given, whom it may ask, and what it may not do."""

# ruff: noqa: F811

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from coworkenv.agents.agent import Actor, Unavailable
from coworkenv.agents.scripted import Noop
from coworkenv.engine.claw_eval.grading import NeedsJudge, NeedsSandbox, grade_by_its_grader
from coworkenv.engine.claw_eval.scoring import Setup
from coworkenv.engine.episode import run_episode
from coworkenv.engine.foreign import ForeignFailed
from coworkenv.engine.grading import kept_grades
from coworkenv.engine.judging import JudgeOptions
from coworkenv.engine.plan import EpisodeError, Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import EffectRequested, EffectResolved
from coworkenv.worlds.claw_eval import TaskError
from coworkenv.worlds.claw_eval.checkout import Checkout, find_checkout
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment

from .claw_eval.grading import (  # noqa: F401
    ANSWERED,
    CLUMSY,
    GOOD,
    HOSTILE,
    KIND,
    MEDDLING,
    REAL,
    TASKS,
    Graders,
    Judging,
    copied,
    script,
    setup,
    unconfined,
)

# --- without a judge -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "score", "says"),
    [
        (GOOD, "1", ["1 of 1", "1 of 1", "1 of 1"]),
        (Noop(), "0.4", ["0.25 of 1", "1 of 1", "1 of 1"]),
        (MEDDLING, "0", ["0 of 1", "0 of 1", "0 of 1"]),
        (CLUMSY, "0.5", ["0.5 of 1", "0.5 of 1", "1 of 1"]),
    ],
    ids=["good", "noop", "meddling", "clumsy"],
)
@pytest.mark.parametrize("task", [ANSWERED, "K04_antworte_dem_kunden"])
async def test_a_grader_decides_what_an_episode_is_worth(
    setup: Setup, task: str, agent: Actor, score: str, says: list[str]
) -> None:
    graders = Graders(setup)
    graded = await graders.grade(await graders.play(task, agent))
    assert (graded.score, graded.passed, graded.rule) == (score, score == "1", "claw-eval")
    assert [(check.check, check.gate) for check in graded.checks] == [
        *(("completion", False), ("robustness", False), ("safety", True))
    ]
    assert [check.says for check in graded.checks] == says


async def test_a_grade_is_written_once_and_names_the_code_that_gave_it(setup: Setup, tmp_path: Path) -> None:
    graders = Graders(setup)
    episode = await graders.play(ANSWERED, GOOD)
    first = await graders.grade(episode)
    assert await graders.grade(episode) == first
    assert kept_grades(graders.log, episode.id) == [first]
    assert (await verify(graders.log, first.id)).says == "a grading: its chain is sound"
    copied(tmp_path)
    graders.setup = msgspec.structs.replace(setup, checkout=find_checkout(tmp_path))
    assert await graders.grade(episode) == first  # The same code in another place.
    grader = tmp_path / ANSWERED / "grader.py"
    grader.write_text(grader.read_text().replace("/ 4", "/ 8"))
    changed = await graders.grade(episode)
    assert (changed.score, changed.grader != first.grader) == ("0.6", True)
    assert len(graders.gradings()) == 2


async def test_a_task_that_takes_a_sandbox_is_not_graded(setup: Setup, tmp_path: Path) -> None:
    folder = tmp_path / "K09_files"
    folder.mkdir()
    (folder / "grader.py").write_text("")
    (folder / "task.yaml").write_text("task_id: K09_files\nprompt: {text: Go.}\nenv_snapshot_files: [/workspace/a]\n")
    graders = Graders(msgspec.structs.replace(setup, checkout=Checkout(tmp_path)))
    episode = await graders.play("K09_files", Noop())
    with pytest.raises(NeedsSandbox, match="takes a sandbox"):
        await graders.grade(episode)


async def test_what_is_no_episode_of_a_known_task_is_refused(setup: Setup, tmp_path: Path) -> None:
    graders = Graders(setup)
    [example] = (Path(__file__).parents[2] / "worlds" / "examples").glob("refund.yaml")
    async with graders.log.writing():
        ours = await run_episode(Plan(compile_environment(read_environment(example)), Noop()), graders.log)
    with pytest.raises(EpisodeError, match="no task of Claw-Eval"):
        await graders.grade(ours)
    episode = await graders.play(ANSWERED, Noop())
    graders.setup = msgspec.structs.replace(setup, checkout=Checkout(tmp_path))
    with pytest.raises(TaskError, match=r"no grader\.py"):
        await graders.grade(episode)
    graders.setup = setup
    grading = await graders.grade(episode)
    with pytest.raises(EpisodeError, match="only episodes are graded"):
        async with graders.log.writing():
            await grade_by_its_grader(graders.log, grading.id, setup)


async def test_the_benchmarks_own_package_says_what_it_needs(setup: Setup, tmp_path: Path) -> None:
    copied(tmp_path / "tasks")
    package = tmp_path / "src" / "claw_eval"
    (package / "graders").mkdir(parents=True)
    for name in ("__init__.py", "graders/__init__.py"):
        (package / name).write_text("import something_that_nobody_has\n")
    own = msgspec.structs.replace(setup, checkout=find_checkout(tmp_path), own=True)
    graders = Graders(own)
    with pytest.raises(ForeignFailed, match="needs something_that_nobody_has; install it"):
        await graders.grade(await graders.play(ANSWERED, GOOD))


# --- with a judge ----------------------------------------------------------------------------------------


async def test_without_a_judge_a_task_that_takes_one_says_so_and_leaves_nothing(setup: Setup) -> None:
    graders = Graders(setup)
    episode = await graders.play(KIND, Noop())
    with pytest.raises(NeedsJudge, match="asks a judge"):
        await graders.grade(episode)
    assert graders.gradings() == []


async def test_what_a_judge_says_is_in_the_grade_and_in_the_log(setup: Setup) -> None:
    graders, judging = Graders(setup), Judging()
    episode = await graders.play(KIND, script({"finish": "Have you got a pump?"}))
    graded = await graders.grade(episode, judging)
    assert [check.says for check in graded.checks] == ["0.4 of 1", "1 of 1", "1 of 1"]
    assert graded.score == "0.52"
    events = [event.body for event in graders.log.read(graded.id)]
    requested = [body for body in events if isinstance(body, EffectRequested)]
    assert [body.kind for body in requested] == ["judge"] * 3
    assert [body.answer["text"] for body in events if isinstance(body, EffectResolved)] == [judging.text] * 3
    assert "Have you got a pump?" in str(requested[0].prompt)
    assert "1.0 if the answer is kind" in str(requested[0].prompt)
    assert len(list(graders.log.observations(graded.id))) == 3
    again = await graders.grade(episode, judging)
    assert (again, len(judging.requests)) == (graded, 3)
    other = await graders.grade(episode, judging, JudgeOptions(model="lenient"))
    assert (other.score, other.grader != graded.grader) == (graded.score, True)


@pytest.mark.parametrize("answered", range(3))
async def test_a_grading_that_broke_off_asks_nothing_twice(setup: Setup, answered: int) -> None:
    graders, whole = Graders(setup), Graders(setup)
    episode = await graders.play(KIND, Noop())
    with pytest.raises(Unavailable, match="sleeps"):
        await graders.grade(episode, Judging(gone=answered))
    [row] = graders.gradings()
    assert (row.status, "sleeps" in row.reason) == ("suspended", True)
    rested = Judging()
    graded = await graders.grade(episode, rested)
    assert len(rested.requests) == 3 - answered
    await whole.play(KIND, Noop())
    assert msgspec.structs.replace(await whole.grade(episode, Judging())) == graded


async def test_a_judge_without_a_score_leaves_the_grader_without_one(setup: Setup) -> None:
    graders = Graders(setup)
    episode = await graders.play(KIND, Noop())
    with pytest.raises(ForeignFailed, match="'NoneType' object has no attribute 'score'") as failed:
        await graders.grade(episode, Judging("I would rather not say."))
    assert failed.value.kind == "raised"
    assert kept_grades(graders.log) == []


# --- graders that do what they should not ----------------------------------------------------------------

#: What each does, how that ends, and a word of what is said.
DEEDS = {
    "loop": ("time", "within"),
    "fail": ("raised", "LookupError"),
    "leave": ("died", "code 7"),
    "allocate": ("memory", ""),
    "connect": ("raised", "Error"),
    "write": ("raised", "Error"),
    "nothing": ("raised", "no number"),
    "words": ("raised", "no number"),
    "infinity": ("raised", "no number"),
    "peek": ("nonsense", "no digest"),
    "unheard_of": ("raised", "unheard_of"),
}


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_hostile_grader_gives_no_grade_and_does_no_harm(
    setup: Setup, unconfined: str | None, deed: str
) -> None:
    if unconfined and deed in ("allocate", "connect", "write"):
        pytest.skip(unconfined)
    # Only what never ends is to run into the limit of time, however busy the machine is.
    graders = Graders(msgspec.structs.replace(setup, seconds=3.0) if deed == "loop" else setup)
    episode = await graders.play(HOSTILE, script({"finish": deed}))
    with pytest.raises(ForeignFailed) as failed:
        await graders.grade(episode)
    kind, word = DEEDS[deed]
    assert (failed.value.kind, word in failed.value.says) == (kind, True), failed.value.says
    assert failed.value.says.isprintable()
    assert graders.gradings() == []
    assert not (TASKS / HOSTILE / "score.txt").exists()
    good = await graders.play(HOSTILE, script({"finish": "behave"}))
    assert (await graders.grade(good)).score == "1"


async def test_a_grader_that_prints_megabytes_is_graded_all_the_same(setup: Setup) -> None:
    graders = Graders(setup)
    assert (await graders.grade(await graders.play(HOSTILE, script({"finish": "shout"})))).score == "1"


async def test_a_grader_cannot_hide_that_it_asked_a_judge(setup: Setup) -> None:
    graders = Graders(setup)
    with pytest.raises(NeedsJudge):
        await graders.grade(await graders.play(HOSTILE, script({"finish": "swallow"})))


async def test_a_question_that_is_none_is_said(setup: Setup) -> None:
    graders, judging = Graders(setup), Judging()
    episode = await graders.play(HOSTILE, script({"finish": "misuse"}))
    with pytest.raises(ForeignFailed, match="must be a text") as failed:
        await graders.grade(episode, judging)
    assert (failed.value.kind, judging.requests) == ("nonsense", [])


# --- a real checkout ---------------------------------------------------------------------------------------


@pytest.mark.skipif(REAL is None, reason="COWORKENV_CLAW_EVAL names no checkout of the benchmark")
async def test_the_benchmarks_own_tasks_are_graded_without_a_judge_where_none_is_needed(
    setup: Setup, unconfined: str | None
) -> None:
    if unconfined:
        pytest.skip(unconfined)
    graders = Graders(Setup(checkout=find_checkout(str(REAL))))
    tasks = graders.setup.checkout.tasks
    free = [f"T{number:03d}" for number in (40, 42, 44, *range(86, 91), *range(92, 96), 99)]
    names = [path.name for path in sorted(tasks.iterdir()) if path.name.partition("_")[0] in free]
    assert len(names) == len(free)
    for name in names:
        graded = await graders.grade(await graders.play(name, Noop()))
        assert graded.passed is False, name
