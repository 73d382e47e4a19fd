"""Each loss and its gradient equal a formula written again, in plain Python floats or with torch's own functional."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from coworkenv.learn import losses
from coworkenv.learn.losses import LossError, Tokens

torch.set_num_threads(1)

Row = tuple[float, float, float, float, float, int]
"""New, old and reference log-probability, advantage, weight, trajectory."""
logprob = st.floats(-6, 0, width=32)
rows = st.lists(
    st.tuples(logprob, logprob, logprob, st.floats(-3, 3, width=32), st.floats(0.25, 2, width=32), st.integers(0, 2)),
    min_size=1,
    max_size=9,
)
denominators = st.floats(0.5, 50)


def lengths(table: list[Row]) -> list[float]:
    return [sum(row[4] for row in table if row[5] == mine) for *_, mine in table]


def tokens(table: list[Row]) -> Tokens:
    n, o, f, a, w = (torch.tensor(column, dtype=torch.float64) for column in list(zip(*table, strict=True))[:5])
    spread = torch.tensor(lengths(table), dtype=torch.float64)
    return Tokens(logprobs=n.requires_grad_(), old=o, reference=f, advantages=a, weights=w, lengths=spread)


def clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def same(found: Tensor, of: Tensor, wanted: Callable[[list[float]], float]) -> None:
    """Value and gradient, the latter against central differences of the plain formula."""
    at = of.detach().tolist()
    assert float(found.detach()) == pytest.approx(wanted(at), rel=1e-5, abs=1e-5)
    (gradient,) = torch.autograd.grad(found, of)
    for place, slope in enumerate(gradient.tolist()):
        up, down = list(at), list(at)
        up[place] += 1e-6
        down[place] -= 1e-6
        assert slope == pytest.approx((wanted(up) - wanted(down)) / 2e-6, rel=1e-5, abs=1e-5)


def away_from_kinks(table: list[Row], *edges: float) -> bool:
    return all(abs(math.exp(n - o) - edge) > 1e-3 for n, o, *_ in table for edge in edges)


# --- from logits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 0.7, 2.5])
def test_log_probabilities_of_tokens_and_their_gradient_are_those_of_log_softmax(temperature: float) -> None:
    logits = torch.randn(7, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    ids = torch.tensor([0, 10, 3, 3, 5, 1, 9])
    found = losses.token_logprobs(logits, ids, temperature)
    wanted = -functional.cross_entropy(logits / temperature, ids, reduction="none")
    torch.testing.assert_close(found, wanted)
    push = torch.linspace(-2, 3, 7, dtype=torch.float64)
    (mine,) = torch.autograd.grad((push * found).sum(), logits)
    (other,) = torch.autograd.grad((push * wanted).sum(), logits)
    torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_entropy_and_its_gradient_are_those_of_a_categorical_distribution(temperature: float) -> None:
    logits = torch.randn(5, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    found = losses.entropy(logits, temperature)
    wanted = torch.distributions.Categorical(logits=logits / temperature).entropy()
    torch.testing.assert_close(found, wanted)
    (mine,) = torch.autograd.grad(found.sum(), logits)
    (other,) = torch.autograd.grad(wanted.sum(), logits)
    torch.testing.assert_close(mine, other)


def test_an_id_that_cannot_be_drawn_spoils_neither_entropy_nor_its_gradient() -> None:
    logits = torch.tensor([[1.0, 1.0, -torch.inf]], requires_grad=True)
    found = losses.entropy(logits)
    assert found.item() == pytest.approx(math.log(2))
    found.sum().backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_half_precision_is_widened_before_probabilities_are_made() -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(3)).bfloat16()
    ids = torch.tensor([4, 5, 6])
    assert losses.token_logprobs(logits, ids).dtype is torch.float32
    assert torch.equal(losses.token_logprobs(logits, ids), losses.token_logprobs(logits.float(), ids))


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_without_probabilities_is_refused(temperature: float) -> None:
    with pytest.raises(LossError, match="temperature"):
        losses.token_logprobs(torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64), temperature)


# --- losses over tokens --------------------------------------------------------------------------------------


@given(rows, denominators)
def test_cross_entropy(table: list[Row], denominator: float) -> None:
    t = tokens(table)
    same(
        losses.cross_entropy(t, denominator).value,
        t.logprobs,
        lambda ls: -sum(w * n for n, (_, _, _, _, w, _) in zip(ls, table, strict=True)) / denominator,
    )


def test_cross_entropy_is_torchs_mean_where_all_weights_are_1() -> None:
    logits = torch.randn(6, 13, dtype=torch.float64, generator=torch.Generator().manual_seed(4)).requires_grad_()
    ids = torch.tensor([1, 2, 3, 4, 5, 12])
    one = torch.ones(6, dtype=torch.float64)
    t = Tokens(logprobs=losses.token_logprobs(logits, ids), advantages=one, weights=one, lengths=6 * one)
    found, wanted = losses.cross_entropy(t, 6).value, functional.cross_entropy(logits, ids)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.autograd.grad(found, logits), torch.autograd.grad(wanted, logits))


@given(rows, denominators)
def test_reinforce(table: list[Row], denominator: float) -> None:
    t = tokens(table)
    same(
        losses.reinforce(t, denominator).value,
        t.logprobs,
        lambda ls: -sum(w * a * n for n, (_, _, _, a, w, _) in zip(ls, table, strict=True)) / denominator,
    )


@given(rows, denominators, st.floats(0.5, 5))
def test_reinforce_with_truncated_importance_holds_the_ratio_constant(
    table: list[Row], denominator: float, cap: float
) -> None:
    t = tokens(table)
    ratios = [min(math.exp(n - o), cap) for n, o, *_ in table]
    same(
        losses.reinforce(t, denominator, cap=cap).value,
        t.logprobs,
        lambda ls: (
            -sum(w * c * a * n for n, c, (_, _, _, a, w, _) in zip(ls, ratios, table, strict=True)) / denominator
        ),
    )


def surrogate(n: float, row: Row, low: float, high: float) -> float:
    _, o, _, a, _, _ = row
    ratio = math.exp(n - o)
    return min(ratio * a, clip(ratio, 1 - low, 1 + high) * a)


@given(rows.filter(lambda table: away_from_kinks(table, 0.8, 1.3)), denominators)
def test_ppo_clip(table: list[Row], denominator: float) -> None:
    t = tokens(table)
    same(
        losses.ppo_clip(t, denominator, low=0.2, high=0.3).value,
        t.logprobs,
        lambda ls: -sum(row[4] * surrogate(n, row, 0.2, 0.3) for n, row in zip(ls, table, strict=True)) / denominator,
    )


@given(rows.filter(lambda table: away_from_kinks(table, 0.8, 1.2)))
def test_ppo_clip_has_no_gradient_exactly_where_it_says_so(table: list[Row]) -> None:
    t = tokens(table)
    loss = losses.ppo_clip(t, 1)
    (gradient,) = torch.autograd.grad(loss.value, t.logprobs)
    assert loss.measures.clipped is not None
    live = t.advantages != 0
    assert torch.equal((gradient == 0)[live], loss.measures.clipped.bool()[live])


def k3(n: float, f: float) -> float:
    return math.exp(f - n) - 1 - (f - n)


@given(rows.filter(lambda table: away_from_kinks(table, 0.8, 1.28)), st.floats(0, 0.5), st.booleans())
def test_grpo_both_ways_to_normalise(table: list[Row], beta: float, length_normalised: bool) -> None:
    """As TRL says it: `grpo` is the mean over sequences of their token means, `dr_grpo` a sum over a constant."""
    t = tokens(table)
    denominator = len({row[5] for row in table}) if length_normalised else 17.0

    def wanted(ls: list[float]) -> float:
        terms = [
            row[4] * (-surrogate(n, row, 0.2, 0.28) + beta * k3(n, row[2])) for n, row in zip(ls, table, strict=True)
        ]
        if not length_normalised:
            return sum(terms) / 17
        total = 0.0
        for mine in {row[5] for row in table}:
            here = [place for place, row in enumerate(table) if row[5] == mine]
            total += sum(terms[place] for place in here) / sum(table[place][4] for place in here)
        return total / denominator

    found = losses.grpo(t, denominator, low=0.2, high=0.28, beta=beta, length_normalised=length_normalised)
    same(found.value, t.logprobs, wanted)


@given(rows, denominators, st.floats(0.25, 3), st.floats(1, 20))
def test_awr(table: list[Row], denominator: float, beta: float, cap: float) -> None:
    t = tokens(table)
    same(
        losses.awr(t, denominator, beta=beta, cap=cap).value,
        t.logprobs,
        lambda ls: (
            -sum(w * min(math.exp(a / beta), cap) * n for n, (_, _, _, a, w, _) in zip(ls, table, strict=True))
            / denominator
        ),
    )


@given(rows, denominators)
def test_kl_penalties(table: list[Row], denominator: float) -> None:
    t = tokens(table)
    formulas: dict[losses.Estimator, Callable[[float, float], float]] = {
        "k1": lambda n, f: n - f,
        "k2": lambda n, f: (n - f) ** 2 / 2,
        "k3": k3,
    }
    for name, formula in formulas.items():
        same(
            losses.kl_penalty(t, denominator, name),
            t.logprobs,
            lambda ls, formula=formula: (
                sum(row[4] * formula(n, row[2]) for n, row in zip(ls, table, strict=True)) / denominator
            ),
        )


def test_what_kl_estimators_are_on_average_and_what_their_gradients_are() -> None:
    """Enumerated over a vocabulary of 5: the docstring of `kl` says which estimator has which mean gradient."""
    draw = torch.Generator().manual_seed(5)
    logits = torch.randn(5, dtype=torch.float64, generator=draw).requires_grad_()
    reference = torch.randn(5, dtype=torch.float64, generator=draw).log_softmax(0)
    policy = logits.log_softmax(0)
    forward = (policy.exp() * (policy - reference)).sum()
    backward = (reference.exp() * (reference - policy)).sum()

    def gradient(value: Tensor) -> Tensor:
        return torch.autograd.grad(value, logits, retain_graph=True)[0]

    means = {}
    for name in ("k1", "k2", "k3"):
        estimates = losses.kl(policy, reference, name)
        means[name] = (policy.exp().detach() * estimates).sum()
    torch.testing.assert_close(means["k1"], forward)
    torch.testing.assert_close(means["k3"], forward)
    torch.testing.assert_close(gradient(means["k1"]), torch.zeros(5, dtype=torch.float64))
    torch.testing.assert_close(gradient(means["k2"]), gradient(forward))
    torch.testing.assert_close(gradient(means["k3"]), gradient(backward))


def test_at_the_policy_that_sampled_all_policy_gradients_are_the_same() -> None:
    table: list[Row] = [(-1.0, -1.0, 0.0, 0.5, 1.0, 0), (-2.0, -2.0, 0.0, -1.5, 1.0, 0), (-0.5, -0.5, 0.0, 1.0, 1.0, 1)]
    t = tokens(table)
    wanted = torch.autograd.grad(losses.reinforce(t, 3).value, t.logprobs)
    for loss in (losses.reinforce(t, 3, cap=2), losses.ppo_clip(t, 3), losses.grpo(t, 3)):
        torch.testing.assert_close(torch.autograd.grad(loss.value, t.logprobs), wanted)


@given(st.lists(st.tuples(logprob, logprob), min_size=1), st.floats(0.1, 10))
def test_truncated_weights(pairs: list[tuple[float, float]], cap: float) -> None:
    target = torch.tensor([a for a, _ in pairs], dtype=torch.float64, requires_grad=True)
    found = losses.truncated_weights(target, torch.tensor([b for _, b in pairs], dtype=torch.float64), cap)
    assert not found.requires_grad
    assert found.tolist() == pytest.approx([min(math.exp(a - b), cap) for a, b in pairs])


# --- pairs and values ----------------------------------------------------------------------------------------

quadruples = st.lists(st.tuples(*[st.floats(-30, 0, width=32)] * 4), min_size=1, max_size=5)


@given(quadruples, st.floats(0.05, 1))
def test_dpo(pairs: list[tuple[float, float, float, float]], beta: float) -> None:
    chosen, rejected, rc, rr = (torch.tensor(c, dtype=torch.float64) for c in zip(*pairs, strict=True))
    both = torch.cat([chosen, rejected]).requires_grad_()
    n = len(pairs)
    loss, margins = losses.dpo(both[:n], both[n:], rc, rr, n, beta=beta)

    def wanted(values: list[float]) -> float:
        total = 0.0
        for place, (_, _, c, r) in enumerate(pairs):
            total += math.log1p(math.exp(-beta * (values[place] - c - values[n + place] + r)))
        return total / n

    same(loss, both, wanted)
    assert margins.tolist() == pytest.approx([beta * (a - c - b + r) for a, b, c, r in pairs], abs=1e-9)


@given(st.lists(st.tuples(logprob, st.integers(0, 4)), min_size=1))
def test_sums_over_trajectories(entries: list[tuple[float, int]]) -> None:
    values = torch.tensor([v for v, _ in entries], dtype=torch.float64)
    numbers, sums = losses.sequence_sums(values, torch.tensor([s for _, s in entries]))
    wanted = {s: sum(v for v, other in entries if other == s) for _, s in sorted(entries, key=lambda e: e[1])}
    assert numbers.tolist() == list(wanted)
    assert sums.tolist() == pytest.approx(list(wanted.values()))


value = st.floats(-2, 2, width=32)


@given(st.lists(st.tuples(value, value, value, st.floats(0, 1, width=32)), min_size=1, max_size=6), st.booleans())
def test_value_loss(entries: list[tuple[float, float, float, float]], clipped: bool) -> None:
    v, r, o, w = (torch.tensor(c, dtype=torch.float64) for c in zip(*entries, strict=True))
    v.requires_grad_()

    def term(x: float, goal: float, old: float) -> float:
        near = old + clip(x - old, -0.2, 0.2)
        return max((x - goal) ** 2, (near - goal) ** 2) if clipped else (x - goal) ** 2

    found = losses.value_loss(v, r, w, 4, old=o, clip=0.2 if clipped else None)
    at = v.detach().tolist()
    assert found.item() == pytest.approx(
        sum(x[3] * term(a, x[1], x[2]) for a, x in zip(at, entries, strict=True)) / 8, abs=1e-9
    )
    if not clipped:
        (gradient,) = torch.autograd.grad(found, v)
        assert gradient.tolist() == pytest.approx([x[3] * (a - x[1]) / 4 for a, x in zip(at, entries, strict=True)])


def test_a_value_that_left_its_clip_range_towards_the_return_is_pushed_no_further() -> None:
    v = torch.tensor([0.5, -0.5], requires_grad=True)
    zero = torch.zeros(2)
    losses.value_loss(v, torch.ones(2), torch.ones(2), 1, old=zero, clip=0.2).backward()
    assert v.grad is not None
    assert v.grad.tolist() == [0.0, -1.5]


# --- figures and refusals ------------------------------------------------------------------------------------


@given(rows, st.integers(0, 9))
def test_figures_of_an_update_do_not_depend_on_how_it_was_cut(table: list[Row], cut: int) -> None:
    whole = losses.summary([losses.ppo_clip(tokens(table), 1).measures])
    parts = [losses.ppo_clip(tokens(part), 1).measures for part in (table[:cut], table[cut:]) if part]
    assert losses.summary(parts) == pytest.approx(whole, abs=1e-9)
    weight = sum(row[4] for row in table)
    assert whole["tokens"] == pytest.approx(weight)
    assert whole["kl_reference"] == pytest.approx(sum(row[4] * k3(row[0], row[2]) for row in table) / weight, abs=1e-9)
    old = sum(row[4] * (math.exp(row[0] - row[1]) - 1 - (row[0] - row[1])) for row in table) / weight
    assert whole["kl_old"] == pytest.approx(old, abs=1e-9)
    assert whole["ratio_max"] == pytest.approx(max(math.exp(row[0] - row[1]) for row in table))


def test_figures_of_nothing() -> None:
    assert losses.summary([]) == {"tokens": 0.0}


def test_a_loss_says_what_it_lacks() -> None:
    one = torch.ones(1)
    bare = Tokens(logprobs=-one, advantages=one, weights=one, lengths=one)
    with pytest.raises(LossError, match="policy that sampled"):
        losses.ppo_clip(bare, 1)
    with pytest.raises(LossError, match="policy that sampled"):
        losses.reinforce(bare, 1, cap=2)
    with pytest.raises(LossError, match="reference"):
        losses.kl_penalty(bare, 1)
    with pytest.raises(LossError, match="denominator is 0"):
        losses.cross_entropy(bare, 0)
    with pytest.raises(LossError, match="clipped"):
        losses.value_loss(one, one, one, 1, clip=0.2)
