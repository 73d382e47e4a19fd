"""Splits: what is held out is chosen first, is in its ring and not in train, and each way to spoil that is found."""

from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coworkenv.worlds.synth.coverage import CannotCover, Requirement, Wanted
from coworkenv.worlds.synth.manifest import RINGS, Manifest, Member, Ring, manifest
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.splits import (
    SplitPlan,
    check_splits,
    half_of,
    origin_of,
    plan_splits,
    requirement_of,
    requirements_for,
)

CAPABILITIES = [f"{group}{number}" for group in "ABCDEFGH" for number in range(1, 5)]
WANTED = Wanted(
    capabilities=CAPABILITIES,
    families=[f"family-{number}" for number in range(24)],
    styles=["plain", "terse", "chatty", "formal", "hurried"],
    languages=["en", "de"],
    compatible=lambda chosen: not chosen >= {"A1", "A4"},
    depth=(1, 5),
)
TRAIN, OTHER = 400, 60


@cache
def requirements(seed: int) -> dict[Ring, list[Requirement]]:
    splits = plan_splits(seed, WANTED)
    train = requirements_for("train", TRAIN, splits, WANTED)
    return {ring: train if ring == "train" else requirements_for(ring, OTHER, splits, WANTED, train) for ring in RINGS}


def made_member(requirement: Requirement, ring: Ring, splits: SplitPlan) -> Member:
    """An environment as coarse as can be: its structure is no more than its capabilities."""
    origin = origin_of(requirement, ring, splits)
    name = sha256(msgspec.json.encode(origin)).hexdigest()
    return Member(path=f"{name}.yaml", digest=name, key="+".join(origin.capabilities), origin=origin)


@cache
def manifests(seed: int) -> tuple[Manifest, ...]:
    splits = plan_splits(seed, WANTED)
    return tuple(
        manifest(f"set-{ring}", ring, [made_member(each, ring, splits) for each in made])
        for ring, made in requirements(seed).items()
    )


@settings(max_examples=6)
@given(st.integers(0, 1000))
def test_splits_are_clean_by_construction(seed: int) -> None:
    assert check_splits(manifests(seed)) == []


def test_what_is_held_out_is_chosen_by_the_seed() -> None:
    first, again, other = plan_splits(1, WANTED), plan_splits(1, WANTED), plan_splits(2, WANTED)
    assert first == again != other
    assert (len(first.held_families), len(first.held_styles), len(first.held_pairs)) == (4, 1, 24)
    assert all(WANTED.compatible(frozenset(pair)) for pair in first.held_pairs)
    assert max(Counter(name for pair in first.held_pairs for name in pair).values()) <= 2
    assert msgspec.json.decode(msgspec.json.encode(first), type=SplitPlan) == first


def test_each_ring_has_what_it_holds_out_and_nothing_else_that_is_new() -> None:
    splits, made = plan_splits(3, WANTED), requirements(3)
    held_pairs = {frozenset(pair) for pair in splits.held_pairs}
    for ring, each in [(ring, each) for ring, all_ in made.items() for each in all_]:
        pairs = {frozenset(pair) for pair in combinations(each.capabilities, 2)}
        assert len(pairs & held_pairs) == (ring == "R2")
        assert (each.family in splits.held_families) is (ring == "R3")
        assert (each.style in splits.held_styles) is (ring == "R1")
        assert (len(each.capabilities) > 5) is (ring == "R5")
        origin = origin_of(each, ring, splits)
        assert origin.interface == ("unseen" if ring == "R4" else "known")
        assert origin.half == ("first" if ring in ("train", "val-iid", "R0") else "second")
        assert requirement_of(origin) == each


def test_workflows_are_those_of_train_only_where_they_are_meant_to_be() -> None:
    made = requirements(3)
    workflows = {ring: {each.capabilities for each in made[ring]} for ring in RINGS}
    for ring in RINGS[1:]:
        if ring in ("R0", "R1", "R4"):
            assert workflows[ring] <= workflows["train"]
        else:
            assert not workflows[ring] & workflows["train"]


def test_train_still_has_every_capability_family_and_pair_that_is_not_held_out() -> None:
    splits, train = plan_splits(3, WANTED), requirements(3)["train"]
    assert len({name for each in train for name in each.capabilities}) == 32
    assert len({each.family for each in train}) == 20
    pairs = {pair for each in train for pair in combinations(each.capabilities, 2)}
    assert len(pairs) == 496 - 1 - len(splits.held_pairs)


def test_new_instances_have_other_numbers_than_those_of_train() -> None:
    made = requirements(3)
    assert not set(made["R0"]) & set(made["train"])
    assert len(set(made["R0"])) == OTHER


def test_one_in_eight_sets_is_set_aside() -> None:
    splits = plan_splits(3, WANTED)
    aside = [splits.set_aside(frozenset(chosen)) for chosen in combinations(CAPABILITIES, 3)]
    assert sum(aside) == pytest.approx(len(aside) / 8, rel=0.1)
    assert not any(splits.set_aside(frozenset([name])) for name in CAPABILITIES)


