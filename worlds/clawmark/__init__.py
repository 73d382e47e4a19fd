"""ClawMark: its tasks as worlds to play, with mail, databases, spreadsheets, calendars and files as records.

Nothing of the benchmark runs here, and nothing of it is kept here: stages, checkers and files come from a user's own
checkout. `engine.clawmark` hosts its code.
"""

from .checkout import NOTICE, Checkout, find_checkout
from .task import FORMAT, Task, from_document
from .world import world_from_document, world_of

__all__ = [
    "FORMAT",
    "NOTICE",
    "Checkout",
    "Task",
    "find_checkout",
    "from_document",
    "world_from_document",
    "world_of",
]
