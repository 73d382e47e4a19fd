"""Contamination: whether environments repeat what benchmark tasks say, in their words or in their names and numbers.

Knows folders of text files, and what in a text names a thing. Does not know the format of any benchmark: of YAML and
JSON files each text in them is looked at by itself, of others each paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from ...events.event import Json
from ..document import DocumentError, parse
from ..environment import Environment
from ..matching import leaves
from . import wording
from .near import Index

LIMIT = 0.3
"""Above this an environment is reported."""
LARGEST = 1_000_000
"""Bytes; a larger file is data, not a task."""
SHORTEST = 40
"""Characters; shorter texts are alike by chance."""

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ID = re.compile(r"(?<![\w-])(?!\d{4}-\d\d-\d\d)(?=[\w-]*[A-Z])(?=[\w-]*\d)[A-Za-z\d]+(?:[-_][A-Za-z\d]+)*(?![\w-])")
_NUMBER = re.compile(r"(?<![\w.,:-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w:-]|[.,]\d)")
_CAPITAL = r"[^\W\d_a-z][^\W\d_]+"
_NAME = re.compile(rf"(?<![\w-]){_CAPITAL}(?:[ '-]{_CAPITAL})+(?![\w-])|(?<=[^\W\d_A-Z] ){_CAPITAL}(?![\w-])")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CALENDAR = frozenset(
    re.findall(
        r"\w+",
        "monday tuesday wednesday thursday friday saturday sunday "
        "january february march april may june july august september october november december",
    )
)
"""Capitals that name nobody."""


class Overlap(msgspec.Struct, frozen=True):
    """What an environment and a file have in common."""

    environment: str
    file: str
    """From the benchmark's folder on."""
    words: float
    """The greatest likeness of one text of each (Jaccard index of character 5-grams)."""
    entities: float
    """The share of the environment's names, ids, addresses and long numbers that the file has too."""
    shared: tuple[str, ...]
    """Those entities."""
    text: str = ""
    """The environment's text that is most alike, if any is."""


class Benchmark(msgspec.Struct, frozen=True):
    """The texts of a folder of tasks."""

    files: Mapping[str, tuple[str, ...]]
    """By path within the folder, sorted: the texts in each."""
    skipped: Mapping[str, int]
    """How many files were left out, by the reason: `binary`, `large`, `unreadable`."""


# --- reading -----------------------------------------------------------------------------------------------


def read_benchmark(folder: Path) -> Benchmark:
    """The texts of all files of a folder and of those in it. Links are not followed. Raises NotADirectoryError."""
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder of benchmark tasks.")
    files: dict[str, tuple[str, ...]] = {}
    skipped: dict[str, int] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        text, reason = _text(path)
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1
        else:
            files[path.relative_to(folder).as_posix()] = tuple(dict.fromkeys(_texts(path, text)))
    return Benchmark(files, dict(sorted(skipped.items())))


def _text(path: Path) -> tuple[str, str]:
    """The text of a file, or why it has none that matters."""
    try:
        if path.stat().st_size > LARGEST:
            return "", "large"
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return "", "binary"
    except OSError:
        return "", "unreadable"
    return ("", "binary") if "\0" in text else (text, "")


def _texts(path: Path, text: str) -> Iterator[str]:
    """The texts and numbers in a file, or its paragraphs, where it is not a document or not a plain one."""
    try:
        if path.suffix in (".yaml", ".yml", ".json"):
            return _said(parse(text))
        if path.suffix == ".jsonl":
            return _said([parse(line) for line in text.splitlines() if line.strip()])
    except DocumentError:
        pass
    return (part.strip() for part in re.split(r"\n\s*\n", text) if part.strip())


def _said(value: Json) -> Iterator[str]:
    return (str(leaf) for leaf in leaves(value) if leaf is not None and not isinstance(leaf, bool))


# --- comparing ---------------------------------------------------------------------------------------------


def entities(texts: Iterable[str]) -> frozenset[str]:
    """What in texts names a thing: mail addresses, ids (capitals and digits), names (capitals within a sentence or in a
    row), and numbers of four and more digits that are no years. Folded, numbers without zeros at the end."""
    found: set[str] = set()
    for text in texts:
        found.update(address.casefold() for address in _EMAIL.findall(text))
        rest = _EMAIL.sub(" ", text)
        found.update(id_.casefold() for id_ in _ID.findall(rest) if len(id_) > 2)
        found.update(name.casefold() for name in _NAME.findall(rest) if name.istitle() or name.isupper())
        found.update(number for number in map(_number, _NUMBER.findall(rest)) if number)
    return frozenset(found - _CALENDAR)


def _number(text: str) -> str:
    plain = text.replace(",", "")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "" if len(plain.replace(".", "")) < 4 or _YEAR.fullmatch(plain) else plain


def contamination(environments: Mapping[str, Environment], benchmark: Benchmark, limit: float = LIMIT) -> list[Overlap]:
    """Every environment and file that are too much alike, in words or in entities; the most alike first.

    Raises `FactError`, where an environment has a reference that leads nowhere.
    """
    index = Index(limit)
    places: list[str] = []
    for file, texts in benchmark.files.items():
        for text in texts:
            if len(text) >= SHORTEST:
                index.add(str(len(places)), text)
                places.append(file)
    named = {file: entities(texts) for file, texts in benchmark.files.items()}
    found = [
        overlap
        for name, environment in environments.items()
        for overlap in _of(name, environment, index, places, named)
        if max(overlap.words, overlap.entities) > limit
    ]
    return sorted(found, key=lambda each: -max(each.words, each.entities))


def _of(
    name: str, environment: Environment, index: Index, places: Sequence[str], named: Mapping[str, frozenset[str]]
) -> Iterator[Overlap]:
    """What an environment has in common with each file."""
    texts = wording.texts(environment)
    best: dict[str, tuple[float, str]] = {}
    for text in texts:
        if len(text) >= SHORTEST:
            for place, much in index.near(text):
                file = places[int(place)]
                best[file] = max(best.get(file, (0.0, "")), (much, text))
    own = entities([*texts, *wording.numbers(environment)])
    for file, others in named.items():
        shared = own & others
        words, text = best.get(file, (0.0, ""))
        if words or shared:
            yield Overlap(name, file, words, len(shared) / len(own) if own else 0.0, tuple(sorted(shared)), text)
