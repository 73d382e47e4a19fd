"""What is built is what is used: everything is in it, nothing else is, and it works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ("events", "worlds", "agents", "engine", "learn")


def command(*words: str | Path, cwd: Path) -> str:
    """Run without whatever would let it find the checkout; what it says on standard output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MYPY", "COWORKENV"))}
    ran = subprocess.run(list(map(str, words)), cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, f"{' '.join(map(str, words))}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is in the checkout and not ignored, since building leaves files behind."""
    folder = tmp_path_factory.mktemp("sources")
    names = command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def sdist(sources: Path) -> Path:
    command(sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')", cwd=sources)
    return next((sources / "dist").glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, so that that one is complete, too."""
    folder = tmp_path_factory.mktemp("wheel")
    command(sys.executable, "-m", "pip", "wheel", sdist, "--no-deps", "--no-build-isolation", "-w", folder, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it. What the wheel requires is borrowed from the one that runs this."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    command(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel, cwd=folder)
    site = command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    # A path file adds a folder, but does not read the path files in it, such as that of an editable install.
    (Path(site) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def data_files() -> set[str]:
    return {str(path.relative_to(ROOT)) for floor in FLOORS for path in (ROOT / floor).rglob("*.yaml")}


def modules() -> set[str]:
    return {str(path.relative_to(ROOT)) for floor in FLOORS for path in (ROOT / floor).rglob("*.py")}


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    typed = {f"{floor}/py.typed" for floor in FLOORS}
    assert inside == {f"coworkenv/{name}" for name in modules() | data_files() | typed}


def test_the_source_distribution_holds_what_building_and_reading_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= inside
    assert modules() | data_files() <= inside
    assert not [name for name in inside if name.startswith(("tests/", "benchmarks/"))]


def test_the_installed_command_works_away_from_the_checkout(elsewhere: Path, tmp_path: Path) -> None:
    coworkenv = elsewhere / "bin" / "coworkenv"
    assert command(coworkenv, "--version", cwd=tmp_path).startswith("coworkenv, version ")
    assert "coworkenv environment" in command(coworkenv, "env", "schema", cwd=tmp_path)
    assert "1.00" in command(coworkenv, "run", "refund", "--agent", "oracle", cwd=tmp_path)
    assert "identical" in command(coworkenv, "verify", "--all", "--json", cwd=tmp_path)


@pytest.mark.parametrize("here", ["the checkout", "elsewhere"])
def test_an_import_finds_the_installed_package_wherever_it_is_made(elsewhere: Path, tmp_path: Path, here: str) -> None:
    program = "; ".join(f"import coworkenv.{floor}; print(coworkenv.{floor}.__file__)" for floor in FLOORS)
    cwd = ROOT if here == "the checkout" else tmp_path
    files = command(elsewhere / "bin" / "python", "-c", program, cwd=cwd).split()
    assert len(files) == len(FLOORS)
    assert all(Path(file).is_relative_to(elsewhere) for file in files)


def check_types(elsewhere: Path, tmp_path: Path, program: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(program)
    python = elsewhere / "bin" / "python"
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "program.py"]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)


def test_a_program_that_uses_the_installed_package_is_checked_against_its_types(
    elsewhere: Path, tmp_path: Path
) -> None:
    program = """from coworkenv.events import SqliteLog

log = SqliteLog("log.db")
names: list[str] = [event.actor for event in log.read("3f2a")]
"""
    right = check_types(elsewhere, tmp_path, program)
    assert right.returncode == 0, right.stdout + right.stderr
    wrong = check_types(elsewhere, tmp_path, program.replace("list[str]", "list[bytes]"))
    assert "incompatible type" in wrong.stdout or "has incompatible" in wrong.stdout, wrong.stdout
