"""Exercises in copying: random, and yet what is marked can be told from what stands before it."""

import random

import torch
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.copying import Exercise, blocks, known, long_exercise, lookups, short_exercise

LOWEST, HIGHEST = 7, 1 << 40
"""So many ids that none is drawn twice by chance."""


def made(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def foretold(given: Exercise) -> float:
    """The share of marked tokens that stood in their row before."""
    right = 0
    for row, marks in zip(given.ids.tolist(), given.copied.tolist(), strict=True):
        for place in (place for place, mark in enumerate(marks) if mark):
            right += row[place] in row[:place]
    return right / int(given.copied.sum())


@given(st.integers(0, 1 << 30), st.integers(8, 64))
def test_a_block_is_followed_by_itself(seed: int, length: int) -> None:
    given = blocks(4, length, LOWEST, HIGHEST, made(seed))
    size = int(given.copied[0].sum()) + 1
    assert torch.equal(given.ids[:, :size], given.ids[:, size : 2 * size])
    assert foretold(given) == 1.0


@given(st.integers(0, 1 << 30), st.sampled_from([64, 200]))
def test_what_is_looked_up_was_read_before(seed: int, length: int) -> None:
    given = lookups(4, length, LOWEST, HIGHEST, made(seed))
    if bool(given.copied.any()):
        assert foretold(given) == 1.0


def test_many_rows_are_of_few_kinds_of_tokens_and_many_are_not() -> None:
    given = lookups(200, 256, LOWEST, HIGHEST, made(0))
    kinds = [len(set(row[marks].tolist())) for row, marks in zip(given.ids, given.copied, strict=True)]
    assert sum(count <= 24 for count in kinds) > 70
    assert sum(count > 24 for count in kinds) > 50


@given(st.integers(0, 1 << 30))
def test_a_piece_is_known_where_no_other_place_begins_alike(seed: int) -> None:
    drawn = random.Random(seed)
    block = [drawn.randrange(3) for _ in range(40)]
    start = drawn.randrange(36)
    length = drawn.randint(1, 40 - start)
    piece = block[start : start + length]
    places = [[at for at in range(40) if block[at : at + read] == piece[:read]] for read in range(1, length + 1)]
    assert known(block, start, length) == next((n for n, at in enumerate(places, 1) if at == [start]), length)


@given(st.integers(0, 1 << 30), st.floats(0, 1))
def test_exercises_follow_from_a_seed_and_have_no_special_ids(seed: int, done: float) -> None:
    for make in (lambda g: short_exercise(7, 30, g), lambda g: long_exercise(done, 7, 30, g)):
        one, two = (make(made(seed)) for _ in range(2))
        assert torch.equal(one.ids, two.ids)
        assert torch.equal(one.copied, two.copied)
        assert one.ids.shape == one.copied.shape
        assert 7 <= int(one.ids.min()) <= int(one.ids.max()) < 30


def test_a_warm_up_comes_to_texts_as_long_as_demonstrations() -> None:
    def longest(done: float) -> int:
        return max(long_exercise(done, 7, 1000, made(seed)).ids.shape[1] for seed in range(20))

    assert longest(0.0) == 256
    assert longest(0.5) == longest(1.0) == 768
