"""Mail: every address is a mailbox of messages, in order of arrival.

Knows that mail reaches whoever it is addressed to, declared or not, and nobody else: there is no folder of what was
sent. Does not know who may read a mailbox; as upstream, whoever knows its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import format_datetime, getaddresses
from typing import Annotated

import msgspec

from ...events.event import Json
from ..service import Instant, Outcome, Record, RecordEvent, Records
from .verbs import Numbered, Refused, VerbService, derived_id, verb

NAME = "mail"
MESSAGES = Numbered(NAME, "messages")
_SHOWN = 50
_PREVIEW = 160


def deliver(
    records: Records,
    now: Instant,
    *,
    sender: str,
    name: str | None = None,
    to: Sequence[str],
    cc: Sequence[str] = (),
    bcc: Sequence[str] = (),
    subject: str,
    body: str,
) -> list[RecordEvent]:
    """One copy for each mailbox that is addressed, with `to` and `cc` as they were written. Raises Refused."""
    boxes = addresses([*to, *cc, *bcc])
    if not boxes:
        raise Refused("Nothing was sent: there is no address in `to`, such as `name@example.com`.")
    [box] = addresses([sender])[:1] or [""]
    if not box:
        raise Refused(f"Nothing was sent: {sender[:100]!r} is no address.")
    common: dict[str, Json] = {
        "from": f"{name or box} <{box}>",
        "to": ", ".join(to),
        "cc": ", ".join(cc),
        "subject": subject,
        "date": format_datetime(now.date()),
        "body": body,
    }
    created = []
    for past, box in enumerate(boxes):
        key = MESSAGES.next(records, past)
        value: dict[str, Json] = {"id": derived_id("mail", key)[:8], "box": box, **common}
        created.append(MESSAGES.create(key, value))
    return created


def addresses(written: Sequence[str]) -> list[str]:
    """The addresses in headers, in lower case, each once."""
    found = (address.strip().lower() for _, address in getaddresses(list(written)))
    return list(dict.fromkeys(address for address in found if "@" in address))


def inbox(records: Records, address: str) -> list[Record]:
    """What has arrived for an address, the oldest first."""
    box = (addresses([address]) or [address.strip().lower()])[0]
    return [message for message in records["messages"].values() if message["box"] == box]


# --- tools -------------------------------------------------------------------------------------------------

_Box = Annotated[str, msgspec.Meta(description="The address whose inbox it is.")]
_Many = str | list[str]


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: _Box
    query: Annotated[str, msgspec.Meta(description="Only messages that contain this, in any field.")] = ""
    after: Annotated[int, msgspec.Meta(description="Leave out so many of the newest.", ge=0)] = 0


def _list(args: _List, records: Records, _: Instant) -> Outcome:
    wanted = args.query.casefold()
    texts = ("from", "to", "cc", "subject", "body")
    mine = [
        message
        for message in reversed(inbox(records, args.address))
        if any(wanted in message[name].casefold() for name in texts)
    ]
    shown = mine[args.after : args.after + _SHOWN]
    listed: list[Json] = [
        {**{name: message[name] for name in ("id", "from", "subject", "date")}, "preview": message["body"][:_PREVIEW]}
        for message in shown
    ]
    return Outcome({"messages": listed, "found": len(mine)})


class _Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: _Box
    id: str


def _read(args: _Read, records: Records, _: Instant) -> Outcome:
    for message in inbox(records, args.address):
        if message["id"] == args.id:
            return Outcome({name: value for name, value in message.items() if name != "box"})
    raise Refused(f"There is no message {args.id[:40]!r} in the inbox of {args.address[:100]}.", "not_found")


class _Send(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sender: Annotated[str, msgspec.Meta(description="The address it is from.")]
    to: _Many
    subject: str
    body: str
    cc: _Many = ""
    bcc: _Many = ""


def _send(args: _Send, records: Records, now: Instant) -> Outcome:
    to, cc, bcc = ([given] if isinstance(given, str) else given for given in (args.to, args.cc, args.bcc))
    changes = deliver(
        records,
        now,
        sender=args.sender,
        to=[each for each in to if each],
        cc=[each for each in cc if each],
        bcc=[each for each in bcc if each],
        subject=args.subject,
        body=args.body,
    )
    return Outcome({"sent_to": addresses([*to, *cc, *bcc])}, changes=tuple(changes))


MAIL = VerbService(
    name=NAME,
    verbs=(
        verb("mail_list", "The messages in an inbox, the newest first, 50 at a time.", _List, _list, reads=True),
        verb("mail_read", "One message, whole.", _Read, _read, reads=True),
        verb("mail_send", "Send a message to one or more addresses.", _Send, _send),
    ),
)
