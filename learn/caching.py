"""Key–value caches: of the rows of one batch, and of lives between their turns.

Knows how `transformers` asks a cache. Does not know models, prompts or sampling.

The rows of a batch stand in one block of memory for each layer, (rows, heads, columns, size), every row with its last
prompt token in the same column and no gap in it. A new token is written into the block; nothing is copied for it. What
is kept of a life is a view of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

GROWTH = 64
"""Columns by which a block grows."""

Sides = tuple[Tensor, Tensor]
"""Keys and values."""


class Block:
    """Keys and values of one layer, for all rows of a batch."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows = rows
        self._columns = columns
        self.sides: Sides | None = None
        """None until it is known how large they are."""

    def reserve(self, like: Sides, used: int, columns: int) -> Sides:
        """Keys and values with at least so many columns, of which `used` are written. `like`: (…, heads, …, size)."""
        old = self.sides
        if old is not None and old[0].shape[2] >= columns:
            return old
        room = max(self._columns, columns) if old is None else columns + GROWTH
        keys, values = (side.new_empty((self._rows, side.shape[-3], room, side.shape[-1])) for side in like)
        if old is not None:
            keys[:, :, :used], values[:, :, :used] = old[0][:, :, :used], old[1][:, :, :used]
        self.sides = keys, values
        return self.sides

    def row(self, row: int, first: int, end: int) -> Sides:
        """Some columns of a row: views (heads, columns, size)."""
        assert self.sides is not None
        return self.sides[0][row, :, first:end], self.sides[1][row, :, first:end]

    def put(self, row: int, end: int, what: Sides) -> None:
        """Write keys and values (heads, columns, size) into a row, up to a column."""
        for side, new in zip(self.reserve(what, 0, end), what, strict=True):
            side[row, :, end - new.shape[1] : end] = new

    def clear(self, row: int, end: int) -> None:
        """Have zeros before a column: what is masked is multiplied all the same, and must be finite."""
        assert self.sides is not None
        for side in self.sides:
            side[row, :, :end] = 0

    def select(self, rows: Tensor, first: int, end: int) -> Block:
        """These rows and columns alone, as a block of their own."""
        assert self.sides is not None
        chosen = Block(len(rows), end - first + GROWTH)
        for new, old in zip(chosen.reserve(self.sides, 0, end - first), self.sides, strict=True):
            new[:, :, : end - first] = old[rows, :, first:end]
        return chosen


class Pack:
    """The blocks of all layers. What is kept of a life holds on to the whole pack that its row is in."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks

    @classmethod
    def empty(cls, layers: int, rows: int, columns: int) -> Pack:
        return cls([Block(rows, columns) for _ in range(layers)])

    @property
    def bytes(self) -> int:
        return sum(side.nbytes for block in self._blocks for side in block.sides or ())

    def window(self, rows: slice, first: int, end: int) -> Any:
        """Some rows as a cache of `transformers`: columns from `first` to `end` are filled, what is new goes behind."""
        return Cache(layers=[_Layer(block, rows, first, end) for block in self._blocks])

    def copy(self, row: int, end: int, kept: Kept) -> None:
        """Write what is kept of a life into a row, up to a column."""
        for block, what in zip(self._blocks, kept.layers, strict=False):
            block.put(row, end, what)

    def clear(self, row: int, end: int) -> None:
        for block in self._blocks:
            block.clear(row, end)

    def kept(self, row: int, first: int, ids: list[int]) -> Kept:
        """A row, from a column on, as what is kept of a life."""
        return Kept(ids, [block.row(row, first, first + len(ids)) for block in self._blocks], self)

    def select(self, rows: Tensor, first: int, end: int) -> Pack:
        return Pack([block.select(rows, first, end) for block in self._blocks])


class Kept:
    """What has been computed of one life: `ids`, and for each layer its keys and values (heads, ids, size)."""

    def __init__(self, ids: list[int], layers: Sequence[Sides] = (), pack: Pack | None = None) -> None:
        self.ids = ids
        self.layers = layers
        self.pack = pack

    def first(self, count: int) -> Kept:
        """The part of it that belongs to so many ids."""
        layers = [(keys[:, :count], values[:, :count]) for keys, values in self.layers]
        return Kept(self.ids[:count], layers, self.pack) if count else Kept([])


class _Layer(DynamicLayer):
    """What a model sees of a block: some rows, from a column on."""

    def __init__(self, block: Block, rows: slice, first: int, end: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.is_initialized = True
        self._block, self._rows, self._first, self._end = block, rows, first, end

    def get_seq_length(self, *_: Any) -> int:
        return self._end - self._first

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Sides:
        start, self._end = self._end, self._end + key_states.shape[-2]
        keys, values = self._block.reserve((key_states, value_states), start, self._end)
        keys[self._rows, :, start : self._end] = key_states
        values[self._rows, :, start : self._end] = value_states
        return keys[self._rows, :, self._first : self._end], values[self._rows, :, self._first : self._end]


class Shelf:
    """What is kept of lives between their turns, within so many bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[object, Kept] = {}
        """In the order in which they were last used."""

    def take(self, life: object, prompt: Sequence[int]) -> Kept:
        """What is kept of a life and fits `prompt` without its last id, as far as it does; it is no longer kept."""
        kept = self._kept.pop(life, None)
        if kept is None:
            return Kept([])
        most = min(len(kept.ids), len(prompt) - 1)
        if kept.ids[:most] == list(prompt[:most]):
            return kept.first(most)
        return kept.first(next(place for place in range(most) if kept.ids[place] != prompt[place]))

    def keep(self, lives: Sequence[tuple[object, Kept]]) -> None:
        """Keep these, and drop those that have waited longest until the rest fits."""
        for life, kept in lives:
            self._kept.pop(life, None)
            self._kept[life] = kept
        while self._kept and self.bytes > self._limit:
            del self._kept[next(iter(self._kept))]

    def drop(self, life: object) -> None:
        self._kept.pop(life, None)

    def clear(self) -> None:
        self._kept.clear()

    def __contains__(self, life: object) -> bool:
        return life in self._kept

    @property
    def bytes(self) -> int:
        """Memory that it takes."""
        packs = {id(kept.pack): kept.pack for kept in self._kept.values()}
        return sum(pack.bytes for pack in packs.values() if pack is not None)
