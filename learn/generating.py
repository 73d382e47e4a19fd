"""Decoding: many rows at once, each going on from what its life has in the cache already.

Knows causal models of `transformers`, key–value caches and how a token is drawn. Does not know episodes, or who waits
for whom (`policy`). What a row draws is a function of its own seed; what it computes depends on the others only through
the shapes of the batch, so the same rows in the same order give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from typing import Any

import msgspec
import torch
from torch import Tensor
from transformers import DynamicCache

from .decisions import Sampler
from .student import Asked, Sampled


class _Kept(msgspec.Struct, eq=False):
    """What the cache knows of one life: `ids`, and for each layer keys and values (heads, ids, size)."""

    ids: list[int]
    layers: list[tuple[Tensor, Tensor]]


class Generator:
    """A model that writes. `ends` are the ids that end a turn."""

    def __init__(self, model: Any, ends: Iterable[int], keep: int = 1 << 31) -> None:
        """`keep`: bytes that caches may take; the lives that have waited longest lose theirs first."""
        self._model = model
        self._ends = frozenset(ends)
        self._keep = keep
        self._kept: dict[object, _Kept] = {}
        config = model.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._token_bytes = 2 * config.num_hidden_layers * heads * size * next(model.parameters()).element_size()

    def forget(self, life: object | None = None) -> None:
        """Drop what is kept of a life, or, after the weights have changed, of all."""
        if life is None:
            self._kept.clear()
        else:
            self._kept.pop(life, None)

    @torch.inference_mode()
    def generate(self, rows: Sequence[Asked]) -> list[Sampled]:
        """Go on with every row, in this order."""
        self._model.eval()
        batch = _Batch(self._model, rows, [self._common(row) for row in rows], self._ends)
        while batch.live:
            batch.step()
        for row, kept in zip(rows, batch.kept, strict=True):
            self._kept.pop(row.life, None)
            self._kept[row.life] = kept
        self._evict()
        return batch.sampled()

    def _common(self, row: Asked) -> _Kept:
        """The part of what is kept of a life with which its prompt begins; the last id is always computed."""
        kept = self._kept.get(row.life)
        if kept is None:
            return _Kept([], [])
        most = min(len(kept.ids), len(row.prompt) - 1)
        same = most if list(row.prompt[:most]) == kept.ids[:most] else _shared(row.prompt, kept.ids, most)
        return _Kept(kept.ids[:same], [(keys[:, :same], values[:, :same]) for keys, values in kept.layers])

    def _evict(self) -> None:
        total = sum(len(kept.ids) for kept in self._kept.values()) * self._token_bytes
        while total > self._keep and self._kept:
            oldest = next(iter(self._kept))
            total -= len(self._kept.pop(oldest).ids) * self._token_bytes


def _shared(one: Sequence[int], other: Sequence[int], most: int) -> int:
    return next((place for place in range(most) if one[place] != other[place]), most)


class _Batch:
    """Rows while they are decoded. Those that have ended leave the batch once they are half of it."""

    def __init__(self, model: Any, rows: Sequence[Asked], kept: Sequence[_Kept], ends: frozenset[int]) -> None:
        self._model = model
        self._rows = rows
        self._ends = ends
        self._device = next(model.parameters()).device
        self._ids: list[list[int]] = [[] for _ in rows]
        self._logprobs: list[list[float]] = [[] for _ in rows]
        self._uniform = [_uniform(row.seed, row.tokens) for row in rows]
        self.kept: list[_Kept] = [_Kept([], []) for _ in rows]
        self._active = list(range(len(rows)))
        """The row that stands at each place of the batch."""
        self._cache, self._mask = _packed(kept, self._device)
        # Renamed in transformers 5.
        self._cache_name = "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
        self._prompt([len(each.ids) for each in kept])

    @property
    def live(self) -> bool:
        return any(not self._done(row) for row in self._active)

    def _done(self, row: int) -> bool:
        ids = self._ids[row]
        return len(ids) >= self._rows[row].tokens or (bool(ids) and ids[-1] in self._ends)

    def _prompt(self, known: Sequence[int]) -> None:
        """Read what is new of every prompt, padded on the left."""
        fresh = [row.prompt[start:] for row, start in zip(self._rows, known, strict=True)]
        width = max(map(len, fresh))
        ids = torch.zeros((len(fresh), width), dtype=torch.int64)
        mask, positions = torch.zeros_like(ids), torch.zeros_like(ids)
        for place, (new, start) in enumerate(zip(fresh, known, strict=True)):
            ids[place, width - len(new) :] = torch.tensor(list(new))
            mask[place, width - len(new) :] = 1
            positions[place, width - len(new) :] = torch.arange(start, start + len(new))
        self._position = torch.tensor([[len(row.prompt)] for row in self._rows], device=self._device)
        self._forward(ids.to(self._device), mask.to(self._device), positions.to(self._device))

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor) -> None:
        self._mask = torch.cat([self._mask, mask], dim=1)
        output = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: self._cache},
        )
        self._draw(output.logits[:, -1])

    def _draw(self, logits: Tensor) -> None:
        rows = [self._rows[row] for row in self._active]
        uniform = torch.tensor(
            [float(self._uniform[row][len(self._ids[row])]) if not self._done(row) else 0.0 for row in self._active],
            dtype=torch.float64,
        ).to(logits.device)
        ids, logprobs = drawn(logits, [row.sampler for row in rows], uniform)
        for row, token, logprob in zip(self._active, ids.tolist(), logprobs.tolist(), strict=True):
            if not self._done(row):
                self._ids[row].append(token)
                self._logprobs[row].append(logprob)
        self._last = ids
        self._leave()

    def _leave(self) -> None:
        """Keep the caches of rows that have ended, and let the batch shrink where that pays."""
        staying = [place for place, row in enumerate(self._active) if not self._done(row)]
        if staying and 2 * len(staying) > len(self._active):
            return
        leaving = range(len(self._active)) if not staying else sorted(set(range(len(self._active))) - set(staying))
        for place in leaving:
            self._keep_row(place)
        if staying:
            index = torch.tensor(staying, device=self._device)
            self._cache.batch_select_indices(index)
            self._mask, self._position, self._last = self._mask[index], self._position[index], self._last[index]
        self._active = [self._active[place] for place in staying]

    def _keep_row(self, place: int) -> None:
        row = self._active[place]
        ids = [*self._rows[row].prompt, *self._ids[row]][:-1]  # what was drawn last has not been read yet
        where = self._mask[place].nonzero().squeeze(-1)[: len(ids)]
        self.kept[row] = _Kept(
            ids, [(layer.keys[place][:, where], layer.values[place][:, where]) for layer in self._cache.layers]
        )

    def step(self) -> None:
        """Write one more token in every row."""
        ones = torch.ones((len(self._active), 1), dtype=torch.int64, device=self._device)
        positions = self._position
        self._position = self._position + 1
        self._forward(self._last.unsqueeze(-1), ones, positions)

    def sampled(self) -> list[Sampled]:
        return [
            Sampled(tuple(ids), tuple(logprobs), "stop" if ids[-1] in self._ends else "length")
            for ids, logprobs in zip(self._ids, self._logprobs, strict=True)
        ]


def _packed(kept: Sequence[_Kept], device: torch.device) -> tuple[DynamicCache, Tensor]:
    """The caches of all rows as one, padded on the left, and which of it is real."""
    width = max(len(each.ids) for each in kept)
    mask = torch.zeros((len(kept), width), dtype=torch.int64, device=device)
    if width == 0:
        return DynamicCache(), mask
    first = next(each for each in kept if each.ids)
    layers = []
    for number, sides in enumerate(first.layers):
        packed = []
        for side, like in enumerate(sides):
            whole = like.new_zeros((len(kept), like.shape[0], width, like.shape[2]))
            for place, each in enumerate(kept):
                if each.ids:
                    whole[place, :, width - len(each.ids) :] = each.layers[number][side]
            packed.append(whole)
        layers.append((packed[0], packed[1]))
    for place, each in enumerate(kept):
        mask[place, width - len(each.ids) :] = 1
    return DynamicCache(layers), mask


def _uniform(seed: int, count: int) -> list[float]:
    """Numbers in [0, 1), of this seed alone."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, generator=generator, dtype=torch.float64).tolist()


