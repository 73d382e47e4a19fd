"""Which code grades a task: found from any path into a checkout, and named by a digest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from coworkenv.worlds.claw_eval import TaskError
from coworkenv.worlds.claw_eval.checkout import Checkout, code_digest, find_checkout, grader_files
from coworkenv.worlds.claw_eval.needs import needs

TASKS = Path(__file__).parent / "tasks"
TWIN, BASE = "K04_antworte_dem_kunden", "K01_answer_the_customer"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with the benchmark's own package in it, or what looks like it."""
    shutil.copytree(TASKS, tmp_path / "tasks", ignore=shutil.ignore_patterns("__pycache__"))
    families = tmp_path / "src" / "claw_eval" / "graders"
    families.mkdir(parents=True)
    (families / "shared_family.py").write_text("SHARED = 1\n")
    (families.parent / "cli.py").write_text("")
    return tmp_path


def digest(checkout: Checkout, task: str, own: bool = False) -> str:
    return code_digest(checkout, grader_files(checkout, task, own))


def test_a_checkout_is_found_from_anywhere_in_it(root: Path) -> None:
    found = find_checkout(root)
    assert found == Checkout(root / "tasks", root / "src")
    assert find_checkout(root / "tasks") == find_checkout(root / "tasks" / BASE) == found
    assert find_checkout(TASKS).source is None


def test_where_no_tasks_are_a_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no tasks in it"):
        find_checkout(tmp_path)
    with pytest.raises(TaskError, match=r"no grader\.py"):
        find_checkout(TASKS).folder("K09")
    with pytest.raises(TaskError, match="leads out"):
        find_checkout(TASKS).folder("../tasks")
    with pytest.raises(TaskError, match="not beside it"):
        grader_files(find_checkout(TASKS), BASE, own=True)


def test_a_grader_is_all_that_its_grade_may_depend_on(root: Path) -> None:
    checkout = find_checkout(root)
    names = [path.relative_to(root).as_posix() for path in grader_files(checkout, TWIN) if path.is_relative_to(root)]
    assert names == [
        f"tasks/{TWIN}/fixtures/house-rules.md",
        f"tasks/{TWIN}/grader.py",
        f"tasks/{TWIN}/task.yaml",
        f"tasks/{BASE}/grader.py",
        "src/claw_eval/graders/shared_family.py",
    ]
    own = grader_files(checkout, TWIN, own=True)
    assert root / "src" / "claw_eval" / "cli.py" in own
    assert all(path.is_relative_to(root) for path in own)


@pytest.mark.parametrize(
    "path", [f"tasks/{TWIN}/grader.py", f"tasks/{BASE}/grader.py", "src/claw_eval/graders/shared_family.py"]
)
def test_the_digest_changes_with_any_of_its_files(root: Path, path: str) -> None:
    before = digest(find_checkout(root), TWIN)
    with (root / path).open("a") as file:
        file.write("# Changed.\n")
    assert digest(find_checkout(root), TWIN) != before


def test_the_digest_does_not_change_with_the_place_or_with_another_task(root: Path, tmp_path_factory: object) -> None:
    before = digest(find_checkout(root), TWIN)
    shutil.copytree(root, root / "elsewhere" / "copy", ignore=shutil.ignore_patterns("elsewhere"))
    (root / "tasks" / "K02_answer_kindly" / "grader.py").write_text("")
    assert digest(find_checkout(root), TWIN) == before == digest(find_checkout(root / "elsewhere" / "copy"), TWIN)
    assert digest(find_checkout(root), TWIN, own=True) != before


# --- what is not simulated -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("", ()),
        ("env_snapshot_files: [/workspace/out.txt]", ("sandbox",)),
        ("env_snapshot_commands: [ls]", ("sandbox",)),
        ("sandbox_files: [fixtures/film.mp4]", ("sandbox", "files")),
        ("tools: [{name: Bash}]", ("shell",)),
        ("services: [{name: web, command: python mock_services/web_real/server.py}]", ("live web",)),
        ("services: [{name: g, command: python mock_services/gmail/server.py}]\nsandbox_files: [a.json]", ()),
        ("local_grader_files: [answer.json]", ("files",)),
    ],
)
def test_what_a_task_takes_that_is_not_here(tmp_path: Path, extra: str, expected: tuple[str, ...]) -> None:
    (tmp_path / "task.yaml").write_text(f"prompt: {{text: Go.}}\n{extra}\n")
    assert needs(tmp_path) == expected


def test_pictures_of_the_request_are_named(tmp_path: Path) -> None:
    (tmp_path / "cat.PNG").write_bytes(b"")
    (tmp_path / "task.yaml").write_text("prompt: {text: Look., attachments: [cat.PNG]}\n")
    assert needs(tmp_path) == ("pictures",)
    (tmp_path / "task.yaml").write_text("prompt: Look.\n")
    with pytest.raises(TaskError, match="not a task"):
        needs(tmp_path)


def test_our_own_tasks_need_nothing_but_the_web() -> None:
    assert [needs(folder) for folder in sorted(TASKS.iterdir())] == [(), (), (), (), ("live web",)]
