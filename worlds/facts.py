"""Values that are written once and referred to: facts in an environment, observations in its oracle.

Knows the signs in texts, and which places of an environment may hold which of them. Does not know what the places mean.

* `$order.id`, as a whole text, is a fact; `=$price * 2` an expression; `"It is ${order.id}."` a text with a fact in it,
  and `${=$price * 2}` with an expression. In texts numbers stand as they are written.
* `@line[0].price`, `@{line[0].price}` and expressions with `@` are values that the agent has seen. They, and the item
  `it`, may stand in `oracle` and `traps`, and stay until the agent plays (`fill`).
* In what a tool of a service sets, and in its `when`, expressions may name `record`, `args`, `now` and `it`; they stay
  until the tool is called (the services fill them in).
* Everything else must be known when the environment is resolved. `if`, `calc`, `each` and `when` are expressions, so
  they have no `=` before them.

A literal text that begins with `$`, `@` or `=` doubles the sign; so do `${` and `@{` anywhere (`$${`). Resolving puts
values in the place of references and leaves doubled signs doubled, so a resolved environment is an environment, and
resolving it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import msgspec

from ..events.event import Json
from .document import DEEPEST, Path, name
from .expressions import ExpressionError, Node, Reference, Scope, evaluate, parse, references, substitute, write
from .signs import FactError, Hole, Pieces, Whole, is_path, literal, parsed, read, shown, unread
from .spelling import did_you_mean
from .syntax import Literal
from .values import written

__all__ = ["FactError", "escaped", "fill", "filled", "literal", "place", "resolve", "unescaped"]

SIZE = 16_000_000
"""Characters that all references of one environment may come to; a value counts as sixteen."""

ORACLE = frozenset({"@", "it"})
SERVICE = frozenset({"record", "args", "now", "it"})
NOTHING: frozenset[str] = frozenset()
UNTOUCHED = ("twins", "frozen")
"""Parts of an environment in which signs mean nothing: twins are resolved one by one, and `frozen` is computed."""


def escaped(value: Json) -> Json:
    """A value as it is written where references are read."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return value


# --- places ------------------------------------------------------------------------------------------------


class Place(msgspec.Struct, frozen=True):
    later: frozenset[str] = NOTHING
    """Names, or their sign, whose values are known only when the environment is played."""
    expression: bool = False
    """The text is an expression as it stands."""


_PLAIN, _SEEN, _CALLED = Place(), Place(ORACLE), Place(SERVICE)
_EXPRESSIONS = frozenset({"if", "calc", "each"})


def place(path: Path) -> Place:
    """What a text at this path of an environment may refer to."""
    match path:
        case ("oracle", _, str(key), *_) | ("traps", _, "add", _, str(key), *_):
            return Place(ORACLE, True) if key in _EXPRESSIONS else _SEEN
        case ("traps", _, "change", str(key)):
            return Place(ORACLE, True) if key.rpartition(".")[2] in _EXPRESSIONS else _SEEN
        case ("traps", _, "bind" | "change", *_):
            return _SEEN
        case ("services", _, "tools", _, "when"):
            return Place(SERVICE, True)
        case ("services", _, "tools", _, "set" | "also", *_):
            return _CALLED
        case ("checks", _, "if"):
            return Place(NOTHING, True)
    return _PLAIN


# --- resolving ---------------------------------------------------------------------------------------------


class _Known(Exception):
    """A fact that has been reported already."""


