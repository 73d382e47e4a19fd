"""Each ready service, used as an agent would: every tool once with success and once wrongly."""

from __future__ import annotations

from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coworkenv.worlds.document import parse
from coworkenv.worlds.environment import Collection, Field, Service, Tool
from coworkenv.worlds.services import ready as shelf
from coworkenv.worlds.services.ready import UnknownService, library, names, overlay, read_service

#: For each service its records, then calls in order: tool, arguments, and either part of the result or an error type.
SESSIONS: dict[str, tuple[dict[str, list[dict[str, Any]]], list[tuple[str, Any, Any]]]] = {
    "mail": (
        {"inbox": [{"from": "kenji@hoshi.example", "subject": "Review", "body": "Any day, 16:00 to 18:00."}]},
        [
            ("inbox.find", {"from": "kenji"}, [{"id": "M-1", "read": False}]),
            ("inbox.find", {"sender": "kenji"}, "invalid_argument"),
            ("inbox.get", {"id": "M-1"}, {"subject": "Review"}),
            ("inbox.get", {"id": "M-2"}, "not_found"),
            ("mark_read", {"id": "M-1"}, {"read": True}),
            ("mark_read", {}, "invalid_argument"),
            ("reply", {"id": "M-1", "body": "Thursday, 17:00."}, {"answered": True}),
            ("reply", {"id": "M-1"}, "invalid_argument"),
            ("forward", {"id": "M-1", "to": "mira@plant.example", "note": "See below."}, {"id": "M-1"}),
            ("forward", {"id": "M-1", "to": "Mira"}, "invalid_argument"),
            ("send", {"to": "mira@plant.example", "subject": "Done", "body": "It is moved."}, {"id": "S-3"}),
            ("send", {"to": "mira@plant.example", "body": ""}, "invalid_argument"),
            ("sent.find", {"in_reply_to": "M-1"}, [{"to": "kenji@hoshi.example", "subject": "Re: Review"}]),
            ("sent.find", {"to": 3}, "invalid_argument"),
            ("sent.get", {"id": "S-2"}, {"forwarded": "M-1", "body": "See below.\n\nAny day, 16:00 to 18:00."}),
            ("sent.get", {"id": "S-9"}, "not_found"),
            ("archive", {"id": "M-1"}, {"archived": True}),
            ("archive", {"id": "M-1"}, "refused"),
        ],
    ),
    "chat": (
        {
            "channels": [{"id": "#support", "topic": "Customers"}],
            "messages": [{"channel": "#support", "text": "Hi all"}],
        },
        [
            ("channels.find", {"topic": "custom"}, [{"id": "#support"}]),
            ("channels.find", {"name": "x"}, "invalid_argument"),
            ("channels.get", {"id": "#support"}, {"archived": False}),
            ("channels.get", {"id": "support"}, "not_found"),
            ("post", {"channel": "#support", "text": "On it", "thread": "C-1"}, {"id": "C-2", "author": "agent"}),
            ("post", {"channel": "#support"}, "invalid_argument"),
            ("react", {"id": "C-1", "reaction": "wave"}, {"reactions": ["wave"]}),
            ("react", {"id": "C-1", "reaction": "wave"}, "refused"),
            ("messages.find", {"channel": "#support"}, {"next": None}),
            ("messages.find", {"page": "x"}, "invalid_argument"),
            ("messages.get", {"id": "C-2"}, {"thread": "C-1"}),
            ("messages.get", {"id": "C-3"}, "not_found"),
        ],
    ),
    "calendar": (
        {"events": [{"title": "Capacity review", "start": "2026-03-10T09:00", "minutes": 60}]},
        [
            ("events.create", {"title": "Lunch", "start": "2026-03-10T12:00"}, {"id": "EV-2", "minutes": 30}),
            ("events.create", {"title": "Lunch", "start": "2026-03-10T12:00", "minutes": 0}, "refused"),
            ("agenda", {"from": "2026-03-10"}, [{"id": "EV-1"}, {"id": "EV-2"}]),
            ("agenda", {"until": "2026-03-10"}, "invalid_argument"),
            ("agenda", {"from": "2026-03-08", "until": "2026-03-09"}, []),
            ("invite", {"id": "EV-1", "attendee": "kenji@hoshi.example"}, {"attendees": ["kenji@hoshi.example"]}),
            ("invite", {"id": "EV-1", "attendee": "kenji@hoshi.example"}, "refused"),
            ("events.update", {"id": "EV-1", "start": "2026-03-12T09:00"}, {"minutes": 60}),
            ("events.update", {"id": "EV-1", "start": "Thursday"}, "invalid_argument"),
            ("events.find", {"start": "2026-03-12"}, [{"id": "EV-1"}]),
            ("events.find", {"start": "2026-03"}, "invalid_argument"),
            ("events.get", {"id": "EV-2"}, {"title": "Lunch"}),
            ("events.get", {"id": 2}, "invalid_argument"),
            ("cancel", {"id": "EV-2", "notes": "No time"}, {"status": "cancelled"}),
            ("cancel", {"id": "EV-2"}, "refused"),
            ("agenda", {"from": "2026-03-10"}, []),
        ],
    ),
    "contacts": (
        {"people": [{"name": "Kenji Mori", "email": "kenji@hoshi.example"}]},
        [
            ("people.find", {"name": "mori"}, [{"id": "P-1"}]),
            ("people.find", {"surname": "Mori"}, "invalid_argument"),
            ("people.get", {"id": "P-1"}, {"email": "kenji@hoshi.example"}),
            ("people.get", {}, "invalid_argument"),
            ("people.create", {"name": "Mira"}, {"id": "P-2"}),
            ("people.create", {"name": "Mira", "email": "mira"}, "invalid_argument"),
            ("people.update", {"id": "P-2", "phone": "123"}, {"phone": "123"}),
            ("people.update", {"id": "P-2"}, "invalid_argument"),
            ("people.delete", {"id": "P-2"}, {"name": "Mira"}),
            ("people.delete", {"id": "P-2"}, "not_found"),
        ],
    ),
    "crm": (
        {"customers": [{"id": "C-31", "name": "Amara Okafor"}], "deals": [{"customer": "C-31", "title": "Lamps"}]},
        [
            ("customers.find", {"name": "okafor"}, [{"segment": "private"}]),
            ("customers.find", {"segment": "huge"}, "invalid_argument"),
            ("customers.get", {"id": "C-31"}, {"name": "Amara Okafor"}),
            ("customers.get", {"id": "C-3"}, "not_found"),
            ("customers.create", {"name": "Ben"}, {"id": "C-2"}),
            ("customers.create", {"email": "ben@x.example"}, "invalid_argument"),
            ("customers.update", {"id": "C-31", "city": "Lyon"}, {"city": "Lyon"}),
            ("customers.update", {"id": "C-31", "since": "2020"}, "invalid_argument"),
            ("deals.create", {"customer": "C-31", "title": "Desk", "value": 247}, {"stage": "lead"}),
            ("deals.create", {"customer": "C-31", "title": "Desk", "value": "247"}, "invalid_argument"),
            ("move_deal", {"id": "D-1", "stage": "won"}, {"stage": "won"}),
            ("move_deal", {"id": "D-1", "stage": "lost"}, "refused"),
            ("log", {"customer": "C-31", "text": "Called.", "kind": "call"}, {"id": "A-2"}),
            ("log", {"customer": "C-31"}, "invalid_argument"),
            ("deals.find", {"stage": "won"}, [{"id": "D-1"}]),
            ("deals.find", {"stage": "Won"}, "invalid_argument"),
            ("deals.get", {"id": "D-2"}, {"title": "Desk"}),
            ("deals.get", {"id": "D-3"}, "not_found"),
            ("activities.find", {"kind": "deal"}, [{"text": "Lamps: won"}]),
            ("activities.find", {"kinds": "deal"}, "invalid_argument"),
        ],
    ),
    "orders": (
        {
            "orders": [{"id": "O-5512", "customer": "C-31", "status": "paid"}],
            "lines": [{"order": "O-5512", "item": "lamp", "price": 165}],
        },
        [
            ("orders.find", {"customer": "C-31"}, {"items": [{"id": "O-5512"}]}),
            ("orders.find", {"status": "lost"}, "invalid_argument"),
            ("orders.get", {"id": "O-5512"}, {"currency": "EUR"}),
            ("orders.get", {"id": "O-55"}, "not_found"),
            ("lines.find", {"order": "O-5512"}, [{"quantity": 1}]),
            ("lines.find", {"price": "165"}, "invalid_argument"),
            ("change_address", {"id": "O-5512", "address": "1 Quay, Ghent"}, {"address": "1 Quay, Ghent"}),
            ("hold", {"id": "O-5512", "note": "Address"}, {"status": "on_hold", "note": "Address"}),
            ("hold", {"id": "O-5512", "note": "Again"}, "refused"),
            ("cancel", {"id": "O-5512", "note": "Customer asked"}, {"status": "cancelled"}),
            ("cancel", {"id": "O-5512", "note": "Again"}, "refused"),
            ("change_address", {"id": "O-5512", "address": "2 Quay"}, "refused"),
        ],
    ),
    "payments": (
        {"charges": [{"order": "O-5512", "amount": Decimal("412.50")}]},
        [
            ("charges.find", {"order": "O-5512"}, [{"status": "captured"}]),
            ("charges.find", {"amount": "412.50"}, "invalid_argument"),
            ("charges.get", {"id": "CH-1"}, {"currency": "EUR"}),
            ("charges.get", {"id": "CH-2"}, "not_found"),
            (
                "refunds.create",
                {"order": "O-5512", "amount": Decimal("165.00"), "rma": "RMA-7741"},
                {"id": "RF-1", "order": "O-5512", "amount": Decimal("165.00"), "currency": "EUR", "rma": "RMA-7741"},
            ),
            ("refunds.create", {"order": "O-5512", "amount": 0}, "refused"),
            ("refunds.find", {"rma": "RMA-7741"}, [{"id": "RF-1"}]),
            ("refunds.find", {"status": "paid"}, "invalid_argument"),
            ("refunds.get", {"id": "RF-1"}, {"amount": Decimal("165.00")}),
            ("refunds.get", {"id": "RF-2"}, "not_found"),
        ],
    ),
    "kb": (
        {"articles": [{"id": "KB-3", "title": "Refunds", "topic": "refund", "text": "Above EUR 150: approval."}]},
        [
            ("search", {"query": "APPROVAL"}, [{"id": "KB-3"}]),
            ("search", {"query": "holiday"}, []),
            ("search", {}, "invalid_argument"),
            ("articles.find", {"topic": "refund"}, [{"status": "current"}]),
            ("articles.find", {"status": "old"}, "invalid_argument"),
            ("articles.get", {"id": "KB-3"}, {"title": "Refunds"}),
            ("articles.get", {"id": "KB-4"}, "not_found"),
        ],
    ),
    "inventory": (
        {
            "items": [
                {"sku": "K-1", "on_hand": 4, "min": 10, "target": 30, "supplier": "S-1"},
                {"sku": "K-2", "on_hand": 12},
            ],
            "suppliers": [{"id": "S-1", "name": "Bolt & Co"}],
        },
        [
            ("low", {}, [{"sku": "K-1"}]),
            ("low", {"sku": "K-1"}, "invalid_argument"),
            ("items.find", {"supplier": "S-1"}, [{"sku": "K-1"}]),
            ("items.find", {"on_hand": "4"}, "invalid_argument"),
            ("items.get", {"sku": "K-2"}, {"state": "active"}),
            ("items.get", {"id": "K-2"}, "invalid_argument"),
            ("suppliers.find", {"name": "bolt"}, [{"status": "active"}]),
            ("suppliers.find", {"sku": "K-1"}, "invalid_argument"),
            ("suppliers.get", {"id": "S-1"}, {"name": "Bolt & Co"}),
            ("suppliers.get", {"id": "S-2"}, "not_found"),
            ("adjust", {"sku": "K-1", "by": -1, "reason": "Broken"}, {"on_hand": 3}),
            ("adjust", {"sku": "K-1", "by": -9, "reason": "Broken"}, "refused"),
            ("reserve", {"sku": "K-1", "quantity": 2}, {"reserved": 2}),
            ("reserve", {"sku": "K-1", "quantity": 2}, "refused"),
            ("order", {"sku": "K-1", "quantity": 26, "supplier": "S-1"}, {"id": "PO-1", "state": "open"}),
            ("order", {"sku": "K-1", "quantity": 0}, "refused"),
            ("receive", {"id": "PO-1"}, {"state": "received"}),
            ("receive", {"id": "PO-1"}, "refused"),
            ("items.get", {"sku": "K-1"}, {"on_hand": 29}),
            ("purchases.find", {"sku": "K-1"}, [{"quantity": 26}]),
            ("purchases.find", {"qty": 26}, "invalid_argument"),
            ("purchases.get", {"id": "PO-1"}, {"supplier": "S-1"}),
            ("purchases.get", {"id": "PO-2"}, "not_found"),
            ("movements.find", {"sku": "K-1"}, [{"by": -1}, {"by": 26, "reason": "Purchase PO-1"}]),
            ("movements.find", {"by": "26"}, "invalid_argument"),
        ],
    ),
    "tickets": (
        {"tickets": [{"title": "Printer"}]},
        [
            ("tickets.create", {"title": "Supplier on hold", "about": "K-3"}, {"id": "T-2", "status": "open"}),
            ("tickets.create", {"text": "No title"}, "invalid_argument"),
            ("tickets.update", {"id": "T-2", "priority": "high"}, {"priority": "high"}),
            ("tickets.update", {"id": "T-2", "status": "closed"}, "invalid_argument"),
            ("assign", {"id": "T-2", "assignee": "jo"}, {"assignee": "jo", "status": "in_progress"}),
            ("assign", {"id": "T-2"}, "invalid_argument"),
            ("comment", {"id": "T-2", "text": "Called them."}, {"id": "T-2"}),
            ("comment", {"id": "T-3", "text": "Called them."}, "not_found"),
            ("reopen", {"id": "T-2"}, "refused"),
            ("close", {"id": "T-2", "resolution": "Released"}, {"status": "closed", "resolution": "Released"}),
            ("close", {"id": "T-2", "resolution": "Again"}, "refused"),
            ("assign", {"id": "T-2", "assignee": "al"}, "refused"),
            ("tickets.update", {"id": "T-2", "priority": "low"}, "refused"),
            ("reopen", {"id": "T-2"}, {"status": "open"}),
            ("tickets.find", {"about": "K-3"}, {"items": [{"id": "T-2"}]}),
            ("tickets.find", {"priority": "extreme"}, "invalid_argument"),
            ("tickets.get", {"id": "T-1"}, {"title": "Printer"}),
            ("tickets.get", {"id": "T-0"}, "not_found"),
            ("comments.find", {"ticket": "T-2"}, [{"text": "Called them."}]),
            ("comments.find", {"id": 3}, "invalid_argument"),
        ],
    ),
    "drive": (
        {"files": [{"id": "FILE-9", "name": "Hoshi contract", "confidential": True}]},
        [
            ("files.create", {"name": "Minutes", "text": "We met."}, {"id": "FILE-2", "folder": "/"}),
            ("files.create", {"name": "Minutes", "owner": "me@x.example"}, "invalid_argument"),
            ("files.update", {"id": "FILE-2", "text": "We met twice."}, {"name": "Minutes"}),
            ("files.update", {"id": "FILE-3", "text": "x"}, "not_found"),
            ("share", {"id": "FILE-2", "email": "kim@x.example"}, {"shared_with": ["kim@x.example"]}),
            ("share", {"id": "FILE-2", "email": "kim@x.example"}, "refused"),
            ("files.find", {"shared_with": "kim@x.example"}, [{"id": "FILE-2"}]),
            ("files.find", {"confidential": "yes"}, "invalid_argument"),
            ("unshare", {"id": "FILE-2", "email": "kim@x.example"}, {"shared_with": []}),
            ("unshare", {"id": "FILE-2", "email": "kim@x.example"}, "refused"),
            ("files.get", {"id": "FILE-9"}, {"confidential": True}),
            ("files.get", {"name": "Minutes"}, "invalid_argument"),
            ("files.delete", {"id": "FILE-2"}, {"name": "Minutes"}),
            ("files.delete", {"id": "FILE-2"}, "not_found"),
        ],
    ),
    "todo": (
        {"tasks": [{"title": "Call Ben"}]},
        [
            ("tasks.create", {"title": "Post the parcel", "due": "2026-03-04"}, {"id": "TD-2", "done": False}),
            ("tasks.create", {"title": "Post", "due": "tomorrow"}, "invalid_argument"),
            ("tasks.update", {"id": "TD-2", "priority": "high"}, {"priority": "high"}),
            ("tasks.update", {"id": "TD-2", "done": True}, "invalid_argument"),
            ("complete", {"id": "TD-2"}, {"done": True}),
            ("complete", {"id": "TD-2"}, "refused"),
            ("tasks.find", {"done": True}, [{"id": "TD-2"}]),
            ("tasks.find", {"done": "true"}, "invalid_argument"),
            ("reopen", {"id": "TD-2"}, {"done": False}),
            ("reopen", {"id": "TD-1"}, "refused"),
            ("tasks.get", {"id": "TD-1"}, {"title": "Call Ben"}),
            ("tasks.get", {"id": ""}, "invalid_argument"),
            ("tasks.delete", {"id": "TD-1"}, {"title": "Call Ben"}),
            ("tasks.delete", {"id": "TD-1"}, "not_found"),
        ],
    ),
    "notes": (
        {"notes": [{"title": "Ideas", "text": "One"}]},
        [
            ("append", {"id": "N-1", "lines": "Two"}, {"text": "One\nTwo"}),
            ("append", {"id": "N-1"}, "invalid_argument"),
            ("notes.create", {"title": "Empty", "tags": ["x"]}, {"id": "N-2", "text": ""}),
            ("notes.create", {"tags": ["x"]}, "invalid_argument"),
            ("notes.update", {"id": "N-2", "title": "Full"}, {"title": "Full"}),
            ("notes.update", {"id": "N-2", "tags": "x"}, "invalid_argument"),
            ("notes.find", {"text": "two"}, [{"id": "N-1"}]),
            ("notes.find", {"words": "two"}, "invalid_argument"),
            ("notes.get", {"id": "N-2"}, {"tags": ["x"]}),
            ("notes.get", {"id": "N-3"}, "not_found"),
            ("notes.delete", {"id": "N-2"}, {"title": "Full"}),
            ("notes.delete", {"id": "N-2"}, "not_found"),
        ],
    ),
    "sheets": (
        {"sheets": [{"name": "Budget", "columns": ["item", "cost"]}, {"name": "Plan", "locked": True}]},
        [
            ("sheets.find", {"name": "budget"}, [{"id": "SH-1"}]),
            ("sheets.find", {"title": "budget"}, "invalid_argument"),
            ("sheets.get", {"id": "SH-1"}, {"columns": ["item", "cost"]}),
            ("sheets.get", {"id": "SH-3"}, "not_found"),
            ("rename", {"id": "SH-1", "name": "Budget 2026"}, {"name": "Budget 2026"}),
            ("rename", {"id": "SH-2", "name": "Plan B"}, "refused"),
            ("rows.create", {"sheet": "SH-1", "cells": {"item": "lamp", "cost": 165}}, {"id": "R-1"}),
            ("rows.create", {"sheet": "SH-1", "cells": ["lamp", 165]}, "invalid_argument"),
            ("rows.update", {"id": "R-1", "cells": {"item": "lamp", "cost": 149}}, {"sheet": "SH-1"}),
            ("rows.update", {"id": "R-2", "cells": {}}, "not_found"),
            ("rows.find", {"sheet": "SH-1"}, {"next": None}),
            ("rows.find", {"row": 1}, "invalid_argument"),
            ("rows.get", {"id": "R-1"}, {"cells": {"item": "lamp", "cost": 149}}),
            ("rows.get", {"id": "R-2"}, "not_found"),
            ("rows.delete", {"id": "R-1"}, {"sheet": "SH-1"}),
            ("rows.delete", {"id": "R-1"}, "not_found"),
        ],
    ),
    "scheduler": (
        {"jobs": [{"name": "Backup", "next_at": "2026-03-04T02:00", "runs": "daily"}]},
        [
            ("schedule", {"name": "Report", "next_at": "2026-03-05T08:00"}, {"id": "J-2", "runs": "once"}),
            ("schedule", {"name": "Report", "next_at": "2026-03-01T08:00"}, "refused"),
            ("move", {"id": "J-2", "next_at": "2026-03-06T08:00"}, {"next_at": "2026-03-06T08:00"}),
            ("move", {"id": "J-2", "next_at": "Friday"}, "invalid_argument"),
            ("pause", {"id": "J-1"}, {"status": "paused"}),
            ("pause", {"id": "J-1"}, "refused"),
            ("resume", {"id": "J-1"}, {"status": "active"}),
            ("resume", {"id": "J-1"}, "refused"),
            ("cancel", {"id": "J-2", "note": "Not needed"}, {"status": "cancelled"}),
            ("cancel", {"id": "J-2", "note": "Not needed"}, "refused"),
            ("jobs.find", {"status": "active"}, [{"id": "J-1"}]),
            ("jobs.find", {"status": "on"}, "invalid_argument"),
            ("jobs.get", {"id": "J-1"}, {"runs": "daily"}),
            ("jobs.get", {"id": "J-3"}, "not_found"),
        ],
    ),
}  # fmt: skip


