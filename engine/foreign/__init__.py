"""Other people's code, run in a worker process of its own that can do no harm.

The parent's side is `worker`, with `room`, `folders`, `output` and `watching`. The worker's side is `starting`,
`confining`, `limiting`, `linux`, `showing`, `doubles` and `inside` (whose `outside` asks the parent); it never imports
what is exported here.
"""

from .room import ForeignFailed, Kind, Room
from .worker import Answers, Worker, foreign, refusal

__all__ = ["Answers", "ForeignFailed", "Kind", "Room", "Worker", "foreign", "refusal"]
