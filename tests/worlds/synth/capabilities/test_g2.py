"""G2: those are told who are responsible, and their colleague is not."""

import pytest

from coworkenv.events.event import AGENT, MessageSent
from coworkenv.worlds.synth.playing import Case

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("G2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def _told(case: Case, variant: str) -> set[str]:
    run = await case.run(case.oracle(variant), variant)
    desks = {facts(case)["g2"][letter]["key"] for letter in "ab"}
    sent = (event.body for event in run.events if event.actor == AGENT)
    return {body.to for body in sent if isinstance(body, MessageSent)} & desks


@pytest.mark.parametrize("seed", range(3))
async def test_the_other_one_is_responsible_in_a_twin(seed: int) -> None:
    case = await tried("G2", seed=seed)
    usual, other = await _told(case, ""), await _told(case, "g2-other")
    assert len(usual) == len(other) == 1
    assert usual != other


async def test_telling_everybody_is_no_way_out() -> None:
    case = await tried("G2", "C2")
    assert max((await scores(case, "g2-tells-both")).values()) < 1
    assert all(name.startswith("g2-not-told-") for name in await failed(case, "g2-tells-both"))


async def test_who_it_is_stands_in_the_directory_for_every_category() -> None:
    case = await tried("G2")
    [rows] = [
        records
        for spec in case.environment.services.values()
        for records in spec.records.values()
        if any("g2.one" in str(row.get("name")) for row in records)
    ]
    assert len(rows) >= 4
    assert {row["name"] for row in rows} == {"$g2.one.name", "$g2.two.name"}
