"""Claw-Eval's mail and address book.

Knows their endpoints and how the mail server moves dates. There is no reply, label or read flag to set; mail that is
sent is filed, and never arrives anywhere.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from ...events.event import Json
from .dates import moment, stamp
from .endpoint import Answer, Endpoint, Kind, Request, file_note, get_one, shown
from .validation import Field, defaulted, nullable

_LISTED = ("message_id", "from", "subject", "date", "is_read", "labels")


def _list_messages(request: Request) -> Answer:
    """Recent ones in the order of the fixture; the limit cuts them unsorted (a negative one from the end)."""
    cutoff = request.now - timedelta(days=request.body["days_back"])
    recent = [row for row in request.rows("messages") if moment(row["date"]) >= cutoff]
    listed = [shown(row, _LISTED) for row in recent[: request.body["max_results"]]]
    return Answer({"messages": listed, "total": len(listed)})


def shift_mail(rows: list[dict[str, Json]], now: datetime) -> list[dict[str, Json]]:
    """Moves all dates so that the newest is a day old; prints each wall time as if it were UTC."""
    if not rows:
        return rows
    delta = now - timedelta(days=1) - max(moment(row["date"]) for row in rows)
    return [{**row, "date": stamp(moment(row["date"]) + delta)} for row in rows]


_MAIL = (Field("to"), Field("subject"), Field("body"))

GMAIL = Kind(
    "gmail",
    (
        Endpoint(
            "/gmail/messages",
            (defaulted("days_back", 7, "integer"), defaulted("max_results", 20, "integer")),
            _list_messages,
            reads=True,
        ),
        get_one("/gmail/messages/get", "messages", "message_id", "Message"),
        file_note("/gmail/send", _MAIL, "sent_messages", "sent", "message"),
        file_note("/gmail/drafts/save", (*_MAIL, nullable("reply_to_message_id")), "drafts", "draft_saved", "draft"),
    ),
    sides=("sent_messages", "drafts"),
    collection="messages",
    fixture="inbox.json",
    default="T001zh",
    shift=shift_mail,
)


def _search_contacts(request: Request) -> Answer:
    """A contiguous, case-sensitive part of the name (and of the department): nothing else is searched."""
    query, department = request.body["query"], request.body["department"]
    found = [
        row
        for row in request.rows("contacts")
        if query in row["name"] and (department is None or department in row["department"])
    ]
    return Answer({"contacts": found, "total": len(found)})


CONTACTS = Kind(
    "contacts",
    (
        Endpoint("/contacts/search", (Field("query"), nullable("department")), _search_contacts, reads=True),
        get_one("/contacts/get", "contacts", "contact_id", "Contact"),
        file_note("/contacts/send_message", (Field("contact_id"), Field("message")), "sent_messages", "sent", "record"),
    ),
    sides=("sent_messages",),
    collection="contacts",
    fixture="contacts.json",
    default="T009zh",
)
