"""F1: the moment of a call, some working days before a date, by the clock of another place."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from coworkenv.events.event import ToolCalled
from coworkenv.worlds.synth.playing import Case

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("F1"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(12))
async def test_the_moment_is_what_the_time_zone_database_says(seed: int) -> None:
    case = await tried("F1", seed=seed)
    for variant in case.worlds:
        assert await _written(case, variant) == [_expected(facts(case, variant)).isoformat(timespec="minutes")]


async def _written(case: Case, variant: str) -> list[str]:
    events = (await case.run(case.oracle(variant), variant)).events
    calls = [event.body.args for event in events if isinstance(event.body, ToolCalled)]
    return [str(value) for args in calls for name, value in args.items() if str(value)[10:11] == "T" and name != "id"]


def _expected(known: dict[str, Any]) -> datetime:
    f1, thing = known["f1"], known["t1"]
    day, left = date.fromisoformat(thing["due"]), f1["days"]
    while left:
        day -= timedelta(days=1)
        left -= day.weekday() < 5
    zones = {person["name"]: person["zone"] for person in f1.values() if isinstance(person, dict)}
    there = datetime.fromisoformat(f"{day}T{f1['time']}").replace(tzinfo=ZoneInfo(zones[thing["owner"]]))
    return there.astimezone(ZoneInfo(f1["home"])).replace(tzinfo=None)


@pytest.mark.parametrize("trap", ["f1-copies-the-local-time", "f1-converts-the-wrong-way", "f1-counts-weekends"])
async def test_each_way_to_be_off_is_seen(trap: str) -> None:
    for family in ("refunds", "leave"):
        case = await tried("F1", family=family, language="de")
        assert any(name.startswith("f1-") for name in await failed(case, trap))
