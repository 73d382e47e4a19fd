"""The picture in the README: the oracle's episode of the demo, as the command line draws it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.docs.generated import episode
from tests.docs.pages import ROOT
from tests.docs.running import surroundings

PICTURE = ROOT / "docs" / "late-change.svg"


def picture(log: Path, path: Path) -> str:
    """Draw it into `path`, and return what is there then."""
    words = ["coworkenv", "show", episode(log, "oracle"), "--svg", str(path), "--log", str(log)]
    subprocess.run(words, env=surroundings(), check=True, capture_output=True)
    return path.read_text()
