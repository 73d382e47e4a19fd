"""The JSON Schema of environment files, for editors: completion, descriptions and red lines while one writes.

Knows the structs of `environment` and the texts below their attributes. Does not know any rule that a schema cannot
say (`soundness`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import msgspec

from ..events.event import Json
from . import environment
from .environment import FORMAT, Environment


def environment_schema() -> dict[str, Json]:
    """The schema, by the 2020-12 draft."""
    schema: dict[str, Any] = msgspec.json.schema(Environment)
    definitions = schema["$defs"]
    for name, properties in _descriptions().items():
        for key, text in properties.items():
            if name in definitions and key in definitions[name]["properties"]:
                definitions[name]["properties"][key]["description"] = text
    definitions["Environment"]["properties"]["environment"] |= {"const": FORMAT}
    numbers: dict[str, Json] = _with_numbers(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "coworkenv environment", **numbers}


def _with_numbers(value: Any) -> Any:
    """Decimals are numbers in a file, not texts as in msgspec's own JSON."""
    if isinstance(value, dict):
        if value.get("format") == "decimal":
            kept = {key: item for key, item in value.items() if key != "format"}
            return {**kept, "type": "number"}
        return {key: _with_numbers(item) for key, item in value.items()}
    return [_with_numbers(item) for item in value] if isinstance(value, list) else value


def _descriptions() -> dict[str, dict[str, str]]:
    """By struct and key, the text that stands below the attribute."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(environment)).body:
        if isinstance(node, ast.ClassDef):
            keys = _keys(node.name)
            found[node.name] = {keys.get(attribute, attribute): text for attribute, text in _texts(node)}
    return found


def _keys(name: str) -> dict[str, str]:
    return {field.name: field.encode_name for field in msgspec.structs.fields(getattr(environment, name))}


def _texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, below in zip(node.body, node.body[1:]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match below:
                case ast.Expr(ast.Constant(str(text))):
                    yield statement.target.id, inspect.cleandoc(text)
