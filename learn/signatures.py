"""Tools in a line each, as a student is told of them: `name(required, optional?, count:int, state:open|closed)`.

Knows JSON schemas as far as tools have them. Does not know tokens. Text is the type that is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..events.event import Json

_TYPES = {"integer": "int", "number": "num", "boolean": "bool", "array": "list", "object": "object"}
_CHOICES = 4
"""So many values of a field are named at most."""


def signature(tool: Mapping[str, Json]) -> str:
    """One line for a tool in the chat format."""
    function = tool["function"]
    parameters = function.get("parameters") or {}
    required = parameters.get("required") or ()
    arguments = [
        f"{name}{'' if name in required else '?'}{_type(schema)}"
        for name, schema in (parameters.get("properties") or {}).items()
    ]
    return f"{function['name']}({', '.join(arguments)})"


def _type(schema: Json) -> str:
    if not isinstance(schema, Mapping):
        return ""
    choices = schema.get("enum")
    if isinstance(choices, list) and len(choices) <= _CHOICES and all(isinstance(each, str) for each in choices):
        return ":" + "|".join(choices)
    kind = schema.get("type")
    return f":{_TYPES[kind]}" if isinstance(kind, str) and kind in _TYPES else ""


def signatures(tools: Sequence[Mapping[str, Json]]) -> str:
    return "\n".join(map(signature, tools))
