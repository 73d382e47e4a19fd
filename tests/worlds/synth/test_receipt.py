"""A receipt says what validation came to, travels with its environment, and knows when it is about another one."""

from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.engine.playing import play_program
from coworkenv.worlds.synth.difficulty import difficulty, knobs
from coworkenv.worlds.synth.freezing import case_of
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.receipt import (
    Receipt,
    ReceiptError,
    decode,
    encode,
    is_stale,
    path_of,
    read,
    receipt,
    with_history,
)
from coworkenv.worlds.synth.repairing import repair
from coworkenv.worlds.synth.validating import validate

from .errands import Plant, both, errand, setting
from .validators.planting import case

ORIGIN = Origin(seed=3, family="refund", capabilities=("A1",), knobs={"rows": 3})


async def made(plant: Plant | None = None) -> Receipt:
    return await receipt(await validate(errand(plant), play_program), release="0.0", origin=ORIGIN)


async def test_it_holds_every_validator_and_all_figures() -> None:
    found = await made()
    assert found.sound
    assert [outcome.verdict for outcome in found.validators] == ["passed"] * 26
    assert found.measured is not None
    mutants = found.measured.mutation
    assert mutants.killed == mutants.total > 10
    scores = found.measured.scores
    assert (scores["oracle"].lowest, scores["noop"].highest, scores["readonly"].highest) == ("1", "0", "0")
    assert scores["spam"].lowest == "0"
    assert {name for name in scores if name.startswith("trap:")} == {f"trap:{name}" for name in errand().traps}
    panel = [float(score) for score in found.measured.panel.values()]
    assert (panel[0], panel[-1]) == (0, 1)
    assert 0 < float(found.measured.difficulty) < 1


async def test_it_lists_the_mutants_that_survive() -> None:
    found = await made(setting("/checks/a1-day/expect/where/effective_on", ...))
    assert found.measured is not None
    assert found.measured.mutation.survivors
    assert len(found.measured.mutation.survivors) == found.measured.mutation.total - found.measured.mutation.killed
    assert not found.sound


@pytest.mark.parametrize(
    "plant",
    [
        None,
        setting("/facts/spare", 1),
        setting("/checks/a1-day/expect/where/effective_on", ...),
        setting("/oracle/3/args/order", "O-1"),
        setting("/checks/told/expect/mentions", ["$t1.nothing"]),
    ],
)
async def test_it_is_read_as_it_was_written(plant: Plant | None) -> None:
    found = await made(plant)
    assert decode(encode(found)) == found
    assert encode(decode(encode(found))) == encode(found)


async def test_repairs_are_told_with_what_was_wrong_and_what_failed_before_and_after() -> None:
    broken = both(setting("/traps/a1-guesses/bind/a1_answer.a1", "2026-12-01"), setting("/twins/a1-other", ...))
    found = await receipt(await repair(errand(broken), play_program), release="0.0")
    assert found.repairs
    assert decode(encode(found)) == found
    for mend in found.repairs:
        assert mend.observed
        assert mend.validator in mend.before


async def test_where_nobody_can_win_there_are_no_figures() -> None:
    assert (await made(setting("/oracle/3/args/order", "O-1"))).measured is None


async def test_a_receipt_of_another_version_is_stale() -> None:
    found = await made()
    assert not is_stale(found, errand())
    assert is_stale(found, errand(setting("/title", "Another")))
    frozen = (await validate(errand(), play_program)).environment
    assert not is_stale(found, frozen)


async def test_history_outlives_a_new_validation() -> None:
    first = await made()
    fresh = msgspec.structs.replace(await made(), origin=None, release="0.1")
    assert with_history(fresh, first) == msgspec.structs.replace(first, release="0.1")


async def test_the_same_environment_has_the_same_receipt() -> None:
    assert encode(await made()) == encode(await made())


def test_it_lies_beside_its_environment(tmp_path: Path) -> None:
    assert path_of(Path("a/refund.yaml")) == Path("a/refund.receipt.json")
    assert read(tmp_path / "none.receipt.json") is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}", b"[]", b"\xff", b'{"format": "coworkenv-receipt/2"}', b"[" * 99999]
)
def test_what_is_no_receipt_is_refused_with_its_name(content: bytes, tmp_path: Path) -> None:
    place = tmp_path / "x.receipt.json"
    place.write_bytes(content)
    with pytest.raises(ReceiptError, match=r"x\.receipt\.json"):
        read(place)


# --- difficulty --------------------------------------------------------------------------------------------


FOREIGN = {
    "a score that is no number": ("/measured/scores/oracle/lowest", "1/0"),
    "a difficulty beyond numbers": ("/measured/difficulty", "1e999999999"),
    "a rank that moves the cursor": ("/measured/kendall", "\x1b[2J"),
    "an agent without a score": ("/measured/panel/level-1", ...),
    "no oracle": ("/measured/scores/oracle", ...),
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_receipt_whose_figures_are_none_is_refused_with_what_to_do(name: str) -> None:
    data = msgspec.json.decode(encode(await made()))
    setting(*FOREIGN[name])(data)
    with pytest.raises(ReceiptError, match="remove it, and make it anew"):
        decode(msgspec.json.encode(data))


async def test_knobs_are_measured_by_what_happens() -> None:
    base = await knobs(await case_of(errand(), play_program))
    assert base | {"distractors": 0} == {
        "horizon": 2,
        "services": 2,
        "rows": 3,
        "distractors": 0,
        "hidden": 1,
        "interruptions": 0,
        "delay": 4,
        "faults": 0,
        "conflicts": 0,
        "injections": 0,
        "audiences": 1,
        "twins": 3,
    }
    row = {"id": "O-8348", "customer": "Tessa Okafors", "total": 1, "state": "superseded"}
    plant = both(
        setting("/services/storefront/records/sales", [*errand().services["storefront"].records["sales"], row]),
        setting("/people/greta/replies/0/after", "14m"),
        setting("/faults", [{"tool": "storefront.sales.find", "nth": 1, "kind": "slow", "delay": "1m"}]),
    )
    more = await knobs(await case_of(errand(plant), play_program))
    assert more["rows"] == 4
    assert more["distractors"] == base["distractors"] + 1
    assert (more["delay"], more["faults"], more["conflicts"]) == (14, 1, 1)


@pytest.mark.parametrize(
    ("name", "knob", "least"),
    [
        ("late-change", "interruptions", 1),
        ("reorder", "faults", 1),
        ("reschedule", "injections", 1),
        ("refund", "conflicts", 1),
    ],
)
async def test_examples_have_the_knobs_that_they_show(name: str, knob: str, least: int) -> None:
    assert (await knobs(await case(name)))[knob] >= least


@given(st.lists(st.fractions(0, 1), max_size=12))
def test_difficulty_is_a_share_and_falls_as_the_middle_rises(scores: list[Fraction]) -> None:
    panel = {f"level-{n}": score for n, score in enumerate(scores)}
    assert 0 <= difficulty(panel) <= 1
    better = {agent: (score + 1) / 2 for agent, score in panel.items()}
    assert difficulty(better) <= difficulty(panel)


def test_difficulty_is_that_of_the_middle() -> None:
    assert difficulty({str(n): Fraction(score) for n, score in enumerate([0, 0, 0, 1, 1, 1, 1, 1])}) == Fraction(1, 4)
