"""Code that behaves, to be hosted."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from coworkenv.engine.foreign.inside import outside, outside_async


class Polite:
    def __init__(self) -> None:
        self.count = 0

    def echo(self, value: Any) -> Any:
        return value

    def counted(self) -> int:
        self.count += 1
        return self.count

    def third(self) -> float:
        return 1 / 3

    def prints(self, text: str) -> None:
        print(text)
        print(text.upper(), file=sys.stderr)

    def surroundings(self) -> dict[str, Any]:
        return {
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "temporary": tempfile.gettempdir(),
            "user": os.getuid(),
            "host": socket.gethostname(),
            "descriptors": len(os.listdir("/dev/fd")) if Path("/dev/fd").exists() else None,
            "hash": hash("the same in every worker"),
        }

    def keeps(self, name: str, text: str) -> str:
        Path(name).write_text(text)
        return (Path(os.environ["HOME"]) / name).read_text()

    def reads(self, path: str) -> str:
        return Path(path).read_text()

    def lists(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def asks(self, name: str, args: Any) -> Any:
        return outside(name, args)

    def asks_in_a_loop(self, names: list[str]) -> Any:
        async def ask_all() -> Any:
            return await asyncio.gather(*(outside_async(name, name) for name in names))

        return asyncio.run(ask_all())

    def asks_later(self) -> None:
        """A thread that asks when nobody listens; `heard` says what became of it."""
        self.heard_later = ""
        self.gate = threading.Event()

        def ask() -> None:
            self.gate.wait()
            try:
                outside("late", None)
            except Exception as error:
                self.heard_later = type(error).__name__

        self.thread = threading.Thread(target=ask)
        self.thread.start()
        threading.Timer(0.1, self.gate.set).start()

    def heard(self) -> str:
        return self.heard_later

    def _secret(self) -> str:
        return "private"


def broken() -> Polite:
    raise RuntimeError("cannot be made")
