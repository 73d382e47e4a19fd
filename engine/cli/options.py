"""What many commands take: the log, `--json`, episodes by the beginning of their id, values as people write them.

Knows command-line words. Does not know what is done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, Unpack

import click

from ...events.codec import BAD_JSON, from_json
from ...events.event import Json
from ...events.log import Filters, Log, StreamRow
from ...events.sqlite import SqliteLog
from .failures import Told

F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N", int, float)

LOG_VARIABLE = "COWORKENV_LOG"
LOG = "coworkenv.db"


def whole(least: int, most: int) -> Callable[[str], int]:
    """A type for click: a whole number between two bounds, called `N` in help."""

    return _between("n", int, "a whole number", least, most, str)


def real(least: float, most: float) -> Callable[[str], float]:
    """A type for click: a number between two bounds, called `NUMBER` in help. NaN is between none."""

    return _between("number", float, "a number", least, most, "{:g}".format)


def _between(
    name: str, read: Callable[[str], N], what: str, least: N, most: N, shown: Callable[[N], str]
) -> Callable[[str], N]:
    def number(value: str) -> N:
        try:
            found = read(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is not {what}") from None
        if not least <= found <= most:
            raise click.BadParameter(f"{shown(found)} is not between {shown(least)} and {shown(most)}")
        return found

    number.__name__ = name
    return number


SEQ = whole(0, 2**62)
"""The number of an event."""
SEED = whole(-(2**62), 2**62)


def log_option(command: F) -> F:
    """`--log FILE`."""
    return click.option(
        "--log",
        "log_path",
        metavar="FILE",
        envvar=LOG_VARIABLE,
        default=LOG,
        type=click.Path(),
        help=f"The log.  [default: {LOG}, or ${LOG_VARIABLE}]",
    )(command)


def episode_options(command: F) -> F:
    """Which episodes of the environments that were named: `--trials`, `--seed`, `--twins`, …, and whom models ask."""
    options = (
        click.option("--base-url", metavar="URL", help="Server of the models.  [$COWORKENV_BASE_URL]"),
        click.option("--trials", default=1, type=whole(1, 10_000), help="Of each environment; trial K has seed N + K."),
        click.option("--seed", default=0, type=SEED, help="Of the first trial."),
        click.option("--twins", is_flag=True, help="The twins of each environment, too."),
        click.option("--only", metavar="GLOB", help="Only environments whose id (id@twin) matches."),
        click.option("--concurrency", default=32, type=whole(1, 4096), help="Episodes at once (32)."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON for programs: one object a line.")(command)


def all_option(what: str) -> Callable[[F], F]:
    """`--all`, beside episodes by name."""
    return click.option("--all", "everything", is_flag=True, help=f"All {what} of the log.")


@contextmanager
def opened(path: str, *, create: bool = False, durability: Literal["batch", "each"] = "batch") -> Iterator[Log]:
    """The log in a file, closed afterwards."""
    log = SqliteLog(path, durability, create=create)
    try:
        yield log
    finally:
        log.close()


def chosen(log: Log, names: Sequence[str], everything: bool, **filters: Unpack[Filters]) -> list[StreamRow]:
    """The rows that were named, or all that agree with `filters`; each once."""
    if everything and names:
        raise Told("give either ids or --all, not both")
    if everything:
        return log.rows(**filters)
    if not names:
        raise Told("name an episode, or use --all; `coworkenv list` shows what there is")
    rows = {row.id: row for row in map(log.row, names)}
    return list(rows.values())


def value_of(text: str) -> Json:
    """`12`, `1.50`, `true`, `null`, lists and objects as JSON has them; anything else is a text."""
    try:
        return from_json(text)
    except BAD_JSON:
        return text


def pairs(settings: Sequence[str], what: str) -> Mapping[str, str]:
    """`NAME=VALUE` words as a mapping."""
    found: dict[str, str] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name:
            raise Told(f"{what} is written NAME=VALUE, not {setting!r}")
        found[name] = value
    return found
