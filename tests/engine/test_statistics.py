"""Figures: what asynchrony did can be counted, and what is counted can be added up."""

import json

from hypothesis import given
from hypothesis import strategies as st

from coworkenv.engine.differing import changes, difference
from coworkenv.engine.statistics import Statistics, statistics, together
from coworkenv.events.event import MessageSent

from .streams import SECOND, STARTED, asynchronous, stream

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def test_what_happened_is_counted():
    counted = statistics(asynchronous())
    assert counted.events == 19
    assert counted.at == 81 * SECOND
    assert (counted.calls, counted.errors, counted.tools) == (2, 1, {"files.put": 1, "files.lock": 1})
    assert (counted.messages, counted.unread, counted.delays) == (4, 1, 2 * SECOND)
    assert (counted.decisions, counted.tokens, counted.thinking) == (1, 4900, 100 * SECOND)
    assert (counted.cancelled, counted.cut, counted.overtaken) == (0, 1, 1)
    assert sum(counted.types.values()) == sum(counted.actors.values()) == counted.events


def test_figures_add_up():
    one = statistics(asynchronous())
    both = together([one, one])
    assert both.streams == 2
    assert both.events == 2 * one.events
    assert both.tools == {name: 2 * count for name, count in one.tools.items()}
    assert together([]) == Statistics()


def test_a_stream_does_not_differ_from_itself():
    found = difference(asynchronous(), asynchronous())
    assert found.seq is None
    assert found.began == ()
    assert found.same_environment


def test_the_first_event_that_differs_is_named_with_its_fields():
    left = asynchronous()
    right = [
        *left[:8],
        stream(*[(0, "x", STARTED)] * 8, (40, "ada", MessageSent(to="agent", text="Go!"), 7))[8],
        *left[9:],
    ]
    found = difference(left, right)
    assert found.seq == 8
    assert {change.path for change in found.changes} == {"body.text", "body.mark"}


def test_a_stream_that_goes_on_differs_where_the_other_ends():
    left = asynchronous()
    found = difference(left, left[:5])
    assert (found.seq, found.left, found.right) == (5, left[5], None)


@given(values, values)
def test_values_differ_exactly_where_changes_are(left, right):
    same = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    assert (list(changes(left, right)) == []) == same


@given(values)
def test_a_value_does_not_differ_from_itself(value):
    assert list(changes(value, value)) == []
