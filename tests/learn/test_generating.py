"""Decoding in batches with kept caches: the same as a plain forward pass over the whole sequence, in every batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from coworkenv.engine.draw import Drawer
from coworkenv.learn.decisions import Sampler
from coworkenv.learn.drawing import NoDistribution
from coworkenv.learn.generating import Generator, GivenUp
from coworkenv.learn.student import Asked, Sampled

VOCABULARY = 100
END = 7
WARM = Sampler()
GREEDY = Sampler(temperature=0)
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "attn_implementation": "eager",
    "initializer_range": 0.3,
}


@pytest.fixture(autouse=True)
def pinned() -> Iterator[None]:
    """One thread; and memory that nobody has written holds NaN, so that reading it shows."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


def llama(**sizes: Any) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**{**SIZES, **sizes}))


def qwen() -> Qwen3ForCausalLM:
    torch.manual_seed(1)
    return Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=True))


def sliding() -> MistralForCausalLM:
    torch.manual_seed(2)
    return MistralForCausalLM(MistralConfig(**SIZES, sliding_window=8))


MODELS = {"llama": llama(), "llama, sdpa": llama(attn_implementation="sdpa"), "qwen": qwen(), "sliding": sliding()}


def numbers(seed: int, count: int) -> list[int]:
    return torch.randint(10, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def asked(life: object, prompt: Sequence[int], tokens: int = 8, sampler: Sampler = WARM, seed: int = 0) -> Asked:
    return Asked(life, prompt, tokens, sampler, seed)


def plainly(model: Any, prompt: Sequence[int], ids: Sequence[int], temperature: float = 1.0) -> torch.Tensor:
    """Log-probabilities of `ids` after `prompt`, by one forward pass over all of it, without any cache."""
    whole = torch.tensor([[*prompt, *ids]])
    with torch.no_grad():
        logits = model.eval()(input_ids=whole, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
    return (logits / temperature).log_softmax(-1).gather(-1, torch.tensor(ids)[:, None]).squeeze(-1)


def agrees(model: Any, row: Asked, answer: Sampled, within: float = 1e-5) -> None:
    wanted = plainly(model, row.prompt, answer.ids, row.sampler.temperature or 1.0)
    torch.testing.assert_close(torch.tensor(answer.logprobs), wanted, atol=within, rtol=0)


# --- the right numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_logprobs_are_those_of_a_plain_forward_pass_over_turns_of_any_lengths(name: str) -> None:
    model = MODELS[name]
    generator = Generator(model, [END])
    prompts = {life: numbers(life, 3 + 7 * life) for life in range(5)}
    for turn in range(4):
        rows = [
            asked(life, prompt, 5 + 3 * life, Sampler(temperature=(1.0, 0.7)[life % 2]), seed=100 * turn + life)
            for life, prompt in prompts.items()
        ]
        for row, answer in zip(rows, generator.generate(rows), strict=True):
            agrees(model, row, answer)
            prompts[row.life] = [*row.prompt, *answer.ids, *numbers(turn, 2 + turn * row.life)]  # type: ignore[index]
        del prompts[turn]  # Somebody is always over, and the others go on.


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_each_row_gives_alone(name: str) -> None:
    rows = [asked(life, numbers(life, 4 + 11 * (life % 4)), 12, seed=life) for life in range(9)]
    together = Generator(MODELS[name], [END]).generate(rows)
    for row, answer in zip(rows, together, strict=True):
        alone = Generator(MODELS[name], [END]).generate([row])[0]
        assert alone.ids == answer.ids
        torch.testing.assert_close(torch.tensor(alone.logprobs), torch.tensor(answer.logprobs), atol=1e-4, rtol=0)


def test_half_precision_is_served() -> None:
    model = llama().bfloat16()
    rows = [asked(life, numbers(life, 5 + life), seed=life) for life in range(3)]
    for row, answer in zip(rows, Generator(model, [END]).generate(rows), strict=True):
        agrees(model, row, answer, within=0.15)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=6), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_kept_caches_change_nothing_however_prompts_go_on(changes: list[tuple[int, int]], seed: int) -> None:
    """Each turn goes back to some place of what was read and written, and goes on from there with something new."""
    model, generator = MODELS["llama"], Generator(MODELS["llama"], [END])
    prompt = numbers(seed, 9)
    for turn, (back, new) in enumerate(changes):
        row = asked("life", prompt, 6, GREEDY)
        other = asked("other", numbers(turn, 5 + 9 * (turn % 3)), 3, seed=turn)
        kept = generator.generate([row, other])[0]
        afresh = Generator(model, [END]).generate([row])[0]
        assert kept.ids == afresh.ids
        torch.testing.assert_close(torch.tensor(kept.logprobs), torch.tensor(afresh.logprobs), atol=1e-4, rtol=0)
        whole = [*prompt, *kept.ids]
        prompt = [*whole[: max(1, len(whole) - back)], *numbers(seed + turn + 1, new)]


def test_a_row_that_has_ended_never_needs_positions_that_the_model_has_not() -> None:
    torch.manual_seed(3)
    sizes = GPT2Config(
        vocab_size=VOCABULARY, n_positions=30, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager"
    )
    model = GPT2LMHeadModel(sizes)
    rows = [asked(0, numbers(0, 27), 3), asked(1, numbers(1, 5), 25), asked(2, numbers(2, 5), 25)]
    for row, answer in zip(rows, Generator(model, []).generate(rows), strict=True):
        agrees(model, row, answer)


def test_what_is_kept_is_not_read_again() -> None:
    read: list[int] = []
    model = llama()
    model.register_forward_pre_hook(lambda _, __, given: read.append(given["input_ids"].numel()), with_kwargs=True)
    generator = Generator(model, [])
    first = asked("life", numbers(1, 50), 4)
    answer = generator.generate([first])[0]
    assert read == [50, 1, 1, 1]
    read.clear()
    generator.generate([asked("life", [*first.prompt, *answer.ids, 11, 12], 2)])
    assert read == [3, 1]  # The last token that was drawn had not been read yet.
    read.clear()
    generator.generate([asked("life", first.prompt, 1)])
    assert read == [1]  # The same prompt again: only its last token, for its logits.
    read.clear()
    generator.forget("life")
    generator.generate([asked("life", first.prompt, 1)])
    assert read == [50]


def test_long_prompts_are_read_in_pieces() -> None:
    model = llama(max_position_embeddings=2048)
    row = asked("life", numbers(3, 1_300), 3)
    agrees(model, row, Generator(model, [END]).generate([row])[0], within=1e-4)


def test_twins_that_begin_with_the_same_prompt_are_read_once_and_write_each_their_own() -> None:
    read: list[int] = []
    model = llama()
    model.register_forward_pre_hook(lambda _, __, given: read.append(given["input_ids"].numel()), with_kwargs=True)
    shared, longer = numbers(1, 30), numbers(2, 44)
    rows = [asked(0, shared, seed=0), asked(1, longer, seed=1), asked(2, shared, seed=2), asked(3, shared, seed=3)]
    answers = Generator(model, []).generate(rows)
    assert read[:2] == [30, 44]
    assert read[2] == 4
    assert len({answer.ids for answer in answers}) == 4
    for row, answer in zip(rows, answers, strict=True):
        agrees(model, row, answer)


# --- bits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_neighbours_content_changes_no_bit(name: str) -> None:
    """Equal shapes: the neighbours' prompts differ, and nobody ends early. At last one begins with the same prompt."""
    prompt = numbers(0, 23)
    seen = set()
    for other in range(1, 5):
        generator = Generator(MODELS[name], [])
        prompts = {n: numbers(10 * other + n, 23 + 6 * n) for n in range(4)} | {1: prompt}
        if other == 4:
            prompts[0] = prompt
        for turn in range(2):
            rows = [asked(n, each, 10, seed=100 * turn + n) for n, each in prompts.items()]
            answers = generator.generate(rows)
            seen.add((turn, answers[1]))
            for row, answer in zip(rows, answers, strict=True):
                prompts[row.life] = [*row.prompt, *answer.ids, *numbers(other if row.life != 1 else 0, 5)]  # type: ignore[index]
    assert len(seen) == 2


@pytest.mark.parametrize("name", MODELS)
def test_the_same_batches_give_the_same_bits(name: str) -> None:
    def play() -> list[Sampled]:
        generator = Generator(MODELS[name], [END])
        prompts = [numbers(life, 5 + 13 * (life % 3)) for life in range(6)]
        said: list[Sampled] = []
        for turn in range(3):
            rows = [asked(life, prompt, 15, seed=10 * turn + life) for life, prompt in enumerate(prompts)]
            answers = generator.generate(rows)
            prompts = [[*row.prompt, *answer.ids, 42] for row, answer in zip(rows, answers, strict=True)]
            said += answers
        return said

    assert play() == play()


# --- drawing -----------------------------------------------------------------------------------------------


def test_tokens_come_as_often_as_they_are_probable() -> None:
    """Chi-square over 6,000 draws of one token, at temperature 0.7, from seeds in a row."""
    model, prompt, count = llama(vocab_size=12, initializer_range=0.15), [3, 1, 4, 1, 5], 6_000
    rows = [asked(seed, prompt, 1, Sampler(temperature=0.7), seed) for seed in range(count)]
    found = Counter(answer.ids[0] for answer in Generator(model, []).generate(rows))
    with torch.no_grad():
        wanted = (model(torch.tensor([prompt])).logits[0, -1] / 0.7).softmax(-1) * count
    assert float(wanted.min()) > 5
    square = sum((found[token] - float(wanted[token])) ** 2 / float(wanted[token]) for token in range(12))
    assert square < 31.26  # The 0.1 % point of 11 degrees of freedom; the seeds are fixed.


def test_the_nth_token_is_drawn_from_the_nth_number_of_its_seed_wherever_it_is() -> None:
    row = asked("life", numbers(1, 9), 20, seed=(1 << 63) - 1)
    answer = Generator(MODELS["llama"], []).generate([row])[0]
    draws = Drawer([row.seed], 0, "token")
    for place, token in enumerate(answer.ids):
        with torch.no_grad():
            logits = MODELS["llama"](torch.tensor([[*row.prompt, *answer.ids[:place]]])).logits[0, -1]
        below = logits.double().softmax(-1).cumsum(-1)
        number = draws.fraction()
        assert (float(below[token - 1]) if token else 0) - 1e-6 <= number <= float(below[token]) + 1e-6
    shorter = Generator(MODELS["llama"], []).generate([msgspec.structs.replace(row, tokens=5)])[0]
    assert shorter.ids == answer.ids[:5]


def test_an_end_is_part_of_the_answer_and_none_is_invented() -> None:
    model, prompt = MODELS["llama"], numbers(1, 9)
    free = Generator(model, []).generate([asked(0, prompt, 12, GREEDY)])[0]
    assert (free.stopped, len(free.ids)) == ("length", 12)
    end = free.ids[4]
    first = free.ids.index(end)
    ended = Generator(model, [end, 3]).generate([asked(0, prompt, 12, GREEDY)])[0]
    assert ended.stopped == "stop"
    assert ended.ids == free.ids[: first + 1]
    just = Generator(model, [end]).generate([asked(0, prompt, first + 1, GREEDY)])[0]
    assert (just.ids, just.stopped) == (ended.ids, "stop")  # It ended with the last token that it may write.
    cut = Generator(model, [end]).generate([asked(0, prompt, first, GREEDY)])
    assert first == 0 or cut[0].stopped == "length"


def test_a_grammar_is_kept_to() -> None:
    def allowed(ids: Sequence[int]) -> Sequence[int] | None:
        return None if len(ids) == 1 else [20 + len(ids), 60 + len(ids)]

    rows = [Asked(life, numbers(life, 6), 5, Sampler(), life, allowed if life else None) for life in range(3)]
    free, *bound = Generator(MODELS["qwen"], []).generate(rows)
    agrees(MODELS["qwen"], rows[0], free)
    for answer in bound:
        assert all(token in (20 + place, 60 + place) for place, token in enumerate(answer.ids) if place != 1)


# --- memory and errors -------------------------------------------------------------------------------------


def test_who_has_waited_longest_loses_its_cache_first() -> None:
    model = MODELS["llama"]
    one = Generator(model, [])
    one.generate([asked(0, numbers(0, 40), 2)])
    generator = Generator(model, [], keep=one.kept * 5 // 2)
    for life in range(5):
        answers = generator.generate([asked(life, numbers(life, 40), 2)])
        assert 0 < generator.kept <= 2 * one.kept
    assert [life for life in range(5) if life in generator] == [3, 4]
    row = asked(0, [*numbers(0, 40), *answers[0].ids], 3)
    agrees(model, row, generator.generate([row])[0])
    assert [life for life in range(5) if life in generator] == [0, 4]
    assert Generator(model, [], keep=0).generate([row]) == Generator(model, []).generate([row])


def test_everything_can_be_forgotten() -> None:
    model = llama()
    generator = Generator(model, [])
    row = asked("life", numbers(1, 20), 4)
    generator.generate([row])
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.1)
    generator.forget()
    assert generator.kept == 0
    agrees(model, row, generator.generate([row])[0])


def test_a_model_that_trains_is_left_training() -> None:
    model = llama(attention_dropout=0.5).train()
    row = asked("life", numbers(1, 20), 4)
    answer = Generator(model, []).generate([row])[0]
    assert model.training
    agrees(model, row, answer)


def test_after_an_error_nothing_is_kept_and_the_next_batch_is_right() -> None:
    model = llama()
    generator = Generator(model, [])
    row = asked("life", numbers(1, 20), 6)
    generator.generate([row])
    turns = iter([False, False, True])
    with pytest.raises(GivenUp):
        generator.generate([row], lambda: next(turns))
    assert "life" not in generator
    agrees(model, row, generator.generate([row])[0])
    with torch.no_grad():
        model.lm_head.weight[0, 0] = float("nan")
    with pytest.raises(NoDistribution, match="weights are broken"):
        generator.generate([row])


@pytest.mark.parametrize(("prompt", "tokens"), [([], 3), ([5], 0)])
def test_a_row_needs_a_prompt_and_room(prompt: list[int], tokens: int) -> None:
    with pytest.raises(ValueError, match="both must be above 0"):
        Generator(MODELS["llama"], []).generate([asked(0, [5], 3), asked(1, prompt, tokens)])


def test_a_life_can_be_asked_once_in_a_batch() -> None:
    with pytest.raises(ValueError, match="twice"):
        Generator(MODELS["llama"], []).generate([asked("life", [5], 3), asked("life", [5, 6], 3)])


def test_nobody_may_ask_nothing() -> None:
    assert Generator(MODELS["llama"], []).generate([]) == []


def test_models_whose_state_cannot_be_kept_are_refused() -> None:
    model = llama()
    model.config.layer_types = ["linear_attention", "full_attention"]
    with pytest.raises(ValueError, match=r"linear_attention.*inference server"):
        Generator(model, [])
    other = llama()
    other.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ValueError, match="eager or sdpa"):
        Generator(other, [])
