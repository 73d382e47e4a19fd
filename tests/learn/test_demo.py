"""`learn demo` goes on with what it began, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.engine.cli import main
from coworkenv.learn.cli import demo


def test_a_folder_holds_one_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[tuple[int, demo.Scale]] = []

    def none(_: Path, seed: int, scale: demo.Scale) -> list[tuple[str, list[str]]]:
        begun.append((seed, scale))
        return []

    monkeypatch.setattr(demo, "commands_of", none)
    words = ["learn", "demo", "--out", str(tmp_path / "demo")]
    assert main([*words, "--quick"]) == 0
    assert main([*words, "--quick"]) == 0
    for others in (["--quick", "--seed", "3"], []):
        assert main([*words, *others]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "holds the demo of --seed 0 --quick, not that of --seed" in said
    assert begun == [(0, demo.QUICK)] * 2
