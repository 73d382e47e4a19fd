"""`env`: what the author of an environment types.

Knows files and how findings are told. Does not know what makes an environment fair (`engine.validation`).
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
import msgspec

from ...events.event import Json
from ...worlds.environment import Environment
from ...worlds.problems import Problem
from ...worlds.reading import problems, read_environment, read_file
from ...worlds.schema import environment_schema
from ...worlds.writing import with_frozen
from ..printable import printable
from ..validation import Complaint, Played, Validation, freeze, validate
from .failures import Told
from .interrupts import run_until_interrupted
from .options import json_option
from .places import only_one
from .screen import Screen, print_json, say, screen

STYLES = {"error": "bold red", "warning": "yellow"}


@click.group(short_help="Write environments: validate, freeze, schema.")
def env() -> None:
    """Environments: check that a file is right and fair, freeze it, and get the schema for an editor."""


@env.command("validate", short_help="Check files, and that they are fair.")
@click.argument("names", nargs=-1, required=True, metavar="FILE...")
@click.option("--only-read", is_flag=True, help="Check what is written; play nothing.")
@json_option
def validate_(names: tuple[str, ...], only_read: bool, as_json: bool) -> int:
    """Say everything that is wrong with environment files, then play them to see whether they are fair.

    The oracle must score 1 in the base and in all twins; doing nothing, or only reading, 0; each trap at most its
    ceiling in at least one of them. Exit code 1 if anything is wrong; warnings are no error.

    \b
    coworkenv env validate my-task.yaml
    """
    out = screen()
    wrong = False
    for name in names:
        path = only_one(name)
        text = read_file(path)  # once: it may be a pipe
        found = problems(text)
        validation = None if found or only_read else run_until_interrupted(partial(validate, read_environment(text)))
        wrong = wrong or bool(found) or (validation is not None and not validation.fair)
        if as_json:
            print_json(_plain(path, found, validation))
        else:
            _say(out, path, found, validation)
    return int(wrong)


def _plain(path: Path, found: Sequence[Problem], validation: Validation | None) -> dict[str, Json]:
    return {
        "file": str(path),
        "readable": not found,
        "fair": None if validation is None else validation.fair,
        "problems": msgspec.to_builtins(found),
        "complaints": msgspec.to_builtins(validation.complaints if validation else ()),
        "played": msgspec.to_builtins(validation.played if validation else ()),
    }


def _say(out: Screen, path: Path, found: Sequence[Problem], validation: Validation | None) -> None:
    for problem in found:
        where = f"{path}:{problem.line}" if problem.line else str(path)
        say(out, (printable(where), "bold"), f"  {printable(problem.path)}")
        say(out, ("  ✗ ", "bold red"), printable(problem.message), (f" {printable(problem.hint or '')}", "cyan"))
    if found:
        return
    if validation is None:
        say(out, (printable(str(path)), "bold"), ("  can be read", "green"))
        return
    errors = sum(complaint.severity == "error" for complaint in validation.complaints)
    verdict = ("fair", "bold green") if not errors else ("not fair", "bold red")
    say(out, (printable(str(path)), "bold"), f"  {printable(validation.id)}  ", verdict)
    _say_scores(out, validation.played)
    for complaint in validation.complaints:
        _say_complaint(out, complaint)


def _say_scores(out: Screen, played: Sequence[Played]) -> None:
    """The lowest and highest score of each agent, over the base and the twins."""
    for agent in dict.fromkeys(run.agent for run in played):
        scores = [float(run.score) for run in played if run.agent == agent]
        span = f"{min(scores):.2f}" if min(scores) == max(scores) else f"{min(scores):.2f} to {max(scores):.2f}"
        say(out, f"  {printable(agent):<32} ", (span, "bold"), (f"  in {len(scores)} variants", "dim"))


def _say_complaint(out: Screen, complaint: Complaint) -> None:
    mark = "✗" if complaint.severity == "error" else "!"
    say(out, (f"  {mark} ", STYLES[complaint.severity]), printable(complaint.message))


@env.command("freeze", short_help="Compute the frame, write it into files.")
@click.argument("names", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file is not as freezing would leave it.")
@json_option
def freeze_(names: tuple[str, ...], check: bool, as_json: bool) -> int:
    """Compute what an agent may change, from what the oracle changes in all twins, and write it into the files.

    Only the `frozen` block is touched; every other byte stays. An environment that is not fair, as `env validate` says
    it, is not frozen: exit code 1.

    \b
    coworkenv env freeze my-task.yaml
    """
    wrong = False
    for name in names:
        path = Path(name)
        if not path.is_file():
            raise Told(f"there is no file {name!r} to freeze")
        environment = read_environment(path)
        unfair = run_until_interrupted(partial(_unfair, environment))
        changed = not unfair and _freeze(path, environment, write=not check)
        word = "refused" if unfair else ("stale" if check else "frozen") if changed else "unchanged"
        wrong = wrong or bool(unfair) or (changed and check)
        if as_json:
            print_json({"file": str(path), "result": word, "complaints": msgspec.to_builtins(unfair)})
            continue
        style = "bold red" if word in ("refused", "stale") else "green"
        say(screen(), (printable(str(path)), "bold"), (f"  {word}", style), ": it is not fair" if unfair else "")
        for complaint in unfair:
            _say_complaint(screen(), complaint)
    return int(wrong)


async def _unfair(environment: Environment) -> list[Complaint]:
    """What makes an environment unfair, apart from what freezing mends."""
    complaints = (await validate(environment)).complaints
    return [found for found in complaints if found.severity == "error" and found.kind != "frame"]


def _freeze(path: Path, environment: Environment, write: bool) -> bool:
    """Whether freezing changes a file; it is written if that is wanted."""
    text = read_file(path)
    frozen = with_frozen(text, run_until_interrupted(partial(freeze, environment)))
    if write and frozen != text:
        mark = codecs.BOM_UTF8 if path.read_bytes().startswith(codecs.BOM_UTF8) else b""
        path.write_bytes(mark + frozen.encode())
    return frozen != text


@env.command("schema", short_help="Print the JSON Schema for editors.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write it there.")
def schema(output: Path | None) -> None:
    """Print the JSON Schema of environment files; editors complete, describe and check with it.

    \b
    coworkenv env schema -o environment.schema.json
    """
    if output is None:
        print_json(environment_schema())
        return
    if output.is_dir():
        raise Told(f"{output} is a folder; name a file")
    output.write_bytes(msgspec.json.format(msgspec.json.encode(environment_schema()), indent=2) + b"\n")


commands: list[click.Command] = [env]
