"""τ²-bench: its domains as worlds to play, their databases as records, and a stream as the messages that it grades.

Nothing of the benchmark runs here, and nothing of it is kept here: tasks, policies and databases come from a user's own
checkout. `engine.tau2` hosts its code.
"""

from .checkout import Checkout, find_checkout
from .task import FORMAT, Task, from_document
from .world import world_from_document, world_of

__all__ = [
    "FORMAT",
    "Checkout",
    "Task",
    "find_checkout",
    "from_document",
    "world_from_document",
    "world_of",
]
