"""Trajectories from logs: what a policy, an oracle or anybody's chat model decided, in token ids.

Knows how decisions stand in a log. Does not know what they were worth. Where a log has the ids that were sampled, they
are used as they are; a log without is tokenised once, and its trajectory says so.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal

from ..engine.effects import prompt_after
from ..events.codec import from_json
from ..events.coherence import events_of
from ..events.event import (
    AGENT,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeEnded,
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


def read_trajectory(log: Log, stream: str, rendering: Rendering) -> Trajectory:
    """The agent's trajectory in an episode of a log. Raises NoTrajectory."""
    observed = {seen.seq: seen.content for seen in log.observations(stream)}
    return trajectory(events_of(log, stream), observed, rendering, episode=stream)


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
        if event.actor == AGENT:
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
        segments=tuple(tuple(segment) for segment in reading.reader.segments),
        decisions=tuple(reading.decisions),
        tokenised=reading.tokenised,
        reason=last.reason if isinstance(last, EpisodeEnded) else "",
    )


class _Reading:
    """The fold over one agent's events. An answer is a decision once it is known that no message cut it short."""

    def __init__(self, rendering: Rendering, observed: Mapping[int, bytes]) -> None:
        self.reader = Reader(rendering)
        self.decisions: list[Decision] = []
        self.tokenised = False
        self._rendering = rendering
        self._observed = observed
        self._prompt: list[Json] = []
        self._requests: dict[int, EffectRequested] = {}
        self._open: tuple[Event, EffectResolved, int | None] | None = None
        """The last answer, and how many of its tokens were paid for, if a message cut it."""

    def apply(self, event: Event) -> None:
        body = event.body
        if isinstance(body, EffectRequested) and body.kind == "model":
            self.decide()
            self._prompt = prompt_after(self._prompt, body.prompt)
            self._requests[event.seq] = body
            self.reader.prompt(self._prompt)
        elif isinstance(body, EffectResolved) and body.effect in self._requests and body.refused is None:
            self._open = event, body, None
        elif isinstance(body, EffectCancelled) and self._open is not None and body.effect == self._open[1].effect:
            self._open = (*self._open[:2], body.paid)

    def decide(self) -> None:
        """What is open becomes a decision."""
        if self._open is None:
            return
        (event, body, paid), self._open = self._open, None
        value = body.answer if isinstance(body.answer, dict) else {}
        whole = body.tokens or 0
        cut = paid is not None and paid < whole
        given = value.get("ids")
        if isinstance(given, list) and given:
            ids = [int(each) for each in given][: paid if cut else None]
        else:
            self.tokenised = True
            ids = self._rendering.answer(value.get("text") or "", () if cut else value.get("calls") or ())
            ids = ids[:paid] if cut else ids
        said = self._cut_text(value, paid, whole) if cut else value
        segment, start, stop = self.reader.answered(ids, said)
        if start == stop:
            return
        request = self._requests[body.effect]
        sampled = isinstance(given, list) and bool(given)
        self.decisions.append(
            Decision(
                seq=body.effect,
                resolved=event.seq,
                segment=segment,
                start=start,
                stop=stop,
                stopped="interrupted" if cut else _stop(value.get("stop")),
                logprobs=self._logprobs(event.seq, stop - start) if sampled else None,
                sampler=_sampler(request.settings) if sampled else None,
                weights=str(request.settings.get("weights", "")) if sampled else "",
            )
        )

    @staticmethod
    def _cut_text(value: Json, paid: int | None, whole: int) -> Json:
        text = value.get("text") or ""
        return {"text": text[: len(text) * (paid or 0) // whole], "calls": []}

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
