"""The policy server at work: tokens that a small policy writes a second, over turns, beside what `transformers` does.

Each round measures three ways to write the same number of tokens, one after the other (`timing`), and what counts is
the median of the rounds' ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import msgspec
import torch
import trio
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from coworkenv.learn.decisions import Sampler
from coworkenv.learn.generating import Generator
from coworkenv.learn.policy import PolicyServer, Seat
from coworkenv.learn.student import Asked

from .timing import in_turn, one_thread

VOCABULARY = 2048


class Work(msgspec.Struct, frozen=True):
    """What is done: so many episodes at once, of so many turns."""

    episodes: int = 32
    turns: int = 6
    prompt: int = 400
    """Tokens before the first turn."""
    written: int = 40
    """Tokens that the policy writes in a turn."""
    observed: int = 60
    """Tokens that it reads after each."""
    rounds: int = 5

    @property
    def tokens(self) -> int:
        """All that is written."""
        return self.episodes * self.turns * self.written


SMALL = Work(episodes=4, turns=2, prompt=24, written=6, observed=5, rounds=1)


class Rollouts(msgspec.Struct, frozen=True):
    """Written tokens a second of the processor; medians of the rounds."""

    server: float
    """Of the policy server, in lockstep."""
    single: float
    """Of one batched `generate` that reads and writes as many tokens as the episodes do, in a single turn."""
    again: float
    """Of a batched `generate` in each turn that reads the whole context again."""
    to_single: float
    """Server ÷ single."""
    to_again: float
    """Server ÷ again."""


def rollouts(work: Work) -> Rollouts:
    """Measure all three ways, in turn."""
    with one_thread():
        model = policy()
        ways: list[Callable[[], None]] = [
            lambda: trio.run(_server, model, work),
            lambda: _generate(model, work, work.prompt + (work.turns - 1) * work.observed, work.turns * work.written),
            lambda: _again(model, work),
        ]
        rounds = in_turn(ways, work.tokens, work.rounds)
    server, single, again = map(median, zip(*rounds, strict=True))
    return Rollouts(
        server, single, again, median(row[0] / row[1] for row in rounds), median(row[0] / row[2] for row in rounds)
    )


def policy() -> LlamaForCausalLM:
    """2.2 million parameters, at random."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=6,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    return LlamaForCausalLM(config).eval()


def _ids(rows: int, count: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (rows, count))


async def _server(model: LlamaForCausalLM, work: Work) -> None:
    async def episode(seat: Seat, number: int) -> None:
        prompt = _ids(1, work.prompt)[0].tolist()
        for turn in range(work.turns):
            answer = await seat.sample(Asked(seat, prompt, work.written, Sampler(), number * work.turns + turn))
            assert len(answer.ids) == work.written
            prompt = [*prompt, *answer.ids, *_ids(1, work.observed)[0].tolist()]
        seat.close()

    server = PolicyServer(Generator(model, ends=[]))
    async with trio.open_nursery() as nursery:
        for number, seat in enumerate(server.wave(work.episodes)):
            nursery.start_soon(episode, seat, number)


def _generate(model: LlamaForCausalLM, work: Work, prompt: int, written: int) -> None:
    _go_on(model, _ids(work.episodes, prompt), written)


def _again(model: LlamaForCausalLM, work: Work) -> None:
    ids = _ids(work.episodes, work.prompt)
    for _ in range(work.turns):
        ids = torch.cat([_go_on(model, ids, work.written), _ids(work.episodes, work.observed)], dim=1)


@torch.inference_mode()
def _go_on(model: LlamaForCausalLM, ids: torch.Tensor, written: int) -> torch.Tensor:
    settings = GenerationConfig(do_sample=True, top_k=0, max_new_tokens=written, eos_token_id=None, pad_token_id=0)
    model.generation_config = settings  # Else it is mixed with the model's own, which knows an end.
    found = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=settings)
    assert found.shape[1] == ids.shape[1] + written
    return found
