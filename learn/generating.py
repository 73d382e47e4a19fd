"""Decoding: many rows at once, each going on from what its life has in the cache already.

Knows causal models of `transformers` and batches. Does not know episodes, or who waits for whom (`policy`).

What a row draws is a function of its own seed. What is new of its prompt is read by itself, without padding; then all
rows write together, token by token. So the others of a batch touch a row only through the shape of the batch: the same
rows in the same order give the same bits, and what a neighbour reads or writes changes none of them unless it changes
how many rows there are, or how long the longest is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from ..engine.draw import Drawer
from .caching import GROWTH, Kept, Pack, Shelf
from .drawing import drawn
from .student import Asked, Sampled

KEEP = 2 << 30
"""Bytes that caches may take between turns."""


PIECE = 512
"""Tokens of a prompt that are read at once."""


class GivenUp(Exception):
    """Nobody waits for this batch any more."""


class Generator:
    """A model that writes. `ends` are the ids that end a turn; they are part of what was written.

    It computes with as many threads as torch was told to use where it was made.
    """

    def __init__(self, model: Any, ends: Iterable[int], keep: int = KEEP) -> None:
        """`keep`: bytes that caches may take between turns; the lives that have waited longest lose theirs first."""
        self._model = model
        self._ends = frozenset(ends)
        self._shelf = Shelf(keep)
        self._threads = torch.get_num_threads()
        _check(model)

    @property
    def kept(self) -> int:
        """Bytes that caches take."""
        return self._shelf.bytes

    def __contains__(self, life: object) -> bool:
        """Whether anything is kept of a life."""
        return life in self._shelf

    def forget(self, life: object | None = None) -> None:
        """Drop what is kept of a life, or, after the weights have changed, of all."""
        if life is None:
            self._shelf.clear()
        else:
            self._shelf.drop(life)

    @torch.inference_mode()
    def generate(self, rows: Sequence[Asked], given_up: Callable[[], bool] = lambda: False) -> list[Sampled]:
        """Go on with every row, in this order; a life may be asked once in a batch.

        `given_up` is asked before each prompt and each token. Raises GivenUp, drawing.NoDistribution, and ValueError
        for a row that has no prompt or no room, or a life that is there twice. After any error nothing is kept of these
        lives.
        """
        if not rows:
            return []
        _check_rows(rows)
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)  # Each thread of Python has a number of its own, once it has computed.
        training = self._model.training
        self._model.eval()
        try:
            batch = _Batch(self._model, [_Row(row, self._ends) for row in rows], given_up)
            batch.read([self._shelf.take(row.life, row.prompt) for row in rows])
            while batch.live:
                batch.step()
        finally:
            self._model.train(training)
        self._shelf.keep([(row.life, kept) for row, kept in zip(rows, batch.kept, strict=True)])
        return batch.sampled()


def _check_rows(rows: Sequence[Asked]) -> None:
    for row in rows:
        if not row.prompt or row.tokens < 1:
            raise ValueError(f"a prompt of {len(row.prompt)} tokens and room for {row.tokens}: both must be above 0")
    if len({row.life for row in rows}) < len(rows):
        raise ValueError("a life was asked twice in one batch; it can only go on in one way")


def _check(model: Any) -> None:
    """Raises ValueError if a model cannot be served here."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
    if kinds:
        raise ValueError(
            f"{type(model).__name__} has layers of the kind {min(kinds)}, whose state cannot be kept and gone back in; "
            "serve it with an inference server"
        )
    attention = getattr(config, "_attn_implementation", "eager")
    if attention not in ("eager", "sdpa"):
        raise ValueError(
            f"attention is {attention}; load the model with eager or sdpa attention to sample from it here"
        )


class _Row:
    """One row: what was asked, and what has been written."""

    def __init__(self, asked: Asked, ends: frozenset[int]) -> None:
        self.asked = asked
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.done = False
        self._ends = ends
        self._numbers = Drawer([asked.seed], 0, "token")

    def number(self) -> float:
        """The number from which the next token is drawn: the n-th of its seed for the n-th token."""
        return 0.0 if self.done else self._numbers.fraction()

    def allowed(self) -> Sequence[int] | None:
        return None if self.done or self.asked.allowed is None else self.asked.allowed(self.ids)

    def write(self, token: int, logprob: float) -> None:
        self.ids.append(token)
        self.logprobs.append(logprob)
        self.done = len(self.ids) >= self.asked.tokens or token in self._ends

    def sampled(self) -> Sampled:
        return Sampled(tuple(self.ids), tuple(self.logprobs), "stop" if self.ids[-1] in self._ends else "length")


