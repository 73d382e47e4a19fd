"""Collections of a declared service: five verbs, typed fields, keys."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from coworkenv.worlds.environment import Collection, Field, Service
from coworkenv.worlds.services.declared import declared
from coworkenv.worlds.services.table import ServiceError

ALL: Any = ("find", "get", "create", "update", "delete")
ORDERS = Service(
    about="Orders of the shop.",
    collections={
        "orders": Collection(
            can=ALL,
            fields={
                "id": Field(type="id", new="O-{n}"),
                "customer": Field(type="text", required=True, about="Who ordered."),
                "total": Field(type="number", required=True),
                "pieces": Field(type="integer", default=1),
                "state": Field(type="choice", of=("open", "shipped"), default="open"),
                "due": Field(type="date"),
                "pickup": Field(type="datetime"),
                "email": Field(type="email"),
                "gift": Field(type="boolean"),
                "tags": Field(type="list"),
                "made_at": Field(type="datetime", new="{now}"),
            },
        )
    },
    records={
        "orders": (
            {
                "customer": "Amara Okafor",
                "total": Decimal("165.00"),
                "due": "2026-03-13",
                "email": "amara@okafor.example",
            },
            {
                "customer": "Amaru Okafor",
                "total": Decimal("149.00"),
                "pickup": "2026-03-13T09:00",
                "tags": ["vip", "eu"],
            },
            {"customer": "Ben Marsh", "total": 20, "gift": True, "state": "shipped"},
        )
    },
)


@pytest.fixture
def shop(desk):
    return desk(ORDERS)


def ids(records):
    return [record["id"] for record in records]


# --- reading -----------------------------------------------------------------------------------------------


def test_find_without_arguments_lists_everything_in_order_of_insertion(shop):
    assert ids(shop.ok("orders.find")) == ["O-1", "O-2", "O-3"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"customer": "okafor"}, ["O-1", "O-2"]),
        ({"customer": "OKAFOR", "total": 149}, ["O-2"]),
        ({"total": Decimal("165")}, ["O-1"]),
        ({"id": "O-1"}, ["O-1"]),
        ({"id": "O-"}, []),
        ({"gift": True}, ["O-3"]),
        ({"gift": False}, []),
        ({"due": "2026-03-13"}, ["O-1"]),
        ({"pickup": "2026-03-13"}, ["O-2"]),
        ({"pickup": "2026-03-13T09:00:00"}, ["O-2"]),
        ({"pickup": "2026-03-13T10:00"}, []),
        ({"email": "okafor.example"}, ["O-1"]),
        ({"tags": "eu"}, ["O-2"]),
        ({"tags": ["eu", "vip"]}, ["O-2"]),
        ({"tags": ["eu", "us"]}, []),
        ({"state": "shipped"}, ["O-3"]),
        ({"pieces": 1}, ["O-1", "O-2", "O-3"]),
        ({"customer": None}, ["O-1", "O-2", "O-3"]),
    ],
)
def test_find_compares_texts_by_what_they_contain_and_all_else_as_typed_values(shop, wanted, found):
    assert ids(shop.ok("orders.find", **wanted)) == found


def test_get_gives_the_whole_record(shop):
    assert shop.ok("orders.get", id="O-3") == {
        "id": "O-3", "customer": "Ben Marsh", "total": 20, "pieces": 1, "state": "shipped", "gift": True,
    }  # fmt: skip


@pytest.mark.parametrize("verb", ["get", "update", "delete"])
def test_a_record_that_is_not_there_is_not_found(shop, verb):
    assert shop.wrong(f"orders.{verb}", id="O-9") == ("not_found", 'There is no record "O-9" in shop.orders.')


# --- writing -----------------------------------------------------------------------------------------------


def test_create_fills_in_key_time_and_defaults_in_the_order_of_the_fields(shop):
    record = shop.ok("orders.create", total=Decimal("12.50"), customer="Zoë")
    assert list(record.items()) == [
        ("id", "O-4"), ("customer", "Zoë"), ("total", Decimal("12.50")), ("pieces", 1), ("state", "open"),
        ("made_at", "2026-03-03T09:01:00"),
    ]  # fmt: skip
    assert shop.plain("orders")[-1] == record


def test_a_made_key_avoids_one_that_exists_and_a_given_one_conflicts(shop):
    shop.ok("orders.create", id="O-4", customer="Zoë", total=1)
    assert shop.wrong("orders.create", id="O-4", customer="Zoë", total=1) == (
        "conflict",
        'There is already a record "O-4" in shop.orders.',
    )
    shop.ok("orders.create", id="O-6", customer="Zoë", total=1)
    assert shop.ok("orders.create", customer="Zoë", total=1)["id"] == "O-7"


def test_a_key_is_not_used_again_after_its_record_was_deleted(shop):
    assert shop.ok("orders.delete", id="O-3")["customer"] == "Ben Marsh"
    assert shop.ok("orders.create", customer="Zoë", total=1)["id"] == "O-4"


def test_update_writes_what_is_given_and_leaves_the_rest(shop):
    before = shop.ok("orders.get", id="O-1")
    assert shop.ok("orders.update", id="O-1", total=170, tags=["vip"]) == {**before, "total": 170, "tags": ["vip"]}


def test_null_empties_an_optional_field_and_means_nothing_for_a_required_one(shop):
    shop.ok("orders.update", id="O-1", email=None, customer=None, pieces=2)
    record = shop.ok("orders.get", id="O-1")
    assert "email" not in record
    assert record["customer"] == "Amara Okafor"


def test_sending_a_whole_record_back_changes_only_what_differs(shop):
    record = shop.ok("orders.get", id="O-1")
    outcome = shop.call("orders.update", {**record, "total": 165, "pieces": 3})
    assert [change.set for change in outcome.changes] == [{"pieces": 3}]


def test_an_update_of_nothing_says_so(shop):
    kind, message = shop.wrong("orders.update", id="O-1")
    assert (kind, message) == ("invalid_argument", "Nothing to change: give at least one field besides id.")


# --- wrong arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"totl": 1}, 'shop.orders.create has no argument "totl"; did you mean "total"?'),
        ({"zzz": 1}, 'shop.orders.create has no argument "zzz"; it takes id, customer, total'),
        ({"customer": "Zoë"}, 'shop.orders.create needs "total", a number without quotes, such as 165 or 164.99.'),
        ({"total": "165.00"}, '"total" must be a number without quotes, such as 165 or 164.99, not the text "165.00".'),
        ({"total": True}, '"total" must be a number without quotes, such as 165 or 164.99, not true.'),
        ({"pieces": Decimal("1.5")}, '"pieces" must be a whole number without quotes, such as 3, not the number 1.5.'),
        ({"customer": ""}, '"customer" must be a text that is not empty, not the text "".'),
        ({"customer": ["Zoë"]}, '"customer" must be a text that is not empty, not a list.'),
        ({"state": "closed"}, '"state" must be one of "open", "shipped", not the text "closed".'),
        ({"due": "2026-02-30"}, '"due" must be a date such as "2026-03-13", not the text "2026-02-30".'),
        ({"due": "13.03.2026"}, '"due" must be a date such as "2026-03-13", not the text "13.03.2026".'),
        ({"pickup": "9:00"}, '"pickup" must be a date and time such as "2026-03-13T16:00", not the text "9:00".'),
        ({"email": "amara"}, '"email" must be an e-mail address such as "kim@example.com", not the text "amara".'),
        ({"gift": "yes"}, '"gift" must be true or false, without quotes, not the text "yes".'),
        ({"tags": "vip"}, '"tags" must be a list, not the text "vip".'),
        ({"tags": {"a": 1}}, '"tags" must be a list, not an object.'),
    ],
)
def test_wrong_arguments_are_explained(shop, args, sentence):
    kind, message = shop.wrong("orders.create", **args)
    assert kind == "invalid_argument"
    assert sentence in message


def test_everything_wrong_with_a_call_is_said_at_once(shop):
    _, message = shop.wrong("orders.create", totl=1, due="soon", pieces="2")
    assert all(word in message for word in ("totl", "due", "pieces", "customer"))


@pytest.mark.parametrize("args", [None, [], "O-1", 3, True])
def test_arguments_are_an_object(shop, args):
    outcome = shop.call("orders.get", args)
    assert outcome.error.type == "invalid_argument"
    assert "takes its arguments as one object" in outcome.error.message


def test_an_unknown_tool_names_the_nearest(shop):
    assert shop.wrong("orders.finds") == (
        "unknown_tool",
        'shop has no tool "shop.orders.finds"; did you mean "shop.orders.find"?',
    )


@pytest.mark.parametrize(
    "args",
    [
        {"customer": "Zoë", "total": "9" * 100_000},
        {"x" * 100_000: 1},
        {f"x{number}": 1 for number in range(10_000)},
        {"id": "x" * 100_000, "customer": 10**5000, "total": Decimal("1" * 5000), "pieces": 2**63},
    ],
)
def test_errors_stay_short_whatever_is_sent(shop, args):
    outcome = shop.call("orders.update", {"id": "O-1", **args})
    assert outcome.error.type in ("invalid_argument", "not_found")
    assert len(outcome.error.message) < 1000


# --- pages -------------------------------------------------------------------------------------------------


def test_pages_go_on_where_the_last_one_ended(desk):
    numbers = Service(
        collections={"items": Collection(can=("find",), pages=2)},
        records={"items": tuple({"id": f"K-{n}"} for n in range(5))},
    )
    shop = desk(numbers)
    first = shop.ok("items.find")
    assert (ids(first["items"]), first["next"]) == (["K-0", "K-1"], "2")
    assert (ids(shop.ok("items.find", page=2)["items"]), shop.ok("items.find", page="2")["next"]) == (
        ["K-2", "K-3"],
        "3",
    )
    assert shop.ok("items.find", page="3") == {"items": [{"id": "K-4"}], "next": None}
    assert shop.ok("items.find", page="9") == {"items": [], "next": None}
    assert shop.ok("items.find", id="K-4")["next"] is None
    assert shop.wrong("items.find", page="last")[0] == "invalid_argument"
    assert shop.wrong("items.find", page=0)[0] == "invalid_argument"


# --- keys and inferred fields ------------------------------------------------------------------------------


def with_records(*records, can=ALL, **collection):
    return Service(collections={"things": Collection(can=can, **collection)}, records={"things": records})


@pytest.mark.parametrize(
    ("existing", "following"),
    [
        (["O-5512", "O-5498"], "O-5513"),
        (["M-001", "M-002"], "M-003"),
        (["INV_7"], "INV_8"),
        (["abc", "def"], "things-3"),
        ([1, 2], 3),
    ],
)
def test_a_missing_key_goes_on_from_those_that_exist(desk, existing, following):
    shop = desk(with_records(*({"id": key, "name": "x"} for key in existing)))
    assert shop.ok("things.create", name="y")["id"] == following
    assert shop.ok("things.get", id=following)["name"] == "y"


def test_records_without_a_key_are_numbered(desk):
    shop = desk(with_records({"order": "O-1", "price": 3}, {"order": "O-1", "price": 4}, can=("find", "create")))
    shop.ok("things.create", order="O-2", price=5)
    assert list(shop.records["things"]) == ["#1", "#2", "#3"]


def test_ids_that_repeat_name_nothing(desk):
    shop = desk(with_records({"id": "A"}, {"id": "A"}, can=("find",)))
    assert list(shop.records["things"]) == ["#1", "#2"]


def test_inferred_fields_have_the_types_of_their_values(desk):
    shop = desk(
        with_records(
            {"id": "T-1", "price": 3, "day": "2026-03-13", "ok": True, "note": "a b", "order": "O-1", "mixed": 1},
            {"id": "T-2", "price": Decimal("3.5"), "day": None, "note": "", "order": "O-2", "mixed": "x"},
        )
    )
    schema = next(tool.schema for tool in shop.service.tools if tool.name == "shop.things.create")
    assert [(name, field.get("type"), field.get("format")) for name, field in schema["properties"].items()] == [
        ("id", "string", None), ("price", "number", None), ("day", "string", "date"), ("ok", "boolean", None),
        ("note", "string", None), ("order", "string", None), ("mixed", None, None),
    ]  # fmt: skip
    assert "required" not in schema
    assert ids(shop.ok("things.find", order="O-1")) == ["T-1"]
    assert shop.wrong("things.create", colour="red")[0] == "invalid_argument"


def test_records_of_a_collection_that_nobody_declared_are_there_without_tools(desk):
    shop = desk(Service(records={"secrets": ({"id": "X-1"},)}))
    assert shop.plain("secrets") == [{"id": "X-1"}]
    assert shop.service.tools == ()


# --- tools as agents see them ------------------------------------------------------------------------------


def test_tools_say_what_they_take(shop):
    tools = {tool.name: tool for tool in shop.service.tools}
    assert list(tools) == [f"shop.orders.{verb}" for verb in ALL]
    assert [tool.reads for tool in tools.values()] == [True, True, False, False, False]
    assert [tool.opens for tool in tools.values()] == [None, "id", None, None, None]
    assert tools["shop.orders.create"].schema["required"] == ["customer", "total"]
    assert tools["shop.orders.update"].schema["required"] == ["id"]
    assert tools["shop.orders.get"].schema == {
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False,
    }  # fmt: skip
    customer = tools["shop.orders.create"].schema["properties"]["customer"]
    assert customer == {"type": "string", "description": "Who ordered."}
    assert all(tool.description.endswith("Orders of the shop.") for tool in tools.values())


# --- definitions that make no service ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("definition", "path", "sentence"),
    [
        (with_records({"name": "x"}), "shop.things.get", "needs a `key`, or a field `id`"),
        (with_records({"id": "A"}, key="sku"), "shop.things.key", 'there is no field "sku"'),
        (with_records({"sku": "A"}, {"sku": "A"}, key="sku"), "shop.things.key", "not unique"),
        (with_records({"id": "A"}, can=("find",), pages=0), "shop.things.find", "at least 1 record"),
        (with_records({"id": "A", "page": 1}, can=("find",), pages=5), "shop.things.find", "no other argument"),
        (
            with_records({"id": "A", "nme": "x"}, fields={"id": Field(type="id"), "name": Field(type="text")}),
            "shop.things.records[0].nme",
            'did you mean "name"?',
        ),
        (
            with_records({"id": "A", "price": "3"}, fields={"id": Field(type="id"), "price": Field(type="number")}),
            "shop.things.records[0].price",
            'must be a number without quotes, such as 165 or 164.99, not the text "3"',
        ),
        (
            with_records({"id": "A", "price": 2.5}, fields={"id": Field(type="id"), "price": Field(type="number")}),
            "shop.things.records[0].price",
            "not 2.5, a float; use Decimal",
        ),
        (
            with_records(fields={"id": Field(type="id", new="{now}")}),
            "shop.things.fields.id.new",
            "needs {n}",
        ),
        (
            with_records(fields={"id": Field(type="id", new="A-{count}")}),
            "shop.things.fields.id.new",
            "{n} and {now} only",
        ),
        (
            with_records(fields={"id": Field(type="id"), "n": Field(type="integer", default="one")}),
            "shop.things.fields.n.default",
            "must be a whole number",
        ),
        (with_records({"id": "A"}, free=("text",)), "shop.things.free", 'there is no field "text"'),
        (with_records(fields={"id": Field(type="choice")}), "shop.things.fields.id.of", "the values of a `choice`"),
        (with_records(fields={"id": Field(type="id", of=("A",))}), "shop.things.fields.id.of", "of nothing else"),
        (
            with_records({"day": None}, fields={"day": Field(type="date")}, key="day"),
            "shop.things.records[0]",
            'needs a "day"',
        ),
    ],
)
def test_a_definition_that_makes_no_service_says_why(definition, path, sentence):
    with pytest.raises(ServiceError) as raised:
        declared("shop", definition)
    assert raised.value.path == path
    assert sentence in raised.value.message
