"""Requests to the real world: how they are started, awaited, cancelled and written down.

Knows trio and the shape of a request. Does not know virtual time or the log: the kernel says when an answer is wanted,
and whether a journal already has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec
import trio

from ..agents.agent import Answer, Outside, Perform, Request, Unavailable
from ..events.codec import to_json
from ..events.event import EffectResolved, Json


class Journal(msgspec.Struct, frozen=True):
    """What a log already knows about effects, by the `seq` of their request."""

    resolved: dict[int, EffectResolved] = {}
    cancelled: frozenset[int] = frozenset()
    observed: dict[int, bytes] = {}
    """What was observed with answers that another stream was given: to be kept here, too."""

    def settles(self, effect: int) -> bool:
        """Whether the real world need not be asked."""
        return effect in self.resolved or effect in self.cancelled


class _Running:
    __slots__ = ("done", "failure", "outside", "scope")

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.done = trio.Event()
        self.outside: Outside | None = None
        self.failure: Exception | None = None


class Effects:
    """The requests of one episode that are really under way, one task of `nursery` each."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._running: dict[int, _Running] = {}

    def begin(self, effect: int, request: Request, perform: Perform) -> None:
        running = self._running[effect] = _Running()
        self._nursery.start_soon(self._perform, running, request, perform, name=f"effect {effect}")

    async def _perform(self, running: _Running, request: Request, perform: Perform) -> None:
        with running.scope:
            try:
                running.outside = await perform(request)
            except Exception as failure:
                # Kept for whoever waits: one request that fails must not tear down the others' tasks.
                running.failure = failure
        running.done.set()

    async def outcome(self, effect: int) -> Outside:
        """The answer, when it is there. Raises `Unavailable` where there is none to be had."""
        running = self._running[effect]
        await running.done.wait()
        del self._running[effect]
        if running.failure is not None:
            raise running.failure
        if running.outside is None:
            raise Unavailable("the request was cancelled")
        return running.outside

    def cancel(self, effect: int) -> None:
        """Give up a request; nothing happens if it is not running."""
        running = self._running.pop(effect, None)
        if running is not None:
            running.scope.cancel()


def fingerprints(prompt: Sequence[Json]) -> list[bytes]:
    """A digest of each message."""
    return [sha256(to_json(message)).digest() for message in prompt]


def request_digest(request: Request, prints: Sequence[bytes]) -> str:
    """SHA-256 of the whole request, hexadecimal; `prints` are the fingerprints of its prompt."""
    return sha256(to_json([request.kind, request.settings]) + b"".join(prints)).hexdigest()


def prompt_change(before: Sequence[bytes], after: Sequence[bytes], prompt: Sequence[Json]) -> tuple[Json, ...]:
    """`prompt` as kept ranges `[start, stop]` of the last prompt and new messages.

    `before` and `after` are the fingerprints of the last prompt and of this one. Kept messages stay in order, so each
    is looked for only behind the one kept before it.
    """
    places: dict[bytes, list[int]] = {}
    for place in range(len(before) - 1, -1, -1):
        places.setdefault(before[place], []).append(place)
    change: list[Json] = []
    next_place = 0
    for message, print_ in zip(prompt, after):
        waiting = places.get(print_, [])
        while waiting and waiting[-1] < next_place:
            waiting.pop()
        if not waiting:
            change.append(message)
            continue
        place = waiting.pop()
        next_place = place + 1
        if change and isinstance(change[-1], list) and change[-1][1] == place:
            change[-1][1] = next_place
        else:
            change.append([place, next_place])
    return tuple(change)


def prompt_after(before: Sequence[Json], change: Sequence[Json]) -> list[Json]:
    """The inverse of `prompt_change`: the whole prompt."""
    prompt: list[Json] = []
    for part in change:
        if isinstance(part, list):
            prompt.extend(before[part[0] : part[1]])
        else:
            prompt.append(part)
    return prompt


def cut_answer(answer: Answer, paid: int) -> Answer:
    """What is left of a model's answer when only `paid` of its tokens were written before it was interrupted.

    Where the server gave token ids they are cut exactly; text is cut in proportion, since a character belongs to no
    one token. Calls come last in an answer and are lost unless all of it was paid for.
    """
    tokens = answer.tokens or 0
    if paid >= tokens or not isinstance(answer.value, dict):
        return msgspec.structs.replace(answer, paid=min(paid, tokens))
    text = answer.value.get("text") or ""
    value = {**answer.value, "text": text[: len(text) * paid // tokens], "calls": [], "stop": "interrupted"}
    if isinstance(value.get("ids"), list):
        value["ids"] = value["ids"][:paid]
    return msgspec.structs.replace(answer, value=value, paid=paid)
