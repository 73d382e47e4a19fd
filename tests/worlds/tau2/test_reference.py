"""A task's reference actions become a play for two, word for word."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.event import Json
from coworkenv.worlds.facts import Seen, filled
from coworkenv.worlds.tau2.reference import USER, Action, play_of

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-99, max_value=99)
words = st.text(max_size=8) | st.sampled_from(
    ["=1 + 1", "${order}", "$", "a $b {c}", "@x", "=", "\\=", "\\", "$$", "{{"]
)
leaves = st.none() | st.booleans() | st.integers() | decimals | words
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))


@given(st.dictionaries(words, values, max_size=3))
def test_arguments_mean_what_they_say(arguments: dict[str, Json]) -> None:
    [call, _] = play_of([Action("lend", arguments)]).steps
    assert filled(call.args, Seen({})) == arguments


@given(st.lists(words, min_size=1, max_size=3))
def test_what_is_to_be_said_is_said(said: list[str]) -> None:
    step = play_of([], said).steps[-1]
    assert filled(step.text, Seen({})) == ("\n".join(said) or "That is done.")


def test_the_two_take_turns() -> None:
    both = [Action("a", {}), Action("b", {}, "user"), Action("c", {}, "user"), Action("d", {}), Action("e", {}, "user")]
    play = play_of(both, ["320"])
    assert [step.call or f"ask {step.ask}" for step in play.steps] == ["a", "ask user", "d", "ask user", "ask user"]
    assert [[action.name for action in turn] for turn in play.turns] == [["b", "c"], ["e"], []]


def test_alone_the_agent_does_everything() -> None:
    play = play_of([Action("a", {}), Action("b", {}, "user")], ["320"], solo=True)
    assert [step.call or f"say {step.say}" for step in play.steps] == ["a", "b", f"say {USER}"]
    assert play.turns == ((),)


def test_numbers_keep_their_digits() -> None:
    [call, _] = play_of([Action("pay", {"amount": Decimal("25.0"), "times": 25})]).steps
    assert str(filled(call.args, Seen({}))) == str({"amount": Decimal("25.0"), "times": 25})
