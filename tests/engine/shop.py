"""The flower shop: a small checkout of ClawMark that tests play in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from coworkenv.engine.clawmark import host
from coworkenv.engine.clawmark.host import Setup
from coworkenv.worlds.clawmark import find_checkout

STAND_IN = Path(__file__).parents[1] / "worlds" / "clawmark" / "checkout"


def copied(folder: Path) -> Path:
    """A copy of it, of which a test may change anything."""
    shutil.copytree(STAND_IN, folder / "clawmark", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "clawmark"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """A copy, named to this process; without a sandbox, so that tests run everywhere."""
    made = Setup(checkout=find_checkout(copied(tmp_path)), unsafe=True, seconds=20)
    monkeypatch.setattr(host.CHECKOUTS, "current", made)
    return made
