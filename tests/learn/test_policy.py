"""Waves, barriers and cancellation: a batch follows from the episodes, and no episode can hang or spoil another's."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import trio
import trio.testing
from transformers import LlamaConfig, LlamaForCausalLM

from coworkenv.agents.agent import ActorError
from coworkenv.learn.decisions import Sampler
from coworkenv.learn.generating import Generator
from coworkenv.learn.policy import BatchFailed, NotInLockstep, PolicyServer, Seat
from coworkenv.learn.student import Asked, Sampled

END = 7


class Fake:
    """Answers each row with its own prompt, and keeps what batches there were. `before` runs first, in the thread."""

    def __init__(
        self, before: Callable[[Sequence[Asked], Callable[[], bool]], None] = lambda rows, given_up: None
    ) -> None:
        self.batches: list[list[object]] = []
        self.forgotten: list[object] = []
        self.under_way = 0
        self._before = before

    def generate(self, rows: Sequence[Asked], given_up: Callable[[], bool]) -> list[Sampled]:
        assert self.under_way == 0, "one batch at a time"
        self.under_way += 1
        try:
            self.batches.append([row.life for row in rows])
            self._before(rows, given_up)
            return [Sampled(tuple(row.prompt), (0.0,) * len(row.prompt), "stop") for row in rows]
        finally:
            self.under_way -= 1

    def forget(self, life: object | None = None) -> None:
        assert self.under_way == 0, "nothing is dropped while a batch is computed"
        self.forgotten.append("all" if life is None else life)


def ask(life: object, *prompt: int) -> Asked:
    return Asked(life, prompt or (1,), 8, Sampler(), 0)


# --- lockstep ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(4))
async def test_lockstep_bits_do_not_depend_on_who_comes_first(order: int, model: LlamaForCausalLM) -> None:
    """Eight episodes of different lengths, which take a random while between their turns."""
    shuffled = random.Random(order)

    async def episode(seat: Seat, number: int, said: list[list[Sampled]]) -> None:
        prompt = list(range(10, 15 + number))
        for turn in range(1 + number % 4):
            await trio.sleep(shuffled.random() * 0.03)
            answer = await seat.sample(Asked(seat, prompt, 12, Sampler(), 100 * number + turn))
            said[number].append(answer)
            prompt = [*prompt, *answer.ids, 50 + turn]
        await trio.sleep(shuffled.random() * 0.03)
        seat.close()

    async def play(count: int = 8) -> list[list[Sampled]]:
        said: list[list[Sampled]] = [[] for _ in range(count)]
        server = PolicyServer(Generator(model, [END]))
        async with trio.open_nursery() as nursery:
            places = list(enumerate(server.wave(count)))
            for number, seat in shuffled.sample(places, count):
                nursery.start_soon(episode, seat, number, said)
        return said

    assert await play() == await play() == _known.setdefault("bits", await play())


_known: dict[str, Any] = {}


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        initializer_range=0.3,
        attn_implementation="sdpa",
    )
    return LlamaForCausalLM(config)


async def test_a_batch_waits_for_every_open_seat_and_has_the_order_of_seats() -> None:
    fake = Fake()
    seats = PolicyServer(fake).wave(4)
    answers: dict[int, Sampled] = {}

    async def sample(number: int) -> None:
        answers[number] = await seats[number].sample(ask(number, number))

    async with trio.open_nursery() as nursery:
        for number in (3, 0, 1):
            nursery.start_soon(sample, number)
        await trio.testing.wait_all_tasks_blocked()
        assert fake.batches == []
        nursery.start_soon(sample, 2)
    assert fake.batches == [[0, 1, 2, 3]]
    assert {number: answer.ids for number, answer in answers.items()} == {number: (number,) for number in range(4)}


async def test_who_is_over_is_not_waited_for_and_its_life_is_forgotten() -> None:
    fake = Fake()
    seats = PolicyServer(fake).wave(3)
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(seats[number].sample, ask(number))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seats[2].sample, ask(2))
        nursery.start_soon(seats[0].sample, ask(0))
        await trio.testing.wait_all_tasks_blocked()
        seats[1].close()
        seats[1].close()
    assert fake.batches == [[0, 1, 2], [0, 2]]
    assert fake.forgotten == [1]
    with pytest.raises(ActorError, match="after its seat was closed"):
        await seats[1].sample(ask(1))


async def test_a_wave_does_not_wait_for_another() -> None:
    """An episode of one wave may itself wait for a whole other wave: a fork, say."""
    fake = Fake()
    server = PolicyServer(fake)
    [outer], [inner] = server.wave(1), server.wave(1)
    await inner.sample(ask("inner"))
    inner.close()
    await outer.sample(ask("outer"))
    assert fake.batches == [["inner"], ["outer"]]


async def test_two_waves_take_turns_at_the_model() -> None:
    fake = Fake(lambda rows, given_up: threading.Event().wait(0.01))
    server = PolicyServer(fake)
    waves = [server.wave(3), server.wave(3)]

    async def episode(seat: Seat) -> None:
        for _ in range(4):
            await seat.sample(ask(seat))
        seat.close()

    async with trio.open_nursery() as nursery:
        for seat in (seat for wave in waves for seat in wave):
            nursery.start_soon(episode, seat)
    assert sorted(map(len, fake.batches)) == [3] * 8


# --- what goes wrong ---------------------------------------------------------------------------------------


async def test_an_exception_reaches_everybody_in_the_batch_and_the_server_lives_on() -> None:
    broken = [True]

    def fail(rows: Sequence[Asked], given_up: Callable[[], bool]) -> None:
        if broken.pop():
            broken.append(False)
            raise ArithmeticError("the weights are broken")
        broken.append(False)

    fake = Fake(fail)
    seats = PolicyServer(fake).wave(3)
    raised: list[BatchFailed] = []

    async def sample(seat: Seat) -> None:
        try:
            await seat.sample(ask(seat))
        except BatchFailed as error:
            raised.append(error)

    for _ in range(2):
        async with trio.open_nursery() as nursery:
            for seat in seats:
                nursery.start_soon(sample, seat)
    assert len(raised) == len(set(map(id, raised))) == 3
    assert all("the weights are broken" in str(error) for error in raised)
    assert len(fake.batches) == 2


@pytest.mark.parametrize("who", range(3))
async def test_a_cancelled_episode_does_not_keep_the_others_waiting(who: int) -> None:
    """Whoever it is, while the batch is computed: the others get their answers, and the next batch."""
    started, go_on = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def before(rows: Sequence[Asked], given_up: Callable[[], bool]) -> None:
        trio.from_thread.run_sync(started.set, trio_token=token)
        assert go_on.wait(5)
        assert not given_up()

    fake = Fake(before)
    seats = PolicyServer(fake).wave(3)
    scopes = [trio.CancelScope() for _ in seats]
    answered: list[int] = []

    async def episode(number: int) -> None:
        try:
            with scopes[number]:
                for _ in range(2):
                    await seats[number].sample(ask(number))
                    answered.append(number)
        finally:
            seats[number].close()

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(episode, number)
            await started.wait()
            scopes[who].cancel()
            await trio.testing.wait_all_tasks_blocked(0.01)
            go_on.set()
    others = [number for number in range(3) if number != who]
    assert sorted(answered) == sorted(others * 2)
    assert fake.batches == [[0, 1, 2], others]
    assert sorted(fake.forgotten, key=str) == [0, 1, 2]


@pytest.mark.parametrize("mode", ["lockstep", "throughput"])
async def test_a_batch_that_nobody_waits_for_is_given_up(mode: Any) -> None:
    started = trio.Event()
    token = trio.lowlevel.current_trio_token()
    noticed = threading.Event()

    def before(rows: Sequence[Asked], given_up: Callable[[], bool]) -> None:
        trio.from_thread.run_sync(started.set, trio_token=token)
        for _ in range(500):
            if given_up():
                noticed.set()
                raise RuntimeError("given up")
            threading.Event().wait(0.01)

    server = PolicyServer(Fake(before), mode)
    seats = server.wave(2)
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for seat in seats:
                nursery.start_soon(seat.sample, ask(seat))
            await started.wait()
            nursery.cancel_scope.cancel()
    for seat in seats:
        seat.close()
    assert await trio.to_thread.run_sync(noticed.wait, 5)


async def test_cancelled_before_the_batch_is_complete_it_is_not_in_it() -> None:
    fake = Fake()
    seats = PolicyServer(fake).wave(2)
    with trio.move_on_after(0.01):
        await seats[0].sample(ask(0))
    seats[0].close()
    await seats[1].sample(ask(1))
    assert fake.batches == [[1]]


async def test_lockstep_refuses_agents_that_may_be_interrupted() -> None:
    server = PolicyServer(Fake())
    with pytest.raises(NotInLockstep, match=r"throughput.*interruptible"):
        server.wave(2, interruptible=True)
    [seat] = server.wave(1)
    with trio.move_on_after(0):
        await seat.sample(ask("life"))
    with pytest.raises(ActorError, match="throughput"):
        await seat.sample(ask("life"))  # Its episode went on: it was interrupted.
    assert PolicyServer(Fake(), "throughput").wave(2, interruptible=True)


async def test_a_seat_is_for_one_agent() -> None:
    seat, _ = PolicyServer(Fake()).wave(2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seat.sample, ask("one"))
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ActorError, match="each needs its own"):
            await seat.sample(ask("other"))
        nursery.cancel_scope.cancel()


async def test_weights_do_not_change_under_a_batch() -> None:
    started = trio.Event()
    token, go_on = trio.lowlevel.current_trio_token(), threading.Event()

    def before(rows: Sequence[Asked], given_up: Callable[[], bool]) -> None:
        trio.from_thread.run_sync(started.set, trio_token=token)
        go_on.wait(5)

    fake = Fake(before)
    server = PolicyServer(fake)
    [seat] = server.wave(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seat.sample, ask("life"))
        await started.wait()
        with pytest.raises(RuntimeError, match="end the wave first"):
            server.forget()
        go_on.set()
    server.forget()
    assert fake.forgotten == ["all"]


# --- throughput --------------------------------------------------------------------------------------------


async def test_throughput_answers_whoever_is_there_in_the_order_of_arrival_and_in_small_batches() -> None:
    fake = Fake()
    seats = PolicyServer(fake, "throughput", rows=3).wave(8)
    async with trio.open_nursery() as nursery:
        for number in (5, 1, 4, 2, 0):
            nursery.start_soon(seats[number].sample, ask(number))
            await trio.testing.wait_all_tasks_blocked()
    assert [life for batch in fake.batches for life in batch] == [5, 1, 4, 2, 0]
    assert max(map(len, fake.batches)) <= 3


async def test_an_interrupted_agent_may_ask_again_in_throughput() -> None:
    fake = Fake()
    [seat] = PolicyServer(fake, "throughput").wave(1)
    with trio.move_on_after(0):
        await seat.sample(ask("life", 1))
    assert (await seat.sample(ask("life", 2))).ids == (2,)


def test_a_server_outlives_a_run_of_trio() -> None:
    fake = Fake()
    server = PolicyServer(fake)

    async def run() -> None:
        async def sample(seat: Seat) -> None:
            await seat.sample(ask(seat))
            seat.close()

        async with trio.open_nursery() as nursery:
            for seat in server.wave(2):
                nursery.start_soon(sample, seat)

    trio.run(run)
    trio.run(run)
    assert [len(batch) for batch in fake.batches] == [2, 2]


async def test_the_model_computes_with_as_many_threads_as_torch_was_told_whatever_thread_it_runs_in(
    model: LlamaForCausalLM,
) -> None:
    seen: list[int] = []
    before = torch.get_num_threads()
    hook = model.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    try:
        for threads in (2, 1, 2):
            torch.set_num_threads(threads)
            [seat] = PolicyServer(Generator(model, [])).wave(1)
            await seat.sample(Asked("life", (1,), 1, Sampler(), 0))
            seat.close()
    finally:
        hook.remove()
        torch.set_num_threads(before)
    assert seen == [2, 1, 2]
