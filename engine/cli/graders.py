"""The options that name a benchmark's graders, and a model that judges for them.

Knows how a judge is asked for on the command line, and that the checkout of a benchmark whose code answers calls is
named by the same words. Does not know how anything is graded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from ...agents.building import REACHING, model_at
from ...agents.server import Server
from ...events.event import Json
from ..importing import Graders, use_checkout
from ..judging import JudgeOptions
from .failures import Told
from .options import F

_UNSAFE = "Run its code though nothing can confine it."

JUDGES = "judge."
"""Before an option of the judge's, where others have options, too."""


def grader_options(command: F) -> F:
    """`--graders`, `--judge`, `--unsafe-graders`."""
    options = (
        click.option("--graders", metavar="CHECKOUT", help="A benchmark's checkout, whose code grades."),
        click.option("--judge", metavar="MODEL", help="Whom its graders ask, behind an OpenAI chat API."),
        click.option("--unsafe-graders", "unsafe", is_flag=True, help=_UNSAFE),
    )
    for option in reversed(options):
        command = option(command)
    return command


def code_options(command: F) -> F:
    """`--graders` and `--unsafe-graders`, where nothing is graded, and code is only driven again."""
    named = click.option("--graders", metavar="CHECKOUT", help="A benchmark's checkout, whose code answers calls.")
    return named(click.option("--unsafe-graders", "unsafe", is_flag=True, help=_UNSAFE)(command))


def graders_of(
    checkout: str | None, judge: str | None, options: Mapping[str, Json], unsafe: bool, base_url: str | None = None
) -> Graders | None:
    """Who grades; None where no checkout was named. One that is may answer calls from now on, too. `options` are the
    judge's; a judge is asked at `base_url`, unless they say otherwise. Raises Told, or CheckoutError."""
    if judge is not None and base_url:
        options = {"url": base_url, **options}
    if checkout is None:
        if judge is not None or options:
            raise Told("a judge is asked by a benchmark's graders; name their checkout with --graders")
        return None
    path = Path(checkout)
    use_checkout(path, unsafe)
    if judge is None:
        if options:
            raise Told(f"the option {next(iter(options))!r} is a judge's; name one with --judge")
        return Graders(path=path, unsafe=unsafe)
    reaching = {name: value for name, value in options.items() if name in REACHING}
    given = {name: value for name, value in options.items() if name not in REACHING}
    try:
        asked = msgspec.convert({"model": judge, **given}, JudgeOptions, strict=False)
        server = msgspec.convert(reaching, Server, strict=False)
    except msgspec.ValidationError as error:
        raise Told(f"the judge cannot be asked so: {error}") from None
    return Graders(path=path, judge=asked, perform=model_at(asked.url, server), unsafe=unsafe)
