"""Only what the policy wrote is trained, however samples are packed: shown on small random models in 64 bits."""

import os
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest
import torch
import torch.distributed
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from coworkenv.learn import batches, losses
from coworkenv.learn.batches import Batch, Scorer, collate, forward_logprobs, plain_head
from coworkenv.learn.losses import Loss, Tokens
from coworkenv.learn.samples import Sample, Span, microbatches, sequences, split, trained
from coworkenv.learn.together import leave

torch.set_num_threads(1)

VOCABULARY = 61
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 0,
}


def llama(seed: int = 0) -> LlamaForCausalLM:
    """Large weights, so that ids matter; 64 bits, so that a wrong gradient is not taken for rounding.

    Norms are torch's own, and attention is `sdpa`: those of `transformers` go through 32 bits.
    """
    torch.manual_seed(seed)
    model = LlamaForCausalLM(LlamaConfig(**SHAPE, initializer_range=0.3, attn_implementation="sdpa"))
    for layer in model.model.layers:
        layer.input_layernorm = nn.RMSNorm(32, 1e-6)
        layer.post_attention_layernorm = nn.RMSNorm(32, 1e-6)
    model.model.norm = nn.RMSNorm(32, 1e-6)
    return model.double()


LLAMA = llama()
identifier = st.integers(0, VOCABULARY - 1)


@st.composite
def written(draw: st.DrawFn, sequence: int = 0) -> Sample:
    """A segment with one to three decisions and something observed before, between and perhaps after them."""
    ids: list[int] = []
    spans = []
    for _ in range(draw(st.integers(1, 3))):
        ids += draw(st.lists(identifier, min_size=1, max_size=4))
        said = draw(st.lists(identifier, min_size=1, max_size=4))
        spans.append(
            Span(
                start=len(ids),
                stop=len(ids) + len(said),
                advantage=draw(st.floats(-2, 2, width=32)),
                weight=draw(st.sampled_from([0.0, 0.5, 1.0])),
                logprobs=tuple(draw(st.floats(-5, -2, width=32)) for _ in said),
                reference=tuple(draw(st.floats(-5, -2, width=32)) for _ in said),
            )
        )
        ids += said
    made = Sample(ids=tuple(ids), spans=tuple(spans), sequence=sequence)
    return msgspec.structs.replace(made, length=trained([made]))


@st.composite
def updates(draw: st.DrawFn) -> list[Sample]:
    found = [draw(written(number)) for number in range(draw(st.integers(1, 6)))]
    return found if trained(found) else [*found, msgspec.structs.replace(ANCHOR, sequence=len(found))]


ANCHOR = Sample(
    ids=(1, 5, 0, 9, 0),
    spans=(
        Span(start=2, stop=3, advantage=0.5, logprobs=(-4.0,), reference=(-3.0,)),
        Span(start=4, stop=5, advantage=-1.0, logprobs=(-3.5,), reference=(-4.5,)),
    ),
    length=2.0,
)

Formula = Callable[[Tokens, Sequence[Sample]], Loss]
FORMULAS: dict[str, Formula] = {
    "cross_entropy": lambda tokens, whole: losses.cross_entropy(tokens, trained(whole)),
    "reinforce": lambda tokens, whole: losses.reinforce(tokens, trained(whole)),
    "ppo_clip": lambda tokens, whole: losses.ppo_clip(tokens, trained(whole)),
    "grpo": lambda tokens, whole: losses.grpo(tokens, sequences(whole), beta=0.1, length_normalised=True),
    "awr": lambda tokens, whole: losses.awr(tokens, trained(whole)),
}


def gradients(
    model: nn.Module, parts: Sequence[Sequence[Sample]], whole: Sequence[Sample], formula: Formula, pad: int = 0
) -> tuple[float, Tensor]:
    """The summed loss of the parts, and all gradients that they left, one after the other."""
    model.zero_grad()
    total = 0.0
    for part in parts:
        batch = collate(part, pad)
        loss = formula(batch.tokens(forward_logprobs(model, batch)), whole)
        loss.value.backward()
        total += loss.value.item()
    return total, flat(model)


def flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None])


def close(found: tuple[float, Tensor], wanted: tuple[float, Tensor], bound: float = 1e-6) -> None:
    assert found[0] == pytest.approx(wanted[0], rel=bound, abs=1e-9)
    assert (found[1] - wanted[1]).norm() <= bound * wanted[1].norm() + 1e-12


# --- collation -----------------------------------------------------------------------------------------------


