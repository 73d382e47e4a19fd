"""The policy as an agent: what it asks, what an answer becomes, and how an episode of it goes on after a break."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
import trio

from coworkenv.agents.agent import Outside, Request, Unavailable
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.draw import Drawer
from coworkenv.engine.episode import resume_episode, run_episode
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import EffectRequested, EffectResolved
from coworkenv.events.memory import MemoryLog
from coworkenv.learn.decisions import Sampler
from coworkenv.learn.student import Asked, Life, Sampled, Student, at_hand
from coworkenv.learn.trajectories import read_trajectory
from tests.learn.babble import Babble, drift, lived, options
from tests.learn.chats import KINDS, rendering
from tests.learn.teaching import worlds

WORLD = worlds()[0]
KNOWN = rendering("qwen")


class Breaks(Babble):
    """Does not answer once it has been asked so often."""

    def __init__(self, times: int) -> None:
        super().__init__(KNOWN, WORLD)
        self.times = times

    async def __call__(self, asked: Asked) -> Sampled:
        if len(self.asked) == self.times:
            raise Unavailable("the machine is gone")
        return await super().__call__(asked)


def digest(log: MemoryLog, stream: str) -> list[bytes]:
    return [data for _, data, _ in log.read_raw(stream)]


async def whole() -> tuple[MemoryLog, str, Babble]:
    log, sample = MemoryLog(), Babble(KNOWN, WORLD)
    async with log.writing():
        episode, _ = await lived(log, WORLD, KNOWN, sample)
    return log, episode.id, sample


@pytest.mark.parametrize("times", range(1, 6))
async def test_gone_on_with_after_a_break_it_is_what_it_would_have_been(times):
    """The same events, and the same ids asked and sampled, also by a process that has only the log."""
    wanted, stream, unbroken = await whole()
    log, first, second = MemoryLog(), Breaks(times), Babble(KNOWN, WORLD)
    async with log.writing():
        student = Student(options(KNOWN), (KNOWN, first))
        broken = await run_episode(Plan(WORLD, student, build_coworkers(WORLD)), log)
        assert (broken.id, broken.status, broken.reason) == (stream, "suspended", "the machine is gone")
        at_hand.set((KNOWN, second))
        assert (await resume_episode(log, stream)).status == "ended"
    assert digest(log, stream) == digest(wanted, stream)
    pairs = [[(tuple(a.prompt), a.seed, s.ids) for a, s in each.answered] for each in (first, second, unbroken)]
    assert pairs[0] + pairs[1] == pairs[2]
    assert drift(read_trajectory(log, stream, KNOWN), [*first.answered, *second.answered]) == []


async def test_it_is_executed_again_without_a_tokenizer_and_without_weights():
    log, stream, _ = await whole()
    at_hand.set(None)
    assert (await verify(log, stream)).verdict == "identical"


async def test_without_its_weights_nobody_can_go_on_with_it():
    log = MemoryLog()
    at_hand.set(None)
    async with log.writing():
        episode = await run_episode(Plan(WORLD, build_agent(Student(options(KNOWN)).specification)), log)
    assert episode.status == "suspended"
    assert "only a learner can go on" in episode.reason


async def test_a_fork_goes_on_with_the_ids_that_stand_in_the_log():
    """Everything before is taken as it was written; what the agent alone draws from is new."""
    log, stream, before = await whole()
    async with log.writing():
        requests = [e.seq for e in log.read(stream) if e.actor == "agent" and isinstance(e.body, EffectRequested)]
        for number, at in enumerate(requests[:4]):
            sample = Babble(KNOWN, WORLD)
            at_hand.set((KNOWN, sample))
            forked = await fork_episode(log, stream, at, {"agent_seed": 7})
            # What has been asked by then has its answer; the next one is new.
            known = before.answered[: number + 1]
            assert drift(read_trajectory(log, forked.id, KNOWN), [*known, *sample.answered]) == []
            assert sample.asked[0].prompt == before.asked[number + 1].prompt
            assert sample.asked[0].seed != before.asked[number + 1].seed


async def test_what_it_asks_is_what_its_options_say():
    log, sample = MemoryLog(), Babble(KNOWN, WORLD)
    async with log.writing():
        more = {"temperature": "0.7", "extra": {"top_k": 5, "top_p": 0.9}, "max_tokens": 33, "weights": "abc"}
        _, read = await lived(log, WORLD, KNOWN, sample, **more)
    assert {asked.sampler for asked in sample.asked} == {Sampler(temperature=0.7, top_k=5, top_p=0.9)}
    assert {decision.sampler for decision in read.decisions} == {Sampler(temperature=0.7, top_k=5, top_p=0.9)}
    assert {decision.weights for decision in read.decisions} == {"abc"}
    assert all(asked.tokens <= 33 for asked in sample.asked)
    assert len({asked.seed for asked in sample.asked}) == len(sample.asked)
    assert len({id(asked.life) for asked in sample.asked}) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_that_is_cut_off_has_no_end_and_the_next_prompt_has_it(kind):
    known = rendering(kind)

    class Cut(Babble):
        async def __call__(self, asked: Asked) -> Sampled:
            ids = tuple(known.tokens.untrusted("I think about it")[: asked.tokens])
            sampled = Sampled(ids, (0.0,) * len(ids), "length")
            self.answered.append((asked, sampled))
            return sampled

    log, sample = MemoryLog(), Cut(known, WORLD)
    async with log.writing():
        _, read = await lived(log, WORLD, known, sample, max_tokens=3, decisions=3)
    first, second = read.decisions[:2]
    assert first.stopped == "length"
    assert first.tokens == 3
    assert known.template.ends.isdisjoint(read.written(first))
    assert read.prompt(second)[: first.stop] == read.segments[0][: first.stop]
    assert read.prompt(second)[first.stop :].count(known.template.end) >= 1
    assert drift(read, sample.answered) == []


async def test_a_prompt_for_which_there_is_no_room_is_refused_and_made_shorter():
    log, sample = MemoryLog(), Babble(KNOWN, WORLD)
    async with log.writing():
        student = Student(options(KNOWN, length=5), (KNOWN, sample))
        episode = await run_episode(Plan(WORLD, student, build_coworkers(WORLD)), log)
    refusals = [e.body.refused for e in episode.events if isinstance(e.body, EffectResolved)]
    assert {refused.type for refused in refusals} == {"context_length"}
    assert "the model can read 5" in refusals[0].message
    assert not sample.asked


async def test_a_policy_that_never_ends_is_ended():
    log, sample = MemoryLog(), Babble(KNOWN, WORLD)
    async with log.writing():
        episode, _ = await lived(log, WORLD, KNOWN, sample, decisions=2)
    assert len(sample.asked) == 2
    assert episode.reason == "failed"


def test_its_specification_makes_the_same_agent_again():
    student = Student(options(KNOWN, temperature="0.7", extra={"top_k": 5}, wording="brief"))
    assert build_agent(student.specification).specification == student.specification


@pytest.mark.parametrize("given", [{"top": 1}, {"max_tokens": "many"}])
def test_a_specification_that_is_none_is_refused(given):
    with pytest.raises(msgspec.ValidationError):
        options(KNOWN, **given)


# --- requests that cross each other ---------------------------------------------------------------------------


class _Bench:
    """A context of which only the drawing is used."""

    def draw(self, purpose: str) -> Drawer:
        return Drawer([0], 0, purpose)


def _request(*texts: str) -> Request:
    return Request("model", tuple({"role": "user", "content": text} for text in texts))


async def test_a_request_that_was_cancelled_before_it_began_touches_nothing():
    """Its task may run after that of the next request."""
    sample = Babble(KNOWN, WORLD)
    life = Life(_Bench(), options(KNOWN), (KNOWN, sample))
    await life.perform(_request("One."))
    with trio.CancelScope() as scope:
        scope.cancel()
        await life.perform(_request("Other."))
        raise AssertionError("it was performed")
    await life.perform(_request("One.", "Two."))
    assert len(sample.asked) == 2
    assert sample.asked[1].prompt == tuple(KNOWN.opening(list(_request("One.", "Two.").prompt)))


async def test_who_asks_again_waits_until_the_one_before_has_left():
    inside, entered = 0, trio.Event()

    async def slow(asked: Asked) -> Sampled:
        nonlocal inside
        assert inside == 0, "two at once"
        inside += 1
        try:
            entered.set()
            await trio.sleep(0.01)
        finally:
            inside -= 1
        return Sampled((KNOWN.template.end,), (0.0,), "stop")

    life = Life(_Bench(), options(KNOWN), (KNOWN, slow))
    answers: list[Outside] = []

    async def asks(scope: trio.CancelScope, request: Request) -> None:
        with scope:
            answers.append(await life.perform(request))

    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()
        nursery.start_soon(asks, first, _request("One."))
        await entered.wait()
        first.cancel()
        nursery.start_soon(asks, trio.CancelScope(), _request("One.", "Two."))
    assert len(answers) == 1


async def test_what_the_policy_is_asked_does_not_change_afterwards():
    _, _, sample = await whole()
    copies = [asked.prompt for asked in sample.asked]
    assert all(isinstance(prompt, tuple) for prompt in copies)
    assert all(len(before) < len(after) for before, after in pairwise(copies))
