"""The options that name a benchmark's graders, and a model that judges for them.

Knows how a judge is asked for on the command line, and that the checkout of a benchmark whose code answers calls is
named by the same words. Does not know how anything is graded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click
import msgspec

from ...agents.building import REACHING, model_at
from ...agents.server import Server
from ...events.event import Json
from ..importing import Graders, use_checkouts
from ..judging import JudgeOptions
from .failures import Told
from .options import F

_NAMED: dict[str, Any] = {"metavar": "CHECKOUT", "multiple": True}
_UNSAFE = "Run its code though nothing can confine it."

JUDGES = "judge."
"""Before an option of the judge's, where others have options, too."""


def grader_options(command: F) -> F:
    """`--graders`, `--judge`, `--unsafe-graders`."""
    options = (
        click.option("--graders", **_NAMED, help="A benchmark's checkout, whose code grades."),
        click.option("--judge", metavar="MODEL", help="Whom its graders ask, behind an OpenAI chat API."),
        click.option("--unsafe-graders", "unsafe", is_flag=True, help=_UNSAFE),
    )
    for option in reversed(options):
        command = option(command)
    return command


def code_options(command: F) -> F:
    """`--graders` and `--unsafe-graders`, where nothing is graded, and code is only driven again."""
    named = click.option("--graders", **_NAMED, help="A benchmark's checkout, whose code answers calls.")
    return named(click.option("--unsafe-graders", "unsafe", is_flag=True, help=_UNSAFE)(command))


def graders_of(
    checkouts: Sequence[str], judge: str | None, options: Mapping[str, Json], unsafe: bool, base_url: str | None = None
) -> Graders | None:
    """Who grades; None where no checkout was named. Those that are may answer calls from now on, too. `options` are the
    judge's; a judge is asked at `base_url`, unless they say otherwise. Raises Told, or CheckoutError."""
    if judge is not None and base_url:
        options = {"url": base_url, **options}
    if not checkouts:
        if judge is not None or options:
            raise Told("a judge is asked by a benchmark's graders; name their checkout with --graders")
        return None
    path, *others = map(Path, checkouts)
    use_checkouts((path, *others), unsafe)
    if judge is None:
        if options:
            raise Told(f"the option {next(iter(options))!r} is a judge's; name one with --judge")
        return Graders(path=path, others=tuple(others), unsafe=unsafe)
    reaching = {name: value for name, value in options.items() if name in REACHING}
    given = {name: value for name, value in options.items() if name not in REACHING}
    try:
        asked = msgspec.convert({"model": judge, **given}, JudgeOptions, strict=False)
        server = msgspec.convert(reaching, Server, strict=False)
    except msgspec.ValidationError as error:
        raise Told(f"the judge cannot be asked so: {error}") from None
    perform = model_at(asked.url, server)
    return Graders(path=path, others=tuple(others), judge=asked, perform=perform, unsafe=unsafe)


def with_graders(checkouts: Sequence[str]) -> str:
    """The words that name them again, for a command that is to be typed."""
    return "".join(f" --graders {quote(each)}" for each in checkouts)
