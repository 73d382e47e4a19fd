"""The fact base of an environment: variables with small domains, solved together.

Knows facts, their other values in twins, and constraints over them. Does not know what the facts are about, nor where
they are written. Values that people see and that mean different things are different: a number, date, id or name that
two facts share by chance would let a wrong answer be right by luck.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from constraint import AllDifferentConstraint, FunctionConstraint, Problem

from ...events.event import Json
from .origin import Draw

Predicate = Callable[..., bool]
MAIN = ""
"""The variant of a fact's usual value; others are twins."""


STEPS = 50_000
"""Most searches take some hundred."""


class Unsolvable(ValueError):
    """No values fulfil all constraints."""


class Facts:
    """Facts by dotted name (`t1.amount`), as they are gathered; `solve` gives them values."""

    def __init__(self) -> None:
        self._domains: dict[str, tuple[Json, ...]] = {}
        self._families: dict[str, list[str]] = {}
        self._constraints: list[tuple[Predicate, tuple[str, ...]]] = []
        self._fixed: dict[str, Json] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._fixed or name in self._domains

    def set(self, name: str, value: Json) -> str:
        """A fact that is given, or an expression over others; its reference."""
        self._fixed[name] = value
        return f"${name}"

    def choose(self, name: str, domain: Sequence[Json], unlike: str | None = None, twin: str = MAIN) -> str:
        """A fact with one value of the domain; with `twin`, its value there. All of one kind `unlike` differ."""
        key = _key(name, twin)
        self._domains[key] = tuple(dict.fromkeys(domain))
        if unlike is not None:
            self._families.setdefault(unlike, []).append(key)
        return f"${name}"

    def same(self, name: str, reference: str) -> None:
        """A fact that was to be chosen is what another one is."""
        del self._domains[name]
        self._fixed[name] = reference

    def require(self, predicate: Predicate, *names: str | tuple[str, str]) -> None:
        """A constraint over facts, each by its name or as (name, twin)."""
        keys = tuple(_key(name, MAIN) if isinstance(name, str) else _key(*name) for name in names)
        self._constraints.append((predicate, keys))

    def solve(self, draw: Draw) -> Solution:
        """Values for all. Raises `Unsolvable`."""
        self._check_room()
        problem: Any = Problem()
        steps = _Steps()
        for key, domain in self._domains.items():
            problem.addVariable(key, draw.shuffled(domain))
        for alike in self._families.values():
            if len(alike) > 1:
                problem.addConstraint(_AllDifferent(steps), alike)
        for predicate, keys in self._constraints:
            problem.addConstraint(FunctionConstraint(predicate), keys)
        values: Mapping[str, Json] | None = problem.getSolution() if self._domains else {}
        if values is None:
            raise Unsolvable(f"no values fulfil the constraints over {', '.join(self._domains)}")
        return Solution(self._fixed, {key: values[key] for key in self._domains})

    def _check_room(self) -> None:
        """Raises `Unsolvable` where more facts must differ than there are values; a search would find out far later."""
        for kind, names in self._families.items():
            for domain in dict.fromkeys(self._domains[name] for name in names):
                room = frozenset(domain)
                crowd = [name for name in names if room.issuperset(self._domains[name])]
                if len(crowd) > len(room):
                    raise Unsolvable(f"{len(crowd)} facts of the kind {kind} share {len(room)} values")


class _Steps:
    """How long a search may go on; the same count everywhere, unlike a time."""

    def __init__(self) -> None:
        self.left = STEPS

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unsolvable(f"no values were found in {STEPS} steps")


class _AllDifferent(AllDifferentConstraint):  # type: ignore[misc]
    """`AllDifferentConstraint`, counted."""

    def __init__(self, steps: _Steps) -> None:
        super().__init__()
        self._steps = steps

    def __call__(self, *args: Any, **more: Any) -> Any:
        self._steps.take()
        return super().__call__(*args, **more)


class Solution:
    """Facts with values."""

    def __init__(self, fixed: Mapping[str, Json], values: Mapping[str, Json]) -> None:
        self._fixed = fixed
        self._values = values

    def facts(self) -> dict[str, Json]:
        """All facts, nested by the dots of their names, as an environment writes them."""
        usual = {name: value for name, value in self._values.items() if "@" not in name}
        return nested({**usual, **self._fixed})

    def value(self, name: str, twin: str = MAIN) -> Json:
        """The value of a fact that was chosen. Raises KeyError."""
        return self._values[_key(name, twin)]

    def twin(self, name: str) -> dict[str, Json]:
        """The facts that are others in this twin, nested."""
        suffix = f"@{name}"
        return nested({key.removesuffix(suffix): value for key, value in self._values.items() if key.endswith(suffix)})


def _key(name: str, twin: str) -> str:
    return f"{name}@{twin}" if twin else name


def nested(flat: Mapping[str, Json]) -> dict[str, Json]:
    """`{"t1.id": 5}` as `{"t1": {"id": 5}}`."""
    result: dict[str, Any] = {}
    for name, value in flat.items():
        *way, last = name.split(".")
        inside = result
        for part in way:
            inside = inside.setdefault(part, {})
        inside[last] = value
    return result
