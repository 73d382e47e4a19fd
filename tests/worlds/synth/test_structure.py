"""Structural keys: the same for the same doings, whatever they are called and whatever is in them; other for other."""

from importlib.resources import files
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.compiling import plain
from coworkenv.worlds.environment import Environment, Step
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.capabilities.registry import FRAGMENTS
from coworkenv.worlds.synth.family import families
from coworkenv.worlds.synth.making import make, mismatch
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.structure import flow, structural_key, tool_sequence

FOLDER = files("coworkenv.worlds") / "examples"
EXAMPLES = {
    file.name: read_environment(file.read_text(encoding="utf-8"))
    for file in sorted(FOLDER.iterdir(), key=lambda file: file.name)
    if file.name.endswith(".yaml")
}
NAMES = st.from_regex(r"[a-z][a-z_]{2,9}", fullmatch=True).filter(
    lambda name: name not in ("and", "not", "true", "null")
)
example = st.sampled_from(sorted(EXAMPLES)).map(EXAMPLES.__getitem__)


def small(names: list[str], facts: dict[str, Any], guard: str = "@{first}.size > @{second}.limit") -> Environment:
    """An environment of two reads and a write, all of its names given."""
    first, second, third, service, collection, other, field, tool, person, check, gate = names
    facts = {"size": 5, "limit": 3, "word": "red", **facts}
    return msgspec.convert(
        {
            "environment": "coworkenv/1",
            "id": "small",
            "clock": {"start": "2026-03-02T09:00"},
            "facts": facts,
            "people": {person: {"opens": "Do it for $${word}."}},
            "services": {
                service: {
                    "collections": {
                        collection: {"can": ["find", "get"], "fields": {"id": {"type": "id"}, field: {"type": "any"}}},
                        other: {"fields": {"id": {"type": "id"}}},
                    },
                    "tools": {tool: {"verb": "create", "collection": other, "takes": {field: {"type": "any"}}}},
                    "records": {collection: [{"id": "X-1", field: "$size"}]},
                }
            },
            "checks": {
                check: {"weight": 2, "expect": {"called": f"{service}.{tool}", "args": {field: "$size"}}},
                gate: {"gate": True, "if": "$size > $limit", "never": {"said": person}},
            },
            "oracle": [
                {"as": first, "call": f"{service}.{collection}.get", "args": {"id": "X-1"}},
                {"as": second, "call": f"{service}.{collection}.find", "args": {field: "$word"}},
                {
                    "as": third,
                    "call": f"{service}.{tool}",
                    "args": {field: f"@{first}.{field}"},
                    "if": guard.format(first=first, second=second),
                },
            ],
        },
        Environment,
    )


ELEVEN = ["one", "two", "three", "shop", "items", "orders", "price", "place", "lena", "placed", "quiet"]


@given(
    st.lists(NAMES, min_size=11, max_size=11, unique=True),
    st.fixed_dictionaries({"size": st.integers(), "limit": st.integers(), "word": st.text("abc ", min_size=1)}),
)
def test_names_and_facts_leave_no_trace(names: list[str], facts: dict[str, Any]) -> None:
    assert structural_key(small(names, facts)) == structural_key(small(ELEVEN, {}))


def test_the_key_stays_the_same_from_release_to_release() -> None:
    assert structural_key(small(ELEVEN, {})) == "c1433437bc793891114dc9ec16779430"


def test_the_examples_are_all_different() -> None:
    assert len({structural_key(environment) for environment in EXAMPLES.values()}) == len(EXAMPLES)


@given(example, st.data())
def test_dropping_a_step_changes_the_key(environment: Environment, data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(environment.oracle) - 1))
    left = environment.oracle[:gone] + environment.oracle[gone + 1 :]
    assert structural_key(msgspec.structs.replace(environment, oracle=left)) != structural_key(environment)


@given(example, st.data())
def test_dropping_a_check_changes_the_key(environment: Environment, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(environment.checks)))
    left = {name: check for name, check in environment.checks.items() if name != gone}
    assert structural_key(msgspec.structs.replace(environment, checks=left)) != structural_key(environment)


