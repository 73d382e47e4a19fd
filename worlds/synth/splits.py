"""Splits: what is held out of training is chosen before anything is made, and checked after all is made.

Knows the rings, what each holds out, and what manifests say of their members. Does not know how environments are made,
nor reads their files.

| ring | workflows (structural keys) | what differs from train |
|---|---|---|
| `train` | its own | |
| `val-iid` | others: sets of capabilities that were set aside | nothing else |
| `R0` | those of train | facts only |
| `R1` | those of train | a held-out style |
| `R2` | others | contains a held-out pair of capabilities, each of which train has |
| `R3` | others: the sets that were set aside | a held-out family |
| `R4` | those of train | names of services, collections, fields and tools |
| `R5` | others | more capabilities than train has in one environment |

So splits are by structural key. A key of train is in `R0`, `R1` and `R4` by design, since they ask how well a known
workflow is done with other facts, in another voice, over another interface; it is in no other ring. `val-iid` is to
`R2`, `R3` and `R5` what `R0` is to `R1` and `R4`: the same question without what is held out. Beyond that, `R1` to `R5`
have names, phrases and productions of the lexicon's second half, train, `val-iid` and `R0` of the first. Twins are in
one file with their base, so they stay together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from .coverage import CannotCover, Requirement, Wanted, plan, reachable_pairs
from .manifest import RINGS, Manifest, Member, Ring, role_of
from .near import NEAR, near_between
from .origin import Draw, Half, Origin

SET_ASIDE = 8
"""One in so many sets of two and more capabilities is kept from train."""
KNOWN_WORKFLOWS: tuple[Ring, ...] = ("R0", "R1", "R4")
"""Rings that have train's workflows by design."""


class SplitPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is held out. Everything else is for training."""

    seed: int
    capabilities: tuple[str, ...]
    """In the order of the taxonomy."""
    families: tuple[str, ...]
    styles: tuple[str, ...]
    languages: tuple[str, ...]
    held_families: tuple[str, ...]
    held_styles: tuple[str, ...]
    held_pairs: tuple[tuple[str, str], ...]
    trained_depth: tuple[int, int]
    """The fewest and the most capabilities of one environment, in all rings but R5."""
    deep: tuple[int, int]
    """The same of R5."""

    def set_aside(self, chosen: frozenset[str]) -> bool:
        """Whether exactly this set of capabilities is kept from train, for `val-iid` and R3."""
        if len(chosen) < 2:
            return False
        key = msgspec.json.encode([self.seed, "set aside", sorted(chosen)])
        return Draw(key).below(SET_ASIDE) == 0

    def held_in(self, chosen: frozenset[str]) -> list[tuple[str, str]]:
        """The held-out pairs that are in a set."""
        return [pair for pair in self.held_pairs if chosen.issuperset(pair)]


def plan_splits(
    seed: int, wanted: Wanted, *, families: int = 4, styles: int = 1, deep: tuple[int, int] = (6, 8)
) -> SplitPlan:
    """Choose what is held out of what is wanted: so many families and styles, one in twenty of the pairs that go
    together, none of the capabilities in more than two of them. `wanted.depth` is what train has; `deep` is R5's.

    Raises `CannotCover` where nothing would be left for training, or R5 would not be deeper.
    """
    if not 1 <= wanted.depth[0] <= wanted.depth[1] < deep[0] <= deep[1]:
        raise CannotCover(
            f"train has {wanted.depth} capabilities in one environment, and R5 {deep}; R5 must have more."
        )
    for held, all_, what in ((families, wanted.families, "families"), (styles, wanted.styles, "styles")):
        if not 0 < held < len(all_):
            raise CannotCover(f"{held} of {len(all_)} {what} cannot be held out: some must be, and some must be left.")
    draw = Draw(msgspec.json.encode([seed, "splits"]))
    held_families = draw.sample(wanted.families, families)
    held_styles = draw.sample(wanted.styles, styles)
    return SplitPlan(
        seed=seed,
        capabilities=tuple(wanted.capabilities),
        families=tuple(wanted.families),
        styles=tuple(wanted.styles),
        languages=tuple(wanted.languages),
        held_families=tuple(name for name in wanted.families if name in held_families),
        held_styles=tuple(name for name in wanted.styles if name in held_styles),
        held_pairs=tuple(_held_pairs(draw, wanted)),
        trained_depth=wanted.depth,
        deep=deep,
    )


def _held_pairs(draw: Draw, wanted: Wanted) -> list[tuple[str, str]]:
    pairs = reachable_pairs(wanted.capabilities, wanted.compatible)
    enough = max(1, len(pairs) // 20)
    used: Counter[str] = Counter()
    held: list[tuple[str, str]] = []
    for pair in draw.shuffled(pairs):
        if len(held) < enough and all(used[name] < 2 for name in pair):
            held.append(pair)
            used.update(pair)
    return sorted(held, key=pairs.index)


# --- before anything is made -------------------------------------------------------------------------------


def requirements_for(
    ring: Ring, count: int, splits: SplitPlan, wanted: Wanted, train: Sequence[Requirement] = ()
) -> list[Requirement]:
    """What a ring is to be about. `wanted` is what the splits were chosen from; for R0, R1 and R4, `train` is what was
    made for training, since they repeat its workflows.

    Raises `CannotCover`.
    """
    if ring in KNOWN_WORKFLOWS:
        return _again(ring, count, splits, train)
    return plan(count, _seed(splits, ring), _wanted_of(ring, splits, wanted))


def _wanted_of(ring: Ring, splits: SplitPlan, wanted: Wanted) -> Wanted:
    pairs = [frozenset(pair) for pair in splits.held_pairs]
    most = 1 if ring == "R2" else 0
    low, high = splits.deep if ring == "R5" else splits.trained_depth
    if ring in ("val-iid", "R2", "R3"):
        low = max(low, 2)
    aside = ring in ("val-iid", "R3")
    return msgspec.structs.replace(
        wanted,
        families=[name for name in splits.families if (name in splits.held_families) == (ring == "R3")],
        styles=[name for name in splits.styles if name not in splits.held_styles],
        compatible=lambda chosen: wanted.compatible(chosen) and len(splits.held_in(chosen)) <= most,
        allowed=lambda chosen: wanted.allowed(chosen) and (ring in ("R2", "R5") or splits.set_aside(chosen) == aside),
        within=pairs if ring == "R2" else (),
        depth=(low, high),
    )


def _again(ring: Ring, count: int, splits: SplitPlan, train: Sequence[Requirement]) -> list[Requirement]:
    """Requirements of train once more, in another order, over and over: with a held-out style in R1."""
    if not train:
        raise CannotCover(f"{ring} repeats the workflows of train, and train has none.")
    draw = Draw(msgspec.json.encode([_seed(splits, ring), ring]))
    seen: Counter[Requirement] = Counter(_kind(each) for each in train)
    order: list[Requirement] = []
    made: list[Requirement] = []
    while len(made) < count:
        order = order or draw.shuffled(train)
        kind = _kind(order.pop())
        if ring == "R1":
            kind = msgspec.structs.replace(kind, style=splits.held_styles[len(made) % len(splits.held_styles)])
        made.append(msgspec.structs.replace(kind, index=seen[kind]))
        seen[kind] += 1
    return made


def _kind(requirement: Requirement) -> Requirement:
    return msgspec.structs.replace(requirement, index=0)


def half_of(ring: Ring) -> Half:
    """Which half of the lexicon a ring has its names and phrases from."""
    return "first" if ring in ("train", "val-iid", "R0") else "second"


def origin_of(
    requirement: Requirement, ring: Ring, splits: SplitPlan, knobs: Mapping[str, int] | None = None
) -> Origin:
    """What an environment of a ring is made from."""
    return Origin(
        seed=splits.seed,
        family=requirement.family,
        capabilities=requirement.capabilities,
        index=requirement.index,
        language=requirement.language,
        style=requirement.style,
        half=half_of(ring),
        interface="unseen" if ring == "R4" else "known",
        knobs=knobs or {},
    )


def requirement_of(origin: Origin) -> Requirement:
    """The requirement that an environment was made for."""
    return Requirement(origin.family, origin.capabilities, origin.language, origin.style, origin.index)


def _seed(splits: SplitPlan, ring: Ring) -> int:
    return Draw(msgspec.json.encode([splits.seed, ring])).below(1 << 62)


# --- after all is made -------------------------------------------------------------------------------------


def check_splits(manifests: Sequence[Manifest], texts: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with splits that belong together, a sentence each; nothing if they are clean.

    No environment is in two sets; a structural key of train is only where it belongs; what each ring holds out is not
    in train, and is in the ring. `texts` are realised texts by environment digest (`wording.realised`): none of train's
    is 80 % like one of R1 to R5, nor the same as one of any ring. Only manifests are needed, not the plan, so whoever
    gets published sets can check them.
    """
    problems = [*_members(manifests), *_repeated(manifests)]
    train = [each for made in manifests if made.ring == "train" for each in made.members]
    for made in manifests:
        if made.ring != "train":
            problems += [f"{made.name} ({made.ring}): {problem}" for problem in _ring(made, train)]
    if texts is not None:
        problems += _alike(manifests, texts)
    return problems


