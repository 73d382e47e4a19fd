"""Losses: pure functions from log-probabilities and advantages to one number to minimise.

Knows formulas over flat tensors: one entry for each token that the policy wrote and that is trained on, whichever
episode it came from. Does not know models, padding or batches (`batches` makes these tensors), nor where an advantage
came from (`credit`).

In every formula, over tokens t: `l` is the log-probability under the model that is trained, `o` under the policy that
the ratio is taken to, `f` under the frozen reference, `A` the advantage, `w` the weight, `r = exp(l - o)`.

Each loss is a sum divided by `denominator`, a number that the caller counted over *all* that one update consists of,
every micro-batch of every process (`samples.trained`, `samples.sequences`). So gradients of the parts add up to the
gradient of the whole, however it was cut; a mean over each part would not. Only `l`, `values` and the policy's sums
carry a gradient; everything else is taken as a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
import torch
from torch import Tensor

Estimator: TypeAlias = Literal["k1", "k2", "k3"]
QUANTILES = (0.01, 0.5, 0.99)


class LossError(ValueError):
    """A loss was asked for what its tensors or numbers cannot give."""


class Tokens(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The trained tokens of a micro-batch, flat; all tensors (N,), N may be 0."""

    logprobs: Tensor
    """`l`; the only one with a gradient."""
    advantages: Tensor
    weights: Tensor
    lengths: Tensor
    """Sum of the weights of the trajectory that the token belongs to, in this micro-batch or not."""
    old: Tensor | None = None
    """`o`: of the sampling policy, or of the model before the update."""
    reference: Tensor | None = None
    """`f`."""
    entropy: Tensor | None = None
    """Of the distribution that each token was drawn from, in nats; only reported."""


