"""C3: the job is about what differs between two systems, and about nothing that agrees."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("C3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("family", ["refunds", "leave"])
@pytest.mark.parametrize("seed", range(3))
async def test_figures_agree_or_differ_by_one_at_least(seed: int, family: str) -> None:
    case = await tried("C3", seed=seed, family=family)
    differing = {}
    for variant in ("", "c3-other"):
        known = facts(case, variant)
        differing[variant] = set()
        for name, line in known["c3"].items():
            gap = abs(known[name]["amount"] - line.get("booked", line["other"]))
            assert gap == 0 or gap >= 1
            if gap:
                differing[variant].add(name)
    assert len(differing[""]) == len(differing["c3-other"]) == 2
    assert differing[""] != differing["c3-other"]


async def test_who_does_not_compare_does_too_much() -> None:
    assert set((await scores(await tried("C3"), "c3-does-not-compare")).values()) == {0}


async def test_who_stops_at_the_first_difference_misses_the_other_everywhere() -> None:
    missed = await failed(await tried("C3"), "c3-misses-some")
    assert {name.rpartition("-")[0] for name in missed} == {"c3-reported", "done", "told"}


async def test_figures_are_reported_with_what_they_belong_to() -> None:
    missed = await failed(await tried("C3"), "c3-reports-no-figures")
    assert {name.rpartition("-")[0] for name in missed} == {"c3-reported"}
