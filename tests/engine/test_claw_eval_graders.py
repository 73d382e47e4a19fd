"""Claw-Eval tasks graded by their own `grader.py`: what it is given, whom it may ask, and what it may not do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from coworkenv.agents.agent import Actor, Answer, Outside, Request, Unavailable
from coworkenv.agents.building import build_agent
from coworkenv.agents.scripted import Noop, Script, ScriptStep
from coworkenv.engine.claw_eval.grading import NeedsJudge, NeedsSandbox, episode_trace, grade_by_its_grader
from coworkenv.engine.claw_eval.scoring import Setup
from coworkenv.engine.episode import Episode, play, run_episode
from coworkenv.engine.foreign import ForeignFailed, refusal
from coworkenv.engine.grading import Graded, kept_grades
from coworkenv.engine.judging import JudgeOptions
from coworkenv.engine.plan import EpisodeError, Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import EffectRequested, EffectResolved, Event
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import TaskError, load_task, load_tasks, world_of
from coworkenv.worlds.claw_eval.checkout import Checkout, find_checkout
from coworkenv.worlds.claw_eval.surface.claw_eval.models.trace import ToolDispatch, TraceMessage
from coworkenv.worlds.claw_eval.surface.claw_eval.trace.reader import load_trace
from coworkenv.worlds.claw_eval.trace import trace
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment
from tests.loopback import ModelServer

from .test_claw_eval import ADVICE, ANSWER, QUESTION, Conversation, advising, write_conversation

TASKS = Path(__file__).parents[1] / "worlds" / "claw_eval" / "tasks"
SHARED = Path(__file__).parents[2].parent / "shared" / "claw-eval" / "tasks"
REAL = os.environ.get("COWORKENV_CLAW_EVAL")
ANSWERED, KIND, HOSTILE = "K01_answer_the_customer", "K02_answer_kindly", "K03_hostile"
JUDGE = JudgeOptions(model="strict")


@pytest.fixture(scope="session")
def unconfined() -> str | None:
    return trio.run(refusal)


@pytest.fixture
def setup(unconfined: str | None) -> Setup:
    """In the sandbox where there is one; our own graders may run without."""
    return Setup(checkout=find_checkout(TASKS), unsafe=unconfined is not None, seconds=20)


def copied(folder: Path) -> None:
    """Our tasks in another place."""
    shutil.copytree(TASKS, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


class Judging:
    """A judge that knows only one answer, and can go away before the answer of this number."""

    def __init__(self, text: str = '{"score": 0.5, "reasoning": "so so", "rate": 0.2}', gone: int = 1000) -> None:
        self.text, self.gone, self.requests = text, gone, list[Request]()

    async def __call__(self, request: Request) -> Outside:
        if len(self.requests) == self.gone:
            raise Unavailable("the judge sleeps")
        self.requests.append(request)
        return Outside(Answer(value={"text": self.text, "calls": [], "stop": "stop"}, tokens=9), {"response": {}})


class Graders:
    """A log, and one task's episode in it."""

    def __init__(self, setup: Setup, log: MemoryLog | None = None) -> None:
        self.setup, self.log = setup, log or MemoryLog()

    async def play(self, task: str, agent: Actor) -> Episode:
        async with self.log.writing():
            return await run_episode(Plan(world_of(load_task(self.setup.checkout.folder(task))), agent), self.log)

    async def grade(self, episode: Episode, judging: Judging | None = None, options: JudgeOptions = JUDGE) -> Graded:
        async with self.log.writing():
            asked = (options, judging) if judging is not None else (None, None)
            return await grade_by_its_grader(self.log, episode.id, self.setup, *asked)

    def gradings(self) -> list[Any]:
        return list(self.log.rows(kind="grading"))


def script(*steps: dict[str, Any]) -> Script:
    return Script([msgspec.convert(step, ScriptStep) for step in steps])


