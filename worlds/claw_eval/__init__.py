"""Claw-Eval: its task folders as worlds to play, its services in this process, its audit as a projection.

`load_tasks` reads folders, `Task` is what is played and stored, `audit` is what graders look at, and `answer_text` what
a model is shown. `docs/claw-eval.md` says where the two modes, `sane` and `upstream`, differ.
"""

from .audit import audit
from .endpoint import Mode
from .importer import load_task, load_tasks
from .offline import OfflineWeb
from .reading import TaskError
from .service import ClawEvalService, answer_text
from .task import FORMAT, Attachment, Task, from_document
from .world import world_from_document, world_of

__all__ = [
    "FORMAT",
    "Attachment",
    "ClawEvalService",
    "Mode",
    "OfflineWeb",
    "Task",
    "TaskError",
    "answer_text",
    "audit",
    "from_document",
    "load_task",
    "load_tasks",
    "world_from_document",
    "world_of",
]
