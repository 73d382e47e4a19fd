"""Where the values of an oracle's steps come from: which steps use which, and which of them write.

Knows the steps of a program and the references in them. Does not know any value, nor what playing them gives.

A step without a name, or with one that an earlier step has, is called by its place: `#3` is the third.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....events.event import Json
from ...environment import Step
from ...expressions import ExpressionError, Node, parse, references
from ...routes import Routes
from ...solutions import nodes_in


def labels(steps: Sequence[Step]) -> list[str]:
    """What each step is called."""
    found: list[str] = []
    for number, step in enumerate(steps, 1):
        found.append(f"#{number}" if step.name is None or step.name in found else step.name)
    return found


def nodes(step: Step) -> Iterator[tuple[str, Node]]:
    """The expressions in a step, by the key that they stand under (`args`, `text`, `if` …)."""
    for key, text in (("if", step.condition), ("each", step.each), ("calc", step.calc)):
        if text is not None:
            try:
                yield key, parse(text)
            except ExpressionError:
                continue  # reading says so
    spoken = (("text", step.text), ("ask", step.ask), ("say", step.say), ("wait", step.wait), ("limit", step.limit))
    for key, value in (("args", step.args), *spoken):
        yield from ((key, node) for node in nodes_in(value))


def uses(step: Step) -> frozenset[str]:
    """Names of the steps that a step depends on directly: their values stand in it, or its `uses` names them."""
    return frozenset(step.uses).union(*(_steps(node) for _, node in nodes(step)))


def dependencies(steps: Sequence[Step]) -> dict[str, frozenset[str]]:
    """For each step, by its label, all earlier steps that it depends on, directly or through others."""
    found: dict[str, frozenset[str]] = {}
    for label, step in zip(labels(steps), steps, strict=True):
        direct = frozenset(name for name in uses(step) if name in found)
        found[label] = direct.union(*(found[name] for name in direct))
    return found


def sources(step: Step, value: Json) -> frozenset[str]:
    """Names of the steps whose values stand in `value`, a part of the step; `it` comes from the step's `each`."""
    found: set[str] = set()
    for node in nodes_in(value):
        found |= _steps(node)
        if step.each is not None and any(reference.name == "it" for reference in references(node)):
            found.update(*(_steps(each) for key, each in nodes(step) if key == "each"))
    return frozenset(found)


def slots(steps: Sequence[Step]) -> dict[str, frozenset[str]]:
    """For each step whose value is used, by name, which of its fields are: `{"which": {"order"}}`."""
    found: dict[str, set[str]] = {}
    for step in steps:
        for _, node in nodes(step):
            for reference in references(node):
                if reference.name.startswith("@"):
                    slot = reference.path[0] if reference.path else None
                    found.setdefault(reference.name[1:], set()).update({slot} if isinstance(slot, str) else ())
    return {name: frozenset(fields) for name, fields in found.items()}


def reading_tools(routes: Routes) -> frozenset[str]:
    """The tools that never change a record."""
    return frozenset(tool.name for tool in routes.tools if tool.reads)


def writes(step: Step, routes: Routes) -> bool:
    """Whether a step calls a tool that may change records."""
    return step.call is not None and step.call not in reading_tools(routes)


def writers(steps: Sequence[Step], routes: Routes) -> dict[str, Step]:
    """The steps that write, by their labels."""
    reading = reading_tools(routes)
    pairs = zip(labels(steps), steps, strict=True)
    return {label: step for label, step in pairs if step.call is not None and step.call not in reading}


def arguments(step: Step) -> Mapping[str, Json]:
    """The arguments of a call in which values of other steps stand."""
    return {name: value for name, value in step.args.items() if sources(step, value)}


def _steps(node: Node) -> frozenset[str]:
    names = (reference.name for reference in references(node))
    return frozenset(name[1:] for name in names if name.startswith("@"))
