"""Bad input of every kind, and a command line that is watched while it takes it.

Knows how texts, values and words are spoilt, and what a command line owes to whoever typed it. Does not know which
inputs are good.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from coworkenv.engine.cli import main
from tests.engine.damage.flipping import content

FUZZ = int(os.environ.get("COWORKENV_FUZZ", "0"))
"""Examples of each test; without it, few enough for the suite."""

QUIET = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture,
]


def cases(few: int) -> settings:
    """So many examples, or as many as were asked for."""
    return settings(max_examples=FUZZ or few, deadline=None, suppress_health_check=QUIET, print_blob=True)


LOUD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
"""What a terminal would obey rather than show."""

# --- the command line --------------------------------------------------------------------------------------


class Ran:
    """What a command line came to."""

    def __init__(self, words: tuple[str, ...], code: int, out: str, err: str) -> None:
        self.words, self.code, self.out, self.err = words, code, out, err

    def __repr__(self) -> str:
        return f"{self.words} ended with {self.code}: {self.err[-2000:]}"


def run(*words: str) -> Ran:
    """Run a command line in this process, and hold it to what is promised of all of them."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]  # type: ignore[attr-defined]
    ran = Ran(words, code, *texts)
    assert code in (0, 1, 2, 130), ran
    assert "Traceback" not in ran.err, ran
    assert (code != 2) or ran.err.startswith("coworkenv: "), ran
    assert "\n\n" not in ran.err.strip(), ran
    assert len(ran.err) < 20_000, ran
    for text in texts:
        assert not LOUD.search(text), (LOUD.search(text), ran)
    return ran


@contextlib.contextmanager
def unchanged(path: Path) -> Iterator[Callable[[Ran], None]]:
    """A function to be told what ran: if it ended with bad input, the log must be as it was."""
    before = content(path)

    def check(ran: Ran) -> None:
        if ran.code == 2:
            assert content(path) == before, ran

    yield check


def subprocess_words() -> list[str]:
    return [sys.executable, "-c", "import sys; from coworkenv.engine.cli import main; sys.exit(main())"]


# --- values ------------------------------------------------------------------------------------------------

ODD_TEXTS = st.sampled_from(
    ["", " ", "$", "$x", "${", "@", "@x", "=", "=1/0", "=$a", "${=1", "\x00", "\x1b[2J", "\u202e", "\ufeff", "a\nb",
     "-", "../x", "/", "2026-02-30", "2026-06-02T09:00", "1e999", "NaN", "١٢", "agent", "world", "*", "#", "9d", "0s",
     "-1", "x" * 3000, "$" * 50, "${x}" * 50, "(" * 100, "\U0001f642", "null", "true", "[", "{", "a.b.c", "id",
     "999999999d"]
)  # fmt: skip
TEXTS = ODD_TEXTS | st.text(max_size=20)
NUMBERS = st.integers(-5, 5) | st.sampled_from(
    [2**31, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30, 0.5, -0.0, 1e300, 1e-300]
)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something in a value that could be changed."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


@st.composite
def spoilt(draw: st.DrawFn, value: Any, most: int = 3) -> Any:
    """A value in which something was replaced, renamed, removed, doubled or moved."""
    for _ in range(draw(st.integers(1, most))):
        there = list(places(value))
        if not there:
            return draw(VALUES)
        value = _spoil(draw, value, draw(st.sampled_from(there)), there)
    return value


def _spoil(draw: st.DrawFn, value: Any, path: tuple[Any, ...], there: list[tuple[Any, ...]]) -> Any:
    *outer, last = path
    inside = at(value, outer)
    how = draw(st.sampled_from(["replace", "replace", "near", "remove", "rename", "double", "move", "deep"]))
    old = inside[last]
    if how == "remove":
        changed = (
            {k: v for k, v in inside.items() if k != last}
            if isinstance(inside, dict)
            else [item for place, item in enumerate(inside) if place != last]
        )
    elif how == "rename" and isinstance(inside, dict):
        changed = {draw(TEXTS) if k == last else k: v for k, v in inside.items()}
    elif how == "double" and isinstance(inside, list):
        changed = [*inside, old]
    elif how == "deep":
        deep = old
        for _ in range(draw(st.sampled_from([1, 2, 70]))):
            deep = [deep] if draw(st.booleans()) else {"a": deep}
        changed = _with(inside, last, deep)
    elif how == "move":
        changed = _with(inside, last, at(value, draw(st.sampled_from(there))))
    elif how == "near":
        changed = _with(inside, last, _near(draw, old))
    else:
        changed = _with(inside, last, draw(VALUES))
    return _put(value, tuple(outer), changed)


def _near(draw: st.DrawFn, old: Any) -> Any:
    if isinstance(old, bool) or old is None:
        return not old
    if isinstance(old, int):
        return draw(st.sampled_from([old + 1, old - 1, -old, old * 10**6, str(old)]))
    if isinstance(old, str):
        place = draw(st.integers(0, len(old)))
        return old[:place] + draw(TEXTS) + old[place + draw(st.integers(0, 2)) :]
    return draw(LEAVES)


def at(value: Any, path: Any) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(inside: Any, key: Any, item: Any) -> Any:
    if isinstance(inside, dict):
        return {**inside, key: item}
    return [item if place == key else other for place, other in enumerate(inside)]


def _put(value: Any, path: tuple[Any, ...], item: Any) -> Any:
    return item if not path else _with(value, path[0], _put(value[path[0]], path[1:], item))


# --- texts and files ---------------------------------------------------------------------------------------


@st.composite
def torn(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes of which some were changed, cut, doubled or put in."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 40))
        how = draw(st.sampled_from(["change", "cut", "insert", "double", "lines", "whole"]))
        if how == "change" and data[place : place + 1]:
            data = data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :]
        elif how == "cut":
            data = data[:place] + data[place + length :]
        elif how == "insert":
            data = data[:place] + draw(INSERTS) + data[place:]
        elif how == "double":
            data = data[:place] + data[place : place + length] * draw(st.integers(2, 4)) + data[place + length :]
        elif how == "lines":
            lines = data.split(b"\n")
            one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[one], lines[other] = lines[other], lines[one][draw(st.integers(0, 3)) :]
            data = b"\n".join(lines)
        else:
            data = draw(st.sampled_from(WHOLE))(data)
    return data


INSERTS = st.binary(max_size=6) | st.sampled_from(
    [b"\xef\xbb\xbf", b"\x00", b"\xff", b"\xed\xa0\x80", b"\r\n", b"\t", b"&a ", b"*a", b"!!python/object:x ", b"<<: ",
     b"---\n", b"...", b"? ", b"%YAML 9\n", b"[" * 200, b"{a: " * 100, b"- " * 100, b'"', b"'", b"|\n", b"# ", b"1e400",
     b"9" * 500, b"\x1b]0;x\x07", b"\xe2\x80\xae", b"${", b"=", b"@x"]
)  # fmt: skip
WHOLE: list[Callable[[bytes], bytes]] = [
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\n", b"\r"),
    lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data: data + b"\n---\n" + data,
    lambda data: b"",
    lambda data: data.replace(b" ", b"\t"),
]


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
