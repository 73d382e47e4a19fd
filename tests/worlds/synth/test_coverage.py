"""Coverage plans: each capability alone, each pair that goes together, and everything equally often."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coworkenv.worlds.synth.coverage import CannotCover, Wanted, covered, plan, reachable_pairs

CAPABILITIES = [f"{group}{number}" for group in "ABCDEFGH" for number in range(1, 5)]
FAMILIES = [f"family-{number}" for number in range(24)]
STYLES = ["plain", "terse", "chatty", "formal", "hurried"]
ALL = Wanted(capabilities=CAPABILITIES, families=FAMILIES, styles=STYLES, languages=["en", "de"])


def clash(chosen: frozenset[str]) -> bool:
    """Some capabilities that do not go together."""
    return not any(chosen >= {f"{group}1", "H4"} for group in "ABC") and not chosen >= {"D1", "D2"}


def test_a_thousand_cover_all_pairs_of_32() -> None:
    sets = [requirement.capabilities for requirement in plan(1_000, 7, ALL)]
    reachable = reachable_pairs(CAPABILITIES, ALL.compatible)
    assert len(reachable) == 496
    assert covered(sets[:150]).share_of(reachable) == 1
    coverage = covered(sets)
    assert len(coverage.singles) == 32
    assert len(coverage.triples) == 4_960
    assert max(coverage.singles.values()) <= 1.1 * min(coverage.singles.values())


def test_each_capability_is_alone_first() -> None:
    assert {requirement.capabilities for requirement in plan(32, 7, ALL)} == {(name,) for name in CAPABILITIES}


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 120))
def test_everything_comes_up_equally_often(seed: int, count: int) -> None:
    made = plan(count, seed, ALL)
    assert len(made) == count
    for field, kinds in (("family", 24), ("style", 5), ("language", 2)):
        counts = Counter(getattr(requirement, field) for requirement in made)
        slack = 2 if field == "style" else 5 if field == "language" else 1
        assert max(counts.values()) - (min(counts.values()) if len(counts) == kinds else 0) <= slack


@settings(max_examples=15)
@given(st.integers(0, 2**32))
def test_a_plan_is_determined_by_its_seed(seed: int) -> None:
    assert plan(60, seed, ALL) == plan(60, seed, ALL)
    assert plan(60, seed, ALL) != plan(60, seed + 1, ALL)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.tuples(st.integers(1, 4), st.integers(0, 4)))
def test_sets_go_together_are_in_order_and_have_the_size(seed: int, depth: tuple[int, int]) -> None:
    low, high = depth[0], sum(depth)
    made = plan(80, seed, Wanted(capabilities=CAPABILITIES, families=FAMILIES, compatible=clash, depth=(low, high)))
    for requirement in made:
        assert clash(frozenset(requirement.capabilities))
        assert list(requirement.capabilities) == sorted(set(requirement.capabilities), key=CAPABILITIES.index)
        assert low <= len(requirement.capabilities) <= high
    assert {len(requirement.capabilities) for requirement in made} == set(range(low, high + 1))


def test_only_pairs_that_go_together_count_and_are_all_reached() -> None:
    wanted = Wanted(capabilities=CAPABILITIES, families=FAMILIES, compatible=clash)
    reachable = reachable_pairs(CAPABILITIES, clash)
    assert len(reachable) == 496 - 4
    assert covered(requirement.capabilities for requirement in plan(200, 3, wanted)).share_of(reachable) == 1


def test_a_family_gets_only_what_fits_it() -> None:
    def fits(family: str, chosen: frozenset[str]) -> bool:
        return family != "family-3" or all(name[0] in "AB" for name in chosen)

    made = plan(240, 1, Wanted(capabilities=CAPABILITIES, families=FAMILIES, fits=fits))
    inside = [requirement for requirement in made if requirement.family == "family-3"]
    assert len(inside) == 10
    assert all(name[0] in "AB" for requirement in inside for name in requirement.capabilities)


def test_every_set_contains_what_it_must_and_only_allowed_sets_are_asked_for() -> None:
    pairs = [frozenset({"A1", "B2"}), frozenset({"C1", "H4"})]
    wanted = Wanted(
        capabilities=CAPABILITIES, families=FAMILIES, within=pairs, depth=(2, 5),
        allowed=lambda chosen: "A4" not in chosen,
    )  # fmt: skip
    made = plan(40, 1, wanted)
    counts = [sum(pair <= set(requirement.capabilities) for requirement in made) for pair in pairs]
    assert sum(counts) >= 40
    assert min(counts) >= 20
    assert not any("A4" in requirement.capabilities for requirement in made)


def test_what_a_set_must_contain_is_chosen_by_what_fits_its_family() -> None:
    def fits(family: str, chosen: frozenset[str]) -> bool:
        return family != "family-3" or "H4" not in chosen

    pairs = [frozenset({"A1", "B2"}), frozenset({"C1", "H4"})]
    made = plan(48, 1, Wanted(capabilities=CAPABILITIES, families=FAMILIES, within=pairs, fits=fits, depth=(2, 5)))
    assert all(pairs[0] <= set(each.capabilities) for each in made if each.family == "family-3")
    with pytest.raises(CannotCover, match="that contain what they must"):
        plan(48, 1, Wanted(capabilities=CAPABILITIES, families=FAMILIES, within=pairs[1:], fits=fits, depth=(2, 5)))


def test_heavier_capabilities_are_in_more_of_the_new_triples() -> None:
    def triples(weights: dict[str, int]) -> int:
        made = plan(200, 1, Wanted(capabilities=CAPABILITIES, families=FAMILIES, weights=weights))
        return sum(
            {"B4", "D3", "E2"} & set(triple) != set() for triple in covered(r.capabilities for r in made).triples
        )

    assert triples({"B4": 5, "D3": 5, "E2": 5}) > triples({})


def test_the_same_requirement_twice_is_counted() -> None:
    made = plan(5, 1, Wanted(capabilities=["A1"], families=["one"]))
    assert [requirement.index for requirement in made] == [0, 1, 2, 3, 4]
    assert len(set(made)) == 5


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(capabilities=[], families=FAMILIES), "at least one capability"),
        (Wanted(capabilities=CAPABILITIES, families=FAMILIES, depth=(3, 2)), "the depth 3 to 2"),
        (Wanted(capabilities=["A1", "A2"], families=FAMILIES, depth=(3, 4)), "no 3 to 4 capabilities go together"),
        (
            Wanted(capabilities=CAPABILITIES, families=["one"], fits=lambda family, chosen: False),
            "fit the family one",
        ),
    ],
)
def test_what_cannot_be_says_why(wanted: Wanted, message: str) -> None:
    with pytest.raises(CannotCover, match=message):
        plan(10, 1, wanted)


@given(st.lists(st.frozensets(st.sampled_from(CAPABILITIES[:6]), max_size=5), max_size=6))
def test_what_is_covered_is_what_sets_contain(sets: list[frozenset[str]]) -> None:
    coverage = covered(sets)
    for size, counts in ((1, coverage.singles), (2, coverage.pairs), (3, coverage.triples)):
        for names in combinations(CAPABILITIES[:6], size):
            key = names[0] if size == 1 else names
            assert counts.get(key, 0) == sum(each.issuperset(names) for each in sets)  # type: ignore[attr-defined]
