"""The fact base: all constraints hold at once, values of one kind differ, and twins have values of their own."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.origin import Draw
from coworkenv.worlds.synth.solving import Facts, Unsolvable, nested


def draw(key: bytes = b"x") -> Draw:
    return Draw(key)


@given(st.binary(), st.integers(1, 8))
def test_facts_of_one_kind_differ_also_in_their_twins(key: bytes, count: int) -> None:
    facts = Facts()
    for number in range(count):
        facts.choose(f"t{number}.id", range(10), "id")
    facts.choose("t0.id", range(10), "id", twin="other")
    solved = facts.solve(draw(key))
    values = [solved.value(f"t{number}.id") for number in range(count)]
    assert len({*values, solved.value("t0.id", "other")}) == count + 1
    assert solved.twin("other") == {"t0": {"id": solved.value("t0.id", "other")}}
    assert solved.twin("another") == {}


def test_facts_of_different_kinds_and_of_none_may_be_the_same() -> None:
    facts = Facts()
    facts.choose("a", [1], "number")
    facts.choose("b", [1], "date")
    facts.choose("c", [1])
    facts.choose("d", [1])
    assert facts.solve(draw()).facts() == {"a": 1, "b": 1, "c": 1, "d": 1}


@given(st.binary())
def test_constraints_hold_over_facts_and_over_their_values_in_twins(key: bytes) -> None:
    facts = Facts()
    facts.choose("limit", range(100))
    facts.choose("limit", range(100), twin="higher")
    facts.choose("amount", range(100))
    facts.require(lambda limit, amount: limit < amount, "limit", "amount")
    facts.require(lambda limit, amount: limit > amount, ("limit", "higher"), "amount")
    solved = facts.solve(draw(key))
    assert solved.value("limit") < solved.value("amount") < solved.value("limit", "higher")


def test_what_is_given_is_left_and_what_is_the_same_refers_to_it() -> None:
    facts = Facts()
    assert facts.set("today", "2026-03-02") == "$today"
    assert facts.choose("t1.day", ["2026-03-03"]) == "$t1.day"
    facts.same("t1.day", "$today")
    assert "t1.day" in facts
    assert "t2.day" not in facts
    assert facts.solve(draw()).facts() == {"today": "2026-03-02", "t1": {"day": "$today"}}


def test_contradictions_are_unsolvable_and_name_the_facts() -> None:
    facts = Facts()
    facts.choose("a", [1, 2])
    facts.choose("b", [1, 2])
    facts.require(lambda a, b: a > b + 5, "a", "b")
    with pytest.raises(Unsolvable, match="over a, b"):
        facts.solve(draw())


def test_more_facts_than_values_are_found_out_at_once() -> None:
    """Trying all arrangements of 24 facts in 23 values would take for ever."""
    facts = Facts()
    for number in range(24):
        facts.choose(f"t{number}.id", range(23), "id")
    with pytest.raises(Unsolvable, match="24 facts of the kind id share 23 values"):
        facts.solve(draw())


def test_room_is_looked_for_in_parts_of_a_kind_too() -> None:
    facts = Facts()
    facts.choose("wide", range(100), "id")
    for number in range(3):
        facts.choose(f"t{number}", [1, 2], "id")
    with pytest.raises(Unsolvable, match="3 facts of the kind id share 2 values"):
        facts.solve(draw())


def test_values_vary_with_the_key_and_not_with_anything_else() -> None:
    def chosen(key: bytes) -> object:
        facts = Facts()
        facts.choose("a", range(1000))
        return facts.solve(draw(key)).value("a")

    assert chosen(b"one") == chosen(b"one")
    assert len({str(chosen(bytes([key]))) for key in range(20)}) > 10


SCRIPT = """
from coworkenv.worlds.synth.solving import Facts
from coworkenv.worlds.synth.origin import Draw
facts = Facts()
for n in range(12):
    facts.choose(f"t{n}.id", [f"O-{k}" for k in range(40)], "id")
    facts.choose(f"t{n}.id", [f"O-{k}" for k in range(40)], "id", twin="other")
facts.require(lambda a, b: a < b, "t1.id", "t2.id")
solved = facts.solve(Draw(b"key"))
print(solved.facts(), solved.twin("other"))
"""


def test_the_solution_does_not_depend_on_the_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(said) == 1


def test_names_with_dots_are_nested() -> None:
    assert nested({"t1.id": 5, "t1.day": 6, "a": 1}) == {"t1": {"id": 5, "day": 6}, "a": 1}
