"""Compiling: an environment becomes worlds, and a world's document is all that is needed to have it again."""

import json
from datetime import timedelta
from decimal import Decimal
from importlib.resources import files
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.compiling import (
    compile_environment,
    digest,
    is_stale,
    patched,
    plain,
    rebuild,
    variants,
)
from coworkenv.worlds.document import parse
from coworkenv.worlds.environment import Environment, Frozen
from coworkenv.worlds.problems import InvalidEnvironment
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.service import Instant
from coworkenv.worlds.timeline import record_changes
from coworkenv.worlds.world import World

SMALL = """
environment: coworkenv/1
id: small/1
clock: {start: 2026-03-28T20:00, zone: Europe/Berlin, deadline: 2d, call: 5s, message: 500ms}
facts: {price: 165.00, sign: "$$5", who: lena, wait: 4m}
people:
  lena: {opens: "I owe you ${sign}, ${who}.", message: 2s}
  tomas: {about: Nobody in particular.}
services:
  payments:
    use: payments
    tools:
      approve:
        verb: update
        collection: refunds
        when: record.amount < $price
        refusal: Too much.
        set: {reason: "=args.id + ' by ' + $who"}
        latency: 1m
faults: [{tool: payments.refunds.create, kind: slow, delay: 10s, chance: 0.25}]
timeline:
  - {at: 1h, from: lena, say: "Literally $${price}."}
  - name: later
    when: {said: lena}
    after: $wait
    changes: [{create: payments.refunds, record: {order: O-1, amount: $price}}]
checks: {paid: {weight: 1, if: "$price > 100", expect: {record: payments.refunds, where: {amount: $price}}}}
oracle:
  - {as: paid, call: payments.refunds.create, args: {order: O-1, amount: $price}}
  - {say: lena, text: "@{paid.id} for ${price} or ${sign}", if: "@paid.amount == $price"}
twins: {cheap: {facts: {price: 9.50}}, nobody: {timeline: null}}
"""


def small() -> Environment:
    return read_environment(SMALL)


def same(a: World, b: World) -> bool:
    """Services are compared by what they offer and hold."""
    services = [(service.name, tuple(service.tools), tuple(service.initial())) for service in a.services]
    others = [(service.name, tuple(service.tools), tuple(service.initial())) for service in b.services]
    return services == others and msgspec.structs.replace(a, services=()) == msgspec.structs.replace(b, services=())


def test_a_world_has_everything_resolved() -> None:
    world = compile_environment(small())
    assert world.id == "small/1"
    assert world.start.isoformat() == "2026-03-28T20:00:00+01:00"
    assert [(opening.sender, opening.text) for opening in world.openings] == [("lena", "I owe you $5, lena.")]
    assert (world.call, world.message, world.deadline) == (5_000_000, 500_000, 172_800_000_000)
    assert world.messages == {"lena": 2_000_000}
    assert world.latencies == {"payments.approve": 60_000_000}
    assert [(entry.name, entry.at, entry.after) for entry in world.timeline] == [
        ("entry-1", 3_600_000_000, 0),
        ("later", None, 240_000_000),
    ]
    assert world.timeline[0].say == "Literally ${price}."
    assert [(fault.name, fault.delay, fault.chance) for fault in world.faults] == [("fault-1", 10_000_000, 0.25)]
    assert world.checks["paid"].condition == "true"
    assert set(world.people) == {"lena", "tomas"}


def test_what_the_agent_and_the_tools_compute_stays_as_it_is_written() -> None:
    world = compile_environment(small())
    assert world.oracle[1].text == "@{paid.id} for 165.00 or $5"
    assert world.oracle[1].condition == "@paid.amount == 165.00"
    document = json.loads(world.document)
    tool = document["services"]["payments"]["tools"]["approve"]
    assert tool["when"] == "record.amount < 165.00"
    assert tool["set"] == {"reason": "=(args.id + ' by ') + 'lena'"}


def test_the_document_holds_no_references_and_no_other_worlds() -> None:
    document = compile_environment(small()).document
    data = json.loads(document)
    assert "facts" not in data
    assert "twins" not in data
    assert "use" not in data["services"]["payments"]
    assert set(data["services"]["payments"]["collections"]) == {"charges", "refunds"}


@pytest.mark.parametrize(
    "name",
    sorted(file.name for file in (files("coworkenv.worlds") / "examples").iterdir() if file.name.endswith(".yaml")),
)
def test_a_document_gives_the_same_world_again(name: str) -> None:
    environment = read_environment((files("coworkenv.worlds") / "examples" / name).read_text(encoding="utf-8"))
    for world in variants(environment).values():
        assert same(rebuild(world.document), world)
        assert rebuild(world.document).document == world.document


