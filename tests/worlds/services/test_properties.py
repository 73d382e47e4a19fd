"""What holds of every declared service, whatever an agent sends it."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.environment import Collection, Field, Service, SideEffect, Tool
from coworkenv.worlds.records import initial_state
from coworkenv.worlds.services.declared import declared
from coworkenv.worlds.services.ready import library, names

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**6), max_value=10**6)
SCALARS = st.none() | st.booleans() | st.integers() | DECIMALS | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
#: Values that fields like, so that calls get past the first check.
LIKELY = st.sampled_from(
    [
        "2026-03-13",
        "2026-03-13T09:00",
        "09:00",
        "a@b.example",
        "open",
        "closed",
        "x",
        1,
        Decimal("1.50"),
        True,
        ["x"],
        {"a": 1},
    ]
)


#: Two values of each type; the second is there for keys, which must differ.
VALUES = {
    "text": ("X-1", "X-2"),
    "id": ("X-1", "X-2"),
    "integer": (1, 2),
    "number": (Decimal("1.5"), Decimal("2.5")),
    "boolean": (False, True),
    "date": ("2026-03-13", "2026-03-14"),
    "time": ("09:00", "10:00"),
    "datetime": ("2026-03-13T09:00", "2026-03-14T09:00"),
    "email": ("a@b.example", "c@d.example"),
    "list": (["x"], ["y"]),
    "object": ({}, {"a": 1}),
    "any": (1, 2),
}


def sample(spec: Service) -> Service:
    """A definition with two records in every collection, which fill all fields that it declares and no others."""
    records = {}
    for collection, shape in spec.collections.items():
        key = shape.key or "id"
        values = {
            name: (f.of[0], f.of[-1]) if f.type == "choice" else VALUES[f.type] for name, f in shape.fields.items()
        }
        records[collection] = tuple(
            {name: both[place if name == key else 0] for name, both in values.items()} for place in (0, 1)
        )
    return Service(about=spec.about, collections=spec.collections, tools=spec.tools, records=records)


#: As in `docs/services.md`: collections may have no key, and then nobody can name their records.
KEYLESS = Service(
    collections={
        "orders": Collection(
            can=("find", "get", "create"), fields={"id": Field(type="id"), "item": Field(type="text")}
        ),
        "stock": Collection(can=("find", "create"), fields={"item": Field(type="text"), "left": Field(type="integer")}),
        "log": Collection(fields={"order": Field(type="id"), "text": Field(type="text")}),
    },
    tools={
        "order": Tool(
            verb="update",
            collection="orders",
            also=(SideEffect(create="log", record={"order": "=record.id", "text": "Ordered."}),),
        )
    },
)
KEYED_BY_OTHERS = Service(
    collections={
        field.type: Collection(
            key="key", can=("find", "get", "update"), fields={"key": field, "note": Field(type="text")}
        )
        for field in (Field(type="integer"), Field(type="date"), Field(type="email"), Field(type="text"))
    }
)
SAMPLES = {name: sample(library(name)) for name in names()} | {
    "keyless": sample(KEYLESS),
    "keyed": sample(KEYED_BY_OTHERS),
}


@st.composite
def calls(draw):
    """A service, and calls whose arguments are likely, unlikely, or no object at all."""
    name = draw(st.sampled_from(list(SAMPLES)))
    tools = declared(name, SAMPLES[name]).tools
    made = []
    for _ in range(draw(st.integers(1, 6))):
        tool = draw(st.sampled_from(tools))
        fitting = {
            argument: st.sampled_from(["X-1", "X-2", "X-3"]) | LIKELY | JSON for argument in tool.schema["properties"]
        }
        args = draw(st.fixed_dictionaries({}, optional=fitting) | JSON)
        made.append((tool.name.removeprefix(f"{name}."), args))
    return name, made


@given(calls())
def test_any_call_gives_an_outcome_and_an_error_changes_nothing(desk, session):
    name, made = session
    shop = desk(SAMPLES[name], name)
    for tool, args in made:
        before = shop.records
        outcome = shop.call(tool, args)
        if outcome.error is not None:
            assert shop.records is before
            assert outcome.error.type in ("invalid_argument", "not_found", "refused", "conflict")
            assert outcome.error.message.endswith((".", "?"))


@given(calls())
def test_what_a_tool_says_it_reads_changes_nothing(desk, session):
    name, made = session
    shop = desk(SAMPLES[name], name)
    reading = {tool.name.removeprefix(f"{name}.") for tool in shop.service.tools if tool.reads}
    for tool, args in made:
        assert not (tool in reading and shop.call(tool, args).changes)


THINGS = Service(
    collections={
        "things": Collection(
            can=("find", "get", "create", "update", "delete"),
            fields={
                "id": Field(type="id", new="T-{n}"),
                "name": Field(type="text"),
                "price": Field(type="number"),
                "day": Field(type="date"),
                "ok": Field(type="boolean"),
                "tags": Field(type="list"),
            },
        )
    }
)
THING = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(min_size=1, max_size=6),
        "price": st.integers(-1000, 1000) | DECIMALS,
        "day": st.dates().map(str),
        "ok": st.booleans(),
        "tags": st.lists(st.text(max_size=3) | st.integers(0, 3), max_size=3),
    },
)


@given(st.lists(THING, min_size=1, max_size=5))
def test_what_was_created_is_found_by_each_of_its_values(desk, things):
    shop = desk(THINGS)
    made = [shop.ok("things.create", **thing) for thing in things]
    assert shop.ok("things.find") == made
    for record in made:
        assert shop.ok("things.get", id=record["id"]) == record
        for name, value in record.items():
            assert record in shop.ok("things.find", **{name: value})
        assert record in shop.ok("things.find", **record)


@given(
    st.lists(
        st.tuples(st.just("create"), st.just(0), THING)
        | st.tuples(st.just("update"), st.integers(1, 6), THING)
        | st.tuples(st.just("delete"), st.integers(1, 6), st.just({})),
        max_size=12,
    )
)
def test_records_are_what_a_dictionary_would_hold(desk, actions):
    shop = desk(THINGS)
    expected: dict[str, dict] = {}
    count = 0
    for verb, number, thing in actions:
        key = f"T-{number}"
        if verb == "create":
            count += 1
            expected[f"T-{count}"] = {"id": f"T-{count}", **thing}
            shop.ok("things.create", **thing)
        elif key not in expected:
            assert shop.wrong(f"things.{verb}", id=key, **thing)[0] == "not_found"
        elif verb == "delete":
            shop.ok("things.delete", id=key)
            del expected[key]
        elif thing:
            expected[key].update(thing)
            assert shop.ok("things.update", id=key, **thing) == expected[key]
    assert shop.plain("things") == list(expected.values())


@given(st.integers(0, 30), st.integers(1, 7))
def test_pages_hold_everything_once_and_in_order(desk, count, size):
    spec = Service(
        collections={"things": Collection(can=("find",), pages=size, fields={"id": Field(type="id")})},
        records={"things": tuple({"id": f"K-{number}"} for number in range(count))},
    )
    shop = desk(spec)
    seen, page = [], None
    while True:
        result = shop.ok("things.find", page=page)
        assert len(result["items"]) <= size
        seen += result["items"]
        page = result["next"]
        if page is None:
            break
    assert seen == shop.plain("things")


@given(calls())
def test_the_same_calls_do_the_same(desk, session):
    name, made = session
    first, second = desk(SAMPLES[name], name), desk(SAMPLES[name], name)
    assert [first.call(*call) for call in made] == [second.call(*call) for call in made]
    assert first.records.plain() == second.records.plain()


def test_the_first_state_is_what_initial_says():
    for name, spec in SAMPLES.items():
        service = declared(name, spec)
        records = initial_state(service.initial())[name]
        for collection, rows in spec.records.items():
            assert [dict(record) for record in records[collection].values()] == [dict(row) for row in rows]
