"""A baseline that is only shown how: demonstrations in front of the chat, and calls that follow the grammar.

Knows the student agent, demonstrations and the grammar. Does not know models. Whatever a policy gains by training has
to be more than what the same weights do when the format is given to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ..agents.agent import Answer, Context, Interrupted, Perform, Request
from ..agents.model import ModelAgent
from ..agents.prompts import OWN_TOOLS, offered, wire_names
from ..events.event import Json
from .grammar import Constraint, Grammar, Vocabulary
from .lessons import Lesson
from .rendering import Rendering
from .student import Asked, Life, Sample, Sampled, StudentOptions

KIND = "few-shot"
SHOTS = 2


def shots_of(lessons: Sequence[Lesson], count: int = SHOTS) -> tuple[dict[str, Json], ...]:
    """The shortest demonstrations, of as many environments, as messages of a chat: without their instructions."""
    shortest = sorted(lessons, key=lambda lesson: sum(len(str(message)) for message in lesson.messages))
    chosen = list({lesson.environment: lesson for lesson in reversed(shortest) if not lesson.unlearnt}.values())[::-1]
    return tuple(message for lesson in chosen[:count] for message in lesson.messages if message["role"] != "system")


class FewShot:
    """A policy that has seen demonstrations in its prompt and writes valid calls only."""

    def __init__(
        self,
        options: StudentOptions,
        shots: Sequence[dict[str, Json]],
        policy: tuple[Rendering, Vocabulary, Sample] | None = None,
    ) -> None:
        self._options = options
        self._shots = tuple(shots)
        self._policy = policy

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": KIND, "shots": list(self._shots), **self._options.plain()}

    async def act(self, context: Context) -> str:
        life = Life(context, self._options, self._constrained(context))
        shown = _Shown(life, self._shots)
        return await ModelAgent(self._options, life.perform).act(cast(Context, shown))

    def _constrained(self, context: Context) -> tuple[Rendering, Sample] | None:
        """The policy under the grammar of the tools that it is offered here."""
        if self._policy is None:
            return None
        rendering, vocabulary, sample = self._policy
        tools = [*(OWN_TOOLS if context.world.talks else ()), *context.tools]
        given = offered(tools, wire_names(tool.name for tool in tools))["tools"]
        constraint = Constraint(vocabulary, Grammar(rendering.dialect, given))

        async def constrained(asked: Asked) -> Sampled:
            return await sample(msgspec.structs.replace(asked, allowed=constraint))

        return rendering, constrained


def build(specification: dict[str, Json]) -> FewShot:
    """The agent that a log names; it can only be executed again. Raises msgspec.ValidationError."""
    given = {name: value for name, value in specification.items() if name not in ("kind", "shots")}
    return FewShot(msgspec.convert(given, StudentOptions), specification.get("shots") or ())


class _Shown:
    """A context in which every prompt has the demonstrations behind its instructions."""

    def __init__(self, life: Life, shots: Sequence[dict[str, Json]]) -> None:
        self._life = life
        self._shots = shots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._life, name)

    async def effect(self, request: Request, perform: Perform, *, interruptible: bool = False) -> Answer | Interrupted:
        opening = sum("role" not in message or message["role"] == "system" for message in request.prompt)
        prompt = (*request.prompt[:opening], *self._shots, *request.prompt[opening:])
        shown = msgspec.structs.replace(request, prompt=prompt)
        return await self._life.effect(shown, perform, interruptible=interruptible)