def test_the_tensors_of_two_samples() -> None:
    short = Sample(
        ids=(7, 8, 9),
        spans=(Span(start=1, stop=3, advantage=-2.0, returns=0.5, logprobs=(-1.0, -2.0)),),
        sequence=4,
        length=2.0,
    )
    batch = collate([ANCHOR, short], pad=3)
    assert batch.ids.tolist() == [[1, 5, 0, 9, 0], [7, 8, 9, 3, 3]]
    assert batch.positions.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert list(zip(batch.rows.tolist(), batch.columns.tolist(), batch.targets.tolist(), strict=True)) == [
        (0, 1, 0),
        (0, 3, 0),
        (1, 0, 8),
        (1, 1, 9),
    ]
    assert batch.advantages.tolist() == [0.5, -1.0, -2.0, -2.0]
    assert batch.sequences.tolist() == [0, 0, 4, 4]
    assert batch.old is not None
    assert batch.old.tolist() == [-4.0, -3.5, -1.0, -2.0]
    assert batch.reference is None, "the second sample has none"
    assert list(zip(batch.decision_rows.tolist(), batch.decision_columns.tolist(), strict=True)) == [
        (0, 1),
        (0, 3),
        (1, 0),
    ]
    assert batch.returns.tolist() == [0.0, 0.0, 0.5]


def test_no_samples_are_one_row_of_padding() -> None:
    batch = collate([], pad=3)
    assert batch.ids.tolist() == [[3]]
    assert (len(batch.targets), len(batch.returns)) == (0, 0)


@given(updates())
def test_the_flat_tensors_are_what_a_loop_over_spans_finds(update: list[Sample]) -> None:
    batch = collate(update)
    wanted = [
        (row, place - 1, sample.ids[place], span.advantage, span.weight, logprob)
        for row, sample in enumerate(update)
        for span in sample.spans
        for place, logprob in zip(range(span.start, span.stop), span.logprobs or (), strict=True)
        if span.weight
    ]
    assert batch.old is not None
    columns = (batch.rows, batch.columns, batch.targets, batch.advantages, batch.weights, batch.old)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == wanted
    assert float(batch.weights.sum()) == pytest.approx(trained(update))


# --- log-probabilities ---------------------------------------------------------------------------------------


def naive(model: nn.Module, sample: Sample, temperature: float) -> list[float]:
    """One sample by itself, without padding, all logits, one token after the other."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([sample.ids]), use_cache=False).logits[0] / temperature
    places = [place for span in sample.spans if span.weight for place in range(span.start, span.stop)]
    return [float(logits[place - 1].log_softmax(0)[sample.ids[place]]) for place in places]


@settings(max_examples=30)
@given(updates(), st.sampled_from([1.0, 0.7]), identifier)
def test_log_probabilities_are_those_of_each_sample_alone(update: list[Sample], temperature: float, pad: int) -> None:
    scored = forward_logprobs(LLAMA, collate(update, pad), temperature)
    wanted = [value for sample in update for value in naive(LLAMA, sample, temperature)]
    assert scored.logprobs.tolist() == pytest.approx(wanted, abs=1e-9)
    assert not scored.entropy.requires_grad
    assert scored.states.shape == (sum(len(sample.spans) for sample in update), 32)


def test_entropies_are_those_of_the_distributions_drawn_from() -> None:
    scored = forward_logprobs(LLAMA, collate([ANCHOR]), 0.7)
    with torch.no_grad():
        logits = LLAMA(input_ids=torch.tensor([ANCHOR.ids])).logits[0, [1, 3]] / 0.7
    torch.testing.assert_close(scored.entropy, torch.distributions.Categorical(logits=logits).entropy())


def test_a_head_in_pieces_gives_the_same_numbers_and_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    update = [ANCHOR, msgspec.structs.replace(ANCHOR, ids=(4, 3, 2, 1, 7), sequence=1)]
    whole = gradients(LLAMA, [update], update, FORMULAS["grpo"])
    monkeypatch.setattr(batches, "CHUNK", VOCABULARY)
    close(gradients(LLAMA, [update], update, FORMULAS["grpo"]), whole, 1e-12)


def capped() -> nn.Module:
    return Gemma2ForCausalLM(Gemma2Config(**SHAPE, head_dim=8, final_logit_softcapping=5.0)).double()


def divided() -> nn.Module:
    return GraniteForCausalLM(GraniteConfig(**SHAPE, logits_scaling=3.0)).double()


@pytest.mark.parametrize("build", [capped, divided])
def test_a_model_that_does_something_after_its_head_is_asked_for_its_own_logits(
    build: Callable[[], nn.Module],
) -> None:
    model = build()
    assert plain_head(model) is None
    for temperature in (1.0, 0.7):
        scored = forward_logprobs(model, collate([ANCHOR]), temperature)
        assert scored.logprobs.tolist() == pytest.approx(naive(model, ANCHOR, temperature), abs=1e-9)
    assert scored.states.shape == (2, 32)


def test_a_plain_model_is_not() -> None:
    assert plain_head(LLAMA) == (LLAMA.model, LLAMA.lm_head)
    uncapped = Gemma2ForCausalLM(Gemma2Config(**SHAPE, head_dim=8, final_logit_softcapping=None))
    assert plain_head(uncapped) == (uncapped.model, uncapped.lm_head)


def test_finding_the_head_leaves_the_model_and_the_random_state_as_they_were() -> None:
    model = llama().train()
    state = torch.random.get_rng_state()
    assert plain_head(model) is not None
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.training
    assert not model.lm_head._forward_hooks
    assert not model.model._forward_hooks


# --- gradients -----------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(updates(), st.data())
def test_targets_at_places_that_the_policy_did_not_write_change_nothing(
    update: list[Sample], data: st.DataObject
) -> None:
    """A loss over all (B, T) places, masked by the spans, has the flat one's gradient, whatever else is the label."""
    batch = collate(update)
    mine = gradients(LLAMA, [update], update, FORMULAS["cross_entropy"])
    shown = torch.zeros_like(batch.ids, dtype=torch.float64)
    shown[batch.rows, batch.columns] = batch.weights.double()
    outcomes = []
    for _ in range(2):
        targets = data.draw(st.lists(identifier, min_size=batch.ids.numel(), max_size=batch.ids.numel()))
        labels = torch.tensor(targets).reshape(batch.ids.shape)
        labels[batch.rows, batch.columns] = batch.targets
        LLAMA.zero_grad()
        logits = LLAMA(input_ids=batch.ids, use_cache=False).logits
        lines = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        loss = (shown.flatten() * lines).sum() / trained(update)
        loss.backward()
        outcomes.append((loss.item(), flat(LLAMA)))
    assert outcomes[0][0] == outcomes[1][0]
    assert torch.equal(outcomes[0][1], outcomes[1][1])
    close(mine, outcomes[0])


