"""A document: the text of a YAML or JSON file as plain data, with the line on which each value stands.

Knows the two notations and what is refused in them. Does not know what a document means.

YAML is read as a strict subset of the 1.2 core schema, so that nothing changes its type by surprise. Numbers are what
JSON calls numbers; `yes`, `on`, dates, `09:30`, `0123` and `+49` are texts. Anchors, aliases, tags, merge keys, several
documents in a file and keys that are given twice are errors. Numbers with a point or an exponent are `Decimal` and keep
their digits. Where a text begins with `{` or `[` and is JSON, it is read as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from json import decoder
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import msgspec
import yaml

from ..events.event import Json

Path: TypeAlias = tuple[str | int, ...]

DEEPEST = 64
LARGEST = 16 * 1024 * 1024
"""Characters."""

_scanstring: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONSTANTS: dict[str, Json] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_SURROGATE = re.compile("[\ud800-\udfff]")


class DocumentError(ValueError):
    """What is wrong with a document, and where. `path` leads to the value, `line` counts from 1."""

    def __init__(self, message: str, path: Path = (), line: int = 1) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.path = path
        self.line = line


class NotADocument(DocumentError):
    """A text that is neither YAML nor JSON."""


class Document(msgspec.Struct, frozen=True):
    value: Json
    lines: Mapping[Path, int]
    """The line, counted from 1, of each value; for a value under a key, that of the key."""
    spans: Mapping[str, tuple[int, int]]
    """Where each key of the outermost mapping begins and its value ends, in characters."""
    flow: bool
    """The outermost value is written in brackets."""

    def line(self, path: Path) -> int:
        """The line of a value, or of the innermost value around it that is there."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def name(path: Path) -> str:
    """A path as people read it: `people.lena.replies[0].say`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def bounded_text(path: FilePath) -> str:
    """The text of a file, which may be a pipe or a device without an end: no more is read than may be there.

    Raises OSError, UnicodeDecodeError, and `DocumentError` where there is more.
    """
    with path.open("rb") as file:
        data = file.read(4 * LARGEST + 1)
    if len(data) > 4 * LARGEST:
        raise DocumentError("the file is larger than 64 MiB.")
    return data.decode("utf-8-sig")


def parse(text: str) -> Json:
    """The value of a document. Raises `DocumentError`."""
    return load(text).value


def load(text: str) -> Document:
    """Read a document. Raises `DocumentError`."""
    if len(text) > LARGEST:
        raise DocumentError("the document is longer than 16 Mi characters.")
    if half := _SURROGATE.search(text):
        line = text.count("\n", 0, half.start()) + 1
        raise NotADocument("there is half a character in the text (a lone surrogate).", (), line)
    text = text.removeprefix("\ufeff")
    if text.lstrip(" \t\r\n").startswith(("{", "[")):
        try:
            return _Json(text).document()
        except _NotJson:
            pass
    return _Yaml(text).document()


def integer_or_decimal(text: str) -> int | Decimal | None:
    """The number that a text is, exactly as JSON would have it; None if it is none. Raises ValueError if too large."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if len(text) > 100:
        raise ValueError("a number has more than 100 digits; write it in quotes.")
    if match[2] is None and match[3] is None:
        number = int(text)
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{text} does not fit into 64 bits; write it in quotes.")
        return number
    decimal = Decimal(text)
    if match[3] is not None and not -400 <= int(match[3][1:]) <= 400:
        raise ValueError(f"the exponent of {text} is beyond 400.")
    return decimal


