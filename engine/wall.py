"""The wall clock and the machine: the one place in the engine that may look at them.

Knows what is true of this process. Nothing that it returns may get into an event.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def monotonic() -> float:
    """Seconds since some moment: for how long things take."""
    return time.monotonic()


@cache
def host() -> str:
    return socket.gethostname()


def holder() -> str:
    """Says to others who has a stream open."""
    return f"process {os.getpid()} on {host()}"


def is_gone(holder: str) -> bool:
    """Whether `holder` is a process of this machine that is no more. False where nobody can tell."""
    found = re.fullmatch(r"process (\d+) on (.*)", holder)
    if found is None or found[2] != host():
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def here() -> dict[str, Any]:
    """What a stream's row says of when, where and by which packages it was made."""
    return {"created": now(), "host": host(), "versions": versions()}


@cache
def versions() -> dict[str, str]:
    """What writes a log in this process."""
    found = {"python": platform.python_version()}
    for package in ("coworkenv", "trio", "msgspec"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