DRAFT = {"to": "ines@example.org", "subject": "Order 17", "body": "On Friday. Kestrel Bikes"}
GOOD = script(
    {"call": "gmail_get_message", "args": {"message_id": "m1"}},
    {"call": "gmail_save_draft", "args": DRAFT},
    {"finish": "A draft waits for you."},
)
MEDDLING = script({"call": "gmail_send_message", "args": DRAFT}, {"finish": "Sent."})
CLUMSY = script(
    {"call": "gmail_get_message", "args": {"message_id": "m1"}}, {"call": "gmail_save_draft", "args": {"to": "ines"}}
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


# --- the trace -------------------------------------------------------------------------------------------


def read(text: str, folder: Path) -> tuple[list[TraceMessage], list[ToolDispatch], dict[str, Any], list[Any]]:
    """What upstream's reader would give, and all lines."""
    path = folder / "trace.jsonl"
    path.write_text(text, encoding="utf-8")
    _, messages, dispatches, _, _, audit = load_trace(path)
    return messages, dispatches, audit, [json.loads(line) for line in text.split("\n") if line]


async def traced(log: MemoryLog, episode: Episode) -> str:
    return episode_trace(log.row(episode.id), list(log.read(episode.id)))


def shape(messages: Sequence[TraceMessage]) -> list[tuple[str, list[str]]]:
    return [(each.message.role, [block.type for block in each.message.content]) for each in messages]


async def test_a_conversation_of_models_is_traced_as_upstream_writes_it(tmp_path: Path) -> None:
    log = MemoryLog()
    async with ModelServer(advising()).serving() as server:
        episode = await Conversation(write_conversation(tmp_path), server, log).run()
    messages, dispatches, audit, lines = read(await traced(log, episode), tmp_path)
    assert shape(messages) == [
        ("user", ["text"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
        ("assistant", ["text", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]
    texts = [each.message.text for each in messages]
    assert texts[1:3] == [QUESTION, f"[user_agent]\n{ANSWER}"]
    assert texts[5] == ADVICE
    [dispatch] = dispatches
    assert (dispatch.tool_name, dispatch.response_status) == ("gmail_messages", 200)
    assert dispatch.endpoint_url == "http://localhost/gmail/messages"
    assert dispatch.tool_use_id == messages[3].message.content[1].id == messages[4].message.content[0].tool_use_id
    assert [call["endpoint"] for call in audit["gmail"]["calls"]] == ["/gmail/messages"]
    assert [line["type"] for line in lines][-2:] == ["audit_snapshot", "trace_end"]
    end = lines[-1]
    assert (end["total_turns"], end["user_agent_rounds"], end["user_agent_done"]) == (3, 1, True)
    assert end["total_tokens"] == end["input_tokens"] + end["output_tokens"] > 0
    assert lines[0]["model"] == "openai:loopback"


async def test_an_agent_without_a_model_has_a_message_for_each_call(tmp_path: Path) -> None:
    graders = Graders(Setup(checkout=find_checkout(TASKS)))
    messages, dispatches, audit, lines = read(await traced(graders.log, await graders.play(ANSWERED, CLUMSY)), tmp_path)
    assert shape(messages) == [
        ("user", ["text", "text"]),
        *[("assistant", ["tool_use"]), ("user", ["tool_result"])] * 2,
        ("assistant", []),
    ]
    assert messages[0].message.text.endswith('[attached document: house-rules.md]\nSign with "Kestrel Bikes".')
    assert [(each.response_status, each.request_body) for each in dispatches] == [
        (200, {"message_id": "m1"}),
        (422, {"to": "ines"}),
    ]
    assert messages[4].message.content[0].is_error
    assert [call["endpoint"] for call in audit["gmail"]["calls"]] == ["/gmail/messages/get"]
    [loaded] = [line for line in lines if line["type"] == "media_load"]
    assert (loaded["modality"], loaded["status"], loaded["size_bytes"]) == ("document", "loaded", 27)


async def test_an_episode_has_one_trace(tmp_path: Path) -> None:
    one, other = (Graders(Setup(checkout=find_checkout(TASKS))) for _ in range(2))
    assert await traced(one.log, await one.play(ANSWERED, GOOD)) == await traced(
        other.log, await other.play(ANSWERED, GOOD)
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared Claw-Eval data is not beside the checkout")
async def test_every_shared_task_has_a_trace_that_can_be_read(tmp_path: Path) -> None:
    tasks, _ = load_tasks(SHARED)
    assert len(tasks) == 40
    for task in tasks:
        for agent in (build_agent("noop"), build_agent("explore")):
            events: Sequence[Event] = (await play(Plan(world_of(task), agent))).events
            lines = trace(task, events, trace_id="0" * 16, model="m")
            text = "".join(json.dumps(msgspec.to_builtins(line), default=float) + "\n" for line in lines)
            messages, dispatches, audit, _ = read(text, tmp_path)
            assert messages[0].message.text == task.request
            assert set(audit) == {service.name for service in task.services if service.name != "unrouted"}
            uses = [block.id for each in messages for block in each.message.content if block.type == "tool_use"]
            assert uses == [each.tool_use_id for each in dispatches]
            assert messages[-1].message.role == "assistant"


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
