"""The same program gives the same bytes."""

from collections.abc import Sequence

import msgspec
import pytest

from coworkenv.engine.playing import play_program
from coworkenv.events.event import EpisodeEnded, Event
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.synth.playing import Case, Program
from coworkenv.worlds.synth.validators.determinism import find, probe
from coworkenv.worlds.world import World

from .planting import EXAMPLES, case, data_of


@pytest.mark.parametrize("name", EXAMPLES)
async def test_playing_twice_gives_the_same_bytes(name: str) -> None:
    assert await find(await case(name)) == []


async def test_the_first_event_that_differs_is_told() -> None:
    plays = 0

    async def play(world: World, program: Program) -> Sequence[Event]:
        nonlocal plays
        plays += 1
        events = list(await play_program(world, program))
        events[-1] = msgspec.structs.replace(events[-1], body=EpisodeEnded(reason="finished", detail=f"play {plays}"))
        return events

    environment = msgspec.convert(data_of("tickets"), Environment)
    planted = Case(environment, play)
    found = await find(planted)
    assert [finding.twin for finding in found] == ["", *environment.twins]
    run = await planted.run(planted.oracle())
    assert found[0].details["event"] == run.events[-1].seq
    assert found[0].details["first"] != found[0].details["second"]


async def test_a_stream_that_another_case_lent_is_judged_by_what_happened_in_it() -> None:
    before = await case("refund")
    await before.run(before.oracle())
    retitled = msgspec.structs.replace(before.environment, title="The same in other words")
    assert await find(Case(retitled, play_program, before=before)) == []


async def test_a_stream_that_ends_early_differs_where_it_ends() -> None:
    lengths = iter((None, -1))

    async def play(world: World, program: Program) -> Sequence[Event]:
        return (await play_program(world, program))[: next(lengths)]

    environment = msgspec.convert({**data_of("tickets"), "twins": {}}, Environment)
    [finding] = await find(Case(environment, play))
    assert finding.details["second"] == ""


async def test_the_probe_is_the_same_again_and_another_for_another_environment() -> None:
    environment, other = (msgspec.convert(data_of(name), Environment) for name in ("refund", "tickets"))
    assert await probe(environment, play_program) == await probe(environment, play_program)
    assert await probe(environment, play_program) != await probe(other, play_program)