def part_of(expected: Any, result: Any) -> bool:
    """Whether a result has everything that is expected, and as many items."""
    if isinstance(expected, dict):
        return all(name in result and part_of(value, result[name]) for name, value in expected.items())
    if isinstance(expected, list) and expected and isinstance(expected[0], dict):
        return len(expected) == len(result) and all(map(part_of, expected, result))
    return type(expected) is type(result) and expected == result


def test_every_ready_service_has_a_session():
    assert set(SESSIONS) == set(names())


@pytest.mark.parametrize("name", SESSIONS)
def test_a_ready_service_works_and_explains_itself(desk, name):
    records, calls = SESSIONS[name]
    shop = desk(overlay(library(name), Service(records={key: tuple(rows) for key, rows in records.items()})), name)
    worked, failed = set(), set()
    for tool, args, expected in calls:
        outcome = shop.call(tool, args)
        if isinstance(expected, str):
            assert outcome.error is not None, (tool, args, outcome.result)
            assert outcome.error.type == expected, (tool, args, outcome.error)
            failed.add(f"{name}.{tool}")
        else:
            assert outcome.error is None, (tool, args, outcome.error)
            assert part_of(expected, outcome.result), (tool, args, outcome.result)
            worked.add(f"{name}.{tool}")
    tools = {tool.name for tool in shop.service.tools}
    assert worked == tools
    assert failed == tools


