"""F2: a charge by rule: amount times rate, less a discount above a limit, rounded once."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from coworkenv.events.event import ToolCalled
from coworkenv.worlds.synth.playing import Case

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("F2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize(("family", "per"), [("refunds", 100), ("leave", 1)])
async def test_the_charge_is_exact_to_the_cent(family: str, per: int) -> None:
    for seed in range(4):
        case = await tried("F2", family=family, seed=seed)
        for variant in case.worlds:
            assert await _written(case, variant) == [_charge(facts(case, variant), per)]


async def _written(case: Case, variant: str) -> list[object]:
    events = (await case.run(case.oracle(variant), variant)).events
    calls = [event.body.args for event in events if isinstance(event.body, ToolCalled)]
    return [
        value for args in calls for name, value in args.items() if name in ("charge", "charge_due", "levy", "toll_sum")
    ]


def _charge(known: dict[str, Any], per: int) -> Decimal:
    f2, thing = known["f2"], known["t1"]
    rate = next(row["rate"] for row in f2["rates"] if row["name"] == thing["category"])
    share = 1 - Decimal(f2["discount"]) / 100 if thing["amount"] > f2["limit"] else Decimal(1)
    return (thing["amount"] * rate / per * share).quantize(Decimal("0.01"), ROUND_HALF_UP)


async def test_a_discount_is_due_in_the_base_and_not_in_a_twin() -> None:
    case = await tried("F2")
    assert await failed(case, "f2-forgets-the-discount")
    assert not await failed(case, "f2-forgets-the-discount", "f2-other-limit")
    assert not await failed(case, "f2-discount-for-all")
    assert await failed(case, "f2-discount-for-all", "f2-other-limit")


async def test_another_rate_gives_another_charge() -> None:
    for seed in range(6):
        case = await tried("F2", "H1", seed=seed)
        assert any(name.startswith("f2-") for name in await failed(case, "f2-wrong-basis"))
