"""Numbers with which nothing can be trained: refused as they are typed, before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.engine.cli import main

SFT = ("sft", "model", "--demos", "demos")


@pytest.mark.parametrize(
    ("words", "option", "value"),
    [
        (SFT, "--lr", "nan"),
        (SFT, "--lr", "-1"),
        (SFT, "--lr", "inf"),
        (SFT, "--lr", "fast"),
        (SFT, "--hours", "nan"),
        (SFT, "--hours", "-1"),
        (("rl", "model"), "--beta", "nan"),
        (("rl", "model"), "--beta", "-1"),
        (("rl", "model"), "--temperature", "nan"),
        (("rl", "model"), "--temperature", "-1"),
        (("rl", "model"), "--temperature", "1e9999"),
        (("rl", "model"), "--temperature", "warm"),
    ],
)
def test_they_are_refused(
    words: tuple[str, ...], option: str, value: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["learn", *words, option, value, "--train", "train.yaml", "--out", str(out)]) == 2
    err = " ".join(capfd.readouterr().err.split())
    assert option in err
    assert value in err
    assert not out.exists()
