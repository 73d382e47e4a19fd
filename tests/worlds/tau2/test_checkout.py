"""A checkout of τ²-bench is read, and what it lacks is said. It is a stand-in here, in words of our own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from coworkenv.worlds.imported import CheckoutError
from coworkenv.worlds.tau2.checkout import Checkout, find_checkout

STAND_IN = Path(__file__).parent / "checkout"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    shutil.copytree(STAND_IN, tmp_path / "tau2", ignore=shutil.ignore_patterns("__pycache__"))
    return find_checkout(tmp_path / "tau2")


def test_its_domains_tasks_and_splits_are_found(checkout: Checkout) -> None:
    assert checkout.domains() == ["library"]
    assert [task["id"] for task in checkout.tasks("library")] == ["lend", "pay|first [both]", "kindly", "later"]
    assert [task["id"] for task in checkout.tasks("library", "small")] == ["lend"]
    assert checkout.missing("library") == []
    assert checkout.lesser("library") is None


def test_what_is_not_there_is_named(checkout: Checkout) -> None:
    with pytest.raises(CheckoutError, match="no domain 'shop'; there are library"):
        checkout.tasks("shop")
    with pytest.raises(CheckoutError, match="no split 'huge'; there are base, small"):
        checkout.tasks("library", "huge")
    (checkout.folder("library") / "db.json").unlink()
    (checkout.folder("library") / "tasks.json").rename(checkout.folder("library") / "tasks_small.json")
    assert checkout.missing("library") == ["data/tau2/domains/library/db.json"]
    assert "only the tasks of tasks_small.json" in (checkout.lesser("library") or "")
    (checkout.folder("library") / "tasks_small.json").unlink()
    assert len(checkout.missing("library")) == 2


@pytest.mark.parametrize("content", ["{", '[{"name": "no id"}]', "[1]"])
def test_tasks_that_are_none_are_refused(checkout: Checkout, content: str) -> None:
    (checkout.folder("library") / "tasks.json").write_text(content)
    with pytest.raises(CheckoutError):
        checkout.tasks("library")


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckoutError, match="is no checkout"):
        find_checkout(tmp_path)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("src/tau2/domains/library/environment.py", True),
        ("src/tau2/environment/environment.py", True),
        ("src/tau2/evaluator/evaluator_env.py", True),
        ("data/tau2/domains/library/db.json", True),
        ("data/tau2/domains/library/policy.md", True),
        ("data/tau2/domains/library/tasks.json", False),
        ("data/tau2/domains/library/split_tasks.json", False),
    ],
)
def test_its_digest_is_that_of_all_that_answers_depend_on(checkout: Checkout, file: str, counts: bool) -> None:
    before = checkout.digest("library")
    with (checkout.root / file).open("a") as changed:
        changed.write("\n")
    assert (checkout.digest("library") != before) == counts


def test_where_it_lies_does_not_count(checkout: Checkout, tmp_path: Path) -> None:
    assert checkout.digest("library") == find_checkout(STAND_IN).digest("library")
