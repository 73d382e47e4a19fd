"""A2: the request and a mail contradict each other, and only the requester knows which of them is right."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("A2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_now_the_mail_is_right_and_now_the_request(seed: int) -> None:
    case = await tried("A2", seed=seed)
    base, twin = facts(case)["a2"], facts(case, "a2-request-is-right")["a2"]
    assert base["told"] != base["written"]
    assert (base["right"], twin["right"]) == (base["written"], base["told"])


async def test_picking_silently_never_pays_off_fully() -> None:
    case = await tried("A2")
    for trap in ("a2-trusts-the-request", "a2-trusts-the-mail"):
        assert max((await scores(case, trap)).values()) < 1
        assert "a2-named-both" in await failed(case, trap)


async def test_whoever_trusts_one_source_writes_what_is_wrong_in_some_variant() -> None:
    case = await tried("A2")
    field = next(name for name in case.environment.checks if name.startswith("a2-") and name.endswith("-t1"))
    assert field in await failed(case, "a2-trusts-the-request")
    assert field in await failed(case, "a2-trusts-the-mail", "a2-request-is-right")
