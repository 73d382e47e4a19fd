"""Importers: what a folder is, and what another package's importer must be. `docs/importers.md` has a whole one."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from coworkenv.engine.importers import IMPORTERS
from coworkenv.engine.importing import checkout_importer, importer_named, importer_of
from coworkenv.worlds import imported
from coworkenv.worlds.compiling import rebuild
from coworkenv.worlds.imported import CheckoutError
from coworkenv.worlds.problems import InvalidEnvironment

WORLDS = Path(__file__).parents[1] / "worlds"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("claw_eval/tasks", "claw-eval"),
        ("claw_eval", "claw-eval"),
        ("claw_eval/tasks/K03_hostile", "claw-eval"),
        ("claw_eval/tasks/K03_hostile/task.yaml", "claw-eval"),
        ("clawmark/checkout", "clawmark"),
        ("tau2/checkout", "tau2"),
        (".", None),
        ("nowhere", None),
        ("claw_eval/test_importer.py", None),
    ],
)
def test_a_folder_is_recognised_by_its_names(path: str, name: str | None) -> None:
    found = importer_of(WORLDS / path)
    assert (found.name if found else None) == name


@pytest.mark.parametrize("name", IMPORTERS)
def test_each_importer_has_the_name_under_which_it_is_found(name: str) -> None:
    found = importer_named(name)
    assert found is not None
    assert found.name == name


def test_what_is_no_checkout_is_said_with_what_is_known() -> None:
    with pytest.raises(CheckoutError, match=r"known here \(claw-eval, clawmark, tau2\)"):
        checkout_importer(WORLDS)


def test_an_importer_that_cannot_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("broken", "no.such.module:importer", imported.GROUP)
    monkeypatch.setattr(imported, "entry_points", lambda group: [point])
    with pytest.raises(CheckoutError, match=r"'broken' \(no\.such\.module:importer\) cannot be loaded"):
        importer_of(WORLDS)


def test_a_document_of_a_format_that_nobody_knows_is_no_world() -> None:
    with pytest.raises(InvalidEnvironment, match="unknown to this release"):
        rebuild('{"environment":"riddles/1"}')
