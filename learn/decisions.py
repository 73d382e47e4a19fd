"""What a learner sees of an episode: decisions, in the token ids that the policy read and wrote.

Knows the shape of a trajectory. Does not know how one is read from a log (`trajectories`), what it was worth
(`rewards`), or torch.

A trajectory is a list of decisions. Their ids stand in *segments*: where the prompt of a decision literally extends
what stood before it (the last prompt, what was sampled, what was new), both are in the same segment, and no id is there
twice. Where it does not, since the context was cut say, a new segment begins, so every decision is scored under the
very prompt that it was sampled from. Which ids the policy wrote is said by spans and never told from the ids: the end
of a turn and padding often have the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

Stop: TypeAlias = Literal["stop", "length", "interrupted"]
"""`stop`: the policy ended its turn; `length`: it was cut off there; `interrupted`: a message arrived meanwhile, and
only the tokens that its virtual time had paid for exist."""


class Sampler(msgspec.Struct, frozen=True, kw_only=True):
    """How tokens are drawn from a model's logits. Temperature 0 takes the most probable one."""

    temperature: float = 1.0
    top_k: int = 0
    """Only the k most probable tokens; 0 for all."""
    top_p: float = 1.0
    """Only the fewest tokens that together have this probability."""

    @property
    def recomputable(self) -> bool:
        """Whether the probability of a sampled token can be computed again from logits and temperature alone."""
        return self.temperature > 0 and self.top_k == 0 and self.top_p == 1.0


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the policy. `segments[segment][start:stop]` is what it wrote, what is before `start` its prompt."""

    seq: int
    """Of its `effect.requested`: what the agent had seen by then, it had seen."""
    resolved: int
    """Of its `effect.resolved`."""
    segment: int
    start: int
    stop: int
    stopped: Stop = "stop"
    logprobs: tuple[float, ...] | None = None
    """Natural logarithm of each written token's probability in the distribution that it was sampled from, temperature
    included; None where the log does not say."""
    sampler: Sampler | None = None
    """None where nobody sampled: an oracle's demonstration, or a log from elsewhere."""
    weights: str = ""
    """Digest of the weights that sampled it."""

    @property
    def tokens(self) -> int:
        return self.stop - self.start


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's view of an episode, in token ids."""

    episode: str
    environment: str
    """The id of the environment, without the twin's name: all its twins are one *twin set*."""
    twin: str
    """The name of the twin; empty for the base."""
    seed: int = 0
    trial: int = 0
    segments: tuple[tuple[int, ...], ...]
    decisions: tuple[Decision, ...]
    tokenised: bool = False
    """The ids are not those that were sampled: a log without ids was tokenised, once."""
    reason: str = ""
    """Why the episode ended: `finished`, `idle`, or the limit that was met."""

    def prompt(self, decision: Decision) -> tuple[int, ...]:
        return self.segments[decision.segment][: decision.start]

    def written(self, decision: Decision) -> tuple[int, ...]:
        return self.segments[decision.segment][decision.start : decision.stop]

    @property
    def tokens(self) -> int:
        """Tokens that the policy wrote."""
        return sum(decision.tokens for decision in self.decisions)


Values: TypeAlias = Sequence[float]
"""One number for each decision of a trajectory: rewards, returns, or advantages."""
