"""A model that is tested: from a folder to a player.

Knows models, their server, and how a policy is asked when it is tested. Does not know sets, or what is made of its
episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..agents.agent import Actor
from ..agents.server import Server
from ..engine.rollouts import Result
from ..events.log import Log
from .collecting import Policy
from .fewshot import FewShot, shots_of
from .generating import Generator
from .grammar import Vocabulary
from .lessons import Lesson
from .models import Loaded, length_of, load, read_config, read_rendering
from .playing import Draft, Scripted, Told
from .policy import PolicyServer, Seat
from .remote import Remote
from .rendering import Rendering
from .runs import model_folder
from .student import Student, StudentOptions


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a policy is asked when it is tested."""

    temperature: Decimal = Decimal(0)
    max_tokens: int = 256
    decisions: int = 32
    """So often it may decide in an episode."""
    wording: Literal["brief"] | None = "brief"
    """As in the demonstrations that it has learnt from."""
    rows: int = 64
    """Episodes that share a batch."""


class Tested:
    """A policy that is tested: in lockstep, so the same weights play the same episodes."""

    def __init__(self, who: str, policy: Policy) -> None:
        self.who = who
        self.weights = policy.options.weights
        self.temperature = policy.options.sampler.temperature
        self._policy = policy

    async def play(self, drafts: Sequence[Draft], log: Log, finished: Told) -> list[Result]:
        return await self._policy.play(drafts, log, finished)


class _Prompted(Policy):
    """A policy that is shown demonstrations and writes valid calls only."""

    def __init__(self, *policy: Any, lessons: Sequence[Lesson]) -> None:
        super().__init__(*policy)
        self._shots = shots_of(lessons)
        self._vocabulary = Vocabulary(self.rendering)

    def agent(self, seat: Seat) -> Actor:
        return FewShot(self.options, self._shots, (self.rendering, self._vocabulary, seat.sample))


def policy_of(loaded: Loaded, settings: Settings, lessons: Sequence[Lesson] | None = None) -> Policy:
    """A model as a player; with `lessons`, it is only shown them."""
    options = _options(loaded.name, loaded.digest, loaded.rendering, loaded.length, settings)
    server = PolicyServer(Generator(loaded.model, loaded.rendering.template.ends), rows=settings.rows)
    parts = server, loaded.rendering, options, settings.rows
    return Policy(*parts) if lessons is None else _Prompted(*parts, lessons=lessons)


def _options(name: str, weights: str, rendering: Rendering, length: int, settings: Settings) -> StudentOptions:
    return StudentOptions(
        model=name,
        weights=weights,
        tokenizer=rendering.digest,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        decisions=settings.decisions,
        length=length,
        wording=settings.wording,
    )


def policy_on(server: Server, name: str, folder: Path, who: str, settings: Settings) -> Scripted:
    """The model of this name on a server; its folder says how it reads, and none of its weights are read.

    Nobody can see which weights a server has, so none are named. Raises ModelError, RunError.
    """
    where = model_folder(folder)
    rendering = read_rendering(where)
    config = read_config(where)
    options = _options(name, "", rendering, length_of(config, rendering.tokens.tokenizer), settings)
    known = int(config.get_text_config().vocab_size)
    remote = Remote(server, name, sorted(rendering.template.ends), known=known)
    return Scripted(who, lambda _: Student(options, (rendering, remote)), settings.rows, options.sampler.temperature)


def policy_in(folder: Path, who: str, settings: Settings, lessons: Sequence[Lesson] | None = None) -> Tested:
    """The policy in a folder of a model; with `lessons`, a few-shot baseline of them. Raises ModelError, RunError."""
    return Tested(who, policy_of(load(model_folder(folder)), settings, lessons))
