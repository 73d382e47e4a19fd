"""Frozen logs: episodes of noised oracles, each decision beside its true advantage, in a file that others can judge on.

Knows the lines of the file and how they come about. Does not know any method that is judged.

The file has one JSON object a line: first a `Header`, then a `Variant` for each twin of each environment, followed by
its rollouts. All that a method may use is in it: scores, rewards, information states, continuations from each state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import msgspec

from ..engine.draw import Drawer
from ..engine.files import write_whole
from ..worlds.checks.scoring import Rubric
from .noised import Played, information_states, play, sampled
from .rewards import rewards
from .truth import Tree

FORMAT = "coworkenv-credit/1"
_ROLLOUTS, _BEFORE = "rollouts", "continuations"


class BadFrozen(ValueError):
    """A file that holds no frozen logs."""


class Header(msgspec.Struct, frozen=True, kw_only=True, tag="header", tag_field="type"):
    """How the logs were made."""

    format: str = FORMAT
    seed: int
    share: float
    """Epsilon of the noise."""
    forks: int
    """Continuations of each state whose value is no exact one."""
    continuations: int
    """Other continuations of each state, which a method may use."""


class Variant(msgspec.Struct, frozen=True, kw_only=True, tag="variant", tag_field="type"):
    """One twin of an environment."""

    environment: str
    twin: str
    """Empty for the base."""
    capabilities: tuple[str, ...]
    points: tuple[str, ...]
    """The steps at which decisions are made."""
    necessary: tuple[bool, ...]
    """For each, whether the oracle scores less without it."""
    exact: bool
    """Whether all values come from enumeration."""
    leaves: int
    """How many episodes there are at most."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """One decision."""

    point: int
    choice: str
    """What was done: `oracle`, `skip`, or some other mistake."""
    chance: float
    """How probable it was."""
    state: str
    """Information state in which it was made."""
    seq: int
    """How many events there were."""
    tokens: int
    """About how many it took."""
    reward: float
    """Dense: by how much the score rose until the next decision. The first counts from the empty stream."""
    before: tuple[float, ...] = ()
    """Final scores of continuations by the same policy from the state in which it was made."""
    before_tokens: int = 0
    """What these continuations took."""
    value: float
    """V of that state."""
    advantage: float
    """The truth: A of the decision."""
    error: float = 0.0
    """Its standard error; 0 where it is exact."""


class Rollout(msgspec.Struct, frozen=True, kw_only=True, tag="rollout", tag_field="type"):
    """One episode."""

    environment: str
    twin: str
    number: int
    score: float
    decisions: tuple[Decided, ...]

    @property
    def tokens(self) -> int:
        return sum(decision.tokens for decision in self.decisions)


Line: TypeAlias = Header | Variant | Rollout


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Frozen logs, as one object."""

    header: Header
    variants: tuple[Variant, ...]
    rollouts: tuple[Rollout, ...]

    def lines(self) -> Iterator[Line]:
        yield self.header
        for variant in self.variants:
            yield variant
            yield from self.of(variant)

    def of(self, variant: Variant) -> list[Rollout]:
        """The rollouts of a twin."""
        return [one for one in self.rollouts if (one.environment, one.twin) == (variant.environment, variant.twin)]


# --- making them -------------------------------------------------------------------------------------------


async def frozen(tree: Tree, count: int, continuations: int, seed: int) -> tuple[Variant, list[Rollout]]:
    """So many episodes in one variant, each decision with its true advantage and with continuations of its state."""
    noised = tree.noised
    variant = Variant(
        environment=noised.environment,
        twin=noised.variant,
        capabilities=noised.capabilities,
        points=tuple(point.label for point in noised.points),
        necessary=tuple(await tree.necessary()),
        exact=tree.exact,
        leaves=noised.leaves,
    )
    drawer = Drawer([seed], 0, f"{_ROLLOUTS} {noised.environment}@{noised.variant}")
    rubric = Rubric(noised.world)
    return variant, [
        await _rollout(tree, rubric, number, sampled(noised, drawer), continuations) for number in range(count)
    ]


