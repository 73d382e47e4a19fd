"""A panel from weak to strong is told apart."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.programs.panel import AGENTS, LEARNT, STRONG, WEAK, kendall, panel, program, ranked
from coworkenv.worlds.synth.validators.discrimination import LEAST, find

from .planting import EXAMPLES, case

CAPABILITIES = {f"{group}{number}" for group in "ABCDEFGH" for number in range(1, 5)}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_examples_tell_weak_from_strong(name: str) -> None:
    sound = await case(name)
    assert await find(sound) == []
    scores = await panel(sound)
    assert list(scores) == list(AGENTS)
    assert scores[STRONG] == 1
    assert scores[STRONG] - scores[WEAK] >= LEAST
    assert ranked(scores) > 0


async def test_an_environment_that_everybody_passes_is_an_error() -> None:
    def plant(data: dict) -> None:
        data["checks"] = {"told": {"weight": 1, "expect": {"said": "lena"}}}
        for twin in data["twins"].values():
            twin.pop("checks", None)

    [finding] = await find(await case("refund", plant))
    assert finding.details["panel"][WEAK] == "1"


def test_every_capability_is_learnt_at_one_level() -> None:
    learnt = [capability for group in LEARNT for capability in group]
    assert len(learnt) == len(set(learnt))
    assert set(learnt) == CAPABILITIES
    assert len(AGENTS) >= 8


async def test_an_agent_falls_into_the_traps_of_what_it_has_not_learnt() -> None:
    def plant(data: dict) -> None:
        traps = data["traps"]
        data["traps"] = {"a1-guesses": traps["guesses-order"], "h2-pays-twice": traps["pays-twice"]}

    known = await case("refund", plant)
    a1 = next(level for level, group in enumerate(LEARNT) if "A1" in group) + 1
    assert "a1-guesses" in program(known, a1 - 1).name
    assert program(known, a1) == known.trap("h2-pays-twice")
    assert program(known, len(LEARNT)) == known.oracle()


SCORES = st.lists(st.fractions(0, 1, max_denominator=4), min_size=2, max_size=12)


@given(SCORES)
def test_the_rank_correlation_is_between_minus_one_and_one_and_turns_with_the_order(scores: list[Fraction]) -> None:
    ranks = range(len(scores))
    found = kendall(ranks, scores)
    assert -1 <= found <= 1
    assert kendall(ranks, [-score for score in scores]) == -found


@given(st.lists(st.integers(), min_size=2, max_size=12, unique=True))
def test_a_ranking_agrees_with_itself(ranks: list[int]) -> None:
    assert kendall(ranks, ranks) == 1


def test_the_rank_correlation_is_that_of_the_textbook() -> None:
    assert kendall([1, 2, 3, 4, 5], [3, 4, 1, 2, 5]) == Decimal("0.2")
    assert round(kendall([1, 2, 3], [1, 1, 2]), 6) == Decimal("0.816497")
