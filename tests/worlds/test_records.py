"""State: what record events make of it, and that the old state stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.event import RecordChanged, RecordCreated, RecordDeleted
from coworkenv.worlds.records import State, initial_state

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.dictionaries(st.sampled_from(["x", "y", "z"]), st.integers(0, 9), max_size=3)
PLACES = st.tuples(st.sampled_from(["mail", "crm"]), st.sampled_from(["inbox", "sent"]))
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["create", "change", "delete"]),
        PLACES,
        KEYS,
        VALUES,
        st.lists(st.sampled_from(["x", "y"]), max_size=2),
    ),
    max_size=20,
)


def created(key, value=None, service="mail", collection="inbox"):
    return RecordCreated(service=service, collection=collection, key=key, value=value or {})


@given(ACTIONS)
def test_state_is_what_plain_dictionaries_would_hold(actions):
    """A model with nested dictionaries, changed in place, agrees after each event, order of insertion included."""
    state, model, counts = State(), {}, {}
    for verb, (service, collection), key, value, unset in actions:
        table = model.setdefault(service, {}).setdefault(collection, {})
        where = {"service": service, "collection": collection, "key": key}
        if verb == "create" and key not in table:
            state = state.apply(RecordCreated(value=value, **where))
            table[key] = dict(value)
            counts[service, collection] = counts.get((service, collection), 0) + 1
        elif verb == "change" and key in table:
            state = state.apply(RecordChanged(set=value, unset=tuple(unset), **where))
            table[key] = {name: old for name, old in table[key].items() if name not in unset} | value
        elif verb == "delete" and key in table:
            state = state.apply(RecordDeleted(**where))
            del table[key]
        assert list(state[service][collection]) == list(table)
        assert [list(record.items()) for record in state[service][collection].values()] == [
            list(record.items()) for record in table.values()
        ]
        assert state[service].count(collection) == counts.get((service, collection), 0)


@given(ACTIONS)
def test_a_state_never_changes_after_it_was_made(actions):
    state = initial_state([created("a", {"x": 1}), created("b")])
    kept, plain = state, state.plain()
    for verb, (service, collection), key, value, _ in actions:
        where = {"service": service, "collection": collection, "key": key}
        if verb == "create":
            state = state.apply(RecordCreated(value=value, **where))
        elif key in state[service][collection]:
            state = state.apply(
                RecordDeleted(**where) if verb == "delete" else RecordChanged(set={**value, "new": 1}, **where)
            )
        assert kept.plain() == plain


def test_what_a_change_does_not_touch_is_shared():
    before = initial_state([created("a"), created("b", service="crm"), created("c", collection="sent")])
    after = before.apply(RecordChanged(service="mail", collection="inbox", key="a", set={"read": True}))
    assert after["crm"] is before["crm"]
    assert after["mail"]["sent"] is before["mail"]["sent"]


def test_a_changed_record_keeps_its_place_and_a_recreated_one_stands_last():
    state = initial_state([created("a"), created("b")])
    state = state.apply(RecordChanged(service="mail", collection="inbox", key="a", set={"x": 1}))
    assert list(state["mail"]["inbox"]) == ["a", "b"]
    state = state.apply(RecordDeleted(service="mail", collection="inbox", key="a")).apply(created("a"))
    assert list(state["mail"]["inbox"]) == ["b", "a"]


def test_the_count_of_a_collection_never_goes_back():
    state = initial_state([created("a"), created("b")])
    state = state.apply(RecordDeleted(service="mail", collection="inbox", key="b"))
    assert state["mail"].count("inbox") == 2
    assert state["mail"].count("sent") == 0


@pytest.mark.parametrize("event", [RecordChanged, RecordDeleted])
def test_a_record_that_is_not_there_cannot_be_changed(event):
    with pytest.raises(KeyError):
        initial_state([created("a")]).apply(event(service="mail", collection="inbox", key="b"))


def test_what_nobody_has_is_empty():
    state = State()
    assert dict(state["mail"]["inbox"]) == {}
    assert list(state.services()) == []
    assert list(initial_state([created("a")])["mail"].collections()) == ["inbox"]


def test_states_are_equal_by_what_they_hold():
    one = initial_state([created("a", {"x": 1})])
    other = initial_state([created("a")]).apply(
        RecordChanged(service="mail", collection="inbox", key="a", set={"x": 1})
    )
    assert one == other
    assert one != initial_state([created("a", {"x": 2})])
    assert one != "a state"