async def _rollout(tree: Tree, rubric: Rubric, number: int, wanted: Sequence[int], continuations: int) -> Rollout:
    noised = tree.noised
    played = await play(noised, wanted)
    leaf = tree.kept(played)
    dense = _dense(played, rubric)
    truths = await tree.advantages(played.choices)
    states = information_states(noised, played)
    decisions: list[Decided] = []
    for place, (choice, truth) in enumerate(zip(played.choices, truths, strict=True)):
        alternative = noised.points[place].alternatives[choice]
        others = await tree.continuations(played.choices[:place], continuations, f"{_BEFORE} {number}")
        decisions.append(
            Decided(
                point=place,
                choice=alternative.name,
                chance=float(alternative.chance),
                state=states[place],
                seq=played.seqs[place],
                tokens=leaf.tokens[place],
                reward=float(dense[place]),
                before=tuple(float(other.score) for other in others),
                before_tokens=sum(sum(other.tokens[place:]) for other in others),
                value=float(truth.value),
                advantage=float(truth.advantage),
                error=truth.error,
            )
        )
    return Rollout(
        environment=noised.environment,
        twin=noised.variant,
        number=number,
        score=float(leaf.score),
        decisions=tuple(decisions),
    )


def _dense(played: Played, rubric: Rubric) -> list[Fraction]:
    """The dense reward of each decision. Of several that were made at the same moment, the last one earns what follows:
    the others did nothing."""
    moments = sorted(set(played.seqs))
    earned = dict(zip(moments, rewards(played.events, moments, rubric, "dense"), strict=True))
    later = (*played.seqs[1:], None)
    return [Fraction(0) if seq == following else earned[seq] for seq, following in zip(played.seqs, later)]


# --- files -------------------------------------------------------------------------------------------------

_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def write_frozen(path: Path, logs: Frozen) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    write_whole(path, b"".join(msgspec.json.encode(line) + b"\n" for line in logs.lines()))


def read_frozen(path: Path) -> Frozen:
    """The logs in a file. Raises `BadFrozen`, OSError."""
    found = list(_lines(path))
    header = found[0] if found else None
    if not isinstance(header, Header) or header.format != FORMAT:
        raise BadFrozen(
            f"{path} does not begin with a header of the format {FORMAT}; `credit-bench --freeze` makes one"
        )
    variants: dict[tuple[str, str], Variant] = {}
    rollouts: dict[tuple[str, str, int], Rollout] = {}
    for number, line in enumerate(found[1:], 2):
        if problem := _taken(line, variants, rollouts):
            raise BadFrozen(f"{path}, line {number}, {problem}; `credit-bench --freeze` makes a whole one")
    return Frozen(header=header, variants=tuple(variants.values()), rollouts=tuple(rollouts.values()))


def _lines(path: Path) -> Iterator[Line]:
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            yield _decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadFrozen(f"{path}, line {number}, is no frozen log: {error}") from None


def _taken(line: Line, variants: dict[tuple[str, str], Variant], rollouts: dict[tuple[str, str, int], Rollout]) -> str:
    """Take a line to those before it; what is wrong with it, if that cannot be."""
    if isinstance(line, Header):
        return "is a second header"
    twin = (line.environment, line.twin)
    if isinstance(line, Variant):
        if twin in variants:
            return "is a twin that was there before"
        variants[twin] = line
        return ""
    if twin not in variants:
        return "is a rollout of a twin that was not there before"
    if (*twin, line.number) in rollouts:
        return "is a rollout that was there before"
    if not all(0 <= decision.point < len(variants[twin].points) for decision in line.decisions):
        return "has a decision at a step that its twin does not have"
    rollouts[*twin, line.number] = line
    return ""


def joined(header: Header, parts: Iterable[tuple[Variant, Sequence[Rollout]]]) -> Frozen:
    """What was made for each variant, as one."""
    made = list(parts)
    return Frozen(
        header=header,
        variants=tuple(variant for variant, _ in made),
        rollouts=tuple(rollout for _, rollouts in made for rollout in rollouts),
    )
