"""The command line as people meet it: `main` with words, in a folder of its own; what it printed and its exit code."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coworkenv.engine.cli import main
from tests.loopback import Answering, ModelServer, served


@dataclass(frozen=True)
class Ran:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def values(self) -> list[Any]:
        """The output as JSON lines."""
        return [msgspec.json.decode(line) for line in self.lines]


DESK = Path(__file__).with_name("desk.yaml")

Run = Callable[..., Ran]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in a folder with only `desk.yaml`, and nothing that could matter in the environment."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(DESK, tmp_path)
    for name in ("COLUMNS", "COWORKENV_LOG", "COWORKENV_DEBUG", "COWORKENV_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")

    def run(*words: str) -> Ran:
        capfd.readouterr()
        code = main([str(word) for word in words])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def played(cli: Run) -> dict[str, str]:
    """Ids of episodes in the log of the folder: the refund as the oracle and as one who does nothing plays it."""
    results = cli("run", "desk.yaml", "--agent", "oracle", "--agent", "noop", "--json").values[:-1]
    return {result["agent"]: result["id"] for result in results}


@pytest.fixture
def serve() -> Iterator[Callable[[Answering], ModelServer]]:
    """Starts a chat server beside the command line, which has a loop of its own."""
    with ExitStack() as open_:
        yield lambda answer: open_.enter_context(served(answer))
