"""A database is its records: nothing is lost on the way there and back, and changes lead from one to the other."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.event import RecordChanged, RecordCreated, RecordDeleted
from coworkenv.worlds.records import State, initial_state
from coworkenv.worlds.tau2.layout import BadLayout, Snapshot, database_of, differences, layout_of, records_of

keys = st.text(max_size=3)
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5, width=16) | st.text(max_size=3)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
databases = st.dictionaries(keys, values, max_size=4)


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(databases)
def test_a_database_comes_back_from_its_records(database: dict[str, Any]) -> None:
    layout = layout_of(database)
    assert text(database_of(records_of(database, layout), layout)) == text(database)


@st.composite
def changed(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A database before and after something that keeps to its layout."""
    before = draw(
        st.fixed_dictionaries({"map": st.dictionaries(keys, values), "list": st.lists(values), "one": scalars})
    )
    before["map"] = {key: {"held": value} for key, value in before["map"].items()}
    before["parted"] = {"inner": {"a": {"b": 1}}, "other": draw(values)}
    after = copy.deepcopy(before)
    after["map"] |= draw(st.dictionaries(keys, values, max_size=3))
    for key in draw(st.lists(st.sampled_from(sorted(after["map"])), max_size=2)) if after["map"] else ():
        after["map"].pop(key, None)
    after["list"] = draw(st.permutations(after["list"]))[: draw(st.integers(0, 3))] + draw(st.lists(values, max_size=2))
    after["one"], after["parted"]["other"] = draw(scalars), draw(values)
    after["parted"]["inner"] = draw(st.dictionaries(keys, values, max_size=2))
    return before, after


@given(changed())
def test_differences_lead_from_one_database_to_the_other(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    before, after = pair
    layout = layout_of(before)
    records = records_of(before, layout)
    changes = msgspec.convert(
        differences("desk", Snapshot(records), Snapshot(records_of(after, layout))),
        list[RecordCreated | RecordChanged | RecordDeleted],
    )
    state = initial_state(
        RecordCreated(service="desk", collection=name, key=key, value=record)
        for name, table in records.items()
        for key, record in table.items()
    )
    assert text(database_of(state.apply(*changes)["desk"].plain(), layout)) == text(after)
    assert bool(changes) == (text(before) != text(after))


def test_only_what_changed_is_in_a_change() -> None:
    before = {"books": {"atlas": {"lent": None, "pages": 3}, "novel": {"pages": 1}}}
    after = {"books": {"atlas": {"lent": "mia", "pages": 3}, "novel": {"pages": 1.0}}}
    layout = layout_of(before)
    assert differences("desk", Snapshot(records_of(before, layout)), Snapshot(records_of(after, layout))) == [
        {"type": "record.changed", "service": "desk", "collection": "books", "key": "atlas", "set": {"lent": "mia"}},
        {"type": "record.changed", "service": "desk", "collection": "books", "key": "novel", "set": {"pages": 1.0}},
    ]


def test_members_that_hold_objects_are_collections_of_their_own() -> None:
    database = {"house": {"open": True, "rooms": {"hall": {"seats": 40}}}}
    assert records_of(database, layout_of(database)) == {
        "house": {"house": {"open": True}},
        "house.rooms": {"hall": {"seats": 40}},
    }


@pytest.mark.parametrize(
    "after",
    [{"map": [], "list": []}, {"map": {}, "list": {}}, {"map": {}}, {"map": {}, "list": [], "more": 1}],
)
def test_a_database_of_another_kind_is_refused(after: dict[str, Any]) -> None:
    with pytest.raises(BadLayout):
        records_of(after, layout_of({"map": {"a": {}}, "list": []}))


def test_a_state_without_the_database_has_empty_collections() -> None:
    assert database_of(State()["desk"].plain(), layout_of({"map": {}, "list": []})) == {"map": {}, "list": []}
