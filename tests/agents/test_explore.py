"""Agents that look around: they work in any world, read what there is, and change nothing."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Call
from coworkenv.agents.arguments import keywords, plausible, required
from coworkenv.agents.explore import Explore, ReadOnly, opens
from coworkenv.worlds.service import Tool
from tests.agents.stage import Stage, world_of

DESK = """
environment: coworkenv/1
id: desk
clock: {start: 2026-03-03T09:00}
people: {lena: {role: lead, opens: What became of order O-55 of Ms Okafor?, otherwise: Hm.}}
services:
  shop:
    collections: {orders: {can: [find, get, create, update, delete]}}
    records: {orders: [{id: O-55, state: open}, {id: O-56, state: sent}]}
  kb: {collections: {rules: {can: [get], key: name}}, records: {rules: [{name: r1, text: Be kind.}]}}
"""


def test_exploring_lists_everything_and_opens_what_it_found():
    stage = Stage(world_of(DESK))
    summary = stage.play(Explore())
    assert Call("shop.orders.find", {}) in stage.called
    assert Call("shop.orders.get", {"id": "O-55"}) in stage.called
    assert Call("shop.orders.get", {"id": "O-56"}) in stage.called
    assert "O-56" in summary
    assert stage.sent == []


@pytest.mark.parametrize("agent", [Explore(), ReadOnly()])
def test_whoever_only_reads_calls_only_what_reads(agent):
    stage = Stage(world_of(DESK))
    before = stage._state
    assert stage.play(agent) is not None
    assert {call.tool.rpartition(".")[2] for call in stage.called} <= {"find", "get"}
    assert stage._state is before
    assert stage.sent == []


def test_each_reading_tool_is_called():
    stage = Stage(world_of(DESK))
    assert stage.play(ReadOnly()) == ""
    assert [call.tool for call in stage.called] == ["shop.orders.find", "shop.orders.get", "kb.rules.get"]


def test_what_opens_a_record_is_said_by_the_tool_or_seen_in_its_arguments():
    schema = {"properties": {"message_id": {"type": "string"}}, "required": ["message_id"]}
    assert opens(Tool("mail_get", "", schema, reads=True)) == "message_id"
    assert opens(Tool("mail_get", "", {}, reads=True, opens="key")) == "key"
    assert opens(Tool("search", "", {"required": ["query"]}, reads=True)) is None


TODAY = datetime(2026, 3, 3, 9, tzinfo=UTC)


def arguments(properties: dict) -> dict:
    tool = Tool("t", "", {"type": "object", "properties": properties, "required": list(properties)})
    return plausible(tool, TODAY, ["Okafor", "lamp"])


def test_required_arguments_get_plausible_values():
    assert arguments(
        {
            "query": {"type": "string"},
            "start_date": {"type": "string"},
            "end_date": {"type": "string", "format": "date"},
            "since": {"type": "string", "format": "date-time"},
            "days_back": {"type": "integer"},
            "max_results": {"type": ["null", "integer"]},
            "page": {"type": "integer"},
            "state": {"enum": ["open", "closed"]},
            "mode": {"type": "string", "default": "all"},
            "full": {"type": "boolean"},
            "tags": {"type": "array"},
            "filter": {"type": "object"},
            "anything": {},
        }
    ) == {
        "query": "Okafor",
        "start_date": "2026-03-03",
        "end_date": "2026-03-10",
        "since": "2026-03-03T09:00:00+00:00",
        "days_back": 30,
        "max_results": 20,
        "page": 1,
        "state": "open",
        "mode": "all",
        "full": False,
        "tags": [],
        "filter": {},
        "anything": "Okafor",
    }


def test_words_worth_searching_for_are_names_and_numbers_first():
    assert keywords("Please refund Ms Okafor for the lamp O-55, quickly!") == [
        "Please",
        "Okafor",
        "O-55",
        "quickly",
        "refund",
        "lamp",
    ]
    assert keywords("请把会议改到周四") == ["请把会议", "改到周四"]
    assert keywords("") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "required", "x"]), JSON, max_size=4),
    st.text(max_size=60),
)
def test_any_schema_is_survived(schema, request):
    tool = Tool("t", "", schema)
    assert set(plausible(tool, TODAY, keywords(request))) == set(required(tool))
