"""Facts and their storage: the vocabulary of events, the chain over them, and the logs that keep them."""

from .appender import Appender
from .chain import Finding, verify_chain
from .codec import decode, encode
from .errors import LogError, NotJson
from .event import Event
from .log import Log, Observation, StreamRow
from .memory import MemoryLog
from .normalise import normalise
from .projection import Projection, fold
from .sqlite import SqliteLog

__all__ = [
    "Appender",
    "Event",
    "Finding",
    "Log",
    "LogError",
    "MemoryLog",
    "NotJson",
    "Observation",
    "Projection",
    "SqliteLog",
    "StreamRow",
    "decode",
    "encode",
    "fold",
    "normalise",
    "verify_chain",
]
