"""Batches: from samples to the tensors that a loss reads, and log-probabilities from a model.

Knows padding, and how to ask a causal model of `transformers` for the probability of what was written. Does not know
the formulas of losses, how samples are packed (`samples`), or optimisers.

Only trained tokens reach the flat tensors, so nothing at any other position can have a gradient, and the large matrix
of the head is multiplied only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .losses import Tokens, scored
from .samples import Sample, Span

CHUNK = 1 << 26
"""Logits computed at once, as numbers (256 MiB of 32 bits). More are done in pieces, and again when going back."""


class Batch(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A micro-batch: B rows padded on the right to T; N trained tokens; D decisions, with or without weight."""

    ids: Tensor
    """(B, T) int64."""
    positions: Tensor
    """(B, T) int64, from 0 in each row."""
    rows: Tensor
    """(N,) int64: where each trained token is predicted, the position *before* it."""
    columns: Tensor
    targets: Tensor
    """(N,) int64: the ids that were written."""
    advantages: Tensor
    weights: Tensor
    lengths: Tensor
    sequences: Tensor
    """(N,) int64."""
    old: Tensor | None
    """(N,), or None where the log does not say for every token."""
    reference: Tensor | None
    decision_rows: Tensor
    """(D,) int64: the last position of each decision's prompt, in the order of samples and spans."""
    decision_columns: Tensor
    returns: Tensor
    """(D,)."""
    decision_weights: Tensor

    def tokens(self, scored: Scored) -> Tokens:
        """What a loss over tokens takes."""
        return Tokens(
            logprobs=scored.logprobs,
            advantages=self.advantages,
            weights=self.weights,
            lengths=self.lengths,
            old=self.old,
            reference=self.reference,
            entropy=scored.entropy,
        )

    def to(self, device: torch.device | str) -> Batch:
        moved = {
            name: value.to(device) for name, value in msgspec.structs.asdict(self).items() if isinstance(value, Tensor)
        }
        return msgspec.structs.replace(self, **moved)


def collate(given: Sequence[Sample], pad: int = 0) -> Batch:
    """Tensors of a micro-batch, on the CPU. `pad` may be any id of the vocabulary: it is never read.

    No samples give one row of a single padding id and N = D = 0.
    """
    width = max((len(sample.ids) for sample in given), default=1)
    height = max(len(given), 1)
    ids = torch.full((height, width), pad, dtype=torch.int64)
    for row, sample in enumerate(given):
        ids[row, : len(sample.ids)] = torch.tensor(sample.ids, dtype=torch.int64)
    spans = [(row, sample, span) for row, sample in enumerate(given) for span in sample.spans]
    live = [(row, sample, span, place) for row, sample, span in spans if span.weight for place in _places(span)]
    return Batch(
        ids=ids,
        positions=torch.arange(width).expand(height, width).contiguous(),
        rows=_whole([row for row, *_ in live]),
        columns=_whole([place - 1 for *_, place in live]),
        targets=_whole([sample.ids[place] for _, sample, _, place in live]),
        advantages=_real([span.advantage for *_, span, _ in live]),
        weights=_real([span.weight for *_, span, _ in live]),
        lengths=_real([sample.length for _, sample, *_ in live]),
        sequences=_whole([sample.sequence for _, sample, *_ in live]),
        old=_known([span.logprobs for *_, span in spans if span.weight]),
        reference=_known([span.reference for *_, span in spans if span.weight]),
        decision_rows=_whole([row for row, *_ in spans]),
        decision_columns=_whole([span.start - 1 for *_, span in spans]),
        returns=_real([span.returns for *_, span in spans]),
        decision_weights=_real([span.weight for *_, span in spans]),
    )


def _places(span: Span) -> range:
    return range(span.start, span.stop)


def _whole(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)


