"""Tasks of a checkout, made ready to be played: rehearsed once, with an agent that does nothing.

Knows workers. Does not know how a task is played.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from ...events.event import Json
from ...worlds.clawmark.task import Checker, Task
from ..foreign import ForeignFailed
from .host import Setup, worker
from .sidecar import sidecar_of


class Noted(msgspec.Struct, frozen=True):
    """What stages and checkers asked for in vain in a rehearsal."""

    missing: tuple[str, ...] = ()
    """Files of the task's folder."""
    refused: tuple[str, ...] = ()
    """Commands of a shell."""


async def load_task(setup: Setup, name: str) -> Task:
    """One task, rehearsed. Raises CheckoutError, and ForeignFailed where a stage does."""
    return (await rehearse(setup, name))[0]


async def rehearse(setup: Setup, name: str) -> tuple[Task, Noted]:
    """One task; its stages and checkers are run with nobody acting, which tells when stages begin, and what doing
    nothing is worth. Raises CheckoutError, and ForeignFailed where a stage does."""
    folder = str(setup.checkout.folder(name))
    sidecar = sidecar_of(name)
    async with worker(setup, name) as asked:
        opened = await asked.ask("open", folder=folder)
        times: list[datetime] = []
        briefing = ""
        idle: dict[tuple[str, str], Json] = {}
        for number in range(opened["stages"]):
            told = (await asked.ask("stage", number=number, at=0))["result"]["time"]
            times.append(_time(told, times))
            briefing = briefing or await asked.ask("notes")
            idle |= {
                (f"stage{number}", each["id"]): each for each in await asked.ask("check", part=f"stage{number}", at=0)
            }
        idle |= {("final", each["id"]): each for each in await asked.ask("check", part="final", at=0)}
        noted = Noted(tuple(await asked.ask("missing")), tuple(await asked.ask("refused")))
    checkers = [
        msgspec.convert({**each, "idle": found["passed"], "raised": bool(found["raised"])}, Checker)
        for each in opened["checkers"]
        for found in [idle[each["part"], each["id"]]]
    ]
    task = Task(
        id=name,
        digest=setup.checkout.digest(name),
        start=times[0],
        times=tuple(times),
        prompt=opened["prompt"],
        briefing=briefing,
        checkers=tuple(checkers),
        sidecar=sidecar.digest if sidecar else "",
    )
    return task, noted


def _time(told: str | None, before: list[datetime]) -> datetime:
    """When a stage begins; a day after the last one where it does not say so."""
    try:
        found = datetime.fromisoformat(told or "")
        if found.tzinfo is not None and (not before or found > before[-1]):
            return found
    except ValueError:
        pass
    if not before:
        raise ForeignFailed("nonsense", f"The first stage does not say when it is, with an offset: {told!r:.60}.")
    return before[-1] + timedelta(days=1)