class Measures(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What a loss saw, detached: kept by token, so that `summary` over the parts of an update is exact."""

    weights: Tensor
    log_ratios: Tensor | None = None
    """`l - o`."""
    clipped: Tensor | None = None
    """1 where clipping took the gradient away."""
    kl_reference: Tensor | None = None
    entropy: Tensor | None = None


class Loss(msgspec.Struct, frozen=True, eq=False):
    value: Tensor
    """Scalar, to call `backward` on."""
    measures: Measures


# --- from logits ---------------------------------------------------------------------------------------------


def token_logprobs(logits: Tensor, ids: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probability of each id: `x[id] - logsumexp(x)`, `x = logits / temperature`. (N, V), (N,) -> (N,).

    The same distribution as a sampler's with that temperature and nothing cut off. Half precision is widened to 32
    bits first. Raises LossError for a temperature that is not above 0.
    """
    return _chosen(_scaled(logits, temperature).log_softmax(-1), ids)


def entropy(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """`-sum p log p` in nats, `p = softmax(logits / temperature)`. (N, V) -> (N,). A logit may be -inf."""
    return _spread(_scaled(logits, temperature).log_softmax(-1))


def scored(logits: Tensor, ids: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """`token_logprobs`, and `entropy` without a gradient, from one log-softmax: each costs as much as a layer."""
    logprobs = _scaled(logits, temperature).log_softmax(-1)
    return _chosen(logprobs, ids), _spread(logprobs.detach())


def _chosen(logprobs: Tensor, ids: Tensor) -> Tensor:
    return logprobs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def _spread(logprobs: Tensor) -> Tensor:
    found: Tensor = -torch.linalg.vecdot(logprobs.exp(), logprobs)
    if bool(torch.isfinite(found).all()):
        return found
    return -(logprobs.exp() * logprobs.masked_fill(logprobs == -torch.inf, 0.0)).sum(-1)


def _scaled(logits: Tensor, temperature: float) -> Tensor:
    if not temperature > 0:
        raise LossError(f"a temperature of {temperature} has no probabilities to train on; sample with one above 0")
    wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    return wide if temperature == 1 else wide / temperature


# --- imitation -----------------------------------------------------------------------------------------------


def cross_entropy(tokens: Tokens, denominator: float) -> Loss:
    """`-sum w l / denominator`; advantages are not looked at. For demonstrations."""
    return Loss(-(tokens.weights * tokens.logprobs).sum() / _positive(denominator), _measures(tokens))


def awr(tokens: Tokens, denominator: float, *, beta: float = 1.0, cap: float = 20.0) -> Loss:
    """Advantage-weighted regression: `-sum w min(exp(A / beta), cap) l / denominator`.

    Peng, Kumar, Zhang, Levine 2019, eq. 9 and their clipping of weights. For logs of any policy; needs no `o`.
    """
    push = torch.exp(tokens.advantages / _positive(beta, "beta")).clamp(max=cap)
    return Loss(-(tokens.weights * push * tokens.logprobs).sum() / _positive(denominator), _measures(tokens))


# --- policy gradient -----------------------------------------------------------------------------------------


def reinforce(tokens: Tokens, denominator: float, *, cap: float | None = None) -> Loss:
    """`-sum w c A l / denominator`, with `c = min(r, cap)` held constant, or 1 without a cap.

    Williams 1992. RLOO (Kool et al. 2019; Ahmadian et al. 2024) is this with the leave-one-out baseline that the
    advantages have already. With a cap, the truncated importance sampling of `truncated_weights`.
    """
    push = tokens.advantages
    if cap is not None:
        push = push * truncated_weights(tokens.logprobs, _old(tokens), cap)
    return Loss(-(tokens.weights * push * tokens.logprobs).sum() / _positive(denominator), _measures(tokens))


def ppo_clip(tokens: Tokens, denominator: float, *, low: float = 0.2, high: float = 0.2) -> Loss:
    """`-sum w min(r A, clip(r, 1 - low, 1 + high) A) / denominator`.

    Schulman et al. 2017, eq. 7; `high` above `low` is "clip-higher" (Yu et al. 2025, DAPO, eq. 10).
    """
    terms, clipped = _clipped(tokens, low, high)
    return Loss((tokens.weights * terms).sum() / _positive(denominator), _measures(tokens, clipped))


def grpo(
    tokens: Tokens,
    denominator: float,
    *,
    low: float = 0.2,
    high: float = 0.2,
    beta: float = 0.0,
    length_normalised: bool = False,
) -> Loss:
    """`sum over trajectories i, their tokens t: w n_i (-min(r A, clip(r) A) + beta k3) / denominator`.

    Shao et al. 2024 (DeepSeekMath), eq. 3, is `length_normalised`: `n_i` is 1 / (the trajectory's weights), and the
    denominator the number of trajectories. Without it `n_i` is 1, the form of Liu et al. 2025 (Dr. GRPO), and the
    denominator a count of tokens or a constant. The other half of Dr. GRPO, not to scale by the deviation of a
    group's scores, was decided where the advantages were made (`processing`). `k3` is that of `kl`.
    """
    terms, clipped = _clipped(tokens, low, high)
    if beta:
        terms = terms + beta * kl(tokens.logprobs, _reference(tokens))
    weights = tokens.weights / tokens.lengths if length_normalised else tokens.weights
    return Loss((weights * terms).sum() / _positive(denominator), _measures(tokens, clipped))


def _clipped(tokens: Tokens, low: float, high: float) -> tuple[Tensor, Tensor]:
    """The clipped objective of each token, to minimise, and 1 where it has no gradient. (N,), (N,)."""
    if not (0 <= low < 1 and high >= 0):
        raise LossError(f"ratios cannot be clipped to 1 - {low} … 1 + {high}; low is in [0, 1), high at least 0")
    ratio = torch.exp(tokens.logprobs - _old(tokens).detach())
    free, held = ratio * tokens.advantages, ratio.clamp(1 - low, 1 + high) * tokens.advantages
    return -torch.minimum(free, held), (held < free).detach()


# --- off policy ----------------------------------------------------------------------------------------------


def truncated_weights(target: Tensor, behaviour: Tensor, cap: float) -> Tensor:
    """`min(exp(target - behaviour), cap)`, detached: importance weights with a bounded variance. (N,), (N,) -> (N,).

    Espeholt et al. 2018 (the `rho` of V-trace). Also between a trainer and an inference engine whose probabilities of
    the same weights differ (Yao et al. 2025): multiply them onto `Tokens.weights`.
    """
    return torch.exp(target.detach() - behaviour.detach()).clamp(max=_positive(cap, "cap"))


def kl(logprobs: Tensor, reference: Tensor, estimator: Estimator = "k3") -> Tensor:
    """Estimates of KL(policy ‖ reference) from tokens of the policy, `d = f - l`. (N,), (N,) -> (N,).

    `k1 = -d`, `k2 = d² / 2`, `k3 = exp(d) - 1 - d` (Schulman 2020, "Approximating KL divergence"). k1 and k3 have no
    bias, and k3 is never below 0. *As losses* they differ, on policy: the mean gradient of k2 is that of
    KL(policy ‖ reference), that of k3 is that of KL(reference ‖ policy), and that of k1 is 0.
    """
    difference = reference.detach() - logprobs
    if estimator == "k1":
        return -difference
    if estimator == "k2":
        return difference.square() / 2
    if estimator == "k3":
        return torch.expm1(difference) - difference
    raise LossError(f"no estimator is called {estimator!r}; there are k1, k2 and k3")


def kl_penalty(tokens: Tokens, denominator: float, estimator: Estimator = "k3") -> Tensor:
    """`sum w kl / denominator`, a scalar to add to any loss, times how much it shall matter."""
    return (tokens.weights * kl(tokens.logprobs, _reference(tokens), estimator)).sum() / _positive(denominator)


# --- pairs and values ----------------------------------------------------------------------------------------


def sequence_sums(values: Tensor, sequences: Tensor) -> tuple[Tensor, Tensor]:
    """Sums over the tokens of each trajectory: (N,), (N,) numbers -> (S,) numbers, ascending, and (S,) sums."""
    numbers, places = torch.unique(sequences, sorted=True, return_inverse=True)
    return numbers, values.new_zeros(len(numbers)).index_add(0, places, values)


def dpo(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    denominator: float,
    *,
    beta: float = 0.1,
) -> tuple[Tensor, Tensor]:
    """`-sum log sigmoid(m) / denominator`, `m = beta ((chosen - its reference) - (rejected - its reference))`.

    Rafailov et al. 2023, eq. 7; log-probabilities of whole trajectories (P,), see `sequence_sums`; the denominator is
    the number of pairs. Returns the loss and the margins `m` (P,), detached: above 0 where the pair is told apart.
    """
    margins = beta * ((chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach()))
    return -torch.nn.functional.logsigmoid(margins).sum() / _positive(denominator), margins.detach()


def value_loss(
    values: Tensor,
    returns: Tensor,
    weights: Tensor,
    denominator: float,
    *,
    old: Tensor | None = None,
    clip: float | None = None,
) -> Tensor:
    """`sum w (v - R)² / 2 / denominator`, over decisions; (D,) each.

    With `clip`, `max((v - R)², (old + clip(v - old, ±clip) - R)²)` in place of the square (Schulman et al.'s
    implementation of PPO), `old` being the values before the update.
    """
    error = (values - returns.detach()).square()
    if clip is not None:
        if old is None:
            raise LossError("values are clipped around the old ones, and there are none; give them, or do not clip")
        near = old.detach() + (values - old.detach()).clamp(-clip, clip)
        error = torch.maximum(error, (near - returns.detach()).square())
    return (weights * error).sum() / 2 / _positive(denominator)


# --- what was seen -------------------------------------------------------------------------------------------


def summary(parts: Sequence[Measures]) -> dict[str, float]:
    """Figures of an update from all its parts: weighted means over tokens, and quantiles of the ratio.

    `tokens` (sum of their weights); `entropy`; `kl_old`, `r - 1 - log r`, which is KL(old ‖ policy) for tokens that the
    old one sampled; `kl_reference` (k3); `clip_fraction`; `ratio_q01`, `ratio_q50`, `ratio_q99`, `ratio_max`. What
    was not measured in every part, or had no token, is left out.
    """
    weights = torch.cat([part.weights for part in parts]) if parts else torch.zeros(0)
    figures = {"tokens": float(weights.sum())}
    if not figures["tokens"]:
        return figures
    columns = {
        "entropy": [part.entropy for part in parts],
        "kl_reference": [part.kl_reference for part in parts],
        "clip_fraction": [part.clipped for part in parts],
        "ratio": [part.log_ratios for part in parts],
    }
    for name, column in columns.items():
        found = [values for values in column if values is not None]
        if len(found) < len(parts):
            continue
        values = torch.cat(found).to(weights.dtype)
        if name == "ratio":
            figures["kl_old"] = float((weights * (values.expm1() - values)).sum() / weights.sum())
            figures |= {f"ratio_q{100 * q:02.0f}": float(values.quantile(q).exp()) for q in QUANTILES}
            figures["ratio_max"] = float(values.max().exp())
        else:
            figures[name] = float((weights * values).sum() / weights.sum())
    return figures


def _measures(tokens: Tokens, clipped: Tensor | None = None) -> Measures:
    with torch.no_grad():
        return Measures(
            weights=tokens.weights.detach(),
            log_ratios=None if tokens.old is None else tokens.logprobs - tokens.old,
            clipped=clipped,
            kl_reference=None if tokens.reference is None else kl(tokens.logprobs, tokens.reference),
            entropy=None if tokens.entropy is None else tokens.entropy.detach(),
        )


def _positive(number: float, name: str = "denominator") -> float:
    if not number > 0:
        raise LossError(f"{name} is {number}; it must be above 0")
    return number


def _old(tokens: Tokens) -> Tensor:
    if tokens.old is None:
        raise LossError("this loss compares with the policy that sampled, and its log-probabilities are not there")
    return tokens.old


def _reference(tokens: Tokens) -> Tensor:
    if tokens.reference is None:
        raise LossError("this loss compares with a reference model, and its log-probabilities are not there")
    return tokens.reference
