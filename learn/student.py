"""The agent that is trained: a policy of token ids, behind the same agent that every chat model plays.

Knows how the model agent's prompts become ids, and how ids become what it decided. Does not know how ids are sampled:
it asks a `Sample`. No id is ever told from text again: the ids of an answer are in the log, and the next prompt is
built on them, also where an episode is executed again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias, cast

import msgspec
import trio

from ..agents.agent import Answer, Context, Interrupted, Outside, Perform, Request, Unavailable
from ..agents.model import GaveUp, ModelAgent, ModelOptions
from ..events.event import Json, Refused
from .decisions import Sampler, Stop
from .rendering import Reader, Rendering
from .trajectories import packed

KIND = "policy"


class Sampled(msgspec.Struct, frozen=True):
    """What a policy wrote. `logprobs` are natural logarithms in the distribution that was sampled from."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stopped: Stop


Allowed: TypeAlias = Callable[[Sequence[int]], Sequence[int] | None]
"""From the ids written so far to those that may come next; None for all."""


class Asked(msgspec.Struct, frozen=True):
    """What a policy is asked to go on with."""

    life: object
    """One life of one agent: its prompts mostly share their beginning, so a cache may be kept for it."""
    prompt: Sequence[int]
    tokens: int
    """How many tokens the answer may have."""
    sampler: Sampler
    seed: int
    """63 bits from which the random numbers of this answer are drawn: a function of the episode's seed and the turn."""
    allowed: Allowed | None = None
    """A grammar that the answer must follow, for baselines: where it asks for one, other ids cannot be drawn."""


Sample: TypeAlias = Callable[[Asked], Awaitable[Sampled]]
"""Asks the policy."""


class StudentOptions(ModelOptions, frozen=True, kw_only=True):
    """Options of a policy. All of them may change what it does, so all are in its specification."""

    weights: str = ""
    """Digest of the weights."""
    tokenizer: str = ""
    """Digest of tokenizer and chat template."""
    max_tokens: int = 256
    """Tokens that one answer may have."""
    length: int = 4096
    """Tokens that prompt and answer may have together: what the model can read."""
    decisions: int = 64
    """So often it may decide in an episode: a policy that has learnt little never ends by itself."""

    @property
    def settings(self) -> dict[str, Json]:
        return {**super().settings, "weights": self.weights, "tokenizer": self.tokenizer}

    @property
    def sampler(self) -> Sampler:
        """How it samples: `top_k` and `top_p` stand in `extra`, as for every other model."""
        temperature = 1.0 if self.temperature is None else float(self.temperature)
        return Sampler(
            temperature=temperature, top_k=int(self.extra.get("top_k", 0)), top_p=float(self.extra.get("top_p", 1))
        )


class Student:
    """A policy as an agent. Without a `policy` it can only be executed again from a log that answers for it."""

    def __init__(self, options: StudentOptions, policy: tuple[Rendering, Sample] | None = None) -> None:
        self._options = options
        self._policy = policy

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": KIND, **self._options.plain()}

    async def act(self, context: Context) -> str:
        life = Life(context, self._options, self._policy)
        return await ModelAgent(self._options, life.perform).act(cast(Context, life))


at_hand: ContextVar[tuple[Rendering, Sample] | None] = ContextVar("the policy at hand", default=None)
"""What answers for the policies that a log names, where a task forks episodes or goes on with them."""


def build(specification: dict[str, Json]) -> Student:
    """The policy that a log names. Raises msgspec.ValidationError."""
    given = {name: value for name, value in specification.items() if name != "kind"}
    return Student(msgspec.convert(given, StudentOptions), at_hand.get())


class Life:
    """A context that keeps what the policy was asked and answered. Everything else it leaves to the real one."""

    def __init__(self, context: Context, options: StudentOptions, policy: tuple[Rendering, Sample] | None) -> None:
        self._context = context
        self._options = options
        self._policy = policy
        self._draw = context.draw("policy")
        self._turn = 0
        self._reader = Reader(policy[0]) if policy else None
        self._asking = trio.Lock()
        """Whoever was interrupted may still be on its way out when the next one asks."""
        self._unread: list[tuple[Sequence[Json], Json]] = []
        """Prompts and answers that the reader has not read: executed again, an episode needs no tokenizer."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def effect(self, request: Request, perform: Perform, *, interruptible: bool = False) -> Answer | Interrupted:
        """Have the policy asked. `perform` is the one of this life; each request gets a seed of its own with it."""
        self._turn += 1
        if self._turn > self._options.decisions:
            raise GaveUp(f"the policy has decided {self._options.decisions} times; it may not decide more often")
        # Drawn for each answer, also for one that the log has: the next one must find the counter where it was.
        ask = partial(cast(Callable[..., Awaitable[Outside]], perform), seed=self._draw.below(1 << 63))
        answer = await self._context.effect(request, ask, interruptible=interruptible)
        given = answer.value if isinstance(answer, Answer) and answer.refused is None else None
        self._unread.append((request.prompt, given))
        return answer

    async def perform(self, request: Request, seed: int = 0) -> Outside:
        """Ask the policy. Raises Unavailable where it is not at hand."""
        if self._policy is None or self._reader is None:
            raise Unavailable(f"the weights of {self._options.model} are not at hand; only a learner can go on with it")
        async with self._asking:  # Here a request ends that was cancelled before it began.
            ids = tuple(self._read(self._reader, request.prompt))
            return await self._sampled(*self._policy, ids, seed)

    def _read(self, reader: Reader, prompt: Sequence[Json]) -> list[int]:
        for earlier, value in self._unread:
            reader.prompt(earlier)
            if value is not None:
                reader.answered(value["ids"], value)
        self._unread.clear()
        return reader.prompt(prompt)

    async def _sampled(self, rendering: Rendering, sample: Sample, ids: tuple[int, ...], seed: int) -> Outside:
        options = self._options
        room = min(options.max_tokens, options.length - len(ids))
        if room < 1:
            says = f"The prompt has {len(ids)} tokens; the model can read {options.length}."
            return Outside(Answer(refused=Refused("context_length", says)))
        sampled = await sample(Asked(self, ids, room, options.sampler, seed))
        text, calls = rendering.read(sampled.ids)
        value = {"text": text, "calls": calls, "stop": sampled.stopped, "ids": list(sampled.ids)}
        answer = Answer(value=value, tokens=len(sampled.ids), prompt_tokens=len(ids))
        return Outside(answer, {"logprobs": packed(sampled.logprobs)})
