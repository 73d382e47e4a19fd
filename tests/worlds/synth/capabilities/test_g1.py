"""G1: the report says which one failed, and claims neither what failed nor failures that were none."""

import pytest

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("G1"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_it_fails_however_often_it_is_tried_unless_it_works(family: str) -> None:
    case = await tried("G1", family=family)
    for variant, fails in (("", 1), ("g1-works", 0)):
        run = await case.run(case.oracle(variant), variant)
        errors = [event for event in run.events if getattr(event.body, "error", None) is not None]
        assert len(errors) == fails, variant
    known = facts(case)
    assert sum(thing.get("done") is False for name, thing in known.items() if name.startswith("t")) == 1


async def test_who_claims_all_is_found_out_where_one_has_failed_only() -> None:
    case = await tried("G1")
    assert await failed(case, "g1-claims-all") == ("g1-says-what-failed",)
    assert await failed(case, "g1-claims-all", "g1-works") == ()


async def test_who_calls_it_a_failure_unseen_is_found_out_where_it_works() -> None:
    case = await tried("G1")
    assert await failed(case, "g1-does-not-try", "g1-works") == ("g1-fails-nothing-else",)


async def test_an_approver_is_asked_for_all_of_them() -> None:
    case = await tried("B1", "G1")
    assert len(facts(case)["b1"]["numbers"]) == 3
