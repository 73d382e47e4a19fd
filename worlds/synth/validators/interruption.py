"""21, interruption lands: a change of mind that comes before the work, or after it.

Looked at are entries of the timeline that somebody sends when something has happened, and that the oracle uses: it
reads a slot of theirs, or waits for the person. In some variant such an entry must fire after the agent's first action,
and be read before its last. One that never fires is the matter of `timing`. Details: `event`, `time` (when it fired)
and `window` (first and last action), durations in the variant that was tried last. Proposes `re_anchor` to the first
write, and `shift_event`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ....events.event import AGENT, Event, MessageReceived, MessageSent, TimelineFired, ToolCalled
from ...durations import duration
from ...environment import Step
from ...expressions import references
from ...world import Happening
from ..findings import Edit, Finding
from ..playing import Case, Run
from .dataflow import nodes
from .places import told, written_at
from .programs import first_write

NUMBER = 21


class _Window(msgspec.Struct, frozen=True):
    """When an entry fired, and what the agent did around it."""

    fired: Event
    first: Event
    last: Event
    lands: bool


async def find(case: Case) -> list[Finding]:
    names = dict.fromkeys(
        happening.name
        for world in case.worlds.values()
        for happening in world.timeline
        if _interrupts(happening, world.oracle)
    )
    return [finding for name in names if (finding := await _finding(case, name)) is not None]


def _interrupts(happening: Happening, oracle: Sequence[Step]) -> bool:
    if happening.sender is None or happening.when is None:
        return False
    waits = any(step.wait == happening.sender for step in oracle)
    return waits or any(
        reference.name.startswith("@") and reference.path and reference.path[0] in happening.gives
        for step in oracle
        for _, node in nodes(step)
        for reference in references(node)
    )


async def _finding(case: Case, name: str) -> Finding | None:
    """What is wrong with an entry that fires somewhere and lands nowhere."""
    missed: tuple[Run, _Window] | None = None
    for variant in case.worlds:
        run = await case.run(case.oracle(variant), variant)
        window = _window(run.events, name)
        if window is not None and window.lands:
            return None
        missed = missed if window is None else (run, window)
    return None if missed is None else _missed(case, name, *missed)


def _window(events: Sequence[Event], name: str) -> _Window | None:
    fired = next((e for e in events if isinstance(e.body, TimelineFired) and e.body.name == name), None)
    actions = [e for e in events if e.actor == AGENT and isinstance(e.body, ToolCalled | MessageSent)]
    if fired is None or not actions:
        return None
    first, last = actions[0], actions[-1]
    read = _read(events, fired)
    return _Window(fired, first, last, first.seq < fired.seq and read is not None and read.seq < last.seq)


def _read(events: Sequence[Event], fired: Event) -> Event | None:
    """When the agent read the message that an entry sent."""
    sent = {e.seq for e in events if isinstance(e.body, MessageSent) and e.cause == fired.seq}
    received = (e for e in events if isinstance(e.body, MessageReceived) and e.body.message in sent)
    return next((event for event in received if event.actor == AGENT), None)


def _missed(case: Case, name: str, run: Run, window: _Window) -> Finding:
    timeline = case.worlds[run.variant].timeline
    place = next(place for place, happening in enumerate(timeline) if happening.name == name)
    at = written_at(case, run.variant, "timeline", place)
    early = window.fired.seq < window.first.seq
    return Finding(
        validator=NUMBER,
        at=at,
        twin=run.variant,
        observed=f"The timeline's {name} comes {'before' if early else 'after'} the oracle's work {told(run.variant)}.",
        expected="A change of mind comes while the agent is at work.",
        evidence=(window.fired.seq,),
        details={
            "event": name,
            "time": duration(window.fired.at),
            "window": [duration(window.first.at), duration(window.last.at)],
        },
        candidates=tuple(_candidates(case, at, timeline[place], run)),
    )


def _candidates(case: Case, at: str, happening: Happening, run: Run) -> Iterator[Edit]:
    write = first_write(case, run)
    if write is not None:
        yield Edit("re_anchor", f"{at}/when", {"called": write})
    if happening.after > 60_000_000:
        yield Edit("shift_event", f"{at}/after", "1m")