@pytest.mark.parametrize(
    ("wanted", "options", "message"),
    [
        (WANTED, {"families": 24}, "24 of 24 families cannot be held out"),
        (WANTED, {"styles": 0}, "0 of 5 styles"),
        (WANTED, {"deep": (5, 8)}, "R5 must have more"),
    ],
)
def test_what_cannot_be_held_out_says_why(wanted: Wanted, options: dict[str, int], message: str) -> None:
    with pytest.raises(CannotCover, match=message):
        plan_splits(1, wanted, **options)  # type: ignore[arg-type]


def test_rings_of_known_workflows_need_train() -> None:
    with pytest.raises(CannotCover, match="R4 repeats the workflows of train"):
        requirements_for("R4", 3, plan_splits(1, WANTED), WANTED)


def changed(ring: Ring, **origin: object) -> list[str]:
    """What is found where the first member of a ring has another origin than it should."""
    sets = {made.ring: made for made in manifests(3)}
    first, *rest = sets[ring].members
    assert first.origin is not None
    other: Origin = msgspec.structs.replace(first.origin, **origin)
    sets[ring] = manifest(sets[ring].name, ring, [msgspec.structs.replace(first, origin=other), *rest])
    return check_splits(list(sets.values()))


@pytest.mark.parametrize(
    ("ring", "origin", "message"),
    [
        ("R1", {"style": "TRAINED"}, "which train has too; this ring is to hold it out"),
        ("R0", {"style": "gothic"}, "has the style gothic, which train has not; that is for another ring"),
        ("R3", {"family": "TRAINED"}, "which train has too"),
        ("val-iid", {"family": "elsewhere"}, "has the family elsewhere, which train has not"),
        ("R4", {"interface": "known"}, "has known interfaces, which train has too"),
        ("val-iid", {"interface": "unseen"}, "has unseen interfaces, which train has not"),
        ("R5", {"capabilities": ("A1", "A2")}, "has 2 capabilities at once, which train has too"),
        ("R2", {"capabilities": ("A1",)}, "has no pair of capabilities that is new"),
        ("val-iid", {"capabilities": ("Z9",)}, "has capabilities that train never shows: Z9"),
        ("R1", {"half": "first"}, "the lexicon's first half, which are not for this ring"),
        ("train", {"half": "second"}, "the lexicon's second half, which are not for this ring"),
    ],
)
def test_what_is_not_held_out_is_found(ring: Ring, origin: dict[str, object], message: str) -> None:
    train = requirements(3)["train"][0]
    origin = {key: getattr(train, key) if value == "TRAINED" else value for key, value in origin.items()}
    found = changed(ring, **origin)
    assert any(message in problem and f"({ring})" in problem for problem in found), found


def test_workflows_where_they_do_not_belong_are_found() -> None:
    train, known, new = (
        manifest(ring, ring, [Member(path=f"{ring}.yaml", digest=ring, key=key, origin=None)])
        for ring, key in (("train", "k"), ("val-iid", "k"), ("R0", "new"))
    )  # fmt: skip
    problems = [problem for problem in check_splits([train, known, new]) if "workflow" in problem]
    assert problems == [
        "val-iid (val-iid): val-iid.yaml has a workflow of train (structural key k).",
        "R0 (R0): R0.yaml has a workflow that train has not: R0 asks for those of train.",
    ]


def test_members_without_origin_and_the_same_environment_twice_are_found() -> None:
    sets = {made.ring: made for made in manifests(3)}
    stray = msgspec.structs.replace(sets["train"].members[0], path="copy.yaml", origin=None)
    sets["R0"] = manifest("R0", "R0", [*sets["R0"].members, stray])
    assert check_splits(list(sets.values())) == [
        "R0 (R0): copy.yaml has no origin, so what it holds out is not known.",
        f"R0 (copy.yaml) is the same environment as set-train ({sets['train'].members[0].path}).",
    ]


def test_texts_of_train_said_again_are_found() -> None:
    sets = {made.ring: made for made in manifests(3)}
    texts = {each.digest: f"{each.digest} says this." for made in sets.values() for each in made.members}
    assert check_splits(list(sets.values()), texts) == []
    known, fresh, held = (sets[ring].members[0] for ring in ("train", "R0", "R3"))
    texts |= {known.digest: "Please refund Ms Okafor for the lamp that arrived broken. The lamp only, please."}
    texts |= {fresh.digest: texts[known.digest].replace("lamp", "desk")}
    assert check_splits(list(sets.values()), texts) == []
    texts |= {fresh.digest: texts[known.digest]}
    texts |= {held.digest: texts[known.digest].replace("Okafor", "Okafur")}
    said, near = check_splits(list(sets.values()), texts)
    assert said == f"{fresh.path} (R0) says the same as {known.path} (train), word for word."
    assert near.startswith(f"{held.path} is ")
    assert near.endswith(f"% like {known.path} (train).")


def test_texts_that_were_not_given_are_not_silently_clean() -> None:
    problems = check_splits(manifests(3), {})
    assert len(problems) == 1
    assert "were not given" in problems[0]


def test_halves() -> None:
    assert {ring: half_of(ring) for ring in ("train", "R0", "R1", "R5")} == {
        "train": "first",
        "R0": "first",
        "R1": "second",
        "R5": "second",
    }
