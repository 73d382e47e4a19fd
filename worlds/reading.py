"""Reading an environment: from a file to its structs, with everything that is wrong with it at once.

Knows in which order things are looked at, that each twin is an environment of its own, and on which line a problem
stands. Does not know what is looked for (`shape`, `facts`, `soundness`, `solutions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath

import msgspec

from ..events.event import Json
from . import shape, solutions, soundness
from .compiling import patched
from .document import Document, DocumentError, Path, bounded_text, load, name
from .environment import FORMAT, Environment
from .facts import Resolution, unescaped
from .problems import InvalidEnvironment, Problem
from .shape import Finding
from .spelling import nearest
from .vocabulary import Vocabulary, vocabulary


def read_environment(source: str | FilePath) -> Environment:
    """The environment of a file (`pathlib.Path`) or of a text. Raises `InvalidEnvironment` with all its problems."""
    text = read_file(source) if isinstance(source, FilePath) else source
    document, found = _examined(text)
    if document is None or found:
        raise InvalidEnvironment(found, str(source) if isinstance(source, FilePath) else "")
    return msgspec.convert(document.value, Environment)


def problems(text: str) -> list[Problem]:
    """Everything that is wrong with the text of an environment, in the order of its lines."""
    return _examined(text)[1]


def read_file(path: FilePath) -> str:
    """The text of a file. Raises `InvalidEnvironment`, where there is no such text."""
    try:
        return bounded_text(path)
    except OSError as error:
        raise InvalidEnvironment([Problem("", None, f"it cannot be read: {error.strerror}.")], str(path)) from None
    except UnicodeDecodeError as error:
        raise InvalidEnvironment([Problem("", None, f"it is not UTF-8 (byte {error.start}).")], str(path)) from None
    except DocumentError as error:
        raise InvalidEnvironment([Problem("", None, error.message)], str(path)) from None


def _examined(text: str) -> tuple[Document | None, list[Problem]]:
    try:
        document = load(text)
    except DocumentError as error:
        return None, [Problem(name(error.path), error.line, error.message)]
    data = document.value
    base = {key: value for key, value in data.items() if key != "twins"} if isinstance(data, dict) else data
    findings, words = _findings(base)
    if isinstance(data, dict) and "twins" in data:
        findings += shape.findings({**_SMALLEST, "twins": data["twins"]})
    found = [_placed(finding, document) for finding in findings]
    found += _twins(document, {(finding.path, finding.message) for finding in findings}, words)
    return document, sorted(found, key=lambda problem: problem.line or 0)


def _placed(finding: Finding, document: Document) -> Problem:
    return Problem(name(finding.path), document.line(finding.path), finding.message, finding.hint)


_SMALLEST: dict[str, Json] = {"environment": FORMAT, "id": "", "clock": {"start": ""}}
"""What no environment lacks."""


# --- one environment ---------------------------------------------------------------------------------------


def _findings(data: Json, base: Vocabulary | None = None) -> tuple[list[Finding], Vocabulary | None]:
    """What is wrong with an environment without twins, and the names in it, where it is whole enough to have any.

    `base` are the names of the base world, for a twin.
    """
    found = list(_shape(data))
    lost = [finding.path for finding in found]
    rest = _without(data, lost)
    if not isinstance(rest, dict) or rest.get("environment") != FORMAT:
        return found, None
    resolution = Resolution(rest)
    found += [Finding(error.path, error.message) for error in resolution.errors]
    lost += [*resolution.lost, *(error.path for error in resolution.errors)]
    complete = unescaped(resolution.data, ())
    filled_in = list(shape.findings(complete))
    if filled_in:
        return found or filled_in, None
    environment = msgspec.convert(complete, Environment)
    words = vocabulary(environment)
    found += [Finding(located(problem.path, data), problem.message, problem.hint) for problem in words.problems]
    if base is not None:
        words = words.also(base)
    for finding in (*soundness.findings(environment, words), *solutions.findings(environment, words)):
        if not any(finding.path[: len(path)] == path or path[: len(finding.path)] == finding.path for path in lost):
            found.append(finding)
    return found, words


def _shape(data: Json) -> Iterator[Finding]:
    if isinstance(data, dict) and "environment" in data and data["environment"] != FORMAT:
        yield Finding(("environment",), f"this release reads the format {FORMAT!r}, not {data['environment']!r}.")
    else:
        yield from shape.findings(data)


def _without(data: Json, paths: Sequence[Path]) -> Json:
    """Data without the entries at these paths, so that what is wrong elsewhere can be found, too."""
    if not isinstance(data, dict):
        return data
    gone = {path[0] for path in paths if len(path) == 1}
    return {
        key: _without_inside(value, [path[1:] for path in paths if len(path) > 1 and path[0] == key])
        for key, value in data.items()
        if key not in gone
    }


def _without_inside(value: Json, paths: Sequence[Path]) -> Json:
    if isinstance(value, list):
        return [
            _without_inside(item, [path[1:] for path in paths if len(path) > 1 and path[0] == position])
            for position, item in enumerate(value)
        ]
    return _without(value, paths) if paths else value


def located(dotted: str, data: Json) -> Path:
    """A path as people read it, as far as it leads anywhere in the data."""
    path: list[str | int] = []
    rest = dotted
    while rest and isinstance(data, (Mapping, list)):
        keys = data if isinstance(data, Mapping) else range(len(data))
        spelt = [(key, f"[{key}]" if isinstance(key, int) else f"{key}") for key in keys]
        fitting = [
            (key, text) for key, text in spelt if rest.startswith(text) and rest[len(text) :][:1] in ("", ".", "[")
        ]
        if not fitting:
            break
        key, text = max(fitting, key=lambda pair: len(pair[1]))
        path.append(key)
        rest = rest[len(text) :].removeprefix(".")
        data = data[key]
    return (*path, rest) if rest else tuple(path)


# --- twins -------------------------------------------------------------------------------------------------


def _twins(document: Document, known: set[tuple[Path, str]], words: Vocabulary | None) -> Iterator[Problem]:
    """What is wrong with the twins, each read as a whole environment; not again what is wrong with the base."""
    data = document.value
    twins = data.get("twins") if isinstance(data, dict) else None
    if not isinstance(twins, dict) or any(not isinstance(patch, dict) for patch in twins.values()):
        return
    base = {key: value for key, value in data.items() if key != "twins"}
    for twin, patch in twins.items():
        yield from (_placed(finding, document) for finding in _touching(base, patch, ("twins", twin)))
        merged = patched(base, patch)
        found, here = _findings(merged, words)
        if here is not None:
            found += _request(base, merged)
        for finding in found:
            if (finding.path, finding.message) not in known:
                yield _in_twin(finding, twin, document)


def _touching(base: Mapping[str, Json], patch: Mapping[str, Json], path: Path) -> Iterator[Finding]:
    """A twin flips a fact that there is; what it removes must be there, and what makes it an environment stays."""
    for key in ("environment", "id", "clock", "frozen", "twins"):
        if key in patch:
            yield Finding((*path, key), f"a twin cannot change {key!r}.")
    if patched(base, patch) == base:
        yield Finding(path, "this twin changes nothing.")
    yield from _missing(base, patch, path, False)


def _missing(base: Json, patch: Json, path: Path, fact: bool) -> Iterator[Finding]:
    if not isinstance(patch, Mapping) or not isinstance(base, Mapping):
        return
    for key, change in patch.items():
        inner = (*path, key)
        if key in base:
            yield from _missing(base[key], change, inner, fact or (len(path) == 2 and key == "facts"))
        elif change is None:
            yield Finding(inner, f"there is no {key!r} to remove.")
        elif fact:
            near = nearest(key, list(base))
            yield Finding(inner, f"there is no fact {key!r} to change.", f"Did you mean {near!r}?" if near else None)


def _request(base: Mapping[str, Json], merged: Mapping[str, Json]) -> Iterator[Finding]:
    """A twin is the same request: otherwise it is another environment."""
    before, after = _openings(base), _openings(merged)
    for person in {**before, **after}:
        if before.get(person) != after.get(person):
            yield Finding(("people", person, "opens"), "the request is not the same in the base and here.")


def _openings(data: Mapping[str, Json]) -> dict[str, Json]:
    """The requests as they are told; what is no person is a finding of its own."""
    people = Resolution({part: data[part] for part in ("facts", "people") if part in data}).data.get("people")
    entries = people.items() if isinstance(people, Mapping) else ()
    openings = {person: entry.get("opens") for person, entry in entries if isinstance(entry, Mapping)}
    return {person: opening for person, opening in openings.items() if opening is not None}


def _in_twin(finding: Finding, twin: str, document: Document) -> Problem:
    """Where in the file a problem of a twin stands: in its patch, if that is where the value comes from."""
    patch = document.value["twins"][twin]
    depth = 0
    while isinstance(patch, Mapping) and depth < len(finding.path) and finding.path[depth] in patch:
        patch = patch[finding.path[depth]]
        depth += 1
    own = depth == len(finding.path) or (depth > 0 and not isinstance(patch, Mapping))
    path = ("twins", twin, *finding.path) if own else finding.path
    return Problem(name(path), document.line(path), f"in the twin {twin}, {finding.message}", finding.hint)
