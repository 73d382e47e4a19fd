"""Examples with faults planted in them, as cases that validators look at."""

from collections.abc import Callable
from copy import deepcopy
from importlib.resources import files
from typing import Any

import msgspec

from coworkenv.engine.playing import play_program
from coworkenv.worlds.document import parse
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.synth.findings import Finding
from coworkenv.worlds.synth.freezing import case_of
from coworkenv.worlds.synth.playing import Case

_DATA: dict[str, Any] = {
    file.name.removesuffix(".yaml"): parse(file.read_text(encoding="utf-8"))
    for file in (files("coworkenv.worlds") / "examples").iterdir()
    if file.name.endswith(".yaml")
}
EXAMPLES = sorted(_DATA)


def data_of(name: str) -> dict[str, Any]:
    """An example's data, to be changed at will."""
    return deepcopy(_DATA[name])


async def case(name: str, plant: Callable[[dict[str, Any]], object] | None = None) -> Case:
    """An example, with a fault planted in its data, framed anew."""
    data = data_of(name)
    if plant is not None:
        plant(data)
    return await case_of(msgspec.convert(data, Environment), play_program)


def operators(finding: Finding) -> list[str]:
    return [edit.op for edit in finding.candidates]


def step(data: dict[str, Any], name: str) -> dict[str, Any]:
    """A step of the oracle by name."""
    found: dict[str, Any] = next(step for step in data["oracle"] if step.get("as") == name)
    return found
