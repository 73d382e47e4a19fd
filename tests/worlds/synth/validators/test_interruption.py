"""A change of mind comes while the agent is at work."""

import pytest

from coworkenv.worlds.synth.validators.interruption import find

from .planting import EXAMPLES, case, operators


@pytest.mark.parametrize("name", EXAMPLES)
async def test_sound_interruptions_land(name: str) -> None:
    assert await find(await case(name)) == []


async def test_one_that_comes_before_the_first_action_is_anchored_to_the_first_write() -> None:
    def plant(data: dict) -> None:
        data["timeline"].insert(0, {"name": "opening", "at": "0s"})
        data["timeline"][1].update(when={"fired": "opening"}, after="0s")

    [finding] = await find(await case("reschedule", plant))
    assert finding.at == "/timeline/1"
    assert "before" in finding.observed
    edit = finding.candidates[0]
    assert (edit.op, edit.path, edit.value) == ("re_anchor", "/timeline/1/when", {"called": "calendar.events.update"})


async def test_one_that_comes_after_the_last_action_is_brought_forward() -> None:
    def plant(data: dict) -> None:
        when = {"said": "lena", "mentions": ["$meant.lamp"]}
        entry = {"name": "late", "when": when, "after": "2m", "from": "lena", "say": "Wait!", "gives": {"stop": True}}
        data["timeline"] = [entry]
        data["oracle"].append({"as": "late", "wait": "lena", "limit": "5m"})

    [finding] = await find(await case("refund", plant))
    assert finding.at == "/timeline/0"
    assert "after" in finding.observed
    assert operators(finding) == ["re_anchor", "shift_event"]


async def test_a_message_that_nobody_waits_for_may_come_at_any_time() -> None:
    def plant(data: dict) -> None:
        entry = {
            "name": "bye",
            "when": {"called": "payments.refunds.create"},
            "after": "1h",
            "from": "tomas",
            "say": "Bye.",
        }
        data["timeline"] = [entry]

    assert await find(await case("refund", plant)) == []
