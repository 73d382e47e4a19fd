"""Which errors are somebody's input or machine, and what is said about them.

Knows the families of typed errors of all floors. Does not know commands. An error of no family is a bug of ours.
"""

from __future__ import annotations

import click

from ...agents.agent import ActorError, Unavailable
from ...events.errors import LogError
from ...worlds.checks.evaluate import CheckError
from ...worlds.checks.evidence import StreamError
from ...worlds.checks.scoring import ScoringError
from ...worlds.claw_eval import TaskError
from ...worlds.document import DocumentError
from ...worlds.imported import CheckoutError, NotATask
from ...worlds.problems import InvalidEnvironment
from ...worlds.synth.receipt import ReceiptError
from ..foreign import ForeignFailed
from ..hosting import Differs, Unhosted
from ..plan import EpisodeError
from ..recording import Divergence, Exhausted


class Told(Exception):
    """Stops a command with a sentence for whoever typed it, and an exit code."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


_FAMILIES = (
    LogError,
    EpisodeError,
    DocumentError,
    InvalidEnvironment,
    ReceiptError,
    TaskError,
    NotATask,
    CheckoutError,
    ForeignFailed,
    ActorError,
    Unavailable,
    CheckError,
    StreamError,
    ScoringError,
    Exhausted,
    Differs,
    Unhosted,
)


def single(error: BaseException) -> BaseException:
    """The error inside of groups that hold only one each: nurseries wrap what they pass on."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def sentences(error: BaseException) -> str | None:
    """What to say about an error that has a cause outside of our code; None for one that has not."""
    if isinstance(error, click.UsageError):
        hint = f"\nTry `{error.ctx.command_path} --help`." if error.ctx is not None else ""
        return f"{error.format_message()}{hint}"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, Divergence):
        return f"executing it again gives another event {error.seq} than the log holds; `coworkenv verify` shows both"
    if isinstance(error, OSError):
        # Those without a name come from writing: files are opened by name, and servers have errors of their own.
        # Of two names the second is the one that was wanted: what is renamed to it is a draft of ours.
        return f"{error.filename2 or error.filename or 'the output cannot be written'}: {error.strerror or error}"
    if isinstance(error, _FAMILIES):
        return str(error) or type(error).__name__
    return None
