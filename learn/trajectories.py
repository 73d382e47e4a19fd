"""Trajectories from logs: what a policy, an oracle or anybody's chat model decided, in token ids.

Knows how decisions stand in a log. Does not know what they were worth. Where a log has the ids that were sampled, they
are used as they are; a log without is tokenised once, and its trajectory says so.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from ..agents.agent import Answer
from ..engine.effects import cut_answer, prompt_after
from ..engine.kernel import ENDED
from ..events.codec import from_json
from ..events.coherence import events_of
from ..events.event import (
    AGENT,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeEnded,
    EpisodeForked,
    EpisodeStarted,
    Event,
    Json,
)
from ..events.log import Log
from .decisions import Decision, Sampler, Stop, Trajectory
from .rendering import Reader, Rendering


class NoTrajectory(ValueError):
    """An episode in which no model decided anything."""


def packed(logprobs: Sequence[float]) -> str:
    """Log-probabilities as a log keeps them: 32-bit floats, little-endian, base64. No digit is lost."""
    return b64encode(struct.pack(f"<{len(logprobs)}f", *logprobs)).decode()


def unpacked(text: str) -> tuple[float, ...]:
    """The inverse of `packed`. Raises ValueError."""
    raw = b64decode(text, validate=True)
    if len(raw) % 4:
        raise ValueError("log-probabilities are cut off")
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def read_trajectory(log: Log, stream: str, rendering: Rendering, events: Sequence[Event] | None = None) -> Trajectory:
    """The agent's trajectory in an episode of a log. `events` are the episode's, where they are at hand.

    Raises NoTrajectory.
    """
    observed = {seen.seq: seen.content for seen in log.observations(stream)}
    return trajectory(events_of(log, stream) if events is None else events, observed, rendering, episode=stream)


def trajectory(
    events: Sequence[Event], observed: Mapping[int, bytes], rendering: Rendering, *, episode: str = ""
) -> Trajectory:
    """The agent's trajectory in a stream. `observed` is what was observed with each answer, by its `seq`.

    Raises NoTrajectory.
    """
    if not events or not isinstance(events[0].body, EpisodeStarted):
        raise NoTrajectory("the stream is not an episode")
    started = events[0].body
    reading = _Reading(rendering, observed)
    for event in events:
        reading.apply(event)
    reading.decide()
    if not reading.decisions:
        raise NoTrajectory("no model decided anything as the agent of this episode")
    environment, _, twin = started.id.partition("@")
    last = events[-1].body
    return Trajectory(
        episode=episode,
        environment=environment,
        twin=twin,
        seed=started.seed,
        trial=started.trial,
        segments=(*reading.segments, *reading.reader.finished()),
        decisions=tuple(reading.decisions),
        tokenised=reading.tokenised,
        reason=last.reason if isinstance(last, EpisodeEnded) else "",
    )


class _Open(NamedTuple):
    """An answer that a message may still cut short."""

    resolved: Event
    answer: Answer


class _Reading:
    """The fold over one agent's events. An answer is a decision once it is known that no message cut it short."""

    def __init__(self, rendering: Rendering, observed: Mapping[int, bytes]) -> None:
        self.segments: list[tuple[int, ...]] = []
        """Of the agents that a fork has replaced; those of the present one are in `reader`."""
        self.reader = Reader(rendering)
        self.decisions: list[Decision] = []
        self.tokenised = False
        self._rendering = rendering
        self._observed = observed
        self._prompt: list[Json] = []
        self._requests: dict[int, EffectRequested] = {}
        self._open: dict[int, _Open] = {}
        """The last answer, by its request."""
        self._replaced = False
        """The next prompt is another agent's."""

    def apply(self, event: Event) -> None:
        body = event.body
        if isinstance(body, EpisodeForked):
            self._replaced |= "agent" in body.changes
        elif event.actor != AGENT:
            return
        elif isinstance(body, EffectRequested) and body.kind == "model":
            self._ask(event.seq, body)
        elif isinstance(body, EffectResolved) and body.effect in self._requests and body.refused is None:
            self._open[body.effect] = _Open(event, Answer(value=body.answer, tokens=body.tokens))
        elif isinstance(body, EffectCancelled) and body.effect in self._open:
            resolved, answer = self._open.pop(body.effect)
            if body.paid is not None:
                self._open[body.effect] = _Open(resolved, cut_answer(answer, body.paid))
            elif body.reason == ENDED:  # It may be why: a limit that this answer has met.
                self._open[body.effect] = _Open(resolved, answer)

    def _ask(self, effect: int, body: EffectRequested) -> None:
        self.decide()
        if self._replaced:
            self.segments += self.reader.finished()
            self.reader, self._replaced = Reader(self._rendering), False
        self._prompt = prompt_after(self._prompt, body.prompt)
        self._requests[effect] = body
        self.reader.prompt(self._prompt)

    def decide(self) -> None:
        """What is open becomes a decision."""
        for effect, (resolved, answer) in self._open.items():
            self._decide(effect, resolved, answer)
        self._open.clear()

    def _decide(self, effect: int, resolved: Event, answer: Answer) -> None:
        value = answer.value if isinstance(answer.value, dict) else {}
        cut = answer.paid is not None and answer.paid < (answer.tokens or 0)
        sampled = isinstance(value.get("ids"), list)
        self.tokenised |= not sampled
        ids = value["ids"] if sampled else self._tokenised(value, cut)
        segment, start, stop = self.reader.answered(ids, value)
        if start == stop:
            return
        settings = self._requests[effect].settings
        self.decisions.append(
            Decision(
                seq=effect,
                resolved=resolved.seq,
                segment=len(self.segments) + segment,
                start=start,
                stop=stop,
                stopped="interrupted" if cut else _stop(value.get("stop")),
                logprobs=self._logprobs(resolved.seq, stop - start) if sampled else None,
                sampler=_sampler(settings) if sampled else None,
                weights=str(settings.get("weights", "")) if sampled else "",
            )
        )

    def _tokenised(self, value: Json, cut: bool) -> list[int]:
        """Ids of an answer that the log has as text only; without an end, if its writer did not come to that."""
        ids = self._rendering.answer(value.get("text") or "", value.get("calls") or ())
        return ids[:-1] if cut or _stop(value.get("stop")) == "length" else ids

    def _logprobs(self, seq: int, count: int) -> tuple[float, ...] | None:
        """What the sampler said of each token; None if the log does not hold it."""
        if seq not in self._observed:
            return None
        found = from_json(self._observed[seq])
        said = found.get("logprobs") if isinstance(found, dict) else None
        try:
            if isinstance(said, str):
                values = unpacked(said)
            elif isinstance(said, dict):  # the chat servers' way: one object for each token
                values = tuple(float(token["logprob"]) for token in said["content"])
            else:
                return None
        except (ValueError, TypeError, KeyError):
            return None
        return values[:count] if len(values) >= count else None


def _stop(said: Json) -> Stop:
    return "length" if said == "length" else "stop"


def _sampler(settings: Mapping[str, Json]) -> Sampler:
    """How an answer was sampled, as its request says; what it does not say is as servers have it by default."""

    def number(name: str, default: float) -> float:
        found = settings.get(name)
        return float(found) if isinstance(found, int | float | Decimal) else default

    return Sampler(temperature=number("temperature", 1.0), top_k=int(number("top_k", 0)), top_p=number("top_p", 1.0))
