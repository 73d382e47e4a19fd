"""Conditions: whether one event is the moment at which something written in an environment happened.

Knows the conditions of the format and the events that decide them. Does not know who asks: the timeline does, and so
do checks. A trigger names the kinds of event it must look at, so that all others cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from ..events.event import (
    AGENT,
    Body,
    Event,
    Json,
    MessageReceived,
    MessageSent,
    TimelineFired,
    ToolCalled,
    ToolReturned,
)
from .environment import Condition
from .matching import as_read, equal_to, needle

ANYONE = "anyone"

At: TypeAlias = Callable[[int], Event]
"""The event with this `seq`."""


class ConditionError(ValueError):
    """A condition that says nothing, or more than one thing."""


class Trigger(msgspec.Struct, frozen=True):
    """A condition, compiled."""

    kinds: tuple[type[Body], ...]
    """The body types to look at; for any other event `holds` need not be asked."""
    holds: Callable[[Event, At], bool]
    """Whether this event makes the condition true. The event's body is of one of `kinds`."""


def compile_condition(condition: Condition) -> Trigger:
    """The trigger of a condition. Raises `ConditionError` unless it names exactly one thing."""
    given = [
        trigger
        for subject, trigger in (
            (condition.called, _called),
            (condition.mark, _mark),
            (condition.said, _said),
            (condition.gave, _gave),
            (condition.fired, _fired),
        )
        if subject is not None
    ]
    if len(given) != 1:
        raise ConditionError(
            f"A condition names one of `called`, `mark`, `said`, `gave` and `fired`; this one names {len(given)}."
        )
    return given[0](condition)


def matcher(wanted: Mapping[str, Json]) -> Callable[[Json], bool]:
    """Whether an object has at least these fields with the same values. Anything but an object has none."""
    equals = [(name, equal_to(value)) for name, value in wanted.items()]
    if not equals:
        return lambda value: True

    def matches(value: Json) -> bool:
        if not isinstance(value, dict):
            return False
        for name, equal in equals:  # a loop, since this is asked of every record and call
            if name not in value or not equal(value[name]):
                return False
        return True

    return matches


def slot_of(gave: str) -> tuple[str, str]:
    """Person and slot of `person.slot`."""
    person, _, slot = gave.partition(".")
    return person, slot


def _called(condition: Condition) -> Trigger:
    tool, matches = condition.called, matcher(condition.args)

    def holds(event: Event, at: At) -> bool:
        body = event.body
        assert isinstance(body, ToolReturned)
        if body.error is not None or event.actor != AGENT:
            return False
        call = at(body.call).body
        return isinstance(call, ToolCalled) and call.tool == tool and matches(call.args)

    return Trigger((ToolReturned,), holds)


def _mark(condition: Condition) -> Trigger:
    def holds(event: Event, at: At) -> bool:
        assert isinstance(event.body, MessageSent)
        return event.body.mark == condition.mark

    return Trigger((MessageSent,), holds)


def _said(condition: Condition) -> Trigger:
    person, needles = condition.said, [needle(value) for value in condition.mentions]

    def holds(event: Event, at: At) -> bool:
        body = event.body
        assert isinstance(body, MessageSent)
        if event.actor != AGENT or (body.to != person and person != ANYONE):
            return False
        if not needles:
            return True
        text = as_read(body.text)
        return all(found(text) for found in needles)

    return Trigger((MessageSent,), holds)


def _gave(condition: Condition) -> Trigger:
    assert condition.gave is not None
    person, slot = slot_of(condition.gave)

    def holds(event: Event, at: At) -> bool:
        assert isinstance(event.body, MessageReceived)
        if event.actor != AGENT:
            return False
        message = at(event.body.message)
        return message.actor == person and isinstance(message.body, MessageSent) and slot in message.body.gives

    return Trigger((MessageReceived,), holds)


def _fired(condition: Condition) -> Trigger:
    def holds(event: Event, at: At) -> bool:
        assert isinstance(event.body, TimelineFired)
        return event.body.name == condition.fired

    return Trigger((TimelineFired,), holds)
