"""Tools beyond the five verbs: guards, own writes, side effects, all as data."""

from __future__ import annotations

from typing import Any

import pytest

from coworkenv.worlds.environment import Collection, Field, Service, SideEffect, Tool
from coworkenv.worlds.services.declared import declared
from coworkenv.worlds.services.table import ServiceError

ID = Field(type="id", new="{n}")
TEXT = Field(type="text")
NUMBER = Field(type="integer")


def bank(**tools: Tool) -> Service:
    """Accounts with a balance, and the bookings on them."""
    return Service(
        collections={
            "accounts": Collection(
                can=("find", "get"),
                fields={
                    "id": Field(type="id", new="A-{n}"),
                    "owner": TEXT,
                    "balance": NUMBER,
                    "closed": Field(type="boolean"),
                },
            ),
            "bookings": Collection(
                can=("find",), fields={"id": Field(type="id", new="B-{n}"), "account": Field(type="id"), "text": TEXT}
            ),
        },
        tools=tools,
        records={
            "accounts": (
                {"owner": "Ada", "balance": 10, "closed": False},
                {"owner": "Bob", "balance": 0, "closed": False},
                {"owner": "Cem", "balance": 0},
            )
        },
    )


WITHDRAW = Tool(
    verb="update",
    collection="accounts",
    about="Take money out.",
    takes={"amount": Field(type="integer", required=True), "note": TEXT},
    when="not record.closed and args.amount <= record.balance",
    refusal="There is not enough money.",
    set={"balance": "=record.balance - args.amount"},
    also=(
        SideEffect(
            create="bookings",
            record={"account": "=record.id", "text": "${=record.owner}: ${=args.amount} at ${=now}"},
        ),
    ),
)


def test_a_tool_writes_its_record_and_others_in_one_go(desk):
    shop = desk(bank(withdraw=WITHDRAW))
    outcome = shop.call("withdraw", {"id": "A-1", "amount": 4})
    assert outcome.result == {"id": "A-1", "owner": "Ada", "balance": 6, "closed": False}
    assert [type(change).__name__ for change in outcome.changes] == ["RecordChanged", "RecordCreated"]
    assert shop.plain("bookings") == [{"id": "B-1", "account": "A-1", "text": "Ada: 4 at 2026-03-03T09:01:00"}]


def test_a_guard_that_does_not_hold_refuses_in_the_words_of_the_definition(desk):
    shop = desk(bank(withdraw=WITHDRAW))
    assert shop.wrong("withdraw", id="A-1", amount=11) == ("refused", "There is not enough money.")
    assert shop.wrong("withdraw", id="A-7", amount=1)[0] == "not_found"
    assert shop.wrong("withdraw", id="A-1", amount="1")[0] == "invalid_argument"


def test_what_cannot_be_worked_out_is_refused_whole(desk):
    broken = Tool(
        verb="update",
        collection="accounts",
        set={"closed": True},
        also=(SideEffect(create="bookings", record={"text": "=record.balance / 0"}),),
    )
    shop = desk(bank(broken=broken))
    kind, message = shop.wrong("broken", id="A-1")
    assert kind == "refused"
    assert "division by zero" in message
    assert shop.ok("accounts.get", id="A-1")["closed"] is False


def test_a_tool_takes_its_key_and_what_it_says_and_nothing_else(desk):
    shop = desk(bank(withdraw=WITHDRAW))
    schema = next(tool.schema for tool in shop.service.tools if tool.name == "shop.withdraw")
    assert list(schema["properties"]) == ["id", "amount", "note"]
    assert schema["required"] == ["id", "amount"]
    assert shop.wrong("withdraw", id="A-1", amount=1, owner="Eve")[0] == "invalid_argument"


def test_a_find_tool_chooses_by_its_condition_and_by_fields(desk):
    rich = Tool(
        verb="find",
        collection="accounts",
        takes={"owner": TEXT, "least": Field(type="integer", required=True)},
        when="record.balance >= args.least",
    )
    shop = desk(bank(rich=rich))
    assert [record["owner"] for record in shop.ok("rich", least=0)] == ["Ada", "Bob", "Cem"]
    assert [record["owner"] for record in shop.ok("rich", least=5)] == ["Ada"]
    assert [record["owner"] for record in shop.ok("rich", least=0, owner="b")] == ["Bob"]
    assert next(tool.reads for tool in shop.service.tools if tool.name == "shop.rich")


def test_side_effects_change_and_delete_what_matches_and_see_each_other(desk):
    merge = Tool(
        verb="delete",
        collection="accounts",
        takes={"into": Field(type="id", required=True)},
        also=(
            SideEffect(update="accounts", where={"id": "=args.into"}, set={"balance": "=it.balance + record.balance"}),
            SideEffect(create="bookings", record={"account": "=args.into", "text": "one"}),
            SideEffect(update="bookings", where={"account": "=args.into"}, set={"text": "=it.text + '!'"}),
            SideEffect(create="bookings", record={"account": "=args.into", "text": "two"}),
            SideEffect(delete="bookings", where={"text": "two"}),
        ),
    )
    shop = desk(bank(merge=merge))
    assert shop.ok("merge", id="A-1", into="A-2")["owner"] == "Ada"
    assert [(record["owner"], record["balance"]) for record in shop.plain("accounts")] == [("Bob", 10), ("Cem", 0)]
    assert shop.plain("bookings") == [{"id": "B-1", "account": "A-2", "text": "one!"}]