@given(st.sampled_from(sorted(FORMULAS)), identifier, st.lists(identifier, max_size=6))
@settings(max_examples=20)
def test_what_follows_the_last_decision_and_what_pads_change_nothing(name: str, pad: int, after: list[int]) -> None:
    """Nothing after a decision can reach it. (What was read before does, as input; never as a target.)"""
    long = Sample(
        ids=(2,) * 9, spans=(Span(start=8, stop=9, logprobs=(-3.0,), reference=(-3.0,)),), sequence=1, length=1.0
    )
    wanted = gradients(LLAMA, [[ANCHOR], [long]], [ANCHOR, long], FORMULAS[name])
    longer = msgspec.structs.replace(ANCHOR, ids=(*ANCHOR.ids, *after))
    close(gradients(LLAMA, [[longer, long]], [ANCHOR, long], FORMULAS[name], pad), wanted)


@given(st.sampled_from(sorted(FORMULAS)), st.data())
@settings(max_examples=20)
def test_log_probabilities_advantages_and_references_of_masked_decisions_change_nothing(
    name: str, data: st.DataObject
) -> None:
    number = st.floats(-5, 5, width=32)

    def masked() -> Sample:
        first = Span(
            start=1,
            stop=3,
            weight=0.0,
            advantage=data.draw(number),
            logprobs=(data.draw(number), data.draw(number)),
            reference=data.draw(st.none() | st.just((-1.0, -1.0))),
        )
        last = Span(start=4, stop=6, advantage=1.5, logprobs=(-4.0, -3.0), reference=(-4.0, -4.0))
        return Sample(ids=(3, 0, 5, 6, 0, 0), spans=(first, last), length=2.0)

    one, other = masked(), masked()
    first, second = (gradients(LLAMA, [[this]], [this], FORMULAS[name]) for this in (one, other))
    assert first[0] == second[0]
    assert torch.equal(first[1], second[1])


def test_an_id_that_is_padding_and_end_of_turn_is_trained_like_any_other() -> None:
    """pad = eos = 0, and the policy wrote it: the model learns to write it, and only where a span says so."""
    batch = collate([ANCHOR, Sample(ids=(1,) * 9, spans=(Span(start=8, stop=9),), sequence=1, length=1.0)], pad=0)
    assert batch.targets.tolist() == [0, 0, 1]
    loss = losses.cross_entropy(batch.tokens(forward_logprobs(LLAMA, batch)), 3)
    wanted = -(
        sum(naive(LLAMA, ANCHOR, 1.0)) + naive(LLAMA, Sample(ids=(1,) * 9, spans=(Span(start=8, stop=9),)), 1.0)[0]
    )
    assert loss.value.item() == pytest.approx(wanted / 3, abs=1e-9)
    model = llama(1)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    only = collate([ANCHOR], pad=0)
    for _ in range(30):
        optimiser.zero_grad()
        losses.cross_entropy(only.tokens(forward_logprobs(model, only)), 2).value.backward()
        optimiser.step()
    assert min(forward_logprobs(model, only).logprobs.exp().tolist()) > 0.9


