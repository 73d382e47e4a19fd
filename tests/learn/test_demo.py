"""`learn demo` goes on with what it began, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.engine.cli import main
from coworkenv.learn.cli import demo
from coworkenv.learn.splits import read_split


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


def test_it_practises_in_environments_that_were_neither_demonstrated_nor_are_there_to_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [words for _, words in demo.commands_of(tmp_path, 5, demo.QUICK)]
    assert [main(words) for words in commands if words[0] == "synth"] == [0, 0]
    capsys.readouterr()
    named = {words[1]: words for words in commands if words[0] == "learn"}
    demonstrated = read_split(named["demos"][2])
    practised, tested = (read_split(named["rl"][named["rl"].index(what) + 1]) for what in ("--train", "--val"))
    names = [set(split.about) for split in (demonstrated, practised, tested)]
    assert [len(each) for each in names] == [demo.QUICK.train, demo.QUICK.practice, demo.QUICK.val]
    assert len(set.union(*names)) == sum(map(len, names))