class _Reader:
    """What both notations share: places, and the mappings and lists under construction."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[Path, int] = {}
        self.spans: dict[str, tuple[int, int]] = {}

    def scalar(self, text: str, path: Path, line: int) -> Json:
        """What a word without quotes stands for."""
        try:
            number = integer_or_decimal(text)
        except ValueError as error:
            raise DocumentError(str(error), path, line) from None
        return text if number is None else number

    def deep(self, path: Path, line: int) -> None:
        if len(path) > DEEPEST:
            raise DocumentError(f"values are nested deeper than {DEEPEST} levels.", path[:8], line)

    def key(self, into: dict[str, Json], key: str, path: Path, line: int) -> Path:
        """The path of the value under `key`, which must be new and sound."""
        if _SURROGATE.search(key):
            raise DocumentError("a key has half a character in it (a lone surrogate).", path, line)
        inner = (*path, key)
        if key in into:
            raise DocumentError(
                f"the key {key!r} is given twice, first on line {self.lines[inner]}; keep one of them.", inner, line
            )
        self.lines[inner] = line
        return inner


# --- YAML --------------------------------------------------------------------------------------------------


class _Yaml(_Reader):
    def document(self) -> Document:
        try:
            events = self._events()
            start = next(events)
            value = self._value(start, (), events)
            end = next(events)
            if not isinstance(end, yaml.DocumentEndEvent) or not isinstance(next(events), yaml.StreamEndEvent):
                raise DocumentError("a second document begins here; put each in a file of its own.", (), _line(end) + 1)
        except yaml.YAMLError as error:
            raise self._not_yaml(error) from None
        return Document(value, self.lines, self.spans, getattr(start, "flow_style", False) is True)

    def _events(self) -> Iterator[Any]:
        events = yaml.parse(self.text, Loader=_LOADER)
        next(events)
        first = next(events)
        if isinstance(first, yaml.StreamEndEvent):
            raise NotADocument("the document is empty.")
        return events

    def _value(self, event: Any, path: Path, events: Iterator[Any]) -> Json:
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            raise DocumentError(f"*{event.anchor} is an alias; write the value out, or make it a fact.", path, line)
        if event.anchor is not None:
            raise DocumentError(f"&{event.anchor} is an anchor; write values out, or make them facts.", path, line)
        if event.tag is not None:
            raise DocumentError(f"the tag {event.tag} is not allowed; leave it out.", path, line)
        self.deep(path, line)
        self.lines.setdefault(path, line)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Json] = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(self._value(event, (*path, len(items)), events))
            self._reached(event)
            return items
        return self._mapping(path, events)

    def _mapping(self, path: Path, events: Iterator[Any]) -> dict[str, Json]:
        mapping: dict[str, Json] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            line, start = _line(event), event.start_mark.index
            if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
                raise DocumentError("a key must be a plain text.", path, line)
            if event.implicit[0] and (event.value == "<<" or not isinstance(self._scalar(event, path), str)):
                raise DocumentError(f"the key {event.value!r} is not a text; put it in quotes.", path, line)
            inner = self.key(mapping, event.value, path, line)
            mapping[event.value] = self._value(next(events), inner, events)
            if not path:
                self.spans[event.value] = (start, self._end)
        self._reached(event)
        return mapping

    _end = 0

    def _reached(self, event: Any) -> None:
        """Remember where the last visible character of a value was; the end of a block has none of its own."""
        if event.end_mark.index > event.start_mark.index:
            self._end = event.end_mark.index

    def _scalar(self, event: Any, path: Path) -> Json:
        self._reached(event)
        text: str = event.value
        if not event.implicit[0]:
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _NOT_FINITE.fullmatch(text):
            raise DocumentError(f"{text} is not a number that can be kept; leave it out.", path, _line(event))
        return self.scalar(text, path, _line(event))

    def _not_yaml(self, error: yaml.YAMLError) -> NotADocument:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        position = getattr(error, "position", None)
        if isinstance(position, int):
            line = self.text.count("\n", 0, position) + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        line = min(line, self.text.count("\n") + 1)
        return NotADocument(f"this is not YAML: {problem}.", (), line)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


# --- JSON --------------------------------------------------------------------------------------------------

_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[^\s,\]}:]+")
_WORDS: dict[str, Json] = {"null": None, "true": True, "false": False}


class _NotJson(Exception):
    """The text only looked like JSON; it may be YAML."""


class _Json(_Reader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.at = 0
        self.counted = (0, 1)

    def document(self) -> Document:
        value = self._value(())
        self._space()
        if self.at < len(self.text):
            raise _NotJson
        return Document(value, self.lines, self.spans, True)

    def _line(self) -> int:
        position, line = self.counted
        line += self.text.count("\n", position, self.at)
        self.counted = (self.at, line)
        return line

    def _space(self) -> str:
        """Skip blanks; the character after them, if any."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def _take(self, sign: str) -> bool:
        if self._space() != sign:
            return False
        self.at += 1
        return True

    def _text(self, path: Path) -> str:
        try:
            text, self.at = _scanstring(self.text, self.at + 1, True)
        except ValueError:
            raise _NotJson from None
        if _SURROGATE.search(text):
            raise DocumentError("a text has half a character in it (a lone surrogate).", path, self._line())
        return text

    def _value(self, path: Path) -> Json:
        first = self._space()
        line = self._line()
        self.deep(path, line)
        self.lines.setdefault(path, line)
        if first == '"':
            return self._text(path)
        if first == "{":
            return self._mapping(path)
        if first == "[":
            return self._list(path)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise _NotJson
        self.at = word.end()
        if word[0] in _WORDS:
            return _WORDS[word[0]]
        if word[0] in ("NaN", "Infinity", "-Infinity"):
            raise DocumentError(f"{word[0]} is not a number that can be kept; leave it out.", path, line)
        number = self.scalar(word[0], path, line)
        if isinstance(number, str):
            raise _NotJson
        return number

    def _list(self, path: Path) -> list[Json]:
        self.at += 1
        items: list[Json] = []
        if self._take("]"):
            return items
        while True:
            items.append(self._value((*path, len(items))))
            if self._take("]"):
                return items
            if not self._take(","):
                raise _NotJson

    def _mapping(self, path: Path) -> dict[str, Json]:
        self.at += 1
        mapping: dict[str, Json] = {}
        if self._take("}"):
            return mapping
        while True:
            if self._space() != '"':
                raise _NotJson
            start, line = self.at, self._line()
            key = self._text(path)
            inner = self.key(mapping, key, path, line)
            if not self._take(":"):
                raise _NotJson
            mapping[key] = self._value(inner)
            if not path:
                self.spans[key] = (start, self.at)
            if self._take("}"):
                return mapping
            if not self._take(","):
                raise _NotJson
