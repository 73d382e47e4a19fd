"""How a token is drawn from logits, and how probable it was.

Knows samplers and logits. Does not know models, batches or where the numbers in [0, 1) come from.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .decisions import Sampler


class NoDistribution(ArithmeticError):
    """Logits from which nothing can be drawn: the weights are broken, or nothing is allowed."""


def drawn(
    logits: Tensor, samplers: Sequence[Sampler], uniform: Tensor, allowed: Sequence[Sequence[int] | None] = ()
) -> tuple[Tensor, Tensor]:
    """A token for each row, and its log-probability in the distribution that it was drawn from.

    (B, V), B samplers, (B,) float64 in [0, 1) -> (B,) ids, (B,) float32. By the inverse of the cumulated distribution,
    `u -> the first id whose cumulated probability is above u`, so a row depends on its own logits and number alone. At
    temperature 0 it is the most probable token, with its log-probability at temperature 1. `allowed` are the only ids
    that a row may draw, None for all; like `top_k` and `top_p` it makes the others impossible and what is left sum to
    1. Raises NoDistribution.
    """
    scores = _scores(logits, samplers, allowed)
    spread = scores.logsumexp(-1, keepdim=True)
    if not bool(torch.isfinite(spread).all()):
        raise NoDistribution("the model's logits are not finite, so no token can be drawn; its weights are broken")
    cumulated = (scores - spread).double().exp().cumsum(-1)
    total = cumulated[:, -1:]
    # Below the total also where the product was rounded up to it: an id of probability 0 is never drawn.
    target = torch.minimum(uniform.unsqueeze(-1) * total, torch.nextafter(total, torch.zeros_like(total)))
    ids = torch.searchsorted(cumulated, target, right=True)
    cold = [not sampler.temperature for sampler in samplers]
    if any(cold):
        ids = torch.where(torch.tensor(cold, device=ids.device).unsqueeze(-1), scores.argmax(-1, keepdim=True), ids)
    return ids.squeeze(-1), (scores.gather(-1, ids) - spread).squeeze(-1)


def _scores(logits: Tensor, samplers: Sequence[Sampler], allowed: Sequence[Sequence[int] | None]) -> Tensor:
    """Logits of the distribution that is drawn from. (B, V) float32, -inf for what cannot be drawn."""
    scores = logits.float()
    if any(sampler.temperature not in (0, 1) for sampler in samplers):
        heat = [sampler.temperature or 1.0 for sampler in samplers]
        scores = scores / torch.tensor(heat, dtype=torch.float32, device=scores.device).unsqueeze(-1)
    narrow = {place: ids for place, ids in enumerate(allowed) if ids is not None}
    cut = [place for place, sampler in enumerate(samplers) if sampler.top_k or sampler.top_p < 1]
    if narrow or cut:
        scores = scores.clone()
    for place, ids in narrow.items():
        scores[place] = _only(scores[place], ids)
    for place in cut:
        scores[place] = _narrowed(scores[place], samplers[place])
    return scores


def _only(scores: Tensor, ids: Sequence[int]) -> Tensor:
    if not ids:
        raise NoDistribution("no token is allowed here; a grammar must at least allow the end")
    index = torch.tensor(list(ids), device=scores.device)
    return torch.full_like(scores, -torch.inf).index_copy(0, index, scores[index])


def _narrowed(scores: Tensor, sampler: Sampler) -> Tensor:
    """The scores, with -inf for what `top_k`, and then `top_p` of what is left (Holtzman et al. 2020), leave out."""
    ordered, order = scores.sort(descending=True, stable=True)
    if sampler.top_k:
        ordered[sampler.top_k :] = -torch.inf
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    out = (before >= sampler.top_p) | (ordered == -torch.inf)
    out[0] = False
    return scores.index_fill(0, order[out], -torch.inf)
