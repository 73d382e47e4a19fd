"""Exercises in copying, of random tokens: what `pocket` is warmed up on before it sees a demonstration.

Knows ids. Does not know what they stand for: no text, name, tool or workflow is in them, so a model that has done them
knows nothing about any environment. What it can do afterwards is to say again what it has read.

First short blocks, repeated once: the shortest way to the two layers that copy together. Then, with texts up to a
demonstration's length, pieces out of a block, and values that stand behind their names, looked up by name. Half of
these texts are written in a few kinds of tokens, as numbers are in ten digits: where one is in them is told by several
tokens together, and a model that looks at the one before alone loses its way.
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
_NAME = (1, 4)
_VALUE = (1, 8)
_FEW = (6, 24)


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
    """A block, and then pieces of it without end. A piece's first tokens say which it is."""
    block = drawn.text(max(8, length // 8), length // 2)
    yield from ((token, False) for token in block)
    while True:
        start = drawn.number(0, len(block) - 4)
        piece = block[start : start + drawn.number(4, _PIECE)]
        yield drawn.token(), False
        first = known(block, start, len(piece))
        yield from ((token, place >= first) for place, token in enumerate(piece))


def known(block: list[int], start: int, length: int) -> int:
    """After how many tokens it is certain that they are those from `start`; `length` if never."""
    alike = [place for place in range(len(block)) if place != start]
    for read in range(length):
        alike = [place for place in alike if block[place + read : place + read + 1] == [block[start + read]]]
        if not alike:
            return read + 1
    return length


def _records(length: int, drawn: _Drawn) -> Iterator[tuple[int, bool]]:
    """Names with their values, as a record has them, and then names whose values are to be said, without end."""
    between, behind, asks, elsewhere = (drawn.token() for _ in range(4))
    named = {
        tuple(drawn.text(*_NAME)): tuple(drawn.text(*_VALUE)) for _ in range(drawn.number(2, max(3, length // 16)))
    }
    records = list(named.items())
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
    """Numbers and tokens out of a generator, many at once, for one row."""

    def __init__(self, lowest: int, highest: int, count: int, generator: torch.Generator) -> None:
        self._numbers: list[float] = []
        self._tokens: list[int] = []
        self._lowest, self._highest, self._count, self._generator = lowest, highest, count, generator
        self._few = [self.token() for _ in range(self.number(*_FEW))] if self.number(0, 1) else []

    def number(self, low: int, high: int) -> int:
        """One of `low` to `high`."""
        if not self._numbers:
            self._numbers = torch.rand(self._count, generator=self._generator, dtype=torch.float64).tolist()
        return low + int(self._numbers.pop() * (high - low + 1))

    def token(self) -> int:
        """One of all."""
        if not self._tokens:
            self._tokens = torch.randint(
                self._lowest, self._highest, (self._count,), generator=self._generator
            ).tolist()
        return self._tokens.pop()

    def text(self, shortest: int, longest: int) -> list[int]:
        """So many tokens: of all, or in this row of few kinds."""
        length = self.number(shortest, longest)
        if not self._few:
            return [self.token() for _ in range(length)]
        return [self._few[self.number(0, len(self._few) - 1)] for _ in range(length)]
