"""What can go wrong with events and logs, each as a type, so that a caller can tell them apart.

Knows sentences. Does not know how any of it is found out. Every message says what was wrong, where, and what to do.
All extra attributes have defaults and are set by keyword, so that an error survives being sent between processes.
"""

from __future__ import annotations


class LogError(Exception):
    """Something is wrong with an event, a stream or a log."""


# --- values and events -------------------------------------------------------------------------------------


class NotJson(LogError):
    """A value cannot be in an event. `path` says where in the value, as `$.orders[3].total`."""

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class MalformedEvent(LogError):
    """Stored bytes are not an event."""


class UnknownEvent(LogError):
    """Stored bytes are an event of a kind that this release does not know: a newer release wrote it."""

    def __init__(self, message: str, *, tag: str = "") -> None:
        super().__init__(message)
        self.tag = tag


class MissingBlob(LogError):
    """A large value that an event refers to is not in the log, or is not what its digest says."""

    def __init__(self, message: str, *, digest: str = "") -> None:
        super().__init__(message)
        self.digest = digest


class DamagedStream(LogError):
    """The events of a stream do not follow from each other. `seq` is the first that does not."""

    def __init__(self, message: str, *, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


# --- streams -----------------------------------------------------------------------------------------------


class NotFound(LogError):
    """No stream has that name."""


class Ambiguous(LogError):
    """Several streams begin with that prefix."""

    def __init__(self, message: str, *, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class StreamExists(LogError):
    """A stream of that name is already in the log."""


class StreamDiffers(StreamExists):
    """A stream of that name is already in the log, and holds something else."""


class StreamEnded(LogError):
    """An ended stream never changes."""


class BadRow(LogError):
    """A stream's row holds something that no row can hold."""


class WrongSeq(LogError):
    """Events must be appended in order, without gaps."""


class LeaseHeld(LogError):
    """Somebody else may be appending to this stream. `until` is wall-clock seconds."""

    def __init__(self, message: str, *, holder: str = "", until: float = 0.0) -> None:
        super().__init__(message)
        self.holder = holder
        self.until = until


class LeaseLost(LogError):
    """Somebody else has taken the stream over, or deleted it; what was not yet committed is not in the log."""


class Closed(LogError):
    """The appender, or the log, was closed before."""


# --- stores ------------------------------------------------------------------------------------------------


class NotWriting(LogError):
    """Appending needs a running writer: `async with log.writing():`."""


class LogMissing(LogError):
    """There is no log at that path."""


class NotALog(LogError):
    """The file is something else."""


class NewerFormat(LogError):
    """A newer release wrote this log or export."""


class LogCorrupt(LogError):
    """The database file itself is damaged."""


class LogLocked(LogError):
    """Another process holds the database for longer than we wait."""


class LogReadOnly(LogError):
    """The log can be read but not written."""


class LogFull(LogError):
    """There is no space left for the log."""


class LogUnusable(LogError):
    """The database cannot be opened, or answers with an error that has no name of its own here."""


# --- exports -----------------------------------------------------------------------------------------------


class DamagedExport(LogError):
    """An exported file is cut, changed, or no export at all."""


class ExportTooLarge(LogError):
    """An exported file unpacks to more than the limit."""
