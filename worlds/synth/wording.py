"""What an environment says in words: its request, and all texts that an agent may come to read.

Knows where people speak and where records hold texts. Does not know what the texts mean, nor what they are compared
with.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ...events.event import Json
from ..compiling import plain, with_twin
from ..environment import Environment
from ..facts import resolve
from ..matching import leaves


def request(environment: Environment) -> str:
    """What people write to the agent at the start, facts put in. Raises `FactError`."""
    return "\n".join(_openings(_resolved(environment)))


def texts(environment: Environment) -> list[str]:
    """The request, then all that people may say, then all texts of records, each once, facts put in.

    Values that are no texts are left out, and so is the oracle. Raises `FactError`.
    """
    data = _resolved(environment)
    said = [*_openings(data), *_lines(data), *_records(data)]
    return list(dict.fromkeys(text for text in said if text))


def realised(environment: Environment) -> str:
    """`texts`, one a line: what two environments are compared by. Raises `FactError`."""
    return "\n".join(texts(environment))


def numbers(environment: Environment) -> list[str]:
    """All numbers in records, each once, as written, facts put in. Raises `FactError`."""
    held = (service.get("records", {}) for service in _resolved(environment).get("services", {}).values())
    return list(dict.fromkeys(str(value) for records in held for value in leaves(records) if _is_number(value)))


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _resolved(environment: Environment) -> dict[str, Json]:
    return resolve(with_twin(plain(environment), None))


def _openings(data: dict[str, Json]) -> Iterator[str]:
    yield from (person["opens"] for person in data.get("people", {}).values() if person.get("opens"))


def _lines(data: dict[str, Json]) -> Iterator[str]:
    for person in data.get("people", {}).values():
        for reply in person.get("replies", ()):
            yield from (reply.get("first", {}).get("say", ""), reply.get("say", ""))
        yield person.get("otherwise", "")
    yield from (entry.get("say", "") for entry in data.get("timeline", ()))


def _records(data: dict[str, Json]) -> Iterator[str]:
    for service in data.get("services", {}).values():
        yield from (value for value in leaves(service.get("records", {})) if isinstance(value, str))
