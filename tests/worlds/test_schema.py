"""The schema for editors: it knows every key, says what each is for, and allows no other."""

from decimal import Decimal
from importlib.resources import files
from typing import Any

import msgspec
import pytest

from coworkenv.worlds import environment
from coworkenv.worlds.document import parse
from coworkenv.worlds.schema import environment_schema

SCHEMA: Any = environment_schema()
EXAMPLES = sorted(
    file.name for file in (files("coworkenv.worlds") / "examples").iterdir() if file.name.endswith(".yaml")
)


def violations(value: Any, schema: Any, path: str = "") -> list[str]:
    """What of a value the schema forbids: as much of JSON Schema as is used."""
    if "$ref" in schema:
        return violations(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
    if "anyOf" in schema:
        tries = [violations(value, option, path) for option in schema["anyOf"]]
        return [] if [] in tries else tries[0]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not in {schema['enum']}")
    if "type" in schema:
        types: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
        types |= {"integer": int, "number": (int, Decimal)}
        if not isinstance(value, types[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
            return [f"{path}: {value!r} is not {schema['type']}"]
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{path}: {key} is missing" for key in schema.get("required", ()) if key not in value]
        for key, item in value.items():
            if key in properties:
                found += violations(item, properties[key], f"{path}.{key}")
            elif more is False:
                found.append(f"{path}: {key} is unknown")
            elif isinstance(more, dict):
                found += violations(item, more, f"{path}.{key}")
    if isinstance(value, list):
        for item in value:
            found += violations(item, schema.get("items", {}), f"{path}[]")
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_fit(name: str) -> None:
    data = parse((files("coworkenv.worlds") / "examples" / name).read_text(encoding="utf-8"))
    assert violations(data, SCHEMA) == []


@pytest.mark.parametrize(
    "change",
    [
        {"chekcs": {}},
        {"id": 7},
        {"checks": {"a": {"wieght": 1}}},
        {"on_text": "stop"},
        {"traps": {"t": {"ceiling": "0"}}},
    ],
)
def test_what_is_wrong_does_not_fit(change: dict[str, Any]) -> None:
    smallest: dict[str, Any] = {"environment": "coworkenv/1", "id": "x", "clock": {"start": "2026-01-01T09:00"}}
    assert violations(smallest, SCHEMA) == []
    assert violations({**smallest, **change}, SCHEMA)


def test_every_struct_refuses_unknown_keys() -> None:
    for name, definition in SCHEMA["$defs"].items():
        assert definition["additionalProperties"] is False, name


def test_keys_are_spelt_as_in_files_and_described() -> None:
    check = SCHEMA["$defs"]["Check"]["properties"]
    assert set(check) == {field.encode_name for field in msgspec.structs.fields(environment.Check)}
    assert "left out of the score" in check["if"]["description"]
    assert SCHEMA["$defs"]["Step"]["properties"]["ask"]["description"].startswith("Writes `text`")
    assert SCHEMA["$defs"]["Trap"]["properties"]["ceiling"]["type"] == "number"