def drawn(logits: Tensor, samplers: Sequence[Sampler], uniform: Tensor) -> tuple[Tensor, Tensor]:
    """A token for each row, and its log-probability in the distribution that it was drawn from.

    (B, V), B samplers, (B,) in [0, 1) -> (B,) ids, (B,). By the inverse of the cumulated distribution. At temperature 0
    it is the most probable token, with its log-probability at temperature 1.
    """
    wide = logits.float()
    heat = torch.tensor([sampler.temperature or 1.0 for sampler in samplers], device=wide.device).unsqueeze(-1)
    scores = wide / heat
    for place, sampler in enumerate(samplers):
        if sampler.top_k or sampler.top_p < 1:
            scores[place] = _narrowed(scores[place], sampler)
    logprobs = scores.log_softmax(-1)
    cumulated = logprobs.double().exp().cumsum(-1)
    ids = torch.searchsorted(cumulated, (uniform * cumulated[:, -1]).unsqueeze(-1), right=True).squeeze(-1)
    greedy = torch.tensor([sampler.temperature == 0 for sampler in samplers], device=wide.device)
    ids = torch.where(greedy, wide.argmax(-1), ids.clamp(max=wide.shape[-1] - 1))
    return ids, logprobs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def _narrowed(scores: Tensor, sampler: Sampler) -> Tensor:
    """The scores, with -inf for what `top_k` and `top_p` leave out (Holtzman et al. 2020)."""
    order = scores.argsort(descending=True, stable=True)
    probabilities = scores[order].softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    out = before >= sampler.top_p
    if sampler.top_k:
        out[sampler.top_k :] = True
    out[0] = False
    return scores.index_fill(0, order[out], -torch.inf)
