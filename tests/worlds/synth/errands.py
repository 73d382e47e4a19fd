"""A small sound environment, to plant faults in: one order is refunded, from a day that has to be asked for."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from coworkenv.worlds.document import parse
from coworkenv.worlds.environment import Environment

PATH = Path(__file__).with_name("errand.yaml")
_DATA: dict[str, Any] = parse(PATH.read_text(encoding="utf-8"))

Plant: TypeAlias = Callable[[dict[str, Any]], object]


def data_of(plant: Plant | None = None) -> dict[str, Any]:
    """Its data, with something planted in it."""
    data = deepcopy(_DATA)
    if plant is not None:
        plant(data)
    return data


def errand(plant: Plant | None = None) -> Environment:
    return msgspec.convert(data_of(plant), Environment)


def setting(at: str, value: Any) -> Plant:
    """A plant that sets what stands at a JSON pointer; with `...` it takes it away."""

    def plant(data: Any) -> None:
        *way, last = at.split("/")[1:]
        for step in way:
            data = data[int(step)] if isinstance(data, list) else data[step]
        key = int(last) if isinstance(data, list) else last
        if value is ...:
            del data[key]
        else:
            data[key] = value

    return plant


def both(*plants: Plant) -> Plant:
    def plant(data: dict[str, Any]) -> None:
        for one in plants:
            one(data)

    return plant
