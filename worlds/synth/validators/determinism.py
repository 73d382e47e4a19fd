"""22, determinism: an outcome that depends on hash order, on a clock, or on how a number is kept.

The oracle is played a second time in every variant: both streams must be the same bytes, and the records that they lead
to the same before encoding and after reading back. `probe` is for other processes, with other hash seeds. Details:
`event` (number of the first that differs), `first`, `second` (what it was). Proposes nothing: it is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from ....events.codec import Blob, decode_many, encode_into
from ....events.event import Event, RecordChanged, RecordCreated, RecordDeleted
from ...compiling import variants
from ...environment import Environment
from ...records import State
from ..findings import Finding
from ..playing import Case, Play, Program
from .places import told

NUMBER = 22


async def find(case: Case) -> list[Finding]:
    found: list[Finding] = []
    for variant, world in case.worlds.items():
        program = case.oracle(variant)
        run = await case.run(program, variant)
        blobs: list[Blob] = []
        first = [encode_into(event, blobs) for event in _after_start(run.events)]
        second = [encode_into(event, []) for event in _after_start(await case.play(world, program))]
        if first != second:
            found.append(_differing(variant, first, second))
            continue
        contents = {blob.digest: blob.content for blob in blobs}
        read_back = decode_many(first, contents.__getitem__)
        if folded(world.state, run.events).plain() != folded(world.state, read_back).plain():
            found.append(_unlike(variant))
    return found


def _after_start(events: Sequence[Event]) -> Sequence[Event]:
    """All but the first event: a case may lend its streams to one whose document, which that event holds, is another.

    `probe` does not leave it out.
    """
    return events[1:]


def folded(state: State, events: Iterable[Event]) -> State:
    """The records after a stream."""
    return state.apply(*(e.body for e in events if isinstance(e.body, RecordCreated | RecordChanged | RecordDeleted)))


async def probe(environment: Environment, play: Play) -> str:
    """SHA-256, hexadecimal, of the oracle's streams in all variants: the same in every process and on every machine."""
    digest = sha256()
    for variant, world in variants(environment).items():
        digest.update(f"{variant}\n".encode())
        for event in await play(world, Program("oracle", world.oracle)):
            digest.update(encode_into(event, []) + b"\n")
    return digest.hexdigest()


def _differing(variant: str, first: Sequence[bytes], second: Sequence[bytes]) -> Finding:
    shared = min(len(first), len(second))
    place = next((place for place in range(shared) if first[place] != second[place]), shared)
    one, other = (data[place].decode()[:200] if place < len(data) else "" for data in (first, second))
    at = place + 1
    return Finding(
        validator=NUMBER,
        at="",
        twin=variant,
        observed=f"The oracle's second stream differs from the first {told(variant)}, from event {at} on.",
        expected="The same program gives the same bytes.",
        evidence=(at,),
        details={"event": at, "first": one, "second": other},
    )


def _unlike(variant: str) -> Finding:
    return Finding(
        validator=NUMBER,
        at="/services",
        twin=variant,
        observed=f"The oracle's records, read back, are others than those it made {told(variant)}.",
        expected="Replaying a stream gives the records that it had.",
    )