@pytest.mark.parametrize("name", SESSIONS)
def test_a_ready_service_is_described_for_an_agent(desk, name):
    shop = desk(library(name), name)
    for tool in shop.service.tools:
        assert tool.description.endswith(".")
        assert msgspec.json.decode(msgspec.json.encode(tool.schema)) == tool.schema
        assert tool.schema["additionalProperties"] is False


def test_an_unknown_name_gives_the_nearest():
    with pytest.raises(UnknownService, match='did you mean "payments"'):
        library("payment")
    with pytest.raises(UnknownService, match="there are calendar, chat"):
        library("zzzzzz")


# --- adding one --------------------------------------------------------------------------------------------

PARKING = """
about: The car park.
collections:
  spaces:
    can: [find]
    fields:
      id: {type: id, new: "P{n}"}
      plate: {type: text}
tools:
  park:
    verb: update
    collection: spaces
    about: Take a space.
    takes:
      plate: {type: text, required: true}
    when: record.plate == null
    refusal: The space is taken.
"""


def test_a_file_dropped_into_the_folder_is_a_service_with_a_special_verb(desk, tmp_path, monkeypatch):
    for file in (files("coworkenv.worlds.services") / "library").iterdir():
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "parking.yaml").write_text(PARKING)
    monkeypatch.setattr(shelf, "_folder", lambda: tmp_path)
    names.cache_clear()
    library.cache_clear()
    try:
        assert set(names()) == {*SESSIONS, "parking"}
        shop = desk(overlay(library("parking"), Service(records={"spaces": ({}, {})})), "parking")
    finally:
        names.cache_clear()
        library.cache_clear()
    assert shop.ok("park", id="P2", plate="GH-12") == {"id": "P2", "plate": "GH-12"}
    assert shop.wrong("park", id="P2", plate="XY-34") == ("refused", "The space is taken.")


