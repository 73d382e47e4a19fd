"""The memoriser: it remembers requests and calls, replaces what the request names, and knows nothing else."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from coworkenv.agents.building import build_coworkers
from coworkenv.agents.registry import register_agent
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.events.codec import to_json
from coworkenv.events.event import AGENT, EffectRequested, MessageSent, ToolCalled
from coworkenv.learn.memoriser import KIND, NothingLearnt, Substitution, build, memoriser
from coworkenv.learn.scores import score_of
from tests.learn.teaching import lessons, worlds

THERE = "[09:00 #1 zofia]\nPlease send one for the Berylon Laser A4 (315.60 euros, WC-8657) by 2026-02-18."
HERE = "[09:00 #1 lena]\nPlease send one for the Lumera Spot D9 Plus (7.5 euros, WC-1) by 2026-03-01."


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        ("Berylon Laser A4", "Lumera Spot D9 Plus"),
        ("WC-8657", "WC-1"),
        ("zofia", "lena"),
        ("Sent: WC-8657, the Berylon Laser A4.", "Sent: WC-1, the Lumera Spot D9 Plus."),
        (Decimal("315.60"), Decimal("7.5")),
        ({"by": "2026-02-18", "ids": ["WC-8657", "WC-2"]}, {"by": "2026-03-01", "ids": ["WC-1", "WC-2"]}),
        ("elsewhere", "elsewhere"),
        ("", ""),
        (None, None),
        (True, True),
        (3, 3),
    ],
)
def test_values_of_one_request_become_those_of_the_other(value, becomes):
    assert Substitution(THERE, HERE).of(value) == becomes


def test_of_the_same_request_everything_stays():
    for lesson in lessons():
        text = lesson.messages[1]["content"]
        same = Substitution(text, text)
        assert all(same.of(message["content"]) == message["content"] for message in lesson.messages[:4])


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


async def test_it_uses_nothing_that_is_not_in_the_request_or_in_what_it_remembers():
    """Leave one out: each environment is played from the memory of all others, twins of it too."""
    for world in worlds():
        others = [each for each in lessons() if each.environment != world.id.partition("@")[0]]
        agent = memoriser(others, world)
        episode = await play(Plan(world, agent, build_coworkers(world)))
        prompt = next(e.body.prompt for e in episode.events if isinstance(e.body, EffectRequested) and e.actor == AGENT)
        may_know = words(to_json(agent.specification).decode()) | words(to_json(prompt).decode())
        mine = [e.body for e in episode.events if e.actor == AGENT]
        used = [to_json(body.args).decode() for body in mine if isinstance(body, ToolCalled)]
        used += [body.text for body in mine if isinstance(body, MessageSent)]
        assert words(" ".join(used)) <= may_know


async def test_what_it_has_seen_it_does_again_and_a_flipped_fact_escapes_it():
    """It remembers the base of an environment: the base it wins, and in no twin does it do anything else."""
    decisions = {}
    for world in [world for world in worlds() if world.oracle]:
        base = [each for each in lessons() if each.environment == world.id.partition("@")[0] and not each.variant]
        episode = await play(Plan(world, memoriser(base, world), build_coworkers(world)))
        mine = [e.body for e in episode.events if e.actor == AGENT]
        made = [(body.tool, body.args) for body in mine if isinstance(body, ToolCalled)]
        if "@" not in world.id:
            decisions[world.id] = made
            assert score_of(episode.events, {}).score == 1
        else:
            assert made[: len(decisions[world.id.partition("@")[0]])] == decisions[world.id.partition("@")[0]]


async def test_a_log_that_names_it_can_be_executed_again():
    register_agent(KIND, build)
    agent = memoriser(lessons(), worlds()[0])
    assert build(agent.specification).specification == agent.specification
    one, other = [await play(Plan(worlds()[0], each)) for each in (agent, build(agent.specification))]
    assert one.events == other.events


def test_without_a_demonstration_there_is_nothing_to_remember():
    with pytest.raises(NothingLearnt):
        memoriser([], worlds()[0])