def test_expressions_see_defaults_where_a_record_or_a_call_says_nothing(desk):
    spec = Service(
        collections={
            "files": Collection(can=("update",), fields={"id": ID, "seen": Field(type="list", default=["me"])})
        },
        tools={
            "show": Tool(
                verb="update",
                collection="files",
                takes={"to": Field(type="text", default="all")},
                when="not args.to in record.seen",
                refusal="They see it.",
                set={"seen": "=record.seen + [args.to]"},
            )
        },
        records={"files": ({},)},
    )
    shop = desk(spec)
    assert shop.ok("show", id="1") == {"id": "1", "seen": ["me", "all"]}
    shop.ok("files.update", id="1", seen=None)
    assert shop.wrong("show", id="1", to="me") == ("refused", "They see it.")
    assert shop.ok("show", id="1", to="you") == {"id": "1", "seen": ["me", "you"]}


def test_null_in_where_matches_nothing(desk):
    wipe = Tool(
        verb="get",
        collection="accounts",
        takes={"state": Field(type="boolean")},
        also=(SideEffect(delete="accounts", where={"closed": "=args.state"}),),
    )
    shop = desk(bank(wipe=wipe))
    shop.ok("wipe", id="A-1")
    assert len(shop.plain("accounts")) == 3


def test_a_tool_named_like_a_verb_stands_in_for_it(desk):
    opening = Tool(verb="create", collection="accounts", takes={"owner": TEXT}, set={"balance": 0})
    plain = bank(**{"accounts.get": Tool(verb="get", collection="accounts", about="Look."), "accounts.create": opening})
    shop = desk(plain)
    names = [tool.name for tool in shop.service.tools]
    assert names == ["shop.accounts.find", "shop.accounts.get", "shop.bookings.find", "shop.accounts.create"]
    assert shop.service.tools[1].description == "Look."
    assert shop.ok("accounts.create", owner="Dee") == {"id": "A-4", "owner": "Dee", "balance": 0}
    assert shop.wrong("accounts.create", owner="Dee", balance=100)[0] == "invalid_argument"


def test_signs_that_are_doubled_are_meant_literally(desk):
    label = Tool(verb="update", collection="accounts", set={"owner": "==x $${y}"})
    shop = desk(bank(label=label))
    assert shop.ok("label", id="A-1")["owner"] == "=x ${y}"


def test_a_conflict_in_a_side_effect_undoes_the_call(desk):
    twice = Tool(
        verb="update",
        collection="accounts",
        set={"closed": True},
        also=(
            SideEffect(create="bookings", record={"id": "same"}),
            SideEffect(create="bookings", record={"id": "same"}),
        ),
    )
    shop = desk(bank(twice=twice))
    assert shop.wrong("twice", id="A-1")[0] == "conflict"
    assert shop.plain("bookings") == []


def tool(**parts: Any) -> Tool:
    return Tool(**{"verb": "update", "collection": "accounts", **parts})


def effect(**parts: Any) -> Tool:
    return tool(also=(SideEffect(**parts),))


@pytest.mark.parametrize(
    ("special", "path", "sentence"),
    [
        (tool(collection="acounts"), "shop.t.collection", 'did you mean "accounts"?'),
        (tool(when="record.balance >", refusal="No."), "shop.t.when", "a value is expected"),
        (tool(when="record.balnce > 0", refusal="No."), "shop.t.when", 'no "balnce"; did you mean "balance"?'),
        (tool(when="args.sum > 0", refusal="No."), "shop.t.when", 'args has no "sum"'),
        (tool(when="order.total > 0", refusal="No."), "shop.t.when", "there is no order here"),
        (tool(when="record.closed"), "shop.t.refusal", "is missing"),
        (tool(set={"colour": "red"}), "shop.t.set.colour", "there is no such field"),
        (tool(set={"balance": "red"}), "shop.t.set.balance", "must be a whole number"),
        (tool(set={"id": "A-9"}), "shop.t.set.id", "never changes"),
        (tool(set={"owner": "=record."}), "shop.t.set.owner", "a field name is expected"),
        (tool(verb="delete", set={"owner": "x"}), "shop.t.set", "writes no fields"),
        (tool(verb="create", when="record.balance > 0", refusal="No."), "shop.t.when", "there is no record here"),
        (tool(takes={"balance": TEXT}), "shop.t.takes.balance", "is of type text, but the field is of type integer"),
        (tool(takes={"n": Field(type="integer", default="x")}), "shop.t.takes.n.default", "must be a whole number"),
        (effect(), "shop.t.also[0]", "exactly one"),
        (effect(create="bookings", delete="bookings"), "shop.t.also[0]", "exactly one"),
        (effect(create="bookngs"), "shop.t.also[0].create", 'did you mean "bookings"?'),
        (effect(delete="bookings"), "shop.t.also[0]", "needs `where`"),
        (effect(create="bookings", set={"text": "x"}), "shop.t.also[0].set", "means nothing"),
        (effect(create="bookings", record={"txt": "x"}), "shop.t.also[0].record.txt", "no such field"),
        (effect(create="bookings", record={"text": 3}), "shop.t.also[0].record.text", "must be a text"),
        (effect(update="accounts", where={"id": 1}), "shop.t.also[0].where.id", "must be an id"),
        (effect(update="accounts", where={"id": "A"}, set={"id": "B"}), "shop.t.also[0].set.id", "never changes"),
    ],
)
def test_a_tool_that_cannot_work_says_why(special, path, sentence):
    with pytest.raises(ServiceError) as raised:
        declared("shop", bank(t=special))
    assert raised.value.path == path
    assert sentence in raised.value.message


def test_a_create_tool_must_get_every_required_field_from_somewhere():
    strict = Service(
        collections={"things": Collection(fields={"id": ID, "name": Field(type="text", required=True)})},
        tools={"make": Tool(verb="create", collection="things")},
    )
    with pytest.raises(ServiceError, match='nothing gives the field "name"'):
        declared("shop", strict)