@given(example, st.data())
def test_the_order_of_independent_steps_and_of_checks_does_not_matter(
    environment: Environment, data: st.DataObject
) -> None:
    edges = flow(environment.oracle)
    left, order = list(range(len(environment.oracle))), list[Step]()
    while left:
        free = [place for place in left if not any(to == place and of in left for of, to, _ in edges)]
        order.append(environment.oracle[left.pop(left.index(data.draw(st.sampled_from(free))))])
    checks = dict(data.draw(st.permutations(list(environment.checks.items()))))
    reordered = msgspec.structs.replace(environment, oracle=tuple(order), checks=checks)
    assert structural_key(reordered) == structural_key(environment)


@given(example)
def test_capabilities_matter_as_a_multiset_and_twins_and_texts_do_not(environment: Environment) -> None:
    key = structural_key(environment)
    other = {"capabilities": environment.capabilities[::-1], "twins": {}, "title": "Other", "frozen": None}
    assert structural_key(msgspec.structs.replace(environment, **other)) == key
    more = (*environment.capabilities, "H4")
    assert structural_key(msgspec.structs.replace(environment, capabilities=more)) != key


@pytest.mark.parametrize(
    ("guard", "same"),
    [
        ("@{first}.weight > @{second}.most", True),
        ("@{first}.size >= @{second}.limit", False),
        ("@{first}.size > $limit", False),
        ("@{first}.size > 5 and @{second}.limit", False),
        ("not (@{first}.size > @{second}.limit)", False),
    ],
)
def test_a_guard_counts_by_its_form(guard: str, same: bool) -> None:
    assert (structural_key(small(ELEVEN, {}, guard)) == structural_key(small(ELEVEN, {}))) is same


def test_one_value_used_twice_is_not_two_values_used_once() -> None:
    def with_oracle(*steps: dict[str, Any]) -> str:
        environment = small(ELEVEN, {})
        return structural_key(msgspec.structs.replace(environment, oracle=msgspec.convert(steps, tuple[Step, ...])))

    read = {"call": "shop.items.find"}
    write = {"call": "shop.place"}
    assert with_oracle(
        {"as": "a", **read},
        {"as": "b", **read},
        {**write, "args": {"price": "@a.x"}},
        {**write, "args": {"price": "@a.x"}},
    ) != with_oracle(
        {"as": "a", **read},
        {"as": "b", **read},
        {**write, "args": {"price": "@a.x"}},
        {**write, "args": {"price": "@b.x"}},
    )


def test_what_the_oracle_does_is_told_by_verbs() -> None:
    assert tool_sequence(small(ELEVEN, {})) == ("get", "find", "create")
    refund = tool_sequence(EXAMPLES["refund.yaml"])
    assert refund == ("find", "ask", "ask", "find", "find", "ask", "create", "say", "say")


def test_reading_the_flow_of_data() -> None:
    steps = msgspec.convert(
        [
            {"as": "who", "call": "crm.people.find"},
            {"as": "first", "calc": "first(@who)"},
            {"as": "asked", "ask": "@first.boss", "text": "About @{first.name}?", "limit": "@who.patience"},
            {
                "as": "each",
                "say": "lena",
                "text": "Hello @{it.name}.",
                "each": "@who",
                "if": "@asked.ok",
                "uses": ["first"],
            },
        ],
        tuple[Step, ...],
    )
    assert sorted(flow(steps)) == [
        (0, 1, "calc"), (0, 2, "limit"), (0, 3, "each"), (1, 2, "text"), (1, 2, "to"), (1, 3, "uses"), (2, 3, "if")
    ]  # fmt: skip


@given(example)
def test_it_is_the_same_read_from_a_file_again(environment: Environment) -> None:
    again = msgspec.convert(plain(environment), Environment)
    assert structural_key(again) == structural_key(environment)


WORKFLOWS = {"D1": 2}
"""What is planted in D1 asks for a message, or for an entry; all others have one workflow."""


@pytest.mark.parametrize("capability", sorted(FRAGMENTS))
def test_instances_of_one_workflow_have_one_key(capability: str) -> None:
    """Other facts, another half of the lexicon, another style and another interface; more capabilities are other."""
    family = next(name for name, family in families().items() if not mismatch(family, [FRAGMENTS[capability]]))
    origin = Origin(seed=5, family=family, capabilities=(capability,))
    others = [{"index": 1}, {"half": "second"}, {"style": "chatty"}, {"interface": "unseen", "half": "second"}]
    key = structural_key(make(origin))
    keys = {structural_key(make(msgspec.structs.replace(origin, **other))) for other in others}
    assert len({key, *keys}) <= WORKFLOWS.get(capability, 1)
    assert structural_key(make(msgspec.structs.replace(origin, capabilities=()))) != key
