"""What a command is given, and how it reads its options.

Knows arguments and streams. Does not know any command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ....worlds.service import Instant
from .disk import Disk
from .words import Unsupported


@dataclass
class Given:
    """What comes by a standard input. Who reads it takes it all."""

    data: bytes = b""

    def read(self) -> bytes:
        data, self.data = self.data, b""
        return data


@dataclass
class Call:
    """A command at work: it prints to `out` and `err`, and leaves a `code`."""

    name: str
    args: list[str]
    given: Given
    out: bytearray
    err: bytearray
    disk: Disk
    cwd: str
    values: Mapping[str, str]
    """Variables."""
    now: Instant
    code: int = 0

    def path(self, written: str) -> str:
        return self.disk.tree.path(written, self.cwd)

    def say(self, text: str) -> None:
        self.out += text.encode(errors="replace")

    def fail(self, says: str, code: int = 1) -> None:
        """A sentence, and a code; the command may go on."""
        self.err += f"{self.name}: {says}\n".encode(errors="replace")
        self.code = code

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(f"{self.name} {what[:60]}")

    def options(
        self, flags: str, valued: str = "", long: Mapping[str, str] | None = None
    ) -> tuple[dict[str, str], list[str]]:
        """Options by letter, those in `valued` with what follows them, and the other arguments. `long` says which
        letter a long name stands for. Raises Unsupported for one that is neither."""
        found: dict[str, str] = {}
        rest: list[str] = []
        args = iter(self.args)
        for arg in args:
            if arg == "--":
                rest += args
            elif arg.startswith("--"):
                name, sign, value = arg[2:].partition("=")
                letter = (long or {}).get(name, "")
                if not letter or (sign and letter not in valued):
                    raise self.unsupported(arg)
                found[letter] = value if sign else self._value(arg, args) if letter in valued else ""
            elif len(arg) > 1 and arg.startswith("-"):
                self._letters(arg, flags, valued, found, args)
            else:
                rest.append(arg)
        return found, rest

    def _letters(self, arg: str, flags: str, valued: str, found: dict[str, str], args: Iterator[str]) -> None:
        for place, letter in enumerate(arg[1:], 1):
            if letter in valued:
                found[letter] = arg[place + 1 :] or self._value(arg, args)
                return
            if letter not in flags:
                raise self.unsupported(arg)
            found[letter] = ""

    def _value(self, option: str, args: Iterator[str]) -> str:
        value = next(args, None)
        if value is None:
            raise self.unsupported(f"{option} without its value")
        return value

    def contents(self, names: list[str]) -> Iterator[tuple[str, bytes]]:
        """What is in each file that is named, `-` being what is given; a sentence for each that cannot be read."""
        for name in names or ["-"]:
            path = self.path(name)
            if name == "-":
                yield name, self.given.read()
            elif path == "/dev/null":
                yield name, b""
            elif self.disk.is_file(path):
                yield name, self.disk.read(path)
            else:
                self.fail(f"{name}: {'Is a directory' if self.disk.is_folder(path) else 'No such file or directory'}")


Command: TypeAlias = Callable[[Call], None]