class _Facts:
    """The facts of an environment, resolved one text at a time, each once."""

    def __init__(self, facts: Mapping[str, Json]) -> None:
        self.facts = facts
        self.done: dict[Path, Json] = {}
        self.doing: list[Path] = []
        self.broken: set[Path] = set()
        self.asked: set[str] = set()
        """The facts that were referred to since somebody emptied it."""
        self.uses: dict[str | int, set[str]] = {}
        """By fact, those that its texts refer to."""
        self.left = SIZE

    def value(self, reference: Reference) -> Json:
        """What a reference stands for. Raises `FactError`, or `_Known` if its fact is broken itself."""
        fact = reference.name[1:]
        self.asked.add(fact)
        if self.doing:
            self.uses.setdefault(self.doing[-1][0], set()).add(fact)
        path: Path = (fact,)
        found = self._step(self.facts, path)
        for step in reference.path:
            path = (*path, step)
            found = self._step(self._at(found, path[:-1]), path)
        found = self._whole(found, path)
        self._spend(found)
        return found

    def _step(self, inside: Json, path: Path) -> Json:
        step = path[-1]
        if isinstance(inside, Mapping) and step in inside:
            return inside[str(step)]
        if isinstance(inside, list) and isinstance(step, int) and -len(inside) <= step < len(inside):
            return inside[step]
        near = did_you_mean(str(step), [str(key) for key in inside] if isinstance(inside, Mapping) else [])
        outer = name(path[:-1])
        raise FactError(f"there is no fact {name(path)}{near.replace('mean ', f'mean {outer}.' if outer else 'mean ')}")

    def _at(self, value: Json, path: Path) -> Json:
        return self.text(value, path) if isinstance(value, str) else value

    def _whole(self, value: Json, path: Path) -> Json:
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, list):
            return [self._whole(item, (*path, position)) for position, item in enumerate(value)]
        if isinstance(value, Mapping):
            return {key: self._whole(item, (*path, key)) for key, item in value.items()}
        return value

    def text(self, text: str, path: Path) -> Json:
        """What the text of the fact at `path` comes to. Raises like `value`."""
        if path in self.done:
            return self.done[path]
        if path in self.broken:
            raise _Known
        if path in self.doing:
            circle = " → ".join(name(step) for step in (*self.doing[self.doing.index(path) :], path))
            raise FactError(f"the fact refers to itself: {circle}.", ("facts", *path))
        if len(self.doing) > DEEPEST:
            raise FactError(f"facts refer to each other more than {DEEPEST} times over.", ("facts", *path))
        self.doing.append(path)
        try:
            self.done[path] = _constant(text, self.value)
            return self.done[path]
        except FactError as error:
            self.broken.add(path)
            raise FactError(error.message, error.path or ("facts", *path)) from None
        except _Known:
            self.broken.add(path)
            raise
        finally:
            self.doing.pop()

    def _spend(self, value: Json) -> None:
        """Facts made of facts can grow without end; count what they come to."""
        waiting: list[tuple[Json, int]] = [(value, 0)]
        while waiting:
            item, depth = waiting.pop()
            if isinstance(item, dict):
                waiting += [(inner, depth + 1) for inner in item.values()]
            elif isinstance(item, list):
                waiting += [(inner, depth + 1) for inner in item]
            self.spend(16 + (len(item) if isinstance(item, str) else 0), depth)

    def spend(self, size: int, depth: int = 0) -> None:
        self.left -= size
        if self.left < 0 or depth > DEEPEST:
            raise FactError("the facts are too large, or nested too deep, once their references are filled in.")

    def changed(self, other: _Facts) -> set[str]:
        """The facts that may have another value than there: those that are written otherwise, and all made of them."""
        found = {name for name, fact in self.facts.items() if fact is not other.facts.get(name, self)}
        found |= other.facts.keys() - self.facts.keys()
        more = found
        while more:
            more = {str(name) for name, used in self.uses.items() if name not in found and used & found}
            found |= more
        return found


def _constant(text: str, value: Callable[[Reference], Json]) -> Json:
    """The value of a text that refers to facts only."""
    what = read(text)
    if isinstance(what, Whole):
        return _known(what.node, value)
    return "".join(piece if isinstance(piece, str) else written(_known(piece.node, value)) for piece in what)


def _known(node: Node, value: Callable[[Reference], Json]) -> Json:
    _refuse(node, NOTHING)
    try:
        return evaluate(substitute(node, value), {})
    except ExpressionError as error:
        raise FactError(f"in {shown(write(node))}: {error.message}") from None


def _refuse(node: Node, later: frozenset[str]) -> bool:
    """Whether an expression waits for names of `later`; raises `FactError` for any other than these and facts."""
    waits = False
    for reference in references(node):
        known = reference.name
        if known.startswith("$"):
            continue
        if known not in later and known[0] not in later:
            if known.startswith("@"):
                raise FactError(
                    f"{known} is something an agent has seen, which only the oracle and traps can refer to."
                )
            if later == ORACLE and did_you_mean(known, ["it"]) == ".":
                raise FactError(f"there is no {known} here; a value of a step is written @{known}.")
            raise FactError(f"there is no {known} here; a fact is written ${known}, a text in quotes.")
        waits = True
    return waits


class _Resolved(msgspec.Struct, frozen=True):
    """What a text came to, what that counted for, and the facts that it refers to."""

    text: Json
    size: int
    facts: frozenset[str]


