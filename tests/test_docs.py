"""What the documentation says is so: commands run, snippets are right, made parts are fresh, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coworkenv.engine.validation import validate
from coworkenv.worlds.expressions import evaluate, parse
from coworkenv.worlds.reading import problems, read_environment
from coworkenv.worlds.syntax import ARITIES
from coworkenv.worlds.values import written
from tests.docs.generated import with_ids, with_output, with_parts
from tests.docs.pages import ROOT, blocks, environment, pages
from tests.docs.picture import PICTURE, picture
from tests.docs.running import checkout, demo, run_console, run_python, runnable

STALE = "the documentation is stale; `python -m tests.docs --write` brings it up to date"

every_page = pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log that `make demo` leaves behind."""
    return demo(tmp_path_factory.mktemp("demo"))


@every_page
def test_every_command_works_and_prints_what_the_page_shows(path: Path, tmp_path: Path, log: Path) -> None:
    page = path.read_text()
    here = tmp_path / "here"
    here.mkdir()
    checkout(here, log)
    ran = run_console(page, here)
    for run in ran:
        place = f"{path.name}:{run.block.line}: $ {run.command}\n{run.output}"
        assert run.status == run.expected, f"{place}\nexit code {run.status}, not {run.expected}"
        assert "Traceback" not in run.output, place
    assert with_output(page, ran) == page, STALE


@every_page
def test_made_parts_are_fresh(path: Path, log: Path) -> None:
    page = path.read_text()
    assert with_parts(with_ids(page, log)) == page, STALE


def test_the_picture_is_fresh(tmp_path: Path, log: Path) -> None:
    assert picture(log, tmp_path / "picture.svg") == PICTURE.read_text(), STALE


@every_page
def test_every_python_snippet_runs(path: Path, tmp_path: Path, log: Path) -> None:
    checkout(tmp_path, log)
    for block in filter(runnable, blocks(path.read_text(), "python")):
        ran = run_python(block, tmp_path)
        assert ran.returncode == 0, f"{path.name}:{block.line}\n{ran.stderr}"


@every_page
def test_the_yaml_of_a_page_is_an_environment(path: Path) -> None:
    text = environment(path.read_text())
    assert not text or problems(text) == []


async def test_the_environment_that_a_page_builds_is_fair_and_frozen() -> None:
    validation = await validate(read_environment(environment((ROOT / "docs" / "environments.md").read_text())))
    assert (validation.findings, validation.frame) == ((), "fresh")


FUNCTION = re.compile(
    r"^\| `(?P<name>\w+)\(.*?`(?: or `.*?`)? \| .*? \| `(?P<example>.*)` is `(?P<value>.*)` \|$", re.MULTILINE
)


def test_every_function_is_documented_with_an_example_that_holds() -> None:
    rows = list(FUNCTION.finditer((ROOT / "docs" / "environments.md").read_text()))
    assert sorted(row["name"] for row in rows) == sorted(ARITIES)
    for row in rows:
        value = evaluate(parse(row["example"]), {})
        assert written(value) == row["value"], row["example"]


LINK = re.compile(r"\[[^\]]*\]\((?!https?:)(?P<file>[^)#]*)(?:#(?P<part>[^)]*))?\)")


@every_page
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in LINK.finditer(path.read_text()):
        target = (path.parent / link["file"]) if link["file"] else path
        assert target.exists(), f"{path.name}: {link[0]}"
        if link["part"]:
            assert link["part"] in _headings(target.read_text()), f"{path.name}: {link[0]}"


def _headings(page: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_no_page_names_a_file_that_is_not_there() -> None:
    for path in pages():
        for name in re.findall(
            r"`((?:docs|events|worlds|agents|engine|learn|tests|benchmarks)/[\w/.-]+\.\w+)`", path.read_text()
        ):
            assert (ROOT / name).exists() or "NAME" in name, f"{path.name} names {name}"
