"""The kinds of service that Claw-Eval has, by the name of the server that a task starts.

A new kind is one `Kind` in a module beside this one, and its name here.
"""

from __future__ import annotations

from collections.abc import Mapping

from .business import CONFIG, CRM, FINANCE, HELPDESK, INVENTORY
from .communication import CONTACTS, GMAIL
from .endpoint import Kind
from .knowledge import KB, NOTES, RSS
from .media import CAPTION, DOCUMENTS, OCR
from .planning import CALENDAR, SCHEDULER, TODO
from .web import WEB, WEB_REAL, WEB_REAL_INJECTION

_ALL = (
    GMAIL,
    CALENDAR,
    TODO,
    CONTACTS,
    CRM,
    FINANCE,
    HELPDESK,
    INVENTORY,
    KB,
    NOTES,
    RSS,
    SCHEDULER,
    CONFIG,
    WEB,
    WEB_REAL,
    WEB_REAL_INJECTION,
    OCR,
    CAPTION,
    DOCUMENTS,
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL}

#: Holds the tools that a task offers without routing them anywhere (a shell, outside of a sandbox).
UNROUTED = Kind("unrouted", ())
