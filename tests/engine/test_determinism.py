"""An episode is a function of its plan and of what the outside world answers: nothing else shows in its digest.

`python -m tests.engine.determinism` shows the same with 200 pairs and 100 random combinations of all conditions.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.codec import decode, encode
from coworkenv.events.event import Event, MessageSent, RecordCreated, ToolReturned
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.service import Outcome
from coworkenv.worlds.services import declared
from coworkenv.worlds.world import World

from .determinism.comparing import BASE, HARD, Run, compare
from .determinism.settings import OWN, environments, settings, world

# --- the same under other conditions --------------------------------------------------------------------------

OTHER: dict[str, dict[str, Any]] = {
    "HTTP, SQLite, 8 at once": {"wire": "http", "log": "sqlite", "concurrency": 8, "hash_seed": 1},
    "each commit on disk": {"latency": "none", "log": "sqlite", "durability": "each", "hash_seed": 2},
    "uneven latencies": {"latency": "uneven", "concurrency": 8, "hash_seed": 2},
}


@pytest.mark.slow
def test_episodes_are_the_same_whatever_the_latencies_hash_seed_concurrency_and_log():
    names = environments()
    rounds = settings(8 * len(names))  # Eight of each environment, which are all the ways to play it.
    chosen = [rounds[place + place % 8 * len(names)] for place in range(len(names))]
    places = tuple(range(len(chosen)))
    runs = [Run(name, places, msgspec.structs.replace(BASE, **changed)) for name, changed in OTHER.items()]
    report = compare(chosen, runs, jobs=2)
    assert [outcome.differences for outcome in report.outcomes] == [()] * (1 + len(OTHER))
    assert report.digests == report.identical == report.pairs == len(chosen)
    assert report.environments >= 12
    assert 2 * report.modelled >= report.pairs
    assert all(report.counts[name] >= 10 for name in HARD), report.counts
    assert len(report.reasons) >= 2, "not all of them end in the same way"


# --- names do not matter --------------------------------------------------------------------------------------


def renamed(text: str, names: dict[str, str]) -> str:
    """`text` with every name in it replaced, as a whole word."""
    return re.sub("|".join(rf"\b{re.escape(name)}\b" for name in names), lambda found: names[found[0]], text)


def busybody(environment: World) -> dict[str, Any]:
    """An agent that looks around, and talks with everybody in ways that most of them have something to say to."""
    tools = [tool.name for service in environment.services for tool in service.tools if tool.reads]
    steps: list[dict[str, Any]] = [{"call": tool} for tool in tools[:4]]
    for person in environment.people:
        steps += [
            {"ask": person, "text": "Which order, and which box?", "limit": "40s"},
            {"say": person, "text": "Are you sure about the list, and the Sitzung? I approve."},
            {"wait": person, "limit": "45s"},
        ]
    return {"kind": "script", "steps": steps}


async def played(environment: World, agent: str | dict[str, Any]) -> list[Event]:
    log = MemoryLog()
    async with log.writing():
        plan = Plan(environment, build_agent(agent), build_coworkers(environment), seed=3)
        return list((await run_episode(plan, log)).events)


def bytes_of(events: list[Event]) -> list[str]:
    """Each event as it is hashed. Of a large value the digest is left out, and the value is put behind the event."""
    texts = []
    for event in events:
        encoded = encode(event)
        text = encoded.data.decode()
        for blob in encoded.blobs:
            text = (
                re.sub(r'"\$blob":"[0-9a-f]+","bytes":[0-9]+,"head":"(\\.|[^"\\])*"', "", text) + blob.content.decode()
            )
        texts.append(text)
    return texts


@pytest.mark.parametrize("path", sorted(OWN.glob("*.yaml")), ids=lambda path: path.stem)
async def test_with_other_names_for_the_people_the_log_is_the_same_but_for_the_names(path: Path):
    """The new names are in the opposite alphabetical order; the order of declaration stays."""
    people = list(world(path.stem).people)
    there = {name: f"q{len(people) - place}x" for place, name in enumerate(people)}
    back = {new: old for old, new in there.items()}
    text = path.read_text("utf-8")
    assert not any(re.search(rf"\b{new}\b", text) for new in back)
    other = compile_environment(read_environment(renamed(text, there)))
    before = await played(world(path.stem), busybody(world(path.stem)))
    after = await played(other, busybody(other))
    assert [renamed(each, back) for each in bytes_of(after)] == bytes_of(before)
    assert bytes_of(after) != bytes_of(before)
    spoke = {event.actor for event in before if isinstance(event.body, MessageSent)}
    assert "agent" in spoke
    assert len(spoke) >= 2, "somebody answered"


# --- a difference is found ------------------------------------------------------------------------------------


async def recorded(name: str) -> tuple[MemoryLog, str]:
    log = MemoryLog()
    async with log.writing():
        environment = world(name)
        plan = Plan(environment, build_agent("oracle"), build_coworkers(environment))
        episode = await run_episode(plan, log)
    assert (await verify(log, episode.id)).verdict == "identical"
    return log, episode.id


async def test_verify_shows_the_first_event_that_a_changed_service_makes_different(monkeypatch: pytest.MonkeyPatch):
    log, name = await recorded("refund")
    call = declared.DeclaredService.call

    def changed(self: Any, *args: Any) -> Outcome:
        outcome = call(self, *args)
        changes = tuple(
            msgspec.structs.replace(change, value={**change.value, "checked": True})
            if isinstance(change, RecordCreated)
            else change
            for change in outcome.changes
        )
        return msgspec.structs.replace(outcome, changes=changes)

    monkeypatch.setattr(declared.DeclaredService, "call", changed)
    verified = await verify(log, name)
    assert verified.verdict == "different"
    assert not verified.good
    events = list(log.read(name))
    assert verified.seq == next(event.seq for event in events if isinstance(event.body, RecordCreated))
    assert verified.stored is not None
    assert verified.executed is not None
    stored, executed = (decode(text.encode(), log.blob) for text in (verified.stored, verified.executed))
    assert stored == events[verified.seq]
    assert executed.body.value == {**stored.body.value, "checked": True}


async def test_verify_shows_where_an_answer_of_a_changed_service_differs(monkeypatch: pytest.MonkeyPatch):
    log, name = await recorded("helpdesk")
    call = declared.DeclaredService.call

    def changed(self: Any, *args: Any) -> Outcome:
        outcome = call(self, *args)
        return msgspec.structs.replace(outcome, result=None)

    monkeypatch.setattr(declared.DeclaredService, "call", changed)
    verified = await verify(log, name)
    assert verified.verdict == "different"
    assert verified.seq == next(event.seq for event in log.read(name) if isinstance(event.body, ToolReturned))
    assert verified.stored != verified.executed
