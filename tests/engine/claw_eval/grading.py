"""Tasks of our own in Claw-Eval's format, agents for them, a judge, and their graders at work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from coworkenv.agents.agent import Actor, Answer, Outside, Request, Unavailable
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.claw_eval.grading import grade_by_its_grader
from coworkenv.engine.claw_eval.scoring import Setup
from coworkenv.engine.episode import Episode, run_episode
from coworkenv.engine.foreign import refusal
from coworkenv.engine.grading import Graded
from coworkenv.engine.judging import JudgeOptions
from coworkenv.engine.plan import Plan
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import load_task, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout

TASKS = Path(__file__).parents[2] / "worlds" / "claw_eval" / "tasks"
SHARED = Path(__file__).parents[3].parent / "shared" / "claw-eval" / "tasks"
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
