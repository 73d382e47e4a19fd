"""Samples: which tokens are trained on and how much, and that packing loses, doubles or overfills nothing."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.decisions import Decision, Trajectory
from coworkenv.learn.samples import Sample, SampleError, Span, bounded, microbatches, samples, sequences, split, trained

FIRST = Decision(seq=3, resolved=4, segment=0, start=2, stop=4, logprobs=(-0.5, -1.0))
SECOND = Decision(seq=7, resolved=8, segment=0, start=5, stop=6, logprobs=(-0.25,), stopped="length")
THIRD = Decision(seq=9, resolved=10, segment=1, start=1, stop=4, logprobs=(-2.0, -1.5, -0.125))
EPISODE = Trajectory(
    episode="e",
    environment="demo",
    twin="",
    segments=((1, 2, 3, 4, 5, 6, 99, 98), (7, 8, 9, 10)),
    decisions=(FIRST, SECOND, THIRD),
)


def sample(length: int, **rest: int) -> Sample:
    return Sample(ids=(1,) * length, spans=(Span(start=1, stop=length),), **rest)


lengths = st.lists(st.integers(2, 40), max_size=20)


@st.composite
def packable(draw: st.DrawFn) -> list[Sample]:
    bundles = st.none() | st.integers(0, 3)
    return [
        Sample(ids=(number,) * length, spans=(Span(start=1, stop=length),), bundle=draw(bundles))
        for number, length in enumerate(draw(lengths))
    ]


def flat(parts: Sequence[Sequence[Sample]]) -> list[Sample]:
    return [sample for part in parts for sample in part]


def by_first_id(found: Sequence[Sample]) -> list[Sample]:
    return sorted(found, key=lambda sample: sample.ids[0])


def test_each_segment_is_a_sample_up_to_the_last_id_that_was_written() -> None:
    first, second = samples(EPISODE, [0.5, -1, 2], returns=[1, 2, 3], sequence=6, age=2)
    assert first.ids == (1, 2, 3, 4, 5, 6)
    assert second.ids == (7, 8, 9, 10)
    assert [(span.start, span.stop, span.advantage, span.returns) for span in first.spans] == [
        (2, 4, 0.5, 1.0),
        (5, 6, -1.0, 2.0),
    ]
    assert second.spans[0].logprobs == THIRD.logprobs
    assert {span.age for part in (first, second) for span in part.spans} == {2}
    assert (first.sequence, second.sequence) == (6, 6)


def test_a_segment_without_a_decision_is_no_sample() -> None:
    empty = Trajectory(episode="e", environment="demo", twin="", segments=((1, 2), (3, 4)), decisions=())
    assert samples(empty) == ()


def test_a_demonstration_has_advantage_and_weight_1() -> None:
    spans = [span for part in samples(EPISODE) for span in part.spans]
    assert {(span.advantage, span.weight) for span in spans} == {(1.0, 1.0)}


def test_a_truncated_decision_is_kept_or_masked_and_the_trajectorys_length_follows() -> None:
    kept, masked = samples(EPISODE), samples(EPISODE, truncated="mask")
    assert [part.length for part in kept] == [6.0, 6.0]
    assert [part.length for part in masked] == [5.0, 5.0]
    assert [span.weight for part in masked for span in part.spans] == [1.0, 0.0, 1.0]


def test_weights_mask_a_wrong_prefix_and_the_denominators_know() -> None:
    masked = samples(EPISODE, weights=[0, 0.5, 1])
    assert trained(masked) == 0.5 + 3
    assert sequences(masked) == 1
    assert sequences(samples(EPISODE, weights=[0, 0, 0])) == 0


def test_old_decisions_have_no_weight() -> None:
    old, new = samples(EPISODE, age=4, sequence=0), samples(EPISODE, age=1, sequence=1)
    found = bounded([*old, *new], 3)
    assert trained(found) == trained(new)
    assert sequences(found) == 1
    assert found[2:] == new
    assert [part.ids for part in found[:2]] == [part.ids for part in old]
    assert bounded([*old, *new], 4) == (*old, *new)


def without_prompt() -> Trajectory:
    decision = Decision(seq=1, resolved=2, segment=0, start=0, stop=1)
    return Trajectory(episode="e", environment="demo", twin="", segments=((1,),), decisions=(decision,))


def test_what_does_not_fit_together_is_refused_with_its_place() -> None:
    with pytest.raises(SampleError, match="advantages: 2 for the 3 decisions of episode e of demo"):
        samples(EPISODE, [1, 2])
    with pytest.raises(SampleError, match=r"event 3 .* 2 tokens and 1 reference"):
        samples(EPISODE, references=[[-1], [-1], [-1, -1, -1]])
    with pytest.raises(SampleError, match="weight -1"):
        samples(EPISODE, weights=[1, 1, -1])
    with pytest.raises(SampleError, match="no prompt"):
        samples(without_prompt())


@given(packable(), st.integers(1, 200))
def test_micro_batches_hold_every_sample_once_within_the_budget(given: list[Sample], tokens: int) -> None:
    parts = microbatches(given, tokens)
    assert by_first_id(flat(parts)) == given
    for part in parts:
        size = len(part) * max(len(sample.ids) for sample in part)
        together = {(sample.ids[0],) if sample.bundle is None else sample.bundle for sample in part}
        assert size <= tokens or len(together) == 1
    for bundle in range(4):
        assert sum(any(sample.bundle == bundle for sample in part) for part in parts) <= 1


@given(lengths, st.integers(1, 200))
def test_micro_batches_go_from_long_to_short_and_equals_keep_their_order(given: list[int], tokens: int) -> None:
    found = flat(microbatches([sample(length, sequence=place) for place, length in enumerate(given)], tokens))
    assert [(-len(part.ids), part.sequence) for part in found] == sorted((-n, place) for place, n in enumerate(given))


@given(packable(), st.integers(1, 5), st.integers(1, 200))
def test_processes_share_all_samples_with_as_many_micro_batches_each(
    given: list[Sample], processes: int, tokens: int
) -> None:
    shares = split(given, processes, tokens)
    assert len(shares) == processes
    assert len({len(share) for share in shares}) == 1
    assert by_first_id([sample for share in shares for sample in flat(share)]) == given
    assert split(given, processes, tokens) == shares


@given(lengths, st.integers(1, 5))
def test_no_process_has_more_than_the_least_loaded_and_one_sample(given: list[int], processes: int) -> None:
    shares = split([sample(length) for length in given], processes, 64)
    loads = [sum(len(part.ids) for part in flat(share)) for share in shares]
    assert max(loads) - min(loads) <= max(given, default=0)
