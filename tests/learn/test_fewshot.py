"""The few-shot baseline: it is shown demonstrations, and whatever it writes is a call that can be carried out."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from coworkenv.agents.building import build_coworkers
from coworkenv.agents.registry import register_agent
from coworkenv.engine.effects import prompt_after
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.events.event import AGENT, EffectRequested, EffectResolved
from coworkenv.events.memory import MemoryLog
from coworkenv.learn.fewshot import KIND, FewShot, build, shots_of
from coworkenv.learn.student import Asked, Sampled, StudentOptions
from coworkenv.learn.trajectories import read_trajectory
from tests.learn.teaching import lessons, worlds
from tests.learn.test_grammar import rendering, vocabulary

OPTIONS = StudentOptions(model="m", temperature=Decimal(1), length=100_000, wording="brief")


def anything(asked: list[list[int]]):
    """A policy that knows nothing but what it is allowed, and likes to come to an end."""

    async def sample(given: Asked) -> Sampled:
        asked.append(list(given.prompt))
        random, ids = Random(given.seed), []
        while len(ids) < given.tokens:
            found = given.allowed(ids)
            closing = [i for i in found if vocabulary("plain").texts.get(i, "") in ('"', "}", "1", ":", '":')]
            ids.append(random.choice(closing if closing and len(ids) > 10 else found))
            if ids[-1] == vocabulary("plain").end:
                break
        stopped = "stop" if ids[-1] == vocabulary("plain").end else "length"
        return Sampled(tuple(ids), (-1.0,) * len(ids), stopped)

    return sample


def test_it_is_shown_short_demonstrations_of_different_environments():
    shots = shots_of(lessons(), 3)
    assert all(message["role"] != "system" for message in shots)
    requests = [lesson for lesson in lessons() if lesson.messages[1] in shots]
    assert len({lesson.environment for lesson in requests}) == 3


async def test_every_call_that_it_writes_can_be_carried_out_and_its_log_has_the_ids():
    register_agent(KIND, build)
    log, asked, shots = MemoryLog(), [], shots_of(lessons())
    policy = rendering("plain"), vocabulary("plain"), anything(asked)
    async with log.writing():
        for world in worlds()[:4]:
            agent = FewShot(OPTIONS, shots, policy)
            assert build(agent.specification).specification == agent.specification
            asked.clear()
            episode = await run_episode(Plan(world, agent, build_coworkers(world)), log)
            prompt = []
            answers = 0
            for event in episode.events:
                if isinstance(event.body, EffectRequested) and event.actor == AGENT:
                    prompt = prompt_after(prompt, event.body.prompt)
                    assert tuple(prompt[2 : 2 + len(shots)]) == shots
                if (
                    isinstance(event.body, EffectResolved)
                    and event.actor == AGENT
                    and event.body.answer["stop"] == "stop"
                ):
                    [call] = event.body.answer["calls"]
                    assert "error" not in call
                    answers += 1
            assert answers
            found = read_trajectory(log, episode.id, rendering("plain"))
            assert [list(found.prompt(each)) for each in found.decisions] == asked
