"""`env`: what the author of an environment types.

Knows files and which commands there are. Does not know what makes an environment fair (`worlds.synth.validators`), nor
how findings are told (`findings`).
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
import msgspec

from ...events.event import Json
from ...worlds.environment import Environment
from ...worlds.problems import Problem
from ...worlds.reading import problems, read_environment, read_file
from ...worlds.schema import environment_schema
from ...worlds.synth.findings import Finding
from ...worlds.synth.scores import Spread, scores
from ...worlds.synth.validating import Progress, Validation
from ...worlds.writing import with_frozen
from ..printable import printable
from ..validation import BEFORE_FREEZING, freeze, validate
from .auditing import audit
from .explaining import explain
from .failures import Told
from .findings import plain_findings, plain_validation, say_findings, say_validation, validating
from .interrupts import run_until_interrupted
from .options import json_option
from .places import only_one
from .receipts import receipt
from .screen import Screen, print_json, say, screen


@click.group(short_help="Write environments: validate, freeze, explain …")
def env() -> None:
    """Environments: check that a file is right and fair, freeze it, see why it is as it is, and get the schema."""


@env.command("validate", short_help="Check files, and that they are fair.")
@click.argument("names", nargs=-1, required=True, metavar="FILE...")
@click.option("--quick", is_flag=True, help="Only the validators that play nothing.")
@json_option
def validate_(names: tuple[str, ...], quick: bool, as_json: bool) -> int:
    """Say everything that is wrong with environment files, then have all validators look at them.

    The oracle must score 1 in the base and in all twins; doing nothing, or only reading, 0; each trap at most its
    ceiling in at least one of them; checks must notice mistakes, and nothing else. Exit code 1 if anything is wrong;
    warnings are no error.

    \b
    coworkenv env validate my-task.yaml
    """
    out = screen()
    wrong = False
    for name in names:
        path = only_one(name)
        text = read_file(path)  # once: it may be a pipe
        found = problems(text)
        if found:
            wrong = True
            _tell_problems(out, path, found, as_json)
            continue
        with validating(not as_json) as progress:
            validation, got = run_until_interrupted(partial(_validated, read_environment(text), quick, progress))
        wrong = wrong or not validation.fair
        if as_json:
            told = plain_validation(validation, got)
            print_json({"file": str(path), "id": validation.environment.id, "readable": True, "problems": [], **told})
        else:
            _say(out, path, validation, got, quick)
    return int(wrong)


async def _validated(
    environment: Environment, quick: bool, progress: Progress | None
) -> tuple[Validation, Mapping[str, Spread]]:
    """A validation, and what was scored where anything was played."""
    validation = await validate(environment, quick=quick, progress=progress)
    return validation, {} if quick or validation.case is None else await scores(validation.case)


def _tell_problems(out: Screen, path: Path, found: Sequence[Problem], as_json: bool) -> None:
    if as_json:
        problems_: Json = msgspec.to_builtins(found)
        print_json({"file": str(path), "id": None, "readable": False, "problems": problems_, "fair": None})
        return
    for problem in found:
        where = f"{path}:{problem.line}" if problem.line else str(path)
        say(out, (printable(where), "bold"), f"  {printable(problem.path)}")
        say(out, ("  ✗ ", "bold red"), printable(problem.message), (f" {printable(problem.hint or '')}", "cyan"))


def _say(out: Screen, path: Path, validation: Validation, got: Mapping[str, Spread], quick: bool) -> None:
    verdict = ("fair", "bold green") if validation.fair else ("not fair", "bold red")
    if quick and validation.fair:
        verdict = ("can be read", "green")
    say(out, (printable(str(path)), "bold"), f"  {printable(validation.environment.id)}  ", verdict)
    say_validation(out, validation, got)


@env.command("freeze", short_help="Compute the frame, write it into files.")
@click.argument("names", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file is not as freezing would leave it.")
@json_option
def freeze_(names: tuple[str, ...], check: bool, as_json: bool) -> int:
    """Compute what an agent may change, from what the oracle changes in all twins, and write it into the files.

    Only the `frozen` block is touched; every other byte stays. An environment whose oracle does not win everywhere, or
    that others win, too, is not frozen: exit code 1.

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
            print_json({"file": str(path), "result": word, "findings": plain_findings(unfair)})
            continue
        style = "bold red" if word in ("refused", "stale") else "green"
        say(screen(), (printable(str(path)), "bold"), (f"  {word}", style), ": it is not fair" if unfair else "")
        say_findings(screen(), unfair)
    return int(wrong)


async def _unfair(environment: Environment) -> tuple[Finding, ...]:
    """What speaks against freezing an environment."""
    return (await validate(msgspec.structs.replace(environment, frozen=None), only=BEFORE_FREEZING)).errors


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


for command in (explain, receipt, audit):
    env.add_command(command)

commands: list[click.Command] = [env]