@settings(max_examples=30)
@given(updates(), st.sampled_from(sorted(FORMULAS)), st.integers(1, 60), st.integers(1, 3), st.randoms())
def test_micro_batches_permutations_and_processes_give_the_gradient_of_one_batch(
    update: list[Sample], name: str, tokens: int, processes: int, order: object
) -> None:
    wanted = gradients(LLAMA, [update], update, FORMULAS[name])
    permuted = list(update)
    order.shuffle(permuted)  # type: ignore[attr-defined]
    close(gradients(LLAMA, microbatches(permuted, tokens), update, FORMULAS[name]), wanted)
    shares = [part for share in split(update, processes, tokens) for part in share]
    close(gradients(LLAMA, shares, update, FORMULAS[name]), wanted)


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_an_empty_micro_batch_has_a_loss_of_0_and_a_zero_gradient_for_every_parameter(name: str) -> None:
    model = llama()
    loss, gradient = gradients(model, [()], [ANCHOR], FORMULAS[name])
    assert loss == 0
    assert len(gradient) == sum(parameter.numel() for parameter in model.parameters())
    assert not gradient.any()


def pairs_loss(model: nn.Module, parts: Sequence[Sequence[Sample]], pairs: int) -> tuple[float, Tensor]:
    model.zero_grad()
    total = 0.0
    for part in parts:
        batch = collate(part)
        _, sums = losses.sequence_sums(forward_logprobs(model, batch).logprobs, batch.sequences)
        assert batch.reference is not None
        _, frozen = losses.sequence_sums(batch.reference.double(), batch.sequences)
        value, _ = losses.dpo(sums[0::2], sums[1::2], frozen[0::2], frozen[1::2], pairs)
        value.backward()
        total += value.item()
    return total, flat(model)


@settings(max_examples=15)
@given(st.lists(written(), min_size=2, max_size=8).filter(lambda found: all(map(trained, ([one] for one in found)))))
def test_pairs_stay_together_and_give_the_gradient_of_one_batch(found: list[Sample]) -> None:
    found = found[: len(found) // 2 * 2]
    update = [msgspec.structs.replace(sample, sequence=place, bundle=place // 2) for place, sample in enumerate(found)]
    wanted = pairs_loss(LLAMA, [update], len(update) // 2)
    close(pairs_loss(LLAMA, microbatches(update, 1), len(update) // 2), wanted)


# --- processes -----------------------------------------------------------------------------------------------

UPDATE = [
    ANCHOR,
    *(
        Sample(
            ids=tuple(range(2, 2 + length)),
            spans=(Span(start=1, stop=length, advantage=0.3 * length - 2, logprobs=(-4.0,) * (length - 1)),),
            sequence=length,
            length=length - 1.0,
        )
        for length in (3, 17, 5, 30, 2)
    ),
]


def in_process(rank: int, processes: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=processes)
    torch.save(shared_gradients(rank, processes), os.path.join(folder, f"{rank}.pt"))
    leave()


def shared_gradients(rank: int, processes: int) -> Tensor:
    wrapped = DistributedDataParallel(Scorer(llama()))
    parts = split(UPDATE, processes, 10)[rank]
    for place, part in enumerate(parts):
        wrapped.require_backward_grad_sync = place == len(parts) - 1
        batch = collate(part)
        loss = losses.ppo_clip(batch.tokens(wrapped(batch)), trained(UPDATE))
        (processes * loss.value).backward()
    return flat(wrapped)


def test_two_processes_give_the_gradients_of_one(tmp_path: Path) -> None:
    """Unequal lengths, accumulation, and an empty micro-batch in one of them."""
    assert any(part == () for share in split(UPDATE, 2, 10) for part in share)
    wanted = gradients(llama(), [UPDATE], UPDATE, FORMULAS["ppo_clip"])[1]
    context = get_context("spawn")
    started = [context.Process(target=in_process, args=(rank, 2, str(tmp_path))) for rank in range(2)]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
        assert process.exitcode == 0
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        assert (found - wanted).norm() <= 1e-6 * wanted.norm()


def test_a_batch_moves_as_a_whole() -> None:
    moved = collate([ANCHOR]).to("meta")
    assert isinstance(moved, Batch)
    assert {value.device.type for value in msgspec.structs.asdict(moved).values() if value is not None} == {"meta"}
