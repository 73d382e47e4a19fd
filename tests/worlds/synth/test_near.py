"""Near-duplicates: found without comparing all pairs, and none of them missed; measures of variety."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.near import (
    SLOTS,
    Index,
    Pair,
    edit_distance,
    evenness,
    four_gram_overlap,
    mean_edit_distance,
    near_between,
    near_duplicates,
    overlap,
    rows_for,
    shingles,
    signature,
)
from coworkenv.worlds.synth.origin import Draw

WORDS = ["please", "refund", "order", "lamp", "desk", "Amara", "Okafor", "invoice", "and", "for", "Ghent", "165", "120"]
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def drawn(key: str, count: int, words: int) -> dict[str, str]:
    """Texts, of which many are others with some words replaced."""
    draw, texts = Draw(key.encode()), list[list[str]]()
    for _ in range(count):
        if texts and draw.below(4):
            text = list(draw.choice(texts))
            for _ in range(draw.below(1 + words // 6)):
                text[draw.below(words)] = draw.choice(WORDS)
        else:
            text = [draw.choice(WORDS) for _ in range(words)]
        texts.append(text)
    return {f"t{number}": " ".join(text) for number, text in enumerate(texts)}


@given(SENTENCES, SENTENCES)
def test_likeness_is_symmetric_and_between_0_and_1(a: str, b: str) -> None:
    assert 0 <= overlap(a, b) <= 1
    assert overlap(a, b) == overlap(b, a)
    assert overlap(a, a) == bool(a)


def test_likeness_looks_through_case_and_white_space() -> None:
    assert overlap("Please  refund\nMs OKAFOR.", "please refund ms okafor.") == 1
    assert overlap("refund the lamp", "book a hotel") == 0
    assert overlap("abcdef", "abcdeg") == pytest.approx(1 / 3)
    assert overlap("", "") == 0


@pytest.mark.parametrize("words", [4, 16, 80, 200])
@pytest.mark.parametrize("threshold", [0.3, 0.8])
def test_none_is_missed_and_likeness_is_exact(words: int, threshold: float) -> None:
    texts = drawn(f"{words}", 150, words)
    found = near_duplicates(texts, threshold)
    grams = {name: shingles(text) for name, text in texts.items()}
    exact = [
        Pair(a, b, len(grams[a] & grams[b]) / len(grams[a] | grams[b]))
        for a, b in combinations(texts, 2)
        if len(grams[a] & grams[b]) >= threshold * len(grams[a] | grams[b])
    ]
    assert sorted(found) == sorted(exact)
    assert len(exact) > 20


def test_across_two_sets_only_pairs_across_count() -> None:
    left, right = (
        {"a": "refund the lamp", "b": "refund the lamp"},
        {"c": "Refund the lamp", "d": "book a hotel in Lyon"},
    )
    assert near_between(left, right) == [Pair("a", "c", 1.0), Pair("b", "c", 1.0)]


@given(st.dictionaries(st.integers(0, 99).map(str), SENTENCES, max_size=12), st.data())
def test_pairs_across_are_those_within_the_union(texts: dict[str, str], data: st.DataObject) -> None:
    names = list(texts)
    cut = data.draw(st.integers(0, len(names)))
    left, right = ({name: texts[name] for name in part} for part in (names[:cut], names[cut:]))
    within = [pair for pair in near_duplicates(texts, 0.5) if pair.a in left and pair.b in right]
    assert near_between(left, right, 0.5) == within


def test_signatures_are_the_same_on_every_machine() -> None:
    assert signature(shingles("Please refund Ms Okafor for the lamp."))[:3] == (1165350278, 2427198977, 2448001154)


@given(st.frozensets(st.text(min_size=5, max_size=5), min_size=1), st.randoms())
def test_a_signature_is_of_the_set(grams: frozenset[str], random: object) -> None:
    other = sorted(grams)
    random.shuffle(other)  # type: ignore[attr-defined]
    assert signature(other) == signature(grams)
    assert len(signature(grams)) == SLOTS


def test_texts_without_anything_in_them_are_like_nothing() -> None:
    index = Index(0.1)
    assert index.add("empty", " ") == []
    assert index.add("also", "") == []
    assert index.near("") == []


@given(st.floats(0.2, 1.0))
def test_bands_find_what_is_at_the_threshold(threshold: float) -> None:
    rows = rows_for(threshold, 1e-4)
    assert rows == 1 or (1 - threshold**rows) ** (SLOTS // rows) <= 1e-4


def test_repeated_phrases_show_as_overlap() -> None:
    assert four_gram_overlap(["please refund the lamp today", "book me a room in Lyon"]) == 0
    assert four_gram_overlap(["please refund the lamp today", "please refund the lamp tomorrow"]) == 0.5
    assert four_gram_overlap(["please refund the lamp"] * 3) == 1
    assert four_gram_overlap(["too short", ""]) == 0


def test_evenness() -> None:
    assert evenness([5, 5, 5, 5]) == pytest.approx(1)
    assert evenness([20, 0, 0, 0]) == 0
    assert 0 < evenness([17, 1, 1, 1]) < 0.7
    assert evenness([3]) == evenness([]) == evenness([0, 0]) == 0


@given(*[st.text("abc", max_size=8)] * 3)
def test_edit_distance_is_a_metric(a: str, b: str, c: str) -> None:
    assert (edit_distance(a, b) == 0) is (a == b)
    assert edit_distance(a, b) == edit_distance(b, a) <= max(len(a), len(b))
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)


def test_mean_edit_distance() -> None:
    assert edit_distance("kitten", "sitting") == 3
    assert mean_edit_distance([["find"], ["find"]]) == 0
    assert mean_edit_distance([["find", "ask"], ["find", "create"], ["find", "ask"]]) == pytest.approx(1 / 3)
    many = [["find"] * (number % 5) for number in range(200)]
    assert mean_edit_distance(many, 400) == mean_edit_distance(many, 400) == pytest.approx(0.6, abs=0.1)
    assert mean_edit_distance([["find"]]) == 0
