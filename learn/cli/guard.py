"""What every command that trains needs: torch, sentences instead of tracebacks, and a Ctrl-C that waits for a step.

Knows which errors say what is wrong. Does not know what is trained.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ...engine.cli.failures import Told
from ...engine.cli.root import BAD_INPUT

_RANKS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
MAIN = next((os.environ[name] for name in _RANKS if name in os.environ), "0") == "0"
"""Whether this is the process that speaks: launchers number theirs so, and accelerate reads these."""


@contextmanager
def told() -> Iterator[None]:
    """Raises Told for what a person can mend; in processes that do not speak, SystemExit."""
    try:
        with _told():
            yield
    except Told as error:
        if MAIN:
            raise
        sys.exit(error.code or BAD_INPUT)


@contextmanager
def _told() -> Iterator[None]:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Told("this needs torch; install it with `pip install 'coworkenv[learn]'`") from None
    from ..baselines import TooAlike
    from ..folders import NotWritten
    from ..lessons import BadLesson
    from ..models import ModelError
    from ..planning import TooMuch
    from ..playing import Unfinished
    from ..rl import BadSettings
    from ..runs import RunError
    from ..together import CannotGoOn, Elsewhere
    from ..training import NothingToLearn

    try:
        yield
    except NotWritten as error:
        raise Told(f"{error.filename}: {error.strerror}") from None
    except (BadLesson, TooAlike, ModelError, TooMuch, BadSettings, RunError, NothingToLearn) as error:
        raise Told(str(error)) from None
    except (Unfinished, CannotGoOn, Elsewhere) as error:
        raise Told(str(error), 1) from None


def check_new(folder: Path) -> None:
    """Raises Told where something is that a new folder would take the place of."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise Told(f"there is something in {folder} already; name a new folder")


class Stopping:
    """Whether somebody has pressed Ctrl-C."""

    asked = False


@contextmanager
def stopping() -> Iterator[Stopping]:
    """The first Ctrl-C only says that the step under way shall be the last; a second one stops at once."""
    found = Stopping()

    def ask(number: int, _: FrameType | None) -> None:
        found.asked = True
        signal.signal(number, signal.default_int_handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