def test_each_twin_is_a_world_of_its_own() -> None:
    worlds = variants(small())
    assert {twin: world.id for twin, world in worlds.items()} == {
        "": "small/1",
        "cheap": "small/1@cheap",
        "nobody": "small/1@nobody",
    }
    assert worlds["cheap"].timeline[1].changes[0].record["amount"] == Decimal("9.50")
    assert worlds["cheap"].checks["paid"].condition == "false"
    assert worlds["nobody"].timeline == ()
    assert len({world.document for world in worlds.values()}) == 3
    with pytest.raises(InvalidEnvironment, match="no twin 'cheep'"):
        compile_environment(small(), "cheep")


def test_the_frame_comes_from_freezing_and_goes_into_the_document() -> None:
    environment = small()
    assert compile_environment(environment).frame is None
    frozen = msgspec.structs.replace(
        environment, frozen=Frozen(digest=digest(environment), frame=("payments.refunds:new",), scores={"oracle": "1"})
    )
    assert not is_stale(environment)
    assert not is_stale(frozen)
    assert digest(frozen) == digest(environment)
    world = compile_environment(frozen, "cheap")
    assert world.frame == ("payments.refunds:new",)
    assert rebuild(world.document).frame == world.frame
    assert is_stale(msgspec.structs.replace(frozen, title="Another"))


def test_the_clock_on_the_wall_follows_the_zone() -> None:
    start = compile_environment(small()).start
    hours = [Instant(start, hour * 3_600_000_000).date().isoformat()[:16] for hour in (0, 5, 6, 7)]
    assert hours == ["2026-03-28T20:00", "2026-03-29T01:00", "2026-03-29T03:00", "2026-03-29T04:00"], "02:00 is skipped"
    assert Instant(start, 0).date() + timedelta(0) == start


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("", "not a world"),
        ("[]", "unknown"),
        ("{}", "unknown"),
        ('{"environment": "coworkenv/9"}', "unknown"),
        ('{"environment": ["coworkenv/1"]}', "unknown"),
        ('{"environment": "coworkenv/1", "id": 7}', "not a world"),
        ('{"environment": "coworkenv/1", "id": "x", "clock": {"start": "?"}}', "date or time"),
    ],
)
def test_a_document_that_is_no_world_is_a_typed_error(document: str, says: str) -> None:
    with pytest.raises(InvalidEnvironment, match=says):
        rebuild(document)


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("deadline: 2d", "deadline: two days", "clock.deadline"),
        ("zone: Europe/Berlin", "zone: Mars/Base", "clock.zone"),
        ("start: 2026-03-28T20:00", "start: 9999-12-31T20:00", "clock.start"),
        ("start: 2026-03-28T20:00, zone: Europe/Berlin", "start: 0001-01-01T00:00, zone: Asia/Tokyo", "clock.start"),
        ("amount: $price}}]", "amount: $prize}}]", "timeline[1].changes[0].record.amount"),
        ("use: payments", "use: nothing", "services.payments.use"),
        ("delay: 10s", "delay: soon", "faults[0]"),
    ],
)
def test_what_cannot_be_compiled_says_where(before: str, after: str, path: str) -> None:
    assert before in SMALL
    environment = msgspec.convert(parse(SMALL.replace(before, after)), Environment)
    with pytest.raises(InvalidEnvironment) as error:
        compile_environment(environment)
    assert error.value.problems[0].path == path


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=2), v, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "b"}, None, None),
    ],
)
def test_patches_are_those_of_rfc_7386(original: Any, patch: Any, result: Any) -> None:
    assert patched(original, patch) == result


@given(JSON, JSON)
def test_patching_twice_changes_no_more_and_nothing_that_was_there(original: Any, patch: Any) -> None:
    before = json.dumps(original)
    once = patched(original, patch)
    assert patched(once, patch) == once
    assert json.dumps(original) == before


def test_plain_data_is_what_a_file_would_hold() -> None:
    data = plain(small())
    assert isinstance(data["oracle"], list)
    assert msgspec.convert(data, Environment) == small()


def test_a_world_knows_which_field_names_the_records_of_a_collection() -> None:
    world = compile_environment(
        read_environment(
            """
environment: coworkenv/1
id: tests.keys/0001
clock: {start: 2026-03-02T09:00}
people: {ann: {opens: Look.}}
services:
  stock:
    collections:
      items: {key: sku, fields: {sku: {type: id}, n: {type: integer}}, can: [get]}
      notes: {fields: {text: {type: text}}, can: [find]}
    records: {items: [{sku: A-1, n: 1}]}
timeline:
  - {name: new, at: 1m, changes: [{create: stock.items, record: {sku: B-2, n: 2}}]}
checks: {looked: {weight: 1, expect: {called: stock.items.get}}}
"""
        )
    )
    assert world.keys == {"stock.items": "sku"}
    [created] = record_changes(world.timeline[0], world.state, world.keys)
    assert created.key == "B-2"
