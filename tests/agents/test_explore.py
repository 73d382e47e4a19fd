"""Agents that look around: they work in any world, read what there is, and change nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Call
from coworkenv.agents.arguments import days, generous, keywords, places, plausible, required
from coworkenv.agents.explore import Explore, ReadOnly, opens
from coworkenv.events.event import ToolError
from coworkenv.worlds.service import Outcome, Tool
from coworkenv.worlds.world import Opening, World
from tests.agents.stage import Stage, world_of

TODAY = datetime(2026, 3, 3, 9, tzinfo=UTC)

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


class Desk(msgspec.Struct, frozen=True):
    """A service with one tool, which answers by a function of its arguments, or not at all."""

    tool: Tool
    answer: Callable[[Any], Any]
    name: str = "desk"

    @property
    def tools(self):
        return (self.tool,)

    def initial(self):
        return ()

    def call(self, tool, args, records, now, draw):
        result = self.answer(args)
        return Outcome(result) if result is not None else Outcome(error=ToolError("down", "It is down."))


def explored(tool: Tool, answer: Callable[[Any], Any], request: str) -> list[Any]:
    """The arguments with which exploring calls a tool."""
    opening = (Opening("lena", request),)
    stage = Stage(World(id="desk", document="", start=TODAY, services=(Desk(tool, answer),), openings=opening))
    assert stage.play(Explore()) is not None
    return [call.args for call in stage.called]


@pytest.mark.parametrize(
    ("finds", "tried"),
    [
        (lambda args: args["day"] == "2026-03-03", 3),
        (lambda args: args["day"] == "2026-03-19", 4),
        (lambda args: args["query"] == "2026-03-19 Okafor O-55" and args["limit"] == 100, 4),
        (lambda args: args["day"] == "2026-03-05" and args["query"] == "", 11),
        (lambda args: False, 21),
    ],
)
def test_a_search_that_finds_nothing_is_made_more_widely_until_it_does(finds, tried):
    properties = {"query": {"type": "string"}, "day": {"type": "string"}, "limit": {"type": "integer"}}
    tool = Tool("look", "", {"properties": properties, "required": ["query", "day"]}, reads=True)
    calls = explored(tool, lambda args: {"rows": [1] if finds(args) else []}, "Okafor, O-55, on 2026-03-19?")
    assert len(calls) == tried
    assert all(calls.count(call) == 1 for call in calls)
    assert finds(calls[-1]) == (tried < 21)


def test_an_error_is_no_reason_to_search_more_widely():
    tool = Tool("look", "", {"required": ["query"]}, reads=True)
    assert explored(tool, lambda args: None, "Okafor, O-55?") == [{"query": "Okafor"}, {"query": "O-55"}]


@pytest.mark.parametrize(
    ("argument", "value"),
    [("url", "https://shop.example/55"), ("file_path", "https://shop.example/55"), ("id", "O-55")],
)
def test_where_nothing_was_found_what_the_request_names_is_opened(argument, value):
    tool = Tool("open", "", {}, reads=True, opens=argument)
    assert explored(tool, lambda args: {"text": "x"}, "O-55 at https://shop.example/55.") == [{argument: value}]


def test_nothing_is_opened_where_there_is_nothing_to_go_by():
    assert explored(Tool("open", "", {}, reads=True, opens="id"), lambda args: {"text": "x"}, "Hm?") == []


def test_what_opens_a_record_is_said_by_the_tool_or_seen_in_its_arguments():
    schema = {"properties": {"message_id": {"type": "string"}}, "required": ["message_id"]}
    assert opens(Tool("mail_get", "", schema, reads=True)) == "message_id"
    assert opens(Tool("mail_get", "", {}, reads=True, opens="key")) == "key"
    assert opens(Tool("search", "", {"required": ["query"]}, reads=True)) is None


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


def test_only_optional_numbers_that_bound_a_listing_are_generous():
    schema = {
        "properties": {
            "days_back": {"type": "integer"},
            "max_results": {"type": "integer", "default": 5},
            "limit": {"type": "integer"},
            "price": {"type": "integer"},
            "day": {"type": "string"},
            "odd": None,
        },
        "required": ["limit"],
    }
    assert generous(Tool("t", "", schema)) == {"days_back": 100, "max_results": 100}


def test_places_are_what_has_a_slash_within_it():
    assert places('Read `docs/My report.pdf`, "a b/c.txt" and (https://x.example/y). Either/or: docs/My') == [
        "docs/My report.pdf",
        "a b/c.txt",
        "https://x.example/y",
        "Either/or",
        "docs/My",
    ]
    assert places("请读 media/图.jpg。 / 1 /") == ["media/图.jpg"]


def test_days_are_read_where_they_are_days():
    assert [
        f"{day:%m-%d %H}" for day in days("2026-3-9, 2026-03-09, 2026-02-30, 12026-03-01, 2026-12-24T10", TODAY)
    ] == [
        "03-09 09",
        "12-24 09",
    ]


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


@given(st.text(max_size=60))
def test_any_request_is_survived(request):
    assert all(isinstance(place, str) and place for place in places(request))
    assert all(day.tzinfo is UTC for day in days(request, TODAY))


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "required", "x"]), JSON, max_size=4),
    st.text(max_size=60),
)
def test_any_schema_is_survived(schema, request):
    tool = Tool("t", "", schema)
    assert set(plausible(tool, TODAY, keywords(request))) == set(required(tool))
    assert not set(generous(tool)) & set(required(tool))
