"""Noised oracles, and what each of their decisions is truly worth."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from coworkenv.engine.draw import Drawer
from coworkenv.engine.playing import play_program
from coworkenv.learn.noise import Noise, Noised, noised
from coworkenv.learn.noised import information_states, play, sampled, tokens
from coworkenv.learn.truth import Tree
from coworkenv.worlds.checks.scoring import Rubric
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.playing import Case, Program

EXAMPLES = Path(__file__).parents[2] / "worlds" / "examples"
SMALL = "tickets"


def case(name: str = SMALL) -> Case:
    return Case(read_environment(EXAMPLES / f"{name}.yaml"), play_program)


async def oracles(name: str = SMALL, **noise: object) -> Mapping[str, Noised]:
    return await noised(case(name), Noise(**noise))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
async def test_without_a_mistake_it_is_the_oracle(name: str) -> None:
    for oracle in (await oracles(name)).values():
        played = await play(oracle)
        expected = await play_program(oracle.world, Program("oracle", oracle.world.oracle))
        assert [event.body for event in played.events[1:]] == [event.body for event in expected[1:]]
        assert Rubric(oracle.world).grade(played.events).passed


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
async def test_what_can_be_done_is_known_with_its_probability_and_is_the_same_in_every_twin(name: str) -> None:
    found = await oracles(name, others=3)
    base = {point.label: point for point in found[""].points}
    steps = {step.name: step for step in found[""].world.oracle}
    for oracle in found.values():
        for point in oracle.points:
            assert [alternative.name for alternative in point.alternatives[:2]] == ["oracle", "skip"]
            assert sum(alternative.chance for alternative in point.alternatives) == 1
            assert 2 <= len(point.alternatives) <= 4
            step = oracle.world.oracle[point.place]
            if step.name in steps and steps[step.name] == step:
                assert point.alternatives == base[point.label].alternatives


async def test_a_value_is_the_expectation_over_every_episode() -> None:
    oracle = (await oracles())[""]
    rubric = Rubric(oracle.world)
    expected, whole = Fraction(0), Fraction(0)
    known: dict[tuple[int, ...], Fraction] = {}
    for choices in product(*(range(len(point.alternatives)) for point in oracle.points)):
        chance = Fraction(1)
        for point, choice in zip(oracle.points, choices):
            chance *= point.alternatives[choice].chance
        ends = next(
            (place for place, point in enumerate(oracle.points) if point.alternatives[choices[place]].ends), None
        )
        short = choices if ends is None else choices[: ends + 1]
        if short not in known:
            known[short] = rubric.grader().score()
            grader = rubric.grader()
            for event in (await play(oracle, short)).events:
                grader.apply(event)
            known[short] = grader.score()
        expected += chance * known[short]
        whole += chance
    assert whole == 1
    assert len(known) == oracle.leaves
    tree = Tree(oracle)
    assert (await tree.value()).mean == expected
    assert tree.played <= oracle.leaves


async def test_advantages_of_a_state_weigh_each_other_up_and_those_of_an_episode_add_up_to_its_luck() -> None:
    for oracle in (await oracles()).values():
        tree, drawer = Tree(oracle), Drawer([7], 0, "test")
        for _ in range(10):
            choices = (await play(oracle, sampled(oracle, drawer))).choices
            truths = await tree.advantages(choices)
            luck = (await tree.leaf(choices)).score - (await tree.value()).mean
            assert sum((truth.advantage for truth in truths), Fraction(0)) == luck
            for place in range(len(choices)):
                state = choices[:place]
                worth = [
                    (await tree.advantages((*state, n)))[-1].advantage
                    for n in range(len(oracle.points[place].alternatives))
                ]
                chances = [alternative.chance for alternative in oracle.points[place].alternatives]
                assert sum((chance * each for chance, each in zip(chances, worth, strict=True)), Fraction(0)) == 0


async def test_forks_agree_with_enumeration_within_their_standard_error() -> None:
    oracle = (await oracles("kostenstelle"))[""]
    exact, forked = Tree(oracle), Tree(oracle, exact=0, forks=64, seed=3)
    assert exact.exact
    assert not forked.exact
    off: list[float] = []
    drawer = Drawer([1], 0, "test")
    for _ in range(20):
        choices = (await play(oracle, sampled(oracle, drawer))).choices
        for known, guess in zip(await exact.advantages(choices), await forked.advantages(choices), strict=True):
            assert known.error == 0
            if guess.error:
                off.append(float(guess.advantage - known.advantage) / guess.error)
            else:
                assert guess.advantage == known.advantage
    assert off
    assert max(map(abs, off)) < 4


async def test_a_step_is_necessary_where_the_score_falls_without_it() -> None:
    for oracle in (await oracles("kostenstelle")).values():
        needed = await Tree(oracle).necessary()
        rubric = Rubric(oracle.world)
        for point, needs in zip(oracle.points, needed, strict=True):
            steps = oracle.world.oracle
            without = Program("without", (*steps[: point.place], *steps[point.place + 1 :]))
            assert needs == (not rubric.grade(await play_program(oracle.world, without)).passed)


async def test_a_state_is_what_was_seen_and_done_and_not_what_happens_unseen() -> None:
    oracle = (await oracles())[""]
    first, second = await play(oracle), await play(oracle, (0, 1))
    ours, theirs = information_states(oracle, first), information_states(oracle, second)
    assert ours[:2] == theirs[:2]
    assert ours[2] != theirs[2]
    assert len(set(ours)) == len(ours) == len(tokens(first))
    assert tokens(second)[1] == 1  # a step that is skipped is no more than the decision to skip it


async def test_the_same_seed_makes_the_same_mistakes_and_another_one_others() -> None:
    first, again, other = [(await oracles(seed=seed))[""].points for seed in (1, 1, 2)]
    assert first == again != other
    oracle = (await oracles())[""]
    drawn = [sampled(oracle, Drawer([seed], 0, "x")) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


async def test_mistakes_are_made_as_often_as_is_said() -> None:
    oracle = (await oracles(share=Fraction(1, 3)))[""]
    drawer = Drawer([5], 0, "often")
    firsts = [sampled(oracle, drawer)[0] for _ in range(3000)]
    for choice, alternative in enumerate(oracle.points[0].alternatives):
        assert abs(firsts.count(choice) / 3000 - alternative.chance) < 0.03
