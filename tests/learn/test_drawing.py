"""How tokens are drawn from logits: as often as they are probable, and with the probability that they were drawn by."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.decisions import Sampler
from coworkenv.learn.drawing import NoDistribution, drawn

LOGITS = torch.tensor([0.3, 2.0, -1.0, 0.9, 1.4, -3.0])


def test_over_even_numbers_each_token_comes_as_often_as_it_is_probable() -> None:
    """The inverse of the cumulated distribution maps an even grid onto it, up to one number for each edge."""
    count = 100_000
    sampler = Sampler(temperature=0.7)
    uniform = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    ids, logprobs = drawn(LOGITS.expand(count, -1), [sampler] * count, uniform)
    wanted = (LOGITS / 0.7).softmax(-1)
    found = torch.bincount(ids, minlength=6) / count
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=0)
    torch.testing.assert_close(logprobs, wanted.log()[ids], atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("sampler", "left"),
    [
        (Sampler(top_k=2), [1, 4]),
        (Sampler(top_k=1), [1]),
        (Sampler(top_k=50), [0, 1, 2, 3, 4, 5]),
        (Sampler(top_p=0.5), [1, 4]),
        (Sampler(top_p=1e-9), [1]),
        (Sampler(top_k=3, top_p=0.8), [1, 4]),
        (Sampler(temperature=2.0, top_k=3), [1, 3, 4]),
    ],
    ids=repr,
)
def test_what_is_left_out_is_never_drawn_and_the_rest_sums_to_one(sampler: Sampler, left: list[int]) -> None:
    uniform = torch.linspace(0, 1 - 2**-53, 2_000, dtype=torch.float64)
    ids, logprobs = drawn(LOGITS.expand(2_000, -1), [sampler] * 2_000, uniform)
    chances = {int(i): float(p.exp()) for i, p in zip(ids, logprobs)}
    assert sorted(chances) == left
    assert math.isclose(sum(chances.values()), 1, abs_tol=1e-6)


def test_at_temperature_0_the_most_probable_is_taken_and_its_probability_told_untempered() -> None:
    ids, logprobs = drawn(LOGITS.expand(3, -1), [Sampler(temperature=0)] * 3, torch.tensor([0.0, 0.5, 0.99]).double())
    assert ids.tolist() == [1, 1, 1]
    torch.testing.assert_close(logprobs, LOGITS.log_softmax(-1)[1].expand(3))


def test_rows_with_different_samplers_do_not_touch_each_other() -> None:
    samplers = [Sampler(), Sampler(temperature=0), Sampler(temperature=0.3, top_k=2), Sampler(top_p=0.4)]
    uniform = torch.tensor([0.1, 0.9, 0.99, 0.7], dtype=torch.float64)
    together = drawn(LOGITS.expand(4, -1), samplers, uniform, [None, None, [0, 2], None])
    for place, allowed in enumerate([None, None, [0, 2], None]):
        alone = drawn(LOGITS[None], [samplers[place]], uniform[place : place + 1], [allowed])
        assert int(together[0][place]) == int(alone[0][0])
        assert float(together[1][place]) == float(alone[1][0])


def test_only_what_is_allowed_is_drawn() -> None:
    ids, logprobs = drawn(LOGITS[None], [Sampler(temperature=0)], torch.zeros(1).double(), [[5, 2]])
    assert ids.tolist() == [2]
    torch.testing.assert_close(logprobs[0], LOGITS[[2, 5]].log_softmax(-1)[0])
    with pytest.raises(NoDistribution, match="no token is allowed"):
        drawn(LOGITS[None], [Sampler()], torch.zeros(1).double(), [[]])


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 2**32), st.sampled_from([1e-4, 0.3, 1.0, 50.0]))
def test_a_token_without_probability_is_never_drawn(number: float, seed: int, temperature: float) -> None:
    logits = torch.randn(1, 300, generator=torch.Generator().manual_seed(seed)) * 20
    logits[:, -100:] = -torch.inf
    uniform = torch.tensor([number], dtype=torch.float64)
    ids, logprobs = drawn(logits, [Sampler(temperature=temperature)], uniform)
    assert int(ids) < 200
    assert math.isfinite(float(logprobs))


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_broken_logits_are_refused(broken: float) -> None:
    with pytest.raises(NoDistribution, match="not finite"):
        drawn(torch.tensor([[0.0, broken]]), [Sampler()], torch.zeros(1).double())


def test_half_precision_is_widened() -> None:
    _, logprobs = drawn(LOGITS[None].bfloat16(), [Sampler()], torch.zeros(1).double())
    assert logprobs.dtype == torch.float32
