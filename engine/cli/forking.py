"""`fork`: the same past, another future.

Knows how a change is written on the command line. Does not know how a fork is made.
"""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from ...agents.building import build_agent, build_coworkers
from ...agents.naming import UnknownName, nearest
from ...events.coherence import events_of
from ...events.event import AGENT, EpisodeForked, Event, Json
from ...worlds.world import World
from ..episode import Episode
from ..fork import fork_episode
from ..grading import Graded, grade_episode
from ..importing import graded_or_not
from ..plan import document_of, world_from
from ..printable import printable
from ..replay import state_after
from .failures import Told
from .graders import grader_options, graders_of, with_graders
from .interrupts import run_until_interrupted
from .options import SEED, SEQ, json_option, log_option, opened, pairs, value_of
from .results import SHORT, grade_text
from .screen import print_json, say, screen


@click.command(short_help="Go on differently from any event.")
@click.argument("name", metavar="ID")
@click.option("--at", type=SEQ, required=True, help="The last event that stays (and the rest of its step).")
@click.option("--seed", type=SEED, help="Another seed from here on.")
@click.option("--agent", "-a", metavar="SPEC", help="Another agent takes over.")
@click.option("--coworker", "coworkers", multiple=True, metavar="NAME=SPEC", help="Somebody is played otherwise.")
@click.option("--message", "messages", multiple=True, metavar="FROM:TO:TEXT", help="A message is sent now.")
@click.option(
    "--set", "settings", multiple=True, metavar="WHERE=VALUE", help="A record's field, as service.collection:key.field"
)
@grader_options
@log_option
@json_option
def fork(
    name: str,
    at: int,
    seed: int | None,
    agent: str | None,
    coworkers: tuple[str, ...],
    messages: tuple[str, ...],
    settings: tuple[str, ...],
    graders: tuple[str, ...],
    judge: str | None,
    unsafe: bool,
    log_path: str,
    as_json: bool,
) -> int:
    """Fork an episode after event N, change something there, and play on. What was on its way stays on its way.

    \b
    coworkenv fork 3f2a --at 57 --agent openai:gpt-5
    coworkenv fork 3f2a --at 57 --message "tomas:agent:Stop!"
    coworkenv fork 3f2a --at 57 --set crm.customers:C-31.city=Lyon
    """
    grading = graders_of(graders, judge, {}, unsafe)
    with opened(log_path) as log:
        row = log.row(name)
        events = events_of(log, row.id)
        if at >= len(events):
            raise Told(f"episode {row.id} has events 0 to {len(events) - 1}; there is no event {at}")
        world = world_from(document_of(events))
        changes = _changes(world, events[: at + 1], seed, agent, coworkers, messages, settings)

        async def work() -> tuple[Episode, Graded | None, str]:
            async with log.writing():
                episode = await fork_episode(log, row.id, at, changes)
                if episode.status != "ended":
                    return episode, None, ""
                if grading is None:
                    return episode, await grade_episode(log, episode.id), ""
                return episode, *await graded_or_not(log, episode.id, grading)

        episode, graded, why = run_until_interrupted(work)
    last = max(event.body.seq for event in episode.events if isinstance(event.body, EpisodeForked))
    if as_json:
        result = {"id": episode.id, "parent": row.id, "at": last, "status": episode.status, "reason": episode.reason}
        says = {"says": why} if why else {}
        print_json({**result, "events": len(episode.events), "grade": msgspec.to_builtins(graded), **says})
        return int(episode.status != "ended" or bool(why))
    out = screen()
    verdict = grade_text(graded.score, graded.passed) if graded else episode.status
    say(
        out,
        (episode.id[:SHORT], "bold"),
        f"  forked from {row.id[:SHORT]} at {last}, {len(episode.events)} events  ",
        verdict,
    )
    if episode.status == "suspended":
        again = f"coworkenv resume {episode.id[:SHORT]}{with_graders(graders)}"
        say(out, printable(episode.reason), "\nGo on with it: ", (again, "cyan"))
    if why:
        say(out, ("not graded: ", "bold yellow"), printable(why))
    say(out, "What came of it: ", (f"coworkenv diff {row.id[:SHORT]} {episode.id[:SHORT]}", "cyan"))
    return int(episode.status != "ended" or bool(why))


def _changes(
    world: World,
    events: Sequence[Event],
    seed: int | None,
    agent: str | None,
    coworkers: Sequence[str],
    messages: Sequence[str],
    settings: Sequence[str],
) -> dict[str, Json]:
    """What `episode.forked` will say. Raises Told for what does not fit the world."""
    changes: dict[str, Json] = {}
    if seed is not None:
        changes["seed"] = seed
    if agent is not None:
        changes["agent"] = build_agent(agent).specification
    if coworkers:
        wanted = pairs(coworkers, "a coworker")
        changes["coworkers"] = {who: actor.specification for who, actor in build_coworkers(world, wanted).items()}
    if messages:
        changes["messages"] = [_message(world, text) for text in messages]
    if settings:
        state = state_after(world, events).plain()
        changes["records"] = [_setting(state, name, value) for name, value in pairs(settings, "a field").items()]
    return changes


def _message(world: World, written: str) -> dict[str, Json]:
    sender, _, rest = written.partition(":")
    to, colon, text = rest.partition(":")
    if not colon or not text:
        raise Told(f"a message is written FROM:TO:TEXT, not {written!r}")
    known = [AGENT, *world.people, *world.personas]
    for person in (sender, to):
        if person not in known:
            raise UnknownName("person", person, known)
    return {"from": sender, "to": to, "text": text}


def _setting(state: dict[str, Json], name: str, value: str) -> dict[str, Json]:
    """A changed record. Keys may hold points and colons, fields and collections hold none."""
    where, colon, rest = name.partition(":")
    service, _, collection = where.partition(".")
    key, point, field = rest.rpartition(".")
    if not (colon and collection and point and field):
        raise Told(f"a field is written service.collection:key.field=VALUE, not {name!r}")
    records = state.get(service, {}).get(collection)
    if records is None:
        known = [f"{s}.{c}" for s, collections in state.items() for c in collections]
        raise Told(
            f"there is no collection {where!r}{nearest(where, known)} at this event; there is {', '.join(known)}"
        )
    if key not in records:
        raise Told(
            f"{where} has no record {key!r}{nearest(key, records)} at this event; `coworkenv show --state` lists them"
        )
    return {
        "type": "record.changed",
        "service": service,
        "collection": collection,
        "key": key,
        "set": {field: value_of(value)},
    }
