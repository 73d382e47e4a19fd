"""Rewards of agents that do all kinds of things in real environments: they add up, to the last digit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Answer, Call, Context, Outside, Price, Request
from coworkenv.agents.arguments import plausible
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import play, run_episode
from coworkenv.engine.plan import Plan
from coworkenv.events import MemoryLog
from coworkenv.events.coherence import events_of
from coworkenv.events.event import (
    AGENT,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    Event,
    MessageSent,
    ToolCalled,
)
from coworkenv.learn.rewards import (
    FREE,
    Costs,
    NoSuchDecision,
    by_checks,
    potentials,
    rewards,
    standings,
    turns,
)
from coworkenv.worlds.checks.scoring import Rubric
from coworkenv.worlds.compiling import variants
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.world import World

EXAMPLES = sorted((Path(__file__).parents[2] / "worlds" / "examples").glob("*.yaml"))
SEEDS = range(4)
SOME = Costs(call=0.01, message=0.02, token=0.0005, decision=0.003)


class Meddler:
    """Decides by chance: goes on as the oracle did, leaves some of it out, or does something that nobody asked for.

    Each decision is an effect, as a model's is.
    """

    specification: dict[str, Any] = {"kind": "meddler"}  # noqa: RUF012

    def __init__(self, plan: Sequence[Event]) -> None:
        self._plan = [event.body for event in plan if isinstance(event.body, ToolCalled | MessageSent)]

    async def act(self, context: Context) -> str:
        draw = context.draw("meddler")
        said = "".join(message.text for message in context.unread())
        careful = draw.below(4)
        for step in self._plan:
            tokens = draw.below(40)
            await context.effect(
                Request(kind="model", prompt=({"role": "user", "content": said},), price=Price(1_000_000, 2_000_000)),
                lambda _, tokens=tokens: answered(tokens),
                interruptible=draw.below(2) == 0,
            )
            said += "".join(message.text for message in context.unread())
            chance = draw.below(12)
            if chance == 0 and context.tools:
                tool = context.tools[draw.below(len(context.tools))]
                words = [said.split()[draw.below(len(said.split()))]] if said.split() else ["it"]
                await context.call(Call(tool.name, plausible(tool, context.world.start, words)))
            elif chance == 1 and context.people:
                await context.send(list(context.people)[draw.below(len(context.people))], said[-80:] or "All done.")
            if chance == 2 or (chance > 8 and careful == 0):
                continue
            if isinstance(step, ToolCalled):
                await context.call(Call(step.tool, step.args))
            else:
                await context.send(step.to, step.text)
                if draw.below(2):
                    await context.receive(timeout=600_000_000)
        return ""


async def answered(tokens: int) -> Outside:
    return Outside(Answer(value={"text": ""}, tokens=tokens))


class Lived(msgspec.Struct, frozen=True):
    world: World
    rubric: Rubric
    events: Sequence[Event]
    decisions: list[int]


async def lives(world: World, seeds: Sequence[int] = SEEDS) -> AsyncIterator[Lived]:
    """Episodes of the meddler in a world."""
    oracle = await play(Plan(world, build_agent({"kind": "oracle"}), build_coworkers(world)))
    mine = [event for event in oracle.events if event.actor == AGENT]
    for seed in seeds:
        episode = await play(Plan(world, Meddler(mine), build_coworkers(world), seed))
        yield lived(world, episode.events)


def lived(world: World, events: Sequence[Event]) -> Lived:
    asked = [event.seq for event in events if event.actor == AGENT and isinstance(event.body, EffectRequested)]
    return Lived(world, Rubric(world), events, asked)


def score(rubric: Rubric, events: Sequence[Event]) -> Fraction:
    """The score of a stream, graded from its beginning."""
    grader = rubric.grader()
    for event in events:
        grader.apply(event)
    return grader.score()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_dense_rewards_add_up_to_the_final_score_minus_that_of_the_empty_stream(path: Path) -> None:
    """Exactly, in every twin, under agents that get somewhere, nowhere, or into a gate; by either scoring rule."""
    for world in variants(read_environment(path)).values():
        for ruled in (world, msgspec.structs.replace(world, scoring="claw-eval")):
            async for life in lives(ruled):
                dense = rewards(life.events, life.decisions, life.rubric)
                assert len(dense) == len(life.decisions)
                assert sum(dense) == score(life.rubric, life.events) - score(life.rubric, [])
                for place, (start, stop) in enumerate(pairwise([0, *life.decisions[1:], len(life.events)])):
                    after, before = score(life.rubric, life.events[:stop]), score(life.rubric, life.events[:start])
                    assert dense[place] == after - before


async def test_the_meddler_does_all_that_rewards_are_to_tell_apart() -> None:
    """It wins and loses, takes back what it had, and is cut short: or the properties here would say little."""
    scores, dense, cut = set(), [], 0
    for path in EXAMPLES:
        for world in variants(read_environment(path)).values():
            async for life in lives(world):
                scores.add(score(life.rubric, life.events))
                dense += rewards(life.events, life.decisions, life.rubric)
                cut += sum(isinstance(event.body, EffectCancelled) and bool(event.body.paid) for event in life.events)
    assert {0, 1} < scores
    assert len(scores) > 5
    assert min(dense) < 0 < max(dense)
    assert cut


@pytest.mark.parametrize("path", EXAMPLES[:4], ids=lambda path: path.stem)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("costs", [FREE, SOME], ids=["free", "costs"])
async def test_shaping_changes_discounted_returns_by_nothing_but_the_first_potential(
    path: Path, gamma: float, costs: Costs
) -> None:
    """Ng, Harada & Russell 1999: from each decision on, `sum gamma^j (dense - terminal)` is minus its potential."""
    for world in variants(read_environment(path)).values():
        async for life in lives(world, SEEDS[:2]):
            shaped = rewards(life.events, life.decisions, life.rubric, "dense", gamma=gamma, costs=costs)
            plain = rewards(life.events, life.decisions, life.rubric, "terminal", gamma=gamma, costs=costs)
            discount = Fraction(gamma).limit_denominator(10**9)
            before = potentials(life.events, life.decisions, life.rubric, costs)
            assert plain[:-1] == [0] * (len(plain) - 1)
            assert plain[-1] == before[-1]
            for place in range(len(shaped)):
                difference = sum(
                    discount**j * (one - other) for j, (one, other) in enumerate(zip(shaped[place:], plain[place:]))
                )
                assert difference == -before[place]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_costs_take_a_share_of_what_was_earned_and_never_more(path: Path) -> None:
    for world in variants(read_environment(path)).values():
        async for life in lives(world, SEEDS[:2]):
            mine = [event.body for event in life.events if event.actor == AGENT]
            tokens = {body.effect: body.tokens or 0 for body in mine if isinstance(body, EffectResolved)}
            tokens |= {
                body.effect: body.paid for body in mine if isinstance(body, EffectCancelled) and body.paid is not None
            }
            spent = (
                Fraction(1, 100) * sum(isinstance(body, ToolCalled) for body in mine)
                + Fraction(2, 100) * sum(isinstance(body, MessageSent) for body in mine)
                + Fraction(5, 10_000) * sum(tokens.values())
                + Fraction(3, 1000) * len(life.decisions)
            )
            final = score(life.rubric, life.events) * max(Fraction(0), 1 - spent)
            for kind in ("terminal", "dense", "checks"):
                assert sum(rewards(life.events, life.decisions, life.rubric, kind, costs=SOME)) == final
            ruinous = Costs(message=1.0, call=1.0, decision=1.0)
            assert potentials(life.events, life.decisions, life.rubric, ruinous)[1:] == [0] * len(life.decisions)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_the_factor_of_costs_is_in_0_to_1_and_falls_with_work(prices: list[float], counts: list[int]) -> None:
    costs = Costs(**dict(zip(("call", "message", "token", "decision"), prices)))
    assert costs.factor(0, 0, 0, 0) == 1
    for more in accumulate([0, 1, 5]):
        assert 0 <= costs.factor(*(count + more for count in counts)) <= costs.factor(*counts) <= 1


@pytest.mark.parametrize("price", [-0.1, 1.5, float("nan")])
def test_a_cost_that_is_no_share_is_refused(price: float) -> None:
    with pytest.raises(ValueError, match="share of what was earned"):
        Costs(message=price)


# --- checks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_each_change_of_a_check_is_found_at_the_decision_that_made_it(path: Path) -> None:
    """Against verdicts of prefixes that are graded from the beginning."""
    for world in variants(read_environment(path)).values():
        async for life in lives(world):
            ends = [0, *life.decisions[1:], len(life.events)]
            graded = [life.rubric.grade(life.events[:end]).verdicts for end in ends]
            passed = [{verdict.name: verdict.passed for verdict in row if verdict.applicable} for row in graded]
            expected = {
                (name, place, after[name])
                for place, (before, after) in enumerate(pairwise(passed))
                for name in after
                if before[name] is not after[name]
            }
            found = turns(life.events, life.decisions, life.rubric)
            assert {(each.check, each.decision, each.passed) for each in found} == expected
            assert len(found) == len(expected)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_rewards_by_checks_add_up_and_go_to_decisions_that_changed_something(path: Path) -> None:
    for world in variants(read_environment(path)).values():
        async for life in lives(world):
            earned = rewards(life.events, life.decisions, life.rubric, "checks")
            assert sum(earned) == score(life.rubric, life.events)
            active = {each.decision for each in turns(life.events, life.decisions, life.rubric)}
            active.add(len(life.decisions) - 1)  # what no check that changed has earned
            assert all(value == 0 for place, value in enumerate(earned) if place not in active)


async def test_a_check_counts_where_it_was_passed_for_good_and_a_gate_where_it_failed() -> None:
    """By hand: of checks a (weight 3) and b (1), a is passed, lost, and passed again; then the frame is left."""
    _, rubric = await weighted()
    rows = [(False, False, True), (True, False, True), (False, True, True), (True, True, True), (True, True, False)]
    assert _shares(rows[:4], rubric) == [0, Fraction(1, 4), Fraction(3, 4)]
    assert _shares(rows, rubric) == [0, Fraction(1, 4), Fraction(3, 4), -1]
    # The frame is left with the first decision, and what is earned later is worth nothing any more.
    gated = [rows[0], (True, False, False), (True, True, False)]
    assert _shares(gated, rubric) == [Fraction(3, 4) - 1, Fraction(1, 4)]
    assert _shares(rows[:3], rubric) == [0, Fraction(1, 4)]
    assert _shares(rows[:1] * 3, rubric) == [0, 0]


def _shares(rows: Sequence[tuple[bool, ...]], rubric: Rubric) -> list[Fraction]:
    return by_checks(rows, rubric, rubric.score(rows[-1][:-1], rows[-1][-1]))


async def weighted() -> tuple[World, Rubric]:
    """A world whose checks are two that are not passed in the beginning, of weights 3 and 1."""
    world = variants(read_environment(EXAMPLES[0]))[""]
    idle = {test.name for test in Rubric(world).examine().sheet.tests if test.idle}
    wanted = [(name, check) for name, check in world.checks.items() if not check.gate and name not in idle][:2]
    checks = {
        name: msgspec.structs.replace(check, weight=weight)
        for (name, check), weight in zip(wanted, (3, 1), strict=True)
    }
    world = msgspec.structs.replace(world, checks=checks)
    return world, Rubric(world)


# --- any stream, any grader --------------------------------------------------------------------------------


async def test_an_old_log_is_rewarded_by_its_own_grader_or_by_another() -> None:
    world, log = variants(read_environment(EXAMPLES[0]))[""], MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world, build_agent({"kind": "oracle"}), build_coworkers(world)), log)
    starts = [event.seq for event in episode.events if event.actor == AGENT and isinstance(event.body, ToolCalled)]
    events = events_of(log, episode.id)
    assert sum(rewards(events, starts, Rubric(world))) == 1
    assert rewards(events, starts, Rubric(world)) == rewards(episode.events, starts, Rubric(world))
    other = (await weighted())[1]
    assert sum(rewards(events, starts, other)) == score(other, events)
    assert rewards(events, starts, other) != rewards(events, starts, Rubric(world))


async def test_nothing_is_earned_by_nobody_and_decisions_elsewhere_are_refused() -> None:
    world = variants(read_environment(EXAMPLES[0]))[""]
    async for life in lives(world, [0]):
        assert rewards(life.events, [], life.rubric) == []
        count = len(life.events)
        for wrong in ([5, 4], [4, 4], [-1], [count + 1]):
            with pytest.raises(NoSuchDecision, match="ascending order"):
                potentials(life.events, wrong, life.rubric)
        # A decision behind the last event has done nothing.
        late = rewards(life.events, [0, count], life.rubric)
        assert late == [score(life.rubric, life.events) - score(life.rubric, []), 0]
        assert standings(life.events, [0, count], life.rubric)[1] == standings(life.events, [0, count], life.rubric)[2]
