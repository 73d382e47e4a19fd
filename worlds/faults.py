"""Faults: whether something goes wrong with a tool call, and what the agent gets instead.

Knows rules, how many matching calls each has seen, and outcomes. Does not know services, actors or the clock. The texts
an agent reads are the same whether or not the call took effect: finding out is its task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from ..events.event import Json, ToolError
from .durations import Microseconds
from .environment import FaultKind
from .matching import same
from .service import Draw, Outcome
from .world import FaultRule

#: For each rule, in order, how many calls it has matched so far.
Seen: TypeAlias = tuple[int, ...]

LATE: Microseconds = 30_000_000
"""How much longer a `timeout` or a `slow` call takes, and how long a `rate_limit` lasts, if the rule does not say."""


class Injection(msgspec.Struct, frozen=True):
    """What happens to one call. `fault` is the name of the rule."""

    fault: str
    kind: FaultKind
    reaches: bool
    """The service does what it is asked; otherwise it never hears of the call."""
    delay: Microseconds = 0
    """How much longer the call takes."""
    retry_after: Microseconds | None = None

    def outcome(self) -> Outcome:
        """What comes of a call that does not reach its service."""
        return self.applied_to(Outcome())

    def applied_to(self, outcome: Outcome) -> Outcome:
        """What the caller gets of what the service did. The changes stay as they are: they have happened."""
        if self.kind == "slow":
            return outcome
        if self.kind == "partial":
            return msgspec.structs.replace(outcome, result=_halved(outcome.result))
        error = ToolError(
            type=_TYPES[self.kind],
            message=self._message(),
            status=_STATUSES.get(self.kind),
            retry_after=self.retry_after,
        )
        return Outcome(error=error, changes=outcome.changes)

    def _message(self) -> str:
        if self.kind == "rate_limit":
            seconds = -(-(self.retry_after or LATE) // 1_000_000)
            return f"Too many requests: nothing was done. Try again in {seconds} seconds."
        if self.kind == "timeout":
            return "No answer came in time. Whether the request was carried out is not known."
        return "The service failed with an internal error. Whether the request was carried out is not known."


_TYPES = {"error": "server_error", "rate_limit": "rate_limited", "timeout": "timeout"}
_STATUSES = {"error": 500, "rate_limit": 429}


def decide(rules: Sequence[FaultRule], seen: Seen, tool: str, args: Json, draw: Draw) -> tuple[Injection | None, Seen]:
    """What the rules do to a call, and the counts after it.

    Every rule that matches counts the call and draws if it has a `chance`, whatever the others do; the first of them
    that strikes decides. `seen` is empty before the first call.
    """
    counts = list(seen or (0,) * len(rules))
    strikes: FaultRule | None = None
    for index, rule in enumerate(rules):
        if rule.tool != tool or not _matches(rule, args):
            continue
        counts[index] += 1
        hit = rule.nth is None or rule.nth == counts[index]
        if rule.chance is not None:
            hit = (draw.fraction() < rule.chance) and hit
        if hit and strikes is None:
            strikes = rule
    return None if strikes is None else _injection(strikes), tuple(counts)


def _matches(rule: FaultRule, args: Json) -> bool:
    """A rule without arguments matches every call; with some, only calls that have all of them."""
    if not rule.args:
        return True
    return isinstance(args, dict) and all(name in args and same(args[name], rule.args[name]) for name in rule.args)


def _injection(rule: FaultRule) -> Injection:
    late = LATE if rule.kind in ("timeout", "slow") else 0
    limited = rule.kind == "rate_limit"
    return Injection(
        fault=rule.name,
        kind=rule.kind,
        reaches=rule.kind in ("slow", "partial") or (rule.applied and not limited),
        delay=rule.delay or late,
        retry_after=rule.retry_after or (LATE if limited else None),
    )


def _halved(result: Json) -> Json:
    """The first half of a list, or of the first list in an object, marked `partial`; anything else as it is."""
    if isinstance(result, list | tuple):
        return {"items": list(result[: len(result) // 2]), "partial": True}
    if isinstance(result, dict):
        for name, value in result.items():
            if isinstance(value, list | tuple):
                return {**result, name: list(value[: len(value) // 2]), "partial": True}
    return result


class Faults:
    """The rules of one episode, with their counts. Fed the same calls and draws, it decides the same."""

    __slots__ = ("_rules", "seen")

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self._rules = tuple(rules)
        self.seen: Seen = ()

    def decide(self, tool: str, args: Json, draw: Draw) -> Injection | None:
        """What happens to this call, the next of the episode."""
        injection, self.seen = decide(self._rules, self.seen, tool, args, draw)
        return injection
