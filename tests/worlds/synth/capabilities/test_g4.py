"""G4: whoever takes over gets all that is left, with whose it is, and nothing that is done."""

import pytest

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("G4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def test_another_item_is_left_in_a_twin() -> None:
    case = await tried("G4")
    left = {
        variant: {name for name, item in facts(case, variant)["g4"].items() if item["status"] != "done"}
        for variant in ("", "g4-other")
    }
    assert left[""] - left["g4-other"]
    assert left["g4-other"] - left[""]
    assert len(left[""] & left["g4-other"]) >= 2


async def test_no_two_items_have_one_owner() -> None:
    owners = [item["owner"] for item in facts(await tried("G4"))["g4"].values()]
    assert len(set(owners)) == len(owners)


@pytest.mark.parametrize(
    ("trap", "lost"),
    [
        ("g4-all-done", {"g4-handed-over-1", "g4-handed-over-2", "g4-handed-over-4", "g4-handed-over-6"}),
        ("g4-without-owners", {"g4-handed-over-1", "g4-handed-over-2", "g4-handed-over-4", "g4-handed-over-6"}),
        ("g4-forgets-what-waits", {"g4-handed-over-2", "g4-handed-over-6"}),
        ("g4-passes-on-everything", {"g4-not-done-3", "g4-not-done-5"}),
    ],
)
async def test_each_way_to_hand_over_badly_loses_what_it_leaves_out(trap: str, lost: set[str]) -> None:
    missed = set(await failed(await tried("G4"), trap))
    # Who hands nothing over passes on nothing that is done either; that alone earns nothing.
    assert {name for name in missed if name.startswith("g4-handed-over") or trap != "g4-all-done"} == lost
