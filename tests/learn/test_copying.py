"""Exercises in copying: random, and yet what is marked can be told from what stands before it."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.copying import Exercise, blocks, exercise, lookups

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


@given(st.integers(0, 1 << 30), st.integers(0, 99))
def test_exercises_follow_from_a_seed_and_have_no_special_ids(seed: int, step: int) -> None:
    one, two = (exercise(step, 100, 7, 30, made(seed)) for _ in range(2))
    assert torch.equal(one.ids, two.ids)
    assert torch.equal(one.copied, two.copied)
    assert one.ids.shape == one.copied.shape
    assert 7 <= int(one.ids.min()) <= int(one.ids.max()) < 30


def test_a_warm_up_comes_to_texts_as_long_as_demonstrations() -> None:
    lengths = [exercise(step, 100, 7, 1000, made(step)).ids.shape[1] for step in range(100)]
    assert set(lengths[:50]) == {32}
    assert max(lengths[50:60]) < max(lengths) == 768
