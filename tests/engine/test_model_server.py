"""Whole episodes against a model server that fails: what passes is retried, what stays suspends, and nothing is lost.

The server is a pure function of the request in bad weather, over real HTTP. So an episode that was disturbed, suspended
and resumed has to be, byte for byte, the one that was not.
"""

from random import Random

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from coworkenv.agents.building import build_agent
from coworkenv.engine.episode import resume_episode, run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.engine.rollouts import rollout
from coworkenv.events.event import EffectResolved
from coworkenv.events.memory import MemoryLog
from tests.engine.weather import (
    LASTING,
    NAMED,
    PASSING,
    TURNS,
    UNREADABLE,
    WORLD,
    Weather,
    bodies,
    observed,
    patience_for,
    patient,
    plan_for,
    pure,
    serving,
    stream,
    turn_of,
    undisturbed,
)
from tests.loopback import ModelServer, Reply, completion


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "COWORKENV_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


# --- retried -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PASSING | UNREADABLE)
async def test_a_failure_that_passes_leaves_no_trace_in_the_stream_and_one_beside_it(name):
    weather = Weather({turn: [NAMED[name]] for turn in TURNS})
    async with serving(weather) as (server, log):
        episode = await run_episode(plan_for(server, timeout=patience_for(name)), log)
        assert stream(log, episode) == await undisturbed()
        assert len(server.requests) == 2 * len(TURNS)
        seen = observed(log, episode)
        assert [len(one["failures"]) for one in seen] == [1] * len(TURNS)
        assert all(one["response"]["object"] == "chat.completion" and one["seconds"] >= 0 for one in seen)


async def test_many_episodes_at_once_through_a_server_that_fails_at_random_are_what_they_would_have_been():
    random = Random(5)
    kinds = [fault for name, fault in PASSING.items() if name != "no answer in time"]

    def answer(request):
        return random.choice(kinds) if random.random() < 0.4 else pure(request)

    async with serving(answer) as (server, log):
        plans = [plan_for(server, seed, attempts=3) for seed in range(12)]
        results = await rollout(plans, log)
        assert any(result.status == "suspended" for result in results)
        assert all(result.status != "error" for result in results)
        for result in results:
            while log.row(result.id).status != "ended":
                await resume_episode(log, result.id, patient(server))
        ended = [await resume_episode(log, result.id) for result in results]
        assert [stream(log, episode) for episode in ended] == [await undisturbed(seed) for seed in range(12)]


# --- suspended ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("turn", TURNS)
async def test_a_failure_that_stays_suspends_and_a_resumed_episode_is_the_undisturbed_one(name, turn):
    whole = await undisturbed()
    weather = Weather({turn: [NAMED[name]] * (1 if name in LASTING else 2)})
    async with serving(weather) as (server, log):
        episode = await run_episode(plan_for(server, attempts=2, timeout=patience_for(name)), log)
        assert episode.status == log.row(episode.id).status == "suspended"
        assert log.row(episode.id).reason.startswith(server.url)
        kept = stream(log, episode)
        assert kept == whole[: len(kept)]
        assert (await verify(log, episode.id)).verdict == "identical so far"
        answered = {body.effect for body in bodies(episode, EffectResolved)}

        again = len(server.requests)
        episode = await resume_episode(log, episode.id, patient(server))
        assert episode.status == "ended"
        assert stream(log, episode) == whole
        assert (await verify(log, episode.id)).verdict == "identical"
        assert len(server.requests) - again == len(TURNS) - len(answered)
        assert len(observed(log, episode)) == len(TURNS)


failures = st.sampled_from([NAMED[name] for name in NAMED if name != "no answer in time" and name not in UNREADABLE])


@settings(max_examples=15, deadline=None)
@given(st.fixed_dictionaries({turn: st.lists(failures, max_size=5) for turn in TURNS}))
def test_through_any_weather_the_episode_is_the_same(faults):
    async def live():
        async with serving(Weather(faults)) as (server, log):
            episode = await run_episode(plan_for(server, attempts=2), log)
            lives = 0
            while episode.status == "suspended":
                lives += 1
                episode = await resume_episode(log, episode.id, patient(server, attempts=2))
            assert lives <= sum(map(len, faults.values()))
            assert stream(log, episode) == await undisturbed()

    trio.run(live)


@pytest.mark.parametrize("turn", TURNS)
async def test_whoever_interrupts_a_request_can_go_on_later(turn):
    asked = trio.Event()
    weather = Weather({turn: [Reply(completion("too late"), delay=60)]})

    def answer(request):
        reply = weather(request)
        if isinstance(reply, Reply):
            asked.set()
        return reply

    async with serving(answer) as (server, log):
        plan = plan_for(server)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_episode, plan, log)
            await asked.wait()
            nursery.cancel_scope.cancel()
        [row] = log.rows()
        assert (row.status, row.reason) == ("suspended", "interrupted")
        episode = await run_episode(plan, log)
        assert stream(log, episode) == await undisturbed()


async def test_an_episode_goes_on_at_another_server_when_its_own_is_gone():
    going = trio.Event()

    def answer(request):
        if turn_of(request) == 2:
            going.set()
            return Reply(delay=60)
        return pure(request)

    log = MemoryLog()
    async with log.writing():
        async with trio.open_nursery() as nursery, ModelServer(answer).serving() as server:
            plan = plan_for(server, attempts=2)
            nursery.start_soon(run_episode, plan, log)
            await going.wait()
        [row] = log.rows()
        assert row.status == "suspended"
        assert "ConnectError" in row.reason
        async with ModelServer(pure).serving() as other:
            episode = await resume_episode(log, row.id, patient(other))
            assert len(other.requests) == 2
        assert stream(log, episode) == await undisturbed()


async def test_patience_is_an_option_and_no_part_of_the_episode(monkeypatch):
    fault = NAMED["500"]
    streams, asked = [], []
    for attempts, options in ((5, {"attempts": 5, "first_wait": "0.001", "timeout": 20}), (1, {"attempts": 1})):
        weather = Weather({0: [fault] * 4})
        async with serving(weather) as (server, log):
            monkeypatch.setenv("COWORKENV_BASE_URL", server.url)
            episode = await run_episode(Plan(WORLD, build_agent("openai:m", options)), log)
            asked.append(len(server.requests) if attempts == 1 else weather.answered[0])
            streams.append(stream(log, episode))
    assert asked == [1, 1]
    assert streams[0][: len(streams[1])] == streams[1]
