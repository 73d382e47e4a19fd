"""What this machine can do with events and no engine around them: the figures that others are divided by.

Absolute times on a shared machine do not repeat; a ratio to these, measured in the same run, does. The events here are
plain structs of about 250 bytes, and nothing of the engine is used.
"""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

TABLE = "create table event(stream integer, seq integer, at integer, body text, primary key(stream, seq)) without rowid"


class Called(msgspec.Struct, tag="tool.called", frozen=True):
    tool: str
    args: dict[str, object]


class Returned(msgspec.Struct, tag="tool.returned", frozen=True):
    call: int
    result: dict[str, object]


class Sent(msgspec.Struct, tag="message.sent", frozen=True):
    to: str
    text: str


class Fact(msgspec.Struct, frozen=True):
    seq: int
    at: int
    actor: str
    body: Called | Returned | Sent


def sample(count: int) -> list[Fact]:
    """Facts of about 250 bytes each."""
    words = "the parcel for order 5512 was sent back and the customer asks for the money "
    bodies: tuple[Called | Returned | Sent, ...] = (
        Called("crm.customers.find", {"name": "Okafor", "city": "Lyon", "note": words * 2}),
        Returned(7, {"id": "C-31", "name": "Amara Okafor", "city": "Lyon", "total": 412.5, "note": words * 2}),
        Sent("lena", words * 2),
    )
    return [Fact(i, i * 20_000_000, "agent", bodies[i % 3]) for i in range(count)]


def rate(work: Callable[[], int], repeat: int) -> float:
    """The best of several runs, in items a second; `work` returns how many items it did."""
    best = 0.0
    for _ in range(repeat):
        start = time.perf_counter()
        count = work()
        best = max(best, count / (time.perf_counter() - start))
    return best


def limits(count: int = 30_000, repeat: int = 3) -> dict[str, float]:
    """Events a second: encoding, hashing, inserting 1,000 a transaction, reading and decoding; and bytes an event."""
    facts = sample(count)
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Fact)
    lines = [encoder.encode(fact) for fact in facts]
    texts = [line.decode() for line in lines]

    def chain() -> int:
        digest = b""
        for line in lines:
            digest = hashlib.sha256(digest + line).digest()
        return count

    def insert() -> int:
        with tempfile.TemporaryDirectory() as folder, closing(_database(folder)) as db:
            for low in range(0, count, 1000):
                db.execute("begin immediate")
                rows = ((1, low + i, 0, text) for i, text in enumerate(texts[low : low + 1000]))
                db.executemany("insert into event values (?,?,?,?)", rows)
                db.execute("commit")
        return count

    with tempfile.TemporaryDirectory() as folder, closing(_database(folder)) as db:
        db.execute("begin")
        db.executemany("insert into event values (1,?,0,?)", enumerate(texts))
        db.execute("commit")

        def read() -> int:
            rows = db.execute("select body from event where stream = 1 order by seq")
            return sum(1 for (text,) in rows if decoder.decode(text))

        return {
            "bytes": sum(map(len, lines)) / count,
            "encode": rate(lambda: sum(1 for fact in facts if encoder.encode(fact)), repeat),
            "decode": rate(lambda: sum(1 for line in lines if decoder.decode(line)), repeat),
            "hash": rate(chain, repeat),
            "insert": rate(insert, repeat),
            "read": rate(read, repeat),
        }


def _database(folder: str) -> sqlite3.Connection:
    db = sqlite3.connect(Path(folder) / "limit.db", isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=normal")
    db.execute(TABLE)
    return db
