"""Baselines that are trained: demonstrations from which only the format can be learnt.

Knows demonstrations. Does not know training. `format_only` keeps what every demonstration has in common (when a call is
made, that it is valid JSON with arguments that its tool has, whom a message may go to) and destroys what tells one
environment from another: which tool is called is drawn anew, and so is every value, from other environments. What is
trained on it as on the true ones (*format-SFT*) shows what knowing the format alone is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from ..agents.answers import parse_json
from ..agents.counting import as_json
from ..agents.prompts import FINISH, SEND, WAIT
from ..engine.draw import Drawer
from ..events.event import Json
from .lessons import Lesson

SHUFFLED = "shuffled"
"""By this a run's configuration says that its demonstrations were."""
_T = TypeVar("_T")


class TooAlike(ValueError):
    """There are not two environments to shuffle between."""


def format_only(lessons: Sequence[Lesson], seed: int) -> list[Lesson]:
    """The same demonstrations with argument values and tool choices shuffled between environments.

    Prompts, tool results, and the number and places of calls are as they were; twins are one environment. A function
    of the lessons and `seed`. Raises TooAlike where there is only one environment.
    """
    if len({lesson.environment for lesson in lessons}) < 2:
        raise TooAlike("values are shuffled between environments, and all demonstrations are of one")
    pool = _pool(lessons)
    return [_shuffled(lesson, pool, Drawer([seed], place, "format")) for place, lesson in enumerate(lessons)]


_Pool = dict[str, list[tuple[str, Json]]]
"""Values by JSON type, and those of our own tools by name; each with the environment that it is from."""


def _pool(lessons: Sequence[Lesson]) -> _Pool:
    pool: _Pool = {}
    for lesson in lessons:
        for name, args in _calls(lesson):
            if name in (SEND, FINISH):
                key = "text" if name == SEND else "summary"
                pool.setdefault(name, []).append((lesson.environment, args.get(key, "")))
            elif name != WAIT:
                for value in args.values():
                    pool.setdefault(_type(value), []).append((lesson.environment, value))
    return pool


def _calls(lesson: Lesson) -> list[tuple[str, dict[str, Json]]]:
    calls = [call["function"] for message in lesson.messages for call in message.get("tool_calls", ())]
    return [(call["name"], _object(call["arguments"])) for call in calls]


def _object(text: str) -> dict[str, Json]:
    found = parse_json(text)
    return found if isinstance(found, dict) else {}


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "null" if value is None else "number"


def _shuffled(lesson: Lesson, pool: _Pool, draw: Drawer) -> Lesson:
    tools = [tool["function"] for tool in lesson.tools if tool["function"]["name"] not in (SEND, WAIT, FINISH)]
    people = list(dict.fromkeys(args["to"] for name, args in _calls(lesson) if name == SEND and "to" in args))
    shuffle = _Shuffle(lesson.environment, tools, people, pool, draw)
    messages = [
        {**message, "tool_calls": [shuffle.call(call) for call in message["tool_calls"]]}
        if message.get("tool_calls")
        else message
        for message in lesson.messages
    ]
    return msgspec.structs.replace(lesson, messages=tuple(messages))


class _Shuffle:
    """Draws for one demonstration."""

    def __init__(
        self, environment: str, tools: Sequence[Json], people: Sequence[str], pool: _Pool, draw: Drawer
    ) -> None:
        self._environment = environment
        self._tools = tools
        self._people = people
        self._pool = pool
        self._draw = draw

    def call(self, call: Mapping[str, Json]) -> dict[str, Json]:
        name, args = call["function"]["name"], _object(call["function"]["arguments"])
        if name == SEND:
            to = {"to": self._one(self._people)} if "to" in args else {}
            args = {**args, **to, "text": self._foreign(SEND)}
        elif name == FINISH:
            args = {**args, "summary": self._foreign(FINISH)}
        elif name != WAIT and self._tools:
            tool = self._one(self._tools)
            name, args = tool["name"], self._arguments(tool, len(args))
        return {**call, "function": {**call["function"], "name": name, "arguments": as_json(args)}}

    def _arguments(self, tool: Json, count: int) -> dict[str, Json]:
        """What a tool must be given, and then what it may, up to so many arguments."""
        schema = tool.get("parameters") or {}
        properties = schema.get("properties") or {}
        required = [name for name in schema.get("required") or () if name in properties]
        optional = [name for name in properties if name not in required]
        while len(required) < count and optional:
            required.append(optional.pop(self._draw.below(len(optional))))
        drawn = {name: self._value(properties[name]) for name in properties if name in required}
        return {name: value for name, value in drawn.items() if value is not None}

    def _value(self, schema: Json) -> Json:
        choices = schema.get("enum")
        if choices:
            return self._one(choices)
        kind = schema.get("type", "string")
        return self._foreign("number" if kind == "integer" else kind)

    def _foreign(self, kind: str) -> Json:
        """A value from another environment; None if no other has one of this kind."""
        values = self._pool.get(kind, ())
        if all(environment == self._environment for environment, _ in values):
            return None
        while True:
            environment, value = self._one(values)
            if environment != self._environment:
                return value

    def _one(self, items: Sequence[_T]) -> _T:
        return items[self._draw.below(len(items))]