def _members(manifests: Sequence[Manifest]) -> Iterator[str]:
    for made in manifests:
        if made.role != role_of(made.ring):
            yield f"{made.name} ({made.ring}): its role is {made.role}; it should be {role_of(made.ring)}."
        for each in made.members:
            if each.origin is None:
                yield f"{made.name} ({made.ring}): {each.path} has no origin, so what it holds out is not known."
            elif each.origin.half != half_of(made.ring):
                yield (
                    f"{made.name} ({made.ring}): {each.path} has names and phrases of the lexicon's {each.origin.half} "
                    f"half, which are not for this ring."
                )


def _repeated(manifests: Sequence[Manifest]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for made in manifests:
        for each in made.members:
            here = f"{made.name} ({each.path})"
            if each.digest in seen:
                yield f"{here} is the same environment as {seen[each.digest]}."
            seen.setdefault(each.digest, here)


def _ring(made: Manifest, train: Sequence[Member]) -> Iterator[str]:
    known = {each.key for each in train}
    for each in made.members:
        if made.ring in KNOWN_WORKFLOWS and each.key not in known:
            yield f"{each.path} has a workflow that train has not: {made.ring} asks for those of train."
        if made.ring not in KNOWN_WORKFLOWS and each.key in known:
            yield f"{each.path} has a workflow of train (structural key {each.key})."
    origins = [each.origin for each in train if each.origin is not None]
    trained = _Trained(origins)
    for each in made.members:
        if each.origin is not None:
            yield from (f"{each.path} {problem}" for problem in trained.against(made.ring, each.origin))


class _Trained:
    """What train has."""

    def __init__(self, origins: Sequence[Origin]) -> None:
        self.families = {origin.family for origin in origins}
        self.styles = {origin.style for origin in origins}
        self.interfaces = {origin.interface for origin in origins}
        self.singles = {name for origin in origins for name in origin.capabilities}
        self.pairs = {pair for origin in origins for pair in _pairs(origin)}
        self.depth = max((len(origin.capabilities) for origin in origins), default=0)

    def against(self, ring: Ring, origin: Origin) -> Iterator[str]:
        """What is wrong with an environment of a ring, next to train: what should be new is not, or the reverse."""
        new = [pair for pair in _pairs(origin) if pair not in self.pairs]
        yield from _agrees(ring == "R1", origin.style not in self.styles, f"the style {origin.style}")
        yield from _agrees(ring == "R3", origin.family not in self.families, f"the family {origin.family}")
        yield from _agrees(ring == "R4", origin.interface not in self.interfaces, f"{origin.interface} interfaces")
        yield from _agrees(
            ring == "R5", len(origin.capabilities) > self.depth, f"{len(origin.capabilities)} capabilities at once"
        )
        if ring == "R2" and not new:
            yield f"has no pair of capabilities that is new: train has all of {_named(_pairs(origin))}."
        if ring in KNOWN_WORKFLOWS and new:
            yield f"has pairs of capabilities that train has not: {_named(new)}."
        unknown = [name for name in origin.capabilities if name not in self.singles]
        if unknown:
            yield f"has capabilities that train never shows: {', '.join(unknown)}."


def _agrees(held_out: bool, new: bool, what: str) -> Iterator[str]:
    if held_out and not new:
        yield f"has {what}, which train has too; this ring is to hold it out."
    if new and not held_out:
        yield f"has {what}, which train has not; that is for another ring."


def _pairs(origin: Origin) -> list[tuple[str, ...]]:
    return list(combinations(sorted(origin.capabilities), 2))


def _named(pairs: Iterable[Collection[str]]) -> str:
    return ", ".join("+".join(pair) for pair in pairs) or "none"


def _alike(manifests: Sequence[Manifest], texts: Mapping[str, str]) -> Iterator[str]:
    paths = {each.digest: each.path for made in manifests for each in made.members}
    said = {
        ring: {
            each.digest: texts[each.digest]
            for made in manifests
            if made.ring == ring
            for each in made.members
            if each.digest in texts
        }
        for ring in RINGS
    }
    missing = sum(each.digest not in texts for made in manifests for each in made.members)
    if missing:
        yield f"the texts of {missing} environments were not given, so they were not compared."
    same = {text: digest for digest, text in said["train"].items()}
    for ring in ("val-iid", "R0"):
        for digest, text in said[ring].items():
            if text in same:
                yield f"{paths[digest]} ({ring}) says the same as {paths[same[text]]} (train), word for word."
    held = {digest: text for ring in RINGS if half_of(ring) == "second" for digest, text in said[ring].items()}
    for pair in near_between(said["train"], held, NEAR):
        yield f"{paths[pair.b]} is {pair.similarity:.0%} like {paths[pair.a]} (train)."