def _real(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _known(parts: list[tuple[float, ...] | None]) -> Tensor | None:
    """All of them one after the other, or None if one is not known."""
    known = [part for part in parts if part is not None]
    return _real([value for part in known for value in part]) if len(known) == len(parts) else None


# --- scoring -------------------------------------------------------------------------------------------------


class Scored(NamedTuple):
    logprobs: Tensor
    """(N,) of the targets, with gradients."""
    entropy: Tensor
    """(N,) nats, detached."""
    states: Tensor
    """(D, H): what the last layer says at the end of each decision's prompt, for a value head."""
    values: Tensor | None = None
    """(D,): what the value head makes of them, with gradients for the head alone."""


class Scorer(nn.Module):
    """`forward_logprobs` as a module: what `accelerate` or DistributedDataParallel must wrap in place of the model.

    They add gradients up over processes only for what goes through the forward of the module that they wrapped. So a
    value head, from (D, H) to (D,), is in here as well.
    """

    def __init__(self, model: nn.Module, head: nn.Module | None = None) -> None:
        super().__init__()
        self.model = model
        self.head = head

    def forward(self, batch: Batch, temperature: float = 1.0) -> Scored:
        scored = forward_logprobs(self.model, batch, temperature)
        if self.head is None:
            return scored
        return scored._replace(values=self.head(scored.states.detach()))


def forward_logprobs(model: nn.Module, batch: Batch, temperature: float = 1.0) -> Scored:
    """Scores what was written under a causal model of `transformers`.

    The layers run over (B, T); the head over the N predicting positions only, where `plain_head` finds one; else all
    logits are made and those positions taken.
    """
    # No mask: padding stands on the right, where nothing that is read looks, and attention without one is fused.
    inputs = {"input_ids": batch.ids, "position_ids": batch.positions}
    parts = plain_head(model)
    if parts is None:
        output = model(**inputs, use_cache=False, output_hidden_states=True)
        hidden, logits = output.hidden_states[-1], output.logits[batch.rows, batch.columns]
        logprobs, spread = scored(logits, batch.targets, temperature)
    else:
        body, head = parts
        hidden = body(**inputs, use_cache=False).last_hidden_state
        logprobs, spread = _through(head, hidden[batch.rows, batch.columns], batch.targets, temperature)
    return Scored(logprobs, spread, hidden[batch.decision_rows, batch.decision_columns])


def _through(head: nn.Module, hidden: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """The head and the probabilities after it; in pieces that are computed again, where there are many logits."""

    def piece(states: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        return scored(head(states), ids, temperature)

    size = max(CHUNK // int(getattr(head, "out_features", 1 << 16)), 1)
    if len(hidden) <= size:
        return piece(hidden, targets)
    done = [
        checkpoint(piece, states, ids, use_reentrant=False)
        for states, ids in zip(torch.split(hidden, size), torch.split(targets, size), strict=True)
    ]
    return torch.cat([logprobs for logprobs, _ in done]), torch.cat([spread for _, spread in done])


_plain: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
"""By model, what `plain_head` has found out."""


def plain_head(model: Any) -> tuple[nn.Module, nn.Module] | None:
    """(layers, head) where logits are exactly the head of the layers' last hidden state, else None.

    Found out once for each model by running two ids: the head must be given just what the layers returned, and what
    the head returns (replaced by numbers from -200 to 200 meanwhile) must be the logits. A cap or a scale shows,
    however small the logits of an untrained model are.
    """
    body, head = getattr(model, "base_model", None), getattr(model, "get_output_embeddings", lambda: None)()
    if not isinstance(body, nn.Module) or body is model or not isinstance(head, nn.Module):
        return None
    if model not in _plain:
        _plain[model] = _is_plain(model, body, head)
    return (body, head) if _plain[model] else None


def _is_plain(model: nn.Module, body: nn.Module, head: nn.Module) -> bool:
    seen: dict[str, Any] = {}

    def from_body(_: nn.Module, __: Any, output: Any) -> None:
        seen["hidden"] = getattr(output, "last_hidden_state", None)

    def from_head(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        seen["given"] = inputs[0]
        seen["said"] = torch.linspace(-200, 200, output.numel()).to(output).reshape(output.shape)
        return seen["said"]  # type: ignore[no-any-return]

    hooks = [body.register_forward_hook(from_body), head.register_forward_hook(from_head)]
    device = next(model.parameters()).device
    try:
        with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            logits = model(input_ids=torch.tensor([[0, 1]], device=device), use_cache=False).logits
    finally:
        for hook in hooks:
            hook.remove()
    hidden = seen.get("hidden")
    if hidden is None or "given" not in seen:
        return False
    return torch.equal(seen["given"], hidden) and torch.equal(logits.float(), seen["said"].float())
