"""Demonstrations, step by step: which are learnt when, and what a step does with them."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.batches import collate, forward_logprobs
from coworkenv.learn.samples import trained
from coworkenv.learn.sft import SftSettings, chosen, course, make
from coworkenv.learn.training import Trainer
from tests.learn.teaching import lessons
from tests.learn.workshop import llama, reading

LESSONS = lessons()[:5]


@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 5))
def test_all_are_learnt_once_before_one_is_learnt_again(count: int, batch: int, seed: int) -> None:
    order = [place for step in range(3 * count) for place in chosen(count, batch, step, seed)]
    for start in range(0, len(order) - count + 1, count):
        assert sorted(order[start : start + count]) == list(range(count))


@given(st.integers(2, 30), st.integers(1, 12), st.integers(0, 50), st.integers(0, 5))
def test_a_step_has_the_same_whatever_was_asked_before(count: int, batch: int, step: int, seed: int) -> None:
    wanted = chosen(count, batch, step, seed)
    chosen(count + 1, batch, 0, seed + 1)
    assert chosen(count, batch, step, seed) == wanted


def test_each_time_the_order_is_another() -> None:
    assert len({tuple(chosen(8, 8, epoch, 0)) for epoch in range(20)}) == 20
    assert chosen(8, 8, 0, 0) != chosen(8, 8, 0, 1)


def test_demonstrations_that_are_too_long_are_left_out_and_counted() -> None:
    whole = course(LESSONS, reading(), 1 << 20)
    lengths = sorted(max(len(sample.ids) for sample in lesson) for lesson in whole.lessons)
    assert (len(whole.lessons), whole.left_out) == (len(LESSONS), 0)
    short = course(LESSONS, reading(), lengths[1])
    assert (len(short.lessons), short.left_out) == (2, len(LESSONS) - 2)
    assert whole.read == sum(len(sample.ids) for lesson in whole.lessons for sample in lesson)


def test_what_a_lesson_shows_and_does_not_teach_has_no_weight() -> None:
    shown = msgspec.structs.replace(LESSONS[0], unlearnt=(1,))
    (whole,), (less,) = (course([each], reading(), 1 << 20).lessons for each in (LESSONS[0], shown))
    weights = [span.weight for sample in less for span in sample.spans]
    assert Counter(weights) == {1.0: len(weights) - 1, 0.0: 1}
    assert weights[1] == 0
    assert trained(less) < trained(whole)
    assert [sample.ids for sample in less] == [sample.ids for sample in whole]


def test_the_loss_of_a_step_is_the_mean_over_all_its_tokens() -> None:
    given = course(LESSONS, reading(), 1 << 20)
    settings = SftSettings(batch=3, batch_tokens=64, steps=4)
    trainer = Trainer(llama(), settings)
    parts = [sample for place in chosen(len(LESSONS), 3, 2, 0) for sample in given.lessons[place]]
    with torch.no_grad():
        wanted = -float(forward_logprobs(trainer.model, collate(parts)).logprobs.mean())
    figures = make(trainer, given, settings, 2)
    assert figures["loss"] == pytest.approx(wanted, rel=1e-5)
    assert figures["tokens"] == trained(parts)
    assert figures["read"] == sum(len(sample.ids) for sample in parts)


def test_what_is_shown_again_and_again_is_learnt() -> None:
    given = course(LESSONS[:2], reading(), 1 << 20)
    settings = SftSettings(batch=2, lr=1e-2, steps=12, warmup=0)
    trainer = Trainer(llama(), settings)
    losses = [make(trainer, given, settings, step)["loss"] for step in range(12)]
    assert losses[-1] < losses[0] - 1
