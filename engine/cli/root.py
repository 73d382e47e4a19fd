"""The command `coworkenv`: its groups, and what happens when something goes wrong.

Knows entry points, exit codes and how an error is told. Does not know what any command does: each floor, and any other
package, hangs its commands in through the entry point group `coworkenv.commands`; each of those is a list of click
commands.

Exit codes: 0 all is well; 1 something was found wrong or did not end; 2 bad input; 70 a bug of ours; 130 interrupted;
141 whoever read our output has gone.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any, TextIO

import click

from ..printable import printable, printable_lines
from .failures import Told, sentences, single
from .interrupts import Interrupted

GROUP = "coworkenv.commands"
BAD_INPUT, BUG, INTERRUPTED, PIPE_CLOSED = 2, 70, 130, 141
DEBUG = "COWORKENV_DEBUG"


class PipeClosed(Exception):
    """Whoever read our output has gone."""


class Root(click.Group):
    """The outermost group: commands in the order in which they were added, then groups."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands, key=lambda name: isinstance(self.commands[name], click.Group))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
            return value
        except BrokenPipeError:
            raise PipeClosed from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args[:1] = [printable(arg) for arg in args[:1]]
        return super().resolve_command(ctx, args)


def root(points: Iterable[EntryPoint] | None = None) -> click.Group:
    """The whole command line."""
    group = Root(
        "coworkenv",
        help="Run agents in simulated workspaces, and look at what they did: every episode is a log that can be shown, "
        "verified byte for byte, graded, and forked at any event.",
        epilog="Begin with: coworkenv demo   Every command has --help with an example.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    click.version_option(release(), prog_name="coworkenv")(group)
    hang(group, entry_points(group=GROUP) if points is None else points)
    return group


def hang(group: click.Group, points: Iterable[EntryPoint]) -> None:
    """Add the commands of entry points to a group. One that cannot be loaded is warned of; all others work."""
    for point in points:
        try:
            commands = point.load()
            for command in commands if isinstance(commands, list | tuple) else [commands]:
                if not isinstance(command, click.Command):
                    raise TypeError(f"{point.value} gives {type(command).__name__}, not click commands")
                group.add_command(command)
        except Exception as error:
            warn(f"the commands {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}")


def release() -> str:
    """The release of coworkenv that runs."""
    try:
        return version("coworkenv")
    except PackageNotFoundError:
        return "unknown"


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line (`sys.argv` without the first, unless given) and return its exit code. Never raises."""
    # Whoever started us may have closed them; what is said then goes nowhere.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows another one instead; that is no reason to stop.
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if args is None else args)
    if any("\0" in word for word in words):
        warn("a word holds a zero byte; nothing can be called so")
        return BAD_INPUT
    try:
        value = root().main(words, prog_name="coworkenv", standalone_mode=False)
        return value if isinstance(value, int) else 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except (KeyboardInterrupt, click.Abort):
        warn("interrupted")
        return INTERRUPTED
    except (PipeClosed, BrokenPipeError):
        return PIPE_CLOSED
    except BaseException as error:
        return _told(error)
    finally:
        _let_go(sys.stdout)
        _let_go(sys.stderr)


def _let_go(stream: TextIO) -> None:
    """Drop what nobody takes: Python flushes on its way out, which would fail again, and change the exit code."""
    try:
        stream.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _told(error: BaseException) -> int:
    """Say what went wrong, in a paragraph; a traceback is for those who asked for it."""
    error = single(error)
    if isinstance(error, KeyboardInterrupt | Interrupted):
        warn("interrupted")
        return INTERRUPTED
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    told = sentences(error)
    if told is not None:
        warn(told)
        return BAD_INPUT
    if isinstance(error, Told):
        warn(str(error))
        return error.code
    warn(
        f"this is a bug in coworkenv: {type(error).__name__}: {str(error)[:500]}\n"
        f"Set {DEBUG}=1 and run the same again to see the traceback, and please report it."
    )
    return BUG


def warn(message: str) -> None:
    """Say something on standard error; where nobody takes it, the exit code must do."""
    first, *rest = printable_lines(message)
    with suppress(OSError):
        click.echo("\n".join([f"coworkenv: {first}", *rest]), err=True)
