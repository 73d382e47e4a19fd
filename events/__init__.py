"""Facts and their storage: the vocabulary of events, the chain over them, and the logs that keep them."""

from .appender import Appender
from .chain import Finding
from .codec import decode, encode
from .errors import LogError, NotJson
from .event import Event
from .exchange import export_episode, import_episode
from .log import Log, Observation, StreamRow
from .memory import MemoryLog
from .normalise import normalise
from .projection import Projection, fold
from .sqlite import SqliteLog
from .verify import verify_stream

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
    "export_episode",
    "fold",
    "import_episode",
    "normalise",
    "verify_stream",
]
