"""Runs what a page tells its readers to type: in a folder of its own, with the real command line.

Knows shells and processes. All commands of a page share one shell, so that an `export` holds for those below it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import trio

from coworkenv.engine.foreign import refusal
from tests.docs.pages import ROOT, Block, blocks
from tests.loopback import completion, served

DEMO = "coworkenv-demo.db"
SERVER = "http://127.0.0.1:8000/v1"
"""The address of a chat server in the documentation."""
TASKS = ROOT.parent / "shared" / "claw-eval" / "tasks"
CHECKOUTS = {"claw-eval": "claw_eval", "ClawMark": "clawmark/checkout", "tau2-bench": "tau2/checkout"}
_OURS = ("COWORKENV", "OPENAI", "PYTHON", "COLUMNS", "LINES", "FORCE_COLOR")
"""What may be set where tests run, and would show in what commands print."""
TIMEOUT = 300
"""Seconds for all commands of a page."""


@dataclass(frozen=True)
class Ran:
    block: Block
    command: str
    status: int
    output: str

    @property
    def expected(self) -> int:
        return int("fails" in self.block.words and self.command == self.block.commands()[-1])


def surroundings() -> dict[str, str]:
    """The environment variables of somebody who has just opened a shell with coworkenv on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    folder = str(Path(sys.executable).parent)
    return {**kept, "PATH": f"{folder}{os.pathsep}{kept.get('PATH', '')}", "NO_COLOR": "1", "OPENAI_API_KEY": "unused"}


def demo(folder: Path) -> Path:
    """What `make demo` leaves behind: a log, in `folder`."""
    subprocess.run(["coworkenv", "demo"], cwd=folder, env=surroundings(), check=True, capture_output=True, timeout=120)
    return folder / DEMO


def checkout(folder: Path, log: Path) -> None:
    """Make `folder` look like a checkout in which `make demo` has been, with benchmarks beside it: Claw-Eval's tasks
    where there are any, and small ones of our own in the place of checkouts."""
    shutil.copy(log, folder / DEMO)
    (folder / "worlds").symlink_to(ROOT / "worlds")
    if TASKS.is_dir():
        (folder / "tasks").symlink_to(TASKS)
    for name, place in CHECKOUTS.items():
        (folder / name).symlink_to(ROOT / "tests" / "worlds" / place)


def runnable(block: Block) -> bool:
    if "checkouts" in block.words and _refusal() is not None:
        return False
    return "tasks" not in block.words or TASKS.is_dir()


@cache
def _refusal() -> str | None:
    return trio.run(refusal)


def run_console(text: str, folder: Path) -> list[Ran]:
    """Type all commands of a page into a shell in `folder`."""
    found = [block for block in blocks(text, "console") if runnable(block)]
    typed = [(block, command) for block in found for command in block.commands()]
    if not typed:
        return []
    said = folder.parent / f"{folder.name}-said"
    said.mkdir()
    with _chat_server(any("model" in block.words for block in found)) as address:
        lines = [
            f"{{ {_addressed(block, command, address)}\n}} >{said}/{n} 2>&1; echo $? >{said}/{n}.status"
            for n, (block, command) in enumerate(typed)
        ]
        script = "\n".join(lines)
        subprocess.run(
            ["bash", "-c", script], cwd=folder, env=surroundings(), stdin=subprocess.DEVNULL, timeout=TIMEOUT
        )
    return [
        Ran(block, command, int((said / f"{n}.status").read_text()), (said / str(n)).read_text())
        for n, (block, command) in enumerate(typed)
    ]


def _addressed(block: Block, command: str, address: str) -> str:
    return command.replace(SERVER, address) if "model" in block.words else command


@contextmanager
def _chat_server(wanted: bool) -> Iterator[str]:
    """A server at whose address every model finishes at once."""
    if not wanted:
        yield SERVER
        return
    with served(lambda _: completion("", [("finish", {"summary": "There is nothing to do."})])) as server:
        yield server.url


def run_python(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        cwd=folder, env=surroundings(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
