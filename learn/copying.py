"""Exercises in copying, of random tokens: what `pocket` is warmed up on before it sees a demonstration.

Knows ids. Does not know what they stand for: no text, name, tool or workflow is in them, so a model that has done them
knows nothing about any environment. What it can do afterwards is to say again what it has read.

First short blocks, repeated once: the shortest way to the two layers that copy together. Then, with texts up to a
demonstration's length, pieces out of a block, and values that stand behind their names, looked up by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

_SHORT = 32
_ROWS = 32
_LENGTHS = (64, 128, 256, 512, 768)
_TOKENS = 2048
"""Tokens of a step with long texts."""
_PIECE = 40


class Exercise(NamedTuple):
    """Ids (rows, length), int64, and which of them can be told from what stands before them (rows, length), bool."""

    ids: Tensor
    copied: Tensor


def long_exercise(done: float, lowest: int, highest: int, generator: torch.Generator) -> Exercise:
    """What is looked up in texts of several lengths. `done`, from 0 to 1, says how far a warm-up has come with them:
    at first they are short, and from the half on they are of all lengths. Ids are from `lowest` to before `highest`.
    """
    upto = min(len(_LENGTHS), 3 + int(4 * done))
    length = _LENGTHS[int(torch.randint(upto, (), generator=generator))]
    return lookups(max(1, _TOKENS // length), length, lowest, highest, generator)


def short_exercise(lowest: int, highest: int, generator: torch.Generator) -> Exercise:
    """Short blocks, said again at once."""
    return blocks(_ROWS, _SHORT, lowest, highest, generator)


def blocks(rows: int, length: int, lowest: int, highest: int, generator: torch.Generator) -> Exercise:
    """Rows of random tokens in which one block is written twice in a row, all of its tokens but the first copied."""
    size = int(torch.randint(length // 4, length // 2 + 1, (), generator=generator))
    ids = torch.randint(lowest, highest, (rows, length), generator=generator)
    ids[:, size : 2 * size] = ids[:, :size]
    copied = torch.zeros(rows, length, dtype=torch.bool)
    copied[:, size + 1 : 2 * size] = True
    return Exercise(ids, copied)


def lookups(rows: int, length: int, lowest: int, highest: int, generator: torch.Generator) -> Exercise:
    """Rows that are either a block and pieces of it, or records and what is looked up in them."""
    ids = torch.zeros(rows, length, dtype=torch.int64)
    copied = torch.zeros(rows, length, dtype=torch.bool)
    for row in range(rows):
        drawn = _Drawn(lowest, highest, 4 * length, generator)
        parts = _pieces(length, drawn) if drawn.number(0, 2) == 0 else _records(length, drawn)
        tokens, marks = [], []
        for token, mark in parts:
            tokens.append(token)
            marks.append(mark)
            if len(tokens) == length:
                break
        ids[row], copied[row] = torch.tensor(tokens), torch.tensor(marks)
    return Exercise(ids, copied)


def _pieces(length: int, drawn: _Drawn) -> Iterator[tuple[int, bool]]:
    """A block, and then pieces of it without end. A piece's first token says which it is."""
    block = drawn.tokens(drawn.number(max(8, length // 8), length // 2))
    yield from ((token, False) for token in block)
    while True:
        start = drawn.number(0, len(block) - 4)
        piece = block[start : start + drawn.number(4, _PIECE)]
        yield drawn.token(), False
        yield from ((token, place > 0) for place, token in enumerate(piece))


def _records(length: int, drawn: _Drawn) -> Iterator[tuple[int, bool]]:
    """Names with their values, as a record has them, and then names whose values are to be said, without end."""
    between, behind, asks, elsewhere = drawn.tokens(4)
    records = [
        (drawn.tokens(drawn.number(1, 3)), drawn.tokens(drawn.number(1, 5)))
        for _ in range(drawn.number(2, max(3, length // 16)))
    ]
    for name, value in records:
        yield from ((token, False) for token in (*name, between, *value, behind))
    while True:
        name, value = records[drawn.number(0, len(records) - 1)]
        # Either written as it was, or with something else between, as a value is in another text.
        same = bool(drawn.number(0, 1))
        yield from (
            (token, False) for token in (asks if same else elsewhere, *name, between if same else drawn.token())
        )
        yield from ((token, True) for token in value)
        yield behind, same


class _Drawn:
    """Numbers and tokens out of a generator, many at once."""

    def __init__(self, lowest: int, highest: int, count: int, generator: torch.Generator) -> None:
        self._numbers: list[float] = []
        self._tokens: list[int] = []
        self._lowest, self._highest, self._count, self._generator = lowest, highest, count, generator

    def number(self, low: int, high: int) -> int:
        """One of `low` to `high`."""
        if not self._numbers:
            self._numbers = torch.rand(self._count, generator=self._generator, dtype=torch.float64).tolist()
        return low + int(self._numbers.pop() * (high - low + 1))

    def token(self) -> int:
        if not self._tokens:
            self._tokens = torch.randint(
                self._lowest, self._highest, (self._count,), generator=self._generator
            ).tolist()
        return self._tokens.pop()

    def tokens(self, count: int) -> list[int]:
        return [self.token() for _ in range(count)]
