"""Contamination: whether environments repeat what benchmark tasks say, in their words or in their names and numbers.

Knows folders of text files, and what in a text names a thing. Does not know the format of any benchmark: of YAML and JSON
files each text in them is looked at by itself, of others each paragraph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import yaml

LIMIT = 0.3
"""Above this an environment is reported."""
LARGEST = 1_000_000
"""Bytes; a larger file is data, not a task."""
SHORTEST = 40
"""Characters; shorter texts are alike by chance."""

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ID = re.compile(r"(?<![\w.@-])(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[A-Za-z\d]+(?:[-_][A-Za-z\d]+)*(?![\w@-])")
_NUMBER = re.compile(r"(?<![\w.,:-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w:-])|(?<![\w.,:-])\d+(?:\.\d+)?(?![\w:-])")
_NAME = re.compile(r"(?<![\w.])[^\W\d_a-z]\w+(?:[ '-][^\W\d_a-z]\w+)+")
_YEAR = re.compile(r"(?:19|20)\d\d")


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
    """The texts of all files of a folder, and of the folders in it. Links are not followed. Raises NotADirectoryError."""
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
    try:
        if path.suffix in (".yaml", ".yml"):
            return _strings(list(yaml.load_all(text, Loader=_LOADER)))
        if path.suffix == ".json":
            return _strings(json.loads(text))
        if path.suffix == ".jsonl":
            return _strings([json.loads(line) for line in text.splitlines() if line.strip()])
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    return (part.strip() for part in re.split(r"\n\s*\n", text) if part.strip())
