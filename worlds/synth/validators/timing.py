"""20, timing: a deadline that is too near, a solution that only works at one speed, and events that never happen.

The oracle must be done after at most 0.7 of the time until the deadline; with all calls and messages twice as slow it
must still score 1; and each entry of the timeline must fire in some run of the oracle or of a trap. Where checks that
compare times are all that a slower oracle fails, that is a warning. Details: `event` (of the timeline), `done` and
`deadline` (durations), `failing` (checks). Proposes `shift_event` of the deadline, of the oracle's limits or of an
entry, `re_anchor` of one that waits for something that never happens, and `drop`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from ....events.event import AGENT, Event, TimelineFired
from ...checks.scoring import decimal_text
from ...durations import DurationError, duration, microseconds
from ...environment import Check
from ...world import Happening, World
from ..findings import Edit, Finding, pointer
from ..playing import Case, Run
from .places import told, written_at
from .programs import first_write, traps

NUMBER = 20
SHARE = Fraction(7, 10)
"""Of the time until the deadline, what the oracle may take."""
_SECOND = 1_000_000


async def find(case: Case) -> list[Finding]:
    oracles = [await case.run(case.oracle(variant), variant) for variant in case.worlds]
    late = max(oracles, key=lambda run: Fraction(when_done(run.events), case.worlds[run.variant].deadline))
    found = [*_deadline(case, late)]
    for run in oracles:
        slow = await _slower(case, run)
        if slow is not None:
            found.append(slow)
            break
    return [*found, *await _unfired(case, oracles)]


# --- the deadline ------------------------------------------------------------------------------------------


def when_done(events: Sequence[Event]) -> int:
    """When the agent did its last thing."""
    return max((event.at for event in events if event.actor == AGENT), default=0)


def _deadline(case: Case, run: Run) -> Iterator[Finding]:
    done, deadline = when_done(run.events), case.worlds[run.variant].deadline
    if done > SHARE * deadline:
        yield Finding(
            validator=NUMBER,
            at=pointer("clock", "deadline"),
            twin=run.variant,
            observed=f"The oracle is done after {duration(done)} of {duration(deadline)} {told(run.variant)}.",
            expected="The oracle needs at most 0.7 of the time.",
            details={"done": duration(done), "deadline": duration(deadline)},
            candidates=(later_deadline(done),),
        )


def later_deadline(done: int) -> Edit:
    """The deadline, in whole seconds, that leaves time enough for what is done after so many microseconds."""
    enough = -(-done * SHARE.denominator // (SHARE.numerator * _SECOND)) * _SECOND
    return Edit("shift_event", pointer("clock", "deadline"), duration(enough))


# --- at half the speed -------------------------------------------------------------------------------------


def slowed(world: World) -> World:
    """The world with every call and every message twice as slow."""
    return msgspec.structs.replace(
        world,
        call=2 * world.call,
        message=2 * world.message,
        latencies=_doubled(world.latencies),
        messages=_doubled(world.messages),
    )


def _doubled(latencies: Mapping[str, int]) -> dict[str, int]:
    return {name: 2 * latency for name, latency in latencies.items()}


async def _slower(case: Case, run: Run) -> Finding | None:
    """What is wrong with the oracle at half the speed, where it is right at full speed."""
    if run.score != 1:
        return None
    events = await case.play(slowed(case.worlds[run.variant]), run.program)
    grader = run.rubric.grader()
    for event in events:
        grader.apply(event)
    if grader.score() == 1:
        return None
    failing = [v.name for v in grader.grade().verdicts if v.applicable and not v.passed]
    checks = case.worlds[run.variant].checks
    timed = bool(failing) and all(name in checks and _compares_times(checks[name]) for name in failing)
    return Finding(
        validator=NUMBER,
        severity="warning" if timed else "error",
        at=written_at(case, run.variant, "oracle"),
        twin=run.variant,
        observed=f"With calls and messages twice as slow the oracle scores {decimal_text(grader.score())} "
        f"{told(run.variant)} (not passed: {', '.join(failing)}).",
        expected="A slower world has the same solution.",
        details={"event": "", "failing": failing},
        candidates=tuple(_limits(case, run.variant)),
    )


def _compares_times(check: Check) -> bool:
    claim = check.claim or check.never
    return claim is not None and (claim.before is not None or claim.after is not None)


def _limits(case: Case, variant: str) -> Iterator[Edit]:
    """The waits of the oracle, twice as patient."""
    for place, step in enumerate(case.worlds[variant].oracle):
        try:
            longer = duration(2 * microseconds(step.limit or ""))
        except DurationError:  # it has none, or one that was read somewhere
            continue
        yield Edit("shift_event", written_at(case, variant, "oracle", place, "limit"), longer, cost=2)


# --- what never happens ------------------------------------------------------------------------------------


async def _unfired(case: Case, oracles: list[Run]) -> list[Finding]:
    waiting = {
        happening.name: (variant, place, happening)
        for variant, world in reversed(list(case.worlds.items()))
        for place, happening in enumerate(world.timeline)
    }
    for run in oracles:
        _strike(waiting, run.events)
    for variant in case.worlds:
        for program in traps(case, variant) if waiting else ():
            _strike(waiting, (await case.run(program, variant)).events)
    return [_never(case, *entry, oracles[0]) for entry in waiting.values()]


def _strike(waiting: dict[str, tuple[str, int, Happening]], events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event.body, TimelineFired):
            waiting.pop(event.body.name, None)


def _never(case: Case, variant: str, place: int, happening: Happening, oracle: Run) -> Finding:
    at = written_at(case, variant, "timeline", place)
    return Finding(
        validator=NUMBER,
        at=at,
        twin=variant,
        observed=f"The timeline's {happening.name} does not happen in any run of the oracle or of a trap.",
        expected="What the timeline holds happens to somebody.",
        details={"event": happening.name},
        candidates=(*_sooner(case, at, happening, oracle), Edit("drop", at, cost=5)),
    )


def _sooner(case: Case, at: str, happening: Happening, oracle: Run) -> Iterator[Edit]:
    soon = duration(max(when_done(oracle.events) // (2 * _SECOND), 1) * _SECOND)
    if happening.when is None:
        yield Edit("shift_event", f"{at}/{'after' if happening.at is None else 'at'}", soon)
        return
    if happening.after > 0:
        yield Edit("shift_event", f"{at}/after", "1m")
    write = first_write(case, oracle)
    if write is not None:
        yield Edit("re_anchor", f"{at}/when", {"called": write}, cost=2)
