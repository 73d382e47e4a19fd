"""`env audit` as people type it: a table, each flaw with its tasks, JSON for programs, and an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.engine.test_auditing import SOUND, folder_of


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    folder_of(tmp_path / "tasks", {**SOUND, "safety_checks": [{"type": "tool_not_called", "tool_name": "gone"}]})
    return Path("tasks")


def test_a_folder_of_tasks_is_told_of_in_a_table_and_flaw_by_flaw(cli, tasks):
    ran = cli("env", "audit", tasks)
    assert ran.code == 1
    assert "dead-checks" in ran.out
    assert "It forbids gone, which is not offered" in ran.out
    assert "wrong solutions are noticed" in ran.out
    assert cli("env", "audit", tasks / "T900_sound").out == cli("env", "audit", tasks / "T900_sound/task.yaml").out


def test_only_one_examination_can_be_asked_for(cli, tasks):
    ran = cli("env", "audit", tasks, "--only", "spam")
    assert ran.code == 0
    assert "dead-checks" not in ran.out


def test_programs_get_a_line_for_each_flaw_and_one_for_the_whole(cli, tasks):
    *flaws, whole = cli("env", "audit", tasks, "--json").values
    assert {"dead-checks", "no-op"} <= {flaw["examination"] for flaw in flaws}
    assert all(flaw["task"] == "T900_sound" and flaw["says"] for flaw in flaws)
    assert whole["tasks"] == ["T900_sound"]


def test_environments_are_examined_too(cli):
    ran = cli("env", "audit", "desk.yaml", "--only", "no-op")
    assert ran.code == 0
    assert "no-op" in ran.out


@pytest.mark.parametrize(("path", "said"), [("nowhere", "no file, folder or example"), (".", "")])
def test_what_is_nothing_to_audit_is_said(cli, path, said):
    if path == ".":
        Path("desk.yaml").unlink()
        said = "no environment and no task"
    ran = cli("env", "audit", path)
    assert ran.code == 2
    assert said in ran.err


def test_a_file_that_is_broken_is_a_flaw_and_no_traceback(cli):
    Path("desk.yaml").write_text(yaml.safe_dump({"environment": "coworkenv/1", "id": "x"}))
    ran = cli("env", "audit", "desk.yaml")
    assert ran.code == 1
    assert "readable" in ran.out