class _Batch:
    """Rows while they are decoded. Once half of them have ended, the others go on in a smaller batch.

    The last token of every prompt stands in the same column, so a row begins where its prompt's length says.
    """

    def __init__(self, model: Any, rows: Sequence[_Row], given_up: Callable[[], bool]) -> None:
        self._model = model
        self._given_up = given_up
        self._device = model.get_input_embeddings().weight.device
        # Renamed in transformers 5.
        self._cache_name = "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
        self._rows = rows
        self.kept: list[Kept] = [Kept([]) for _ in rows]
        """What is to be kept of each row, once it has ended."""
        self._active = list(range(len(rows)))
        """The row that stands at each place of the pack."""
        lengths, rooms = [len(row.asked.prompt) for row in rows], [row.asked.tokens for row in rows]
        self._end = max(lengths)
        """Columns of the pack that are filled."""
        self._firsts = [self._end - length for length in lengths]
        """The first column of each place."""
        self._pack = Pack.empty(_layers(model), len(rows), self._end + min(max(rooms), GROWTH))
        self._positions = torch.tensor(lengths, device=self._device).unsqueeze(-1)
        self._last_positions = self._positions + torch.tensor(rooms, device=self._device).unsqueeze(-1) - 1
        self._mask = torch.ones((len(rows), self._end + max(rooms)), dtype=torch.int64, device=self._device)
        for place, first in enumerate(self._firsts):
            self._mask[place, :first] = 0

    @property
    def live(self) -> bool:
        return bool(self._active)

    def sampled(self) -> list[Sampled]:
        return [row.sampled() for row in self._rows]

    # --- reading -------------------------------------------------------------------------------------------

    def read(self, kept: Sequence[Kept]) -> None:
        """Read what is new of every prompt, and write the first token.

        One by one: they are of different lengths, one keeps the processor busy, and each is computed as if alone. A
        prompt that another life has just begun with as well is computed once.
        """
        seen: dict[tuple[int, ...], int] = {}
        logits: list[Tensor] = []
        for place, (row, known) in enumerate(zip(self._rows, kept, strict=True)):
            prompt, first = tuple(row.asked.prompt), self._firsts[place]
            twin = seen.get(prompt) if not known.ids else None
            if twin is None:
                logits.append(self._read_one(place, prompt, known))
            else:
                logits.append(logits[twin])
                self._pack.copy(place, self._end, self._pack.kept(twin, first, list(prompt)))
            if not known.ids:
                seen.setdefault(prompt, place)
            self._pack.clear(place, first)
        self._cache = self._pack.window(slice(None), 0, self._end)
        self._draw(torch.cat(logits))

    def _read_one(self, place: int, prompt: Sequence[int], known: Kept) -> Tensor:
        first, count = self._firsts[place], len(known.ids)
        self._pack.copy(place, first + count, known)
        cache = self._pack.window(slice(place, place + 1), first, first + count)
        for start in range(count, len(prompt), PIECE):
            piece = torch.tensor([prompt[start : start + PIECE]], device=self._device)
            positions = torch.arange(start, start + piece.shape[1], device=self._device).unsqueeze(0)
            logits = self._forward(piece, None, positions, cache)
        return logits

    def _forward(self, ids: Tensor, mask: Tensor | None, positions: Tensor, cache: Any) -> Tensor:
        """(rows, V): the logits of the last column."""
        if self._given_up():
            raise GivenUp("nobody waits for this batch any more")
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": positions, self._cache_name: cache}
        logits: Tensor = self._model(**given, use_cache=True, logits_to_keep=1).logits
        return logits[:, -1]

    # --- writing -------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Write one more token in every row."""
        mask = self._mask[:, : self._end + 1]
        logits = self._forward(self._last.unsqueeze(-1), mask, self._positions, self._cache)
        self._end += 1
        # Rows that have ended compute on for nothing; not where the model may have no positions any more.
        self._positions = torch.minimum(self._positions + 1, self._last_positions)
        self._draw(logits)

    def _draw(self, logits: Tensor) -> None:
        rows = [self._rows[number] for number in self._active]
        uniform = torch.tensor([row.number() for row in rows], dtype=torch.float64, device=self._device)
        samplers = [row.asked.sampler for row in rows]
        self._last, logprobs = drawn(logits, samplers, uniform, [row.allowed() for row in rows])
        for row, token, logprob in zip(rows, self._last.tolist(), logprobs.tolist(), strict=True):
            if not row.done:
                row.write(token, logprob)
        staying = [place for place, row in enumerate(rows) if not row.done]
        if 2 * len(staying) <= len(rows):
            self._leave(staying)

    def _leave(self, staying: Sequence[int]) -> None:
        """Keep what rows that have ended have in the cache, and go on with the others alone."""
        for place in sorted(set(range(len(self._active))) - set(staying)):
            row = self._rows[self._active[place]]
            ids = [*row.asked.prompt, *row.ids[:-1]]  # What was drawn last has not been read yet.
            self.kept[self._active[place]] = self._pack.kept(place, self._firsts[place], ids)
        self._active = [self._active[place] for place in staying]
        if not staying:
            return
        rows, first = torch.tensor(staying, device=self._device), min(self._firsts[place] for place in staying)
        self._pack = self._pack.select(rows, first, self._end)
        self._last, self._mask = self._last[rows], self._mask[rows, first:]
        self._positions, self._last_positions = self._positions[rows], self._last_positions[rows]
        self._firsts = [self._firsts[place] - first for place in staying]
        self._end -= first
        self._cache = self._pack.window(slice(None), 0, self._end)


def _layers(model: Any) -> int:
    return int(model.config.get_text_config().num_hidden_layers)
