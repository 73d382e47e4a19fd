"""Facts and observations: what references stand for, where they may stand, and how signs are meant literally."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.expressions import parse
from coworkenv.worlds.facts import FactError, Resolution, escaped, fill, filled, literal, resolve, unescaped
from coworkenv.worlds.signs import Hole, unread

FACTS: dict[str, Any] = {
    "order": {"id": "O-1", "lamp": Decimal("165.00"), "label": "Order ${order.id}", "lines": [{"n": 2}, {"n": 3}]},
    "meant": "$order",
    "limit": 150,
    "double": "=$order.lamp * 2",
    "count": "=sum(each($meant.lines, it.n))",
    "odd": {"a key": 1},
}
SIGNS = st.text(alphabet="$@={}a.[0]'\\ \n", max_size=8)


def resolved(value: Any, place: str = "title") -> Any:
    return resolve({"facts": FACTS, place: value})[place]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$order.id", "O-1"),
        ("$order.lamp", Decimal("165.00")),
        ("$order.label", "Order O-1"),
        ("$meant.label", "Order O-1"),
        ("$order.lines[1].n", 3),
        ("$order.lines", [{"n": 2}, {"n": 3}]),
        ("$odd['a key']", 1),
        ("$double", Decimal("330.00")),
        ("$count", 5),
        ("=$order.lamp > $limit", True),
        ("=each($meant.lines as l, l.n)", [2, 3]),
        ("It is ${order.id}.", "It is O-1."),
        ("${order.lamp} EUR, ${=$limit * 2}, ${order.lines[0].n}", "165.00 EUR, 300, 2"),
        ("costs $5 or so", "costs $5 or so"),
        ("mail me @home", "mail me @home"),
        ("a = b", "a = b"),
    ],
)
def test_references_become_the_values_they_stand_for(text: str, value: Any) -> None:
    assert resolved(text) == value
    assert resolved({"deep": [{"er": text}]}) == {"deep": [{"er": value}]}


@pytest.mark.parametrize("value", [5, Decimal("1.50"), None, True, [1, {"a": None}]])
def test_values_that_are_no_texts_stay(value: Any) -> None:
    assert resolved(value) == value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("$$5", "$5"),
        ("$$", "$"),
        ("$$order.id", "$order.id"),
        ("@@home", "@home"),
        ("==", "="),
        ("==x", "=x"),
        ("a $${b}", "a ${b}"),
    ],
)
def test_doubled_signs_are_meant_literally(written: str, meant: str) -> None:
    assert resolved(written) == written, "resolving leaves them doubled"
    assert unescaped(written, ("title",)) == meant
    assert literal(meant) == written


@given(SIGNS)
def test_every_text_can_be_written_literally(text: str) -> None:
    written = literal(text)
    assert unescaped(written, ("title",)) == text
    assert fill(written, {}) == text
    assert resolve({"title": written}) == {"title": written}


@given(SIGNS, SIGNS, SIGNS)
def test_a_value_put_into_a_text_is_never_read_as_a_reference(before: str, fact: str, after: str) -> None:
    template = unread((f"x{before}", Hole("$", parse("$v")), after))
    title = resolve({"facts": {"v": literal(fact)}, "title": template})["title"]
    assert unescaped(title, ("title",)) == f"x{before}{fact}{after}"


@given(SIGNS)
def test_in_the_oracle_facts_are_put_in_and_observations_stay(fact: str) -> None:
    data = {"facts": {"v": literal(fact)}, "oracle": [{"text": "${v}@{seen.a}${v}"}]}
    text = resolve(data)["oracle"][0]["text"]
    assert fill(text, {"seen": {"a": "@$="}}) == f"{fact}@$={fact}"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"a": "$b", "b": "$a"}, "refers to itself: a → b → a"),
        ({"a": "x${a}"}, "refers to itself"),
        ({"a": "$b"}, "there is no fact b"),
        ({"a": {"price": 1}, "b": "$a.prise"}, "did you mean a.price"),
        ({"a": "=1/0"}, "division by zero"),
        ({"a": "=record.x"}, "there is no record here"),
        ({"a": "@x"}, "only the oracle"),
        ({"a": "$x is y"}, "is not a reference"),
        ({"a": "$5"}, "is not a reference"),
        ({"a": "${b"}, "never closed"),
        ({f"a{n}": f"${{a{n + 1}}}${{a{n + 1}}}" for n in range(40)} | {"a40": "xx"}, "too large"),
        ({f"a{n}": [f"$a{n + 1}", f"$a{n + 1}"] for n in range(40)} | {"a40": "xx"}, "too large"),
        ({f"a{n}": [f"$a{n + 1}"] for n in range(80)} | {"a80": "xx"}, "too large, or nested too deep|times over"),
    ],
)
def test_facts_that_lead_nowhere_are_named(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(FactError, match=says) as error:
        resolve({"facts": facts})
    assert error.value.path[0] == "facts"


def test_a_fact_may_refer_to_another_part_of_the_fact_it_belongs_to() -> None:
    facts = {"slot": {"early": "2026-03-12T08:00", "late": "=date_add($slot.early, '1h')", "free": "$slot.late"}}
    assert resolve({"facts": facts, "title": "$slot.free"})["title"] == "2026-03-12T09:00"


def test_a_broken_fact_is_reported_once_however_often_it_is_used() -> None:
    resolution = Resolution({"facts": {"a": "$nowhere"}, "title": "$a", "checks": {"c": {"if": "$a > 1"}}})
    assert [error.path for error in resolution.errors] == [("facts", "a")]


@pytest.mark.parametrize(
    ("data", "path", "result"),
    [
        ({"oracle": [{"if": "@a.x > $limit and it"}]}, ("oracle", 0, "if"), "(@a.x > 150) and it"),
        ({"oracle": [{"args": {"n": "=@a.x + $limit"}}]}, ("oracle", 0, "args", "n"), "=@a.x + 150"),
        ({"oracle": [{"args": {"n": "@a[0].x"}}]}, ("oracle", 0, "args", "n"), "@a[0].x"),
        ({"oracle": [{"text": "@{a.x} of @{=@n * $limit}"}]}, ("oracle", 0, "text"), "@{a.x} of @{=@n * 150}"),
        ({"traps": {"t": {"bind": {"a.x": "$limit"}}}}, ("traps", "t", "bind", "a.x"), 150),
        ({"traps": {"t": {"change": {"a.if": "$limit > 1"}}}}, ("traps", "t", "change", "a.if"), "true"),
        ({"checks": {"c": {"if": "$order.lamp > $limit"}}}, ("checks", "c", "if"), "true"),
        (
            {"services": {"s": {"tools": {"t": {"when": "record.n < $limit"}}}}},
            ("services", "s", "tools", "t", "when"),
            "record.n < 150",
        ),
        (
            {"services": {"s": {"tools": {"t": {"set": {"n": "=args.n + $limit"}}}}}},
            ("services", "s", "tools", "t", "set", "n"),
            "=args.n + 150",
        ),
    ],
)
def test_what_is_known_only_during_play_stays_with_its_facts_filled_in(
    data: Any, path: tuple[Any, ...], result: Any
) -> None:
    found: Any = resolve({"facts": FACTS, **data})
    assert unescaped(found, ()) == found
    for step in path:
        found = found[step]
    assert found == result


@pytest.mark.parametrize(
    "data",
    [
        {"people": {"p": {"opens": "@x.y"}}},
        {"people": {"p": {"opens": "It is @{x.y}"}}},
        {"checks": {"c": {"if": "@x > 1"}}},
        {"checks": {"c": {"if": "= $limit > 1"}}},
        {"oracle": [{"if": "record.x"}]},
        {"services": {"s": {"tools": {"t": {"set": {"n": "=@x"}}}}}},
    ],
)
def test_what_may_not_stand_somewhere_is_an_error_there(data: Any) -> None:
    with pytest.raises(FactError) as error:
        resolve({"facts": FACTS, **data})
    assert error.value.path[0] in data


def test_resolving_twice_changes_nothing() -> None:
    data = {
        "facts": FACTS,
        "a": ["$$5", "${order.id}", "==x"],
        "oracle": [{"args": {"n": "=@a + $limit"}, "text": "@{a} $${x}"}],
    }
    assert resolve(resolve(data)) == resolve(data)


def test_an_oracle_sees_its_observations_and_the_item() -> None:
    seen = {"line": [{"price": Decimal("165.00")}], "skipped": None}
    value = {"a": "@line[0].price", "b": ["=it.n * 2", "@{line[0].price} @{skipped.x} @{=it.n}"], "c": 1, "d": "@@x"}
    assert fill(value, seen, {"n": 4}) == {"a": Decimal("165.00"), "b": [8, "165.00 null 4"], "c": 1, "d": "@x"}
    assert fill("@never_done.field", seen) is None
    with pytest.raises(FactError, match="no it"):
        fill("=it.n", seen)
    with pytest.raises(FactError, match="no \\$fact"):
        fill("$fact", seen)


def test_values_in_texts_stand_as_they_are_written() -> None:
    seen = {"v": [Decimal("165.00"), Decimal("1E+3"), 7, True, None, "x"]}
    assert fill("@{v}", seen) == "165.00, 1000, 7, true, null, x"


def test_any_names_can_be_filled_in() -> None:
    assert filled({"a": "=args.n + 1", "b": "Refund ${=record.id}"}, {"args": {"n": 1}, "record": {"id": "R-1"}}) == {
        "a": 2,
        "b": "Refund R-1",
    }


@given(st.recursive(SIGNS | st.integers(), lambda v: st.lists(v) | st.dictionaries(SIGNS, v), max_leaves=8))
def test_escaping_any_value_makes_it_literal(value: Any) -> None:
    assert unescaped(resolve({"title": escaped(value)})["title"], ("title",)) == value


@given(SIGNS)
def test_no_text_gives_anything_but_a_value_or_a_typed_error(text: str) -> None:
    for data in ({"title": text}, {"oracle": [{"text": text, "if": text}]}, {"facts": {"a": text}, "title": "$a"}):
        try:
            resolve(data)
        except FactError:
            pass


WRITTEN = (
    "$a",
    "$b.x",
    "${c} and ${b.x}",
    "=$a == $c",
    "$missing",
    "=1 +",
    "plain",
    1,
    2,
    Decimal("1.0"),
    Decimal("1.00"),
)
FACT_TABLES = st.fixed_dictionaries(
    {
        "a": st.sampled_from(WRITTEN),
        "b": st.fixed_dictionaries({"x": st.sampled_from(WRITTEN)}),
        "c": st.sampled_from(WRITTEN),
    }
)


@given(
    FACT_TABLES, st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([*WRITTEN, {"x": "$a"}, {"x": 3}]))
)
def test_nearly_the_same_data_is_resolved_as_if_it_stood_alone(facts: dict[str, Any], change: dict[str, Any]) -> None:
    """A twin is resolved with what was found out for its base."""
    parts: dict[str, Any] = {
        "title": list(WRITTEN),
        "checks": {"seen": {"if": "$a == 1"}},
        "oracle": [{"text": "@{x} ${c}"}],
    }
    base = Resolution({"facts": facts, **parts})
    data = {"facts": {**facts, **change}, **parts}
    near, alone = Resolution(data, base), Resolution(data)
    assert repr(near.data) == repr(alone.data)
    assert [str(error) for error in near.errors] == [str(error) for error in alone.errors]
    assert (near.lost, near.facts.left) == (alone.lost, alone.facts.left)
