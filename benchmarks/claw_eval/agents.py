"""Five agents that ask no model, and between them reach most of what graders look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coworkenv.agents.agent import Actor, Answer, Call, Context, Outside, Request
from coworkenv.agents.arguments import keywords, plausible
from coworkenv.agents.explore import Explore
from coworkenv.agents.scripted import Noop
from coworkenv.events.event import Json
from coworkenv.worlds.claw_eval import Task

CALLS = 12
"""Calls that the random agent makes."""


class Acting:
    """An agent of this module. `said` is what it says at the end."""

    def __init__(self, kind: str, said: str) -> None:
        self._kind, self._said = kind, said

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": f"benchmark-{self._kind}", "said": self._said}

    async def act(self, context: Context) -> str:
        if self._kind == "random":
            await _random(context)
        elif self._kind == "meddling":
            await _meddling(context)
        else:
            await Explore().act(context)
            await _talk(context)
        return self._said


async def _random(context: Context) -> None:
    """Any tools, with arguments that are right about half of the time."""
    draw, words = context.draw("calls"), _words(context)
    for _ in range(CALLS if context.tools else 0):
        tool = context.tools[draw.below(len(context.tools))]
        args = plausible(tool, context.world.start, words[draw.below(len(words)) :])
        await context.call(Call(tool.name, args if draw.below(2) else dict(list(args.items())[1:])))


async def _meddling(context: Context) -> None:
    """Every tool that writes, forbidden ones among them."""
    for tool in context.tools:
        if not tool.reads:
            await context.call(Call(tool.name, plausible(tool, context.world.start, _words(context))))


async def _talk(context: Context) -> None:
    """A question to a simulated user, where there is one."""
    for person in context.world.personas:
        await context.send(person, "Before I go on: what matters most to you, and what have you decided already?")
        await context.receive()


def _words(context: Context) -> list[str]:
    return keywords("\n".join(opening.text for opening in context.world.openings)) or ["anything"]


AGENTS: Mapping[str, Callable[[Task], Actor]] = {
    "none": lambda task: Noop(),
    "explore": lambda task: Explore(),
    "random": lambda task: Acting("random", "I tried some things."),
    "meddling": lambda task: Acting("meddling", "All is done."),
    "good": lambda task: Acting("good", answer(task)),
}


def answer(task: Task) -> str:
    """What the author of the task would like to read: the reference solution, and all words that are looked for."""
    checks = [part.get("check") or {} for part in task.grading.get("scoring_components") or []]
    words = [str(word) for check in checks for word in (check.get("keywords") or check.get("categories") or [])]
    return "\n".join([str(task.grading.get("reference_solution", "")), *words])


async def persona(request: Request) -> Outside:
    """Stands in for the model that plays a user: answers once."""
    asked = sum(line.startswith("[Assistant]") for line in str(request.prompt[-1]["content"]).splitlines())
    text = "I have decided nothing yet. Go on, please." if asked < 2 else "[DONE]"
    return Outside(Answer(value={"text": text, "calls": [], "stop": "stop"}, tokens=10, prompt_tokens=10))