class Resolution:
    """An environment's data with all its facts in place, and everything that was wrong with them."""

    def __init__(self, data: Mapping[str, Json], base: Resolution | None = None) -> None:
        """`base` is that of data which this is nearly the same as, such as a twin's: what that found is used again."""
        facts = data.get("facts")
        self.facts = _Facts(facts if isinstance(facts, Mapping) else {})
        self.errors: list[FactError] = []
        self.lost: list[Path] = []
        """Where a fact is referred to that has been reported itself."""
        for path, text in _texts(self.facts.facts, ()):
            self._tried(("facts", *path), partial(self.facts.text, text, path), text)
        self._known: dict[tuple[str, Place], _Resolved] = {} if base is None else base._unaffected(self.facts)
        self.data: dict[str, Json] = {
            key: value if key in UNTOUCHED else self._resolved(value, (key,))
            for key, value in data.items()
            if key != "facts"
        }

    def whole(self) -> dict[str, Json]:
        """The data, where nothing was wrong. Raises `FactError`, the first of them."""
        if self.errors:
            raise self.errors[0]
        return self.data

    def _resolved(self, value: Json, path: Path) -> Json:
        if isinstance(value, str):
            return self._tried(path, lambda: self._text(value, path), value)
        if isinstance(value, list):
            return [self._resolved(item, (*path, position)) for position, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self._resolved(item, (*path, key)) for key, item in value.items()}
        return value

    def _tried(self, path: Path, resolve: Callable[[], Json], text: str) -> Json:
        """What a text comes to; where that cannot be found out, the text itself."""
        try:
            return resolve()
        except FactError as error:
            self.errors.append(FactError(error.message, error.path or path))
        except _Known:
            self.lost.append(path)
        return literal(text)

    def _unaffected(self, facts: _Facts) -> dict[tuple[str, Place], _Resolved]:
        """What was found of texts whose facts are still the same."""
        changed = facts.changed(self.facts)
        return {key: found for key, found in self._known.items() if changed.isdisjoint(found.facts)}

    def _text(self, text: str, path: Path) -> Json:
        """What a text comes to; one that has been met before, in a place of the same kind, comes to the same."""
        where, facts = place(path), self.facts
        known = self._known.get((text, where))
        if known is None:
            facts.asked, left = set(), facts.left
            found = self._found(text, where)
            self._known[text, where] = _Resolved(found, left - facts.left, frozenset(facts.asked))
            return found
        facts.spend(known.size)
        return known.text

    def _found(self, text: str, where: Place) -> Json:
        if where.expression:
            node = parsed(text)
            return _fitting(write(self._partly(node, where.later)))
        what = read(text)
        if isinstance(what, Whole):
            node = self._partly(what.node, where.later)
            return escaped(node.value) if isinstance(node, Literal) else _fitting(_unparsed(node))
        return unread(_merged(self._piece(piece, where.later) for piece in what))

    def _piece(self, piece: str | Hole, later: frozenset[str]) -> str | Hole:
        if isinstance(piece, str):
            return piece
        node = self._partly(piece.node, later)
        return written(node.value) if isinstance(node, Literal) else Hole(piece.sign, node)

    def _partly(self, node: Node, later: frozenset[str]) -> Node:
        """The expression without facts: a literal, if it waits for nothing else."""
        waits = _refuse(node, later)
        return substitute(node, self.facts.value) if waits else Literal(_known(node, self.facts.value))


def _unparsed(node: Node) -> str:
    return write(node) if is_path(node, "@") else f"={write(node)}"


def _fitting(text: str) -> str:
    try:
        parse(text.removeprefix("="))
    except ExpressionError as error:
        raise FactError(f"with its facts filled in, {error.message}") from None
    return text


def _merged(pieces: Iterable[str | Hole]) -> Pieces:
    merged: list[str | Hole] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif piece != "":
            merged.append(piece)
    return tuple(merged)


def _texts(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _texts(item, (*path, position))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*path, key))


def resolve(data: Mapping[str, Json]) -> dict[str, Json]:
    """An environment's data without `facts`, all references to them replaced. Raises `FactError`, the first of them."""
    return Resolution(data).whole()


def unescaped(value: Json, path: Path) -> Json:
    """Resolved data as it is meant: doubled signs are single. What waits for later stays as it is written."""
    if isinstance(value, str):
        where = place(path)
        if where.later or where.expression:
            return value
        what = read(value)
        if isinstance(what, Whole) or not all(isinstance(piece, str) for piece in what):
            raise FactError(f"{shown(value)} is not resolved.", path)
        return "".join(piece for piece in what if isinstance(piece, str))
    if isinstance(value, list):
        return [unescaped(item, (*path, position)) for position, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            key: item if not path and key in UNTOUCHED else unescaped(item, (*path, key)) for key, item in value.items()
        }
    return value


# --- filling in later --------------------------------------------------------------------------------------


class Seen(dict[str, Json]):
    """What an agent has seen, as names with their sign (`@step`), and the item `it` where there is one.

    A step that was left out has the value null.
    """

    def __missing__(self, key: str) -> Json:
        if key.startswith("@"):
            return None
        raise KeyError(key)


def fill(value: Json, observations: Mapping[str, Json], *item: Json) -> Json:
    """A value of the oracle with what the agent has seen in it. Raises `FactError`.

    `observations` are the values of steps by name; `item`, where given, is called `it`.
    """
    seen = Seen({f"@{step}": value for step, value in observations.items()})
    if item:
        seen["it"] = item[0]
    return filled(value, seen)


def filled(value: Json, scope: Scope) -> Json:
    """A value with the names of `scope` in it, signs included (`record`, `args`, `@step`). Raises `FactError`."""
    if isinstance(value, str):
        what = read(value)
        if isinstance(what, Whole):
            return _evaluated(what.node, scope)
        if len(what) == 1 and isinstance(what[0], str):
            return what[0]
        return "".join(piece if isinstance(piece, str) else written(_evaluated(piece.node, scope)) for piece in what)
    if isinstance(value, (list, tuple)):
        return [filled(item, scope) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, scope) for key, item in value.items()}
    return value


def _evaluated(node: Node, scope: Scope) -> Json:
    try:
        return evaluate(node, scope)
    except ExpressionError as error:
        raise FactError(f"in {shown(write(node))}: {error.message}") from None
