"""A task's reference actions as a play for two: what the agent does, and what the user does when it is their turn.

Knows a task's evaluation criteria. Does not know how they are carried out. The two take turns by messages: the agent
asks, the user acts and answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby

import msgspec

from ...events.event import Json
from ..environment import Step
from ..facts import escaped
from .task import AGENT_SIDE

USER = "user"
_GO_ON = "Please go on with what is yours to do."
_DONE = "That is done."


class Action(msgspec.Struct, frozen=True):
    """A tool call, by one of the two."""

    name: str
    arguments: dict[str, Json]
    requestor: str = AGENT_SIDE


class Play(msgspec.Struct, frozen=True):
    """What the two do in turn. The user's last turn ends the conversation."""

    steps: tuple[Step, ...]
    turns: tuple[tuple[Action, ...], ...]

    @property
    def user(self) -> dict[str, Json]:
        """The specification of the coworker who plays the user."""
        return {"kind": "tau2-reference", "turns": turns_of(self.turns)}


def turns_of(turns: Sequence[Sequence[Action]]) -> list[Json]:
    """Turns as plain data; numbers keep their digits."""
    plain: list[Json] = msgspec.to_builtins(turns, builtin_types=(Decimal,))
    return plain


def reference_actions(raw: dict[str, Json]) -> list[Action]:
    """The reference actions of a task, as its file has them."""
    criteria = raw.get("evaluation_criteria") or {}
    return [msgspec.convert(action, Action) for action in criteria.get("actions") or ()]


def to_communicate(raw: dict[str, Json]) -> list[str]:
    """What a task wants the user to be told."""
    return list((raw.get("evaluation_criteria") or {}).get("communicate_info") or ())


def play_of(actions: Sequence[Action], said: Sequence[str] = (), solo: bool = False) -> Play:
    """A play of actions in their order, in which the agent says what is to be said at the end.

    `solo` has the agent do everything.
    """
    steps: list[Step] = []
    turns: list[tuple[Action, ...]] = []
    for agents, group in groupby(actions, lambda action: solo or action.requestor == AGENT_SIDE):
        if agents:
            steps += (Step(call=action.name, args=escaped(action.arguments)) for action in group)
        else:
            steps.append(Step(ask=USER, text=_GO_ON))
            turns.append(tuple(group))
    last = "\n".join(said) or _DONE
    steps.append(Step(say=USER, text=escaped(last)) if solo else Step(ask=USER, text=escaped(last)))
    return Play(tuple(steps), (*turns, ()))
