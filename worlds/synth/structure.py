"""Structural keys: what is the same about two environments that tell different stories in the same way.

Knows how an environment's shape is read off: the flow of data through its oracle, its capabilities, what its checks
look at, and the form of its guards. Values, texts, and the names of facts, steps, checks, people, services,
collections, fields and tools leave no trace. Does not know how environments are made, nor what keys are compared for.

A key does not depend on the order in which independent steps, or checks, are written. It is made of labels that spread
along the flow of data in both directions (Weisfeiler and Leman's colouring, which for oracles tells apart what people
would).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from ...events.event import Json
from ..compiling import written_out
from ..environment import Check, Claim, Condition, Environment, Only, Service, Step
from ..expressions import references
from ..solutions import nodes_in
from ..syntax import Binary, Call, Field, Index, ListOf, Literal, Name, Node, ObjectOf, Unary, parse

Shape: TypeAlias = "str | tuple[Shape, ...]"
Edge: TypeAlias = tuple[int, int, str]
"""From a step to a later one that uses its value, and for what."""

_VERBS = ("find", "get", "create", "update", "delete")


def structural_key(environment: Environment) -> str:
    """The key of an environment's structure, 32 hexadecimal digits. Twins have no part in it.

    Raises `InvalidEnvironment` for a service that there is not, `ExpressionError` for a guard that cannot be read.
    """
    verbs = _tools(environment.services)
    labels = [_step(step, verbs) for step in environment.oracle]
    return _digest(
        (
            _sorted(_coloured(labels, flow(environment.oracle))),
            tuple(sorted(environment.capabilities)),
            _sorted(_check(check, verbs) for check in environment.checks.values()),
        )
    )


def tool_sequence(environment: Environment) -> tuple[str, ...]:
    """What the oracle does, step by step, without names: `find`, `ask`, `create`, `say`. Computing is left out.

    Raises `InvalidEnvironment` for a service that there is not.
    """
    verbs = _tools(environment.services)
    return tuple(
        verbs.get(step.call, "call") if step.call else _kind(step) for step in environment.oracle if not step.calc
    )


# --- the oracle --------------------------------------------------------------------------------------------


def flow(steps: Sequence[Step]) -> list[Edge]:
    """Which step uses the value of which, by position: for its arguments (`args`), its words (`text`), to know whom to
    turn to (`to`), how long to wait (`limit`), whether to go on (`if`), over what (`each`), to compute (`calc`), or
    only to come later (`uses`)."""
    places = {step.name: position for position, step in enumerate(steps) if step.name is not None}
    edges: dict[Edge, None] = {}
    for position, step in enumerate(steps):
        for name, use in _uses(step):
            if name in places:
                edges[places[name], position, use] = None
    return list(edges)


def _uses(step: Step) -> Iterator[tuple[str, str]]:
    for use, text in (("if", step.condition), ("each", step.each), ("calc", step.calc)):
        if text is not None:
            yield from _seen(parse(text), use)
    for use, value in (
        ("args", step.args),
        ("text", step.text),
        ("to", step.ask),
        ("to", step.say),
        ("limit", step.limit),
    ):
        for node in nodes_in(value):
            yield from _seen(node, use)
    yield from ((name, "uses") for name in step.uses)


def _seen(node: Node, use: str) -> Iterator[tuple[str, str]]:
    for reference in references(node):
        if reference.name.startswith("@"):
            yield reference.name[1:], use


def _kind(step: Step) -> str:
    return next(
        kind for kind in ("call", "ask", "say", "wait", "calc", "nothing") if getattr(step, kind, "") is not None
    )


def _step(step: Step, verbs: Mapping[str, str]) -> Shape:
    kind = verbs.get(step.call, "call") if step.call is not None else _kind(step)
    return (kind, "each" if step.each is not None else "once", _guard(step.condition))


def _coloured(labels: Sequence[Shape], edges: Sequence[Edge]) -> list[Shape]:
    """Labels of the steps that tell where in the flow they stand: in what they come from, and in what comes of them."""
    before = _spread(labels, edges)
    after = _spread(labels[::-1], [(len(labels) - 1 - to, len(labels) - 1 - of, use) for of, to, use in edges])[::-1]
    joint = [_digest(both) for both in zip(before, after, strict=True)]
    around = [_sorted((use, joint[of]) for of, to, use in edges if to == position) for position in range(len(labels))]
    return list(zip(joint, around, strict=True))


def _spread(labels: Sequence[Shape], edges: Sequence[Edge]) -> list[str]:
    """Each label with those of all that flows into it; edges lead to later positions only."""
    spread: list[str] = []
    for position, label in enumerate(labels):
        spread.append(
            _digest((label, _sorted((use, spread[of]) for of, to, use in edges if to == position and of < to)))
        )
    return spread


# --- checks ------------------------------------------------------------------------------------------------


def _check(check: Check, verbs: Mapping[str, str]) -> Shape:
    looks = (("expect", check.claim), ("never", check.never), ("only", check.only), ("distinct", check.distinct))
    return (
        "gate" if check.gate else "weight",
        _guard(check.condition),
        *((name, _looked_for(what, verbs)) for name, what in looks if what is not None),
    )


def _looked_for(what: Claim | Only, verbs: Mapping[str, str]) -> Shape:
    if isinstance(what, Only):
        return "record"
    window = [(when, _happens(at, verbs)) for when, at in (("before", what.before), ("after", what.after)) if at]
    return (_subject(what, verbs), *window)


def _happens(condition: Condition, verbs: Mapping[str, str]) -> Shape:
    return _subject(condition, verbs)


def _subject(of: Claim | Condition, verbs: Mapping[str, str]) -> Shape:
    if of.called is not None:
        return ("called", verbs.get(of.called, "call"))
    return next(
        (kind for kind in ("record", "said", "gave", "mark", "fired") if getattr(of, kind, None) is not None), ""
    )


# --- tools and guards --------------------------------------------------------------------------------------


def _tools(services: Mapping[str, Service]) -> dict[str, str]:
    """What each tool does, by its name: one of the five verbs, whatever the tool is called."""
    found: dict[str, str] = {}
    for name, spec in services.items():
        whole = written_out(spec, ("services", name))
        for collection, shape in whole.collections.items():
            found |= {f"{name}.{collection}.{verb}": verb for verb in shape.can}
        found |= {f"{name}.{tool}": shape.verb for tool, shape in whole.tools.items()}
    return found


def _guard(text: str | None) -> Shape:
    return "always" if text is None else _form(parse(text))


def _form(node: Node) -> Shape:
    """An expression without its values and names. Of a list only what kinds of things are in it."""
    match node:
        case Literal(value):
            return _type(value)
        case Name(name):
            return {"$": "fact", "@": "seen"}.get(name[0], "it")
        case Field(of) | Index(of):
            return _form(of)
        case Unary(operator, operand):
            return (operator, _form(operand))
        case Binary(operator, left, right):
            return (operator, _form(left), _form(right))
        case Call(function, arguments):
            return (function, *map(_form, arguments))
        case ListOf(items) | ObjectOf(_, items):
            return ("list", *sorted({_form(item) for item in items}, key=_digest))
    raise AssertionError(node)


def _type(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return "text" if isinstance(value, str) else "number"


def _sorted(shapes: Iterator[Shape] | Sequence[Shape]) -> Shape:
    return tuple(sorted(shapes, key=msgspec.json.encode))


def _digest(shape: Shape) -> str:
    return blake2b(msgspec.json.encode(shape), digest_size=16).hexdigest()