def test_what_is_written_over_a_ready_service_wins_field_by_field():
    base = read_service(PARKING)
    laid = overlay(
        base,
        Service(
            collections={
                "spaces": Collection(can=("get",), free=("plate",), fields={"level": Field(type="integer")}),
                "fines": Collection(can=("find",)),
            },
            tools={"leave": Tool(verb="update", collection="spaces", set={"plate": None})},
            records={"spaces": ({"id": "P7"},)},
        ),
    )
    assert laid.about == "The car park."
    assert list(laid.collections) == ["spaces", "fines"]
    assert list(laid.collections["spaces"].fields) == ["id", "plate", "level"]
    assert laid.collections["spaces"].can == ("get",)
    assert laid.collections["spaces"].free == ("plate",)
    assert list(laid.tools) == ["park", "leave"]
    assert laid.records == {"spaces": ({"id": "P7"},)}
    assert overlay(base, Service()) == base


# --- the page about it -------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "services.md"


def test_the_page_names_every_ready_service_and_its_examples_work(desk):
    text = PAGE.read_text(encoding="utf-8")
    *listed, last = text.partition("There are ")[2].partition(".")[0].replace("\n", " ").split(", ")
    assert tuple(listed + last.split(" and ")) == names()
    shop_yaml, cancel_yaml, *_ = (block.partition("```")[0] for block in text.split("```yaml\n")[1:])
    spec = parse(shop_yaml + cancel_yaml)["services"]["shop"]
    spec["collections"]["orders"]["fields"]["note"] = {"type": "text"}
    spec["collections"]["log"] = {"fields": {"order": {"type": "id"}, "text": {"type": "text"}}}
    spec["collections"]["stock"] = {"fields": {"order": {"type": "id"}, "reserved": {"type": "integer"}}}
    spec["records"]["stock"] = [{"order": "O-5512", "reserved": 3}]
    shop = desk(msgspec.convert(spec, Service))
    assert shop.ok("cancel", id="O-5512", note="Too late")["status"] == "cancelled"
    assert shop.plain("log") == [{"order": "O-5512", "text": "Cancelled: Too late"}]
    assert shop.plain("stock") == [{"order": "O-5512", "reserved": 2}]
