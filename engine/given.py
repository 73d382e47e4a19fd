"""What an actor gives with an operation, looked at when it is given: types, ranges, names, JSON.

Knows what each argument must be, and how to say what was wrong with one. Does not know what becomes of it. What passes
here can be appended, and read again; what does not fails the actor, at its own line, with a sentence that is the same
in every run.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from ..agents.agent import ActorError, Call, Outside, Price, Request
from ..agents.naming import UnknownName
from ..events.event import Event, Json, MessageSent
from ..events.normalise import normalise
from ..worlds.durations import LONGEST


class BadOperation(ActorError):
    """An actor gave an operation of its context what that cannot take."""


def _refused(what: str, value: object, wanted: str) -> BadOperation:
    given = value if isinstance(value, str | int | float | None) else f"of the type {type(value).__name__}"
    return BadOperation(f"{what} is {given!r:.80}; {wanted}" if given is value else f"{what} is {given}; {wanted}")


def span(what: str, value: Any) -> int:
    """A length of virtual time."""
    if type(value) is int and 0 <= value <= LONGEST:
        return value
    raise _refused(
        what, value, "it must be a whole number of microseconds, 0 to a hundred years: 90 seconds are 90_000_000"
    )


def text(what: str, value: Any) -> str:
    if type(value) is str and value.isascii():
        return value
    if isinstance(value, str):
        plain: str = normalise(value)[0]
        return plain
    raise _refused(what, value, "it must be a text")


def number(what: str, value: Any) -> int:
    """The `seq` of an event."""
    if type(value) is int and 0 <= value < 2**63:
        return value
    raise _refused(what, value, "it must be the number of an event")


def numbers(what: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, list | tuple):
        return tuple([number(what, item) for item in value])
    raise _refused(what, value, "it must be a list of numbers of events")


def call(value: Any) -> Call:
    if type(value) is not Call:
        raise _refused("what context.call() was given", value, "it must be a Call, such as Call('mail.find', {})")
    if type(value.tool) is not str:
        raise _refused("the tool of a Call", value.tool, "it must be the name of one, a text")
    if value.normal and value.tool.isascii():
        return value
    return Call(text("the tool of a Call", value.tool), normalise(value.args)[0], True)


def person(value: Any, people: Mapping[str, str], others: Container[str]) -> str:
    """Somebody to write to: one of `people`, or of `others`, who are not listed."""
    if type(value) is str and (value in people or value in others):
        return value
    if not isinstance(value, str):
        raise _refused("`to` of context.send()", value, f"it must be one of {', '.join(people) or 'nobody'}")
    raise UnknownName("person", value, people)


def message(value: Any, events: Sequence[Event]) -> int | None:
    """A message that is replied to."""
    if value is None:
        return None
    if type(value) is int and 0 <= value < len(events) and isinstance(events[value].body, MessageSent):
        return value
    raise _refused("`reply_to` of context.send()", value, "it must be the `seq` of a message, or None")


def gives(value: Any) -> dict[str, Json]:
    if not value:
        return {}
    if not isinstance(value, Mapping):
        raise _refused("`gives` of context.send()", value, "it must be an object: the facts by name")
    plain: dict[str, Json] = normalise(dict(value))[0]
    return plain


def request(value: Any, perform: Any) -> Request:
    """A request whose prompt and settings are as events have them."""
    if type(value) is not Request:
        raise _refused("the request of an effect", value, "it must be a Request")
    if not callable(perform):
        raise _refused("`perform` of an effect", perform, "it must be an async function from a Request to an Outside")
    if not isinstance(value.prompt, list | tuple):
        raise _refused("the prompt of a Request", value.prompt, "it must be a list of messages")
    if type(value.price) is not Price:
        raise _refused("the price of a Request", value.price, "it must be a Price")
    span("the base of a Price", value.price.base)
    span("`per_token` of a Price", value.price.per_token)
    prompt, settings = normalise([list(value.prompt), value.settings])[0]
    return Request(text("the kind of a Request", value.kind), tuple(prompt), settings, value.price)


def outside(value: Any) -> Outside:
    """What a `perform` returned. Raises BadOperation."""
    if type(value) is not Outside:
        raise _refused("what `perform` returned", value, "it must be an Outside with an Answer")
    for name in ("tokens", "prompt_tokens"):
        count = getattr(value.answer, name, "")
        if count is not None and not (type(count) is int and 0 <= count < 2**40):
            raise _refused(f"`{name}` of an Answer", count, "it must be a count, or None")
    return value
