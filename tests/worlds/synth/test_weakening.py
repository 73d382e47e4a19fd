"""Which changes ask less of an agent than before."""

from typing import Any

import pytest

from coworkenv.worlds.compiling import variants
from coworkenv.worlds.synth.weakening import weakenings

from .errands import Plant, both, errand, setting

FREE = "/services/payments/collections/payouts/free"
ONCE = {"distinct": {"record": "payments.payouts", "by": "order"}}
REFUSED = {"record": "payments.payouts", "where": {"order": "$t2.id"}, "at_most": 0}
SAID = {"said": "greta", "mentions": ["$t1.id"], "any": ["refunded"], "after": {"called": "payments.payouts.create"}}
DONE, TOLD, ONLY = "/checks/done/expect", "/checks/told/expect", "/checks/only-this/only"

WEAKER: list[tuple[str, Plant]] = [
    ("the check told is gone", setting("/checks/told", ...)),
    ("the check told does not count any more", setting("/checks/told/if", "1 == 2")),
    ("the check told weighs 1, not 2", both(setting("/checks/told/weight", 1))),
    ("the check once is no gate any more", setting("/checks/once", {"weight": 9, **ONCE})),
    ("the check done demands less in `where`", setting(f"{DONE}/where/order", ...)),
    ("the check done demands less in `where`", setting(f"{DONE}/where/order", "$t2.id")),
    ("the check done counts otherwise", setting(f"{DONE}/count", ...)),
    ("the check told demands less in `mentions`", setting(f"{TOLD}/mentions", ["$t1.label"])),
    ("the check told has no `after` any more", setting(f"{TOLD}/after", ...)),
    ("the check told has another `after`", setting(f"{TOLD}/after", {"said": "greta"})),
    ("the check told accepts more phrases", setting(f"{TOLD}/any", ["paid", "refunded"])),
    ("the check told looks at something else", setting(f"{TOLD}/said", "anyone")),
    ("the check only-this allows more values", setting(f"{ONLY}/in", ["$t1.id", "$t2.id"])),
    ("the check once has another `distinct`", setting("/checks/once/distinct/by", "id")),
    ("the check told has no `expect` any more", setting("/checks/told", {"weight": 2, "never": {"said": "greta"}})),
    ("the check quiet forbids less, by its `mentions`", setting("/checks/quiet/never/mentions", ["$t2.id", "$t3.id"])),
    ("the check quiet forbids fewer phrases", setting("/checks/quiet/never/any", ["no"])),
    ("the check quiet counts otherwise", setting("/checks/quiet/never/at_least", 3)),
    ("the check none demands less in `where`", setting("/checks/none/expect/where", {})),
    ("the twin a1-other is gone", setting("/twins/a1-other", ...)),
    ("the trap a1-guesses is gone", setting("/traps/a1-guesses", ...)),
    ("the trap a1-guesses may score 1, not only 0.72", setting("/traps/a1-guesses/ceiling", 1)),
    ("the scoring rule is claw-eval, not coworkenv", setting("/scoring", "claw-eval")),
    ("the field payments.payouts.order, which a check reads, is free", setting(FREE, ["order"])),
]

BEFORE = both(
    setting("/checks/told/weight", 2),
    setting(f"{TOLD}/any", ["refunded"]),
    setting("/checks/quiet", {"gate": True, "never": {"said": "greta", "mentions": ["$t2.id"], "any": ["no", "not"]}}),
    setting("/checks/none", {"weight": 1, "expect": REFUSED}),
)


def found(plant: Plant, measured: bool = False) -> list[str]:
    before = errand(BEFORE)
    return weakenings(before, errand(both(BEFORE, plant)), variants(before), measured=measured)


@pytest.mark.parametrize(("sentence", "plant"), WEAKER, ids=[sentence for sentence, _ in WEAKER])
def test_what_asks_less_is_told(sentence: str, plant: Plant) -> None:
    if sentence == "the check none demands less in `where`":
        sentence = ""  # nothing at all may be there now: that asks more
    assert sentence in found(plant) if sentence else found(plant) == []


STRONGER: dict[str, Plant] = {
    "another check": setting("/checks/more", {"weight": 1, "expect": {"said": "greta"}}),
    "a weight that is a gate now": setting("/checks/told", {"gate": True, "expect": SAID}),
    "a larger weight": setting("/checks/told/weight", 5),
    "one more field": setting(f"{DONE}/where/effective_on", "$a1.value"),
    "one more value": setting(f"{TOLD}/mentions", ["$t1.id", "$t1.label"]),
    "a number": setting(f"{TOLD}/count", 1),
    "no phrase that may be said": setting("/checks/quiet/never/any", ...),
    "fewer allowed values": setting(f"{ONLY}/in", []),
    "another twin": setting("/twins/more", {"facts": {"t1": {"id": "O-1"}}}),
    "a lower ceiling": setting("/traps/a1-guesses/ceiling", 0),
    "the same value, typed": setting(f"{DONE}/where/order", "O-8347"),
    "prose that no check reads": setting(FREE, ["note"]),
    "another fact": setting("/facts/t1/id", "O-1"),
}


@pytest.mark.parametrize("plant", STRONGER.values(), ids=list(STRONGER))
def test_what_asks_as_much_or_more_is_not(plant: Plant) -> None:
    assert found(plant) == []


def test_a_check_that_counts_nowhere_may_go() -> None:
    idle: Plant = setting("/checks/big", {"weight": 1, "if": "$t1.amount > 10000", "expect": {"said": "greta"}})
    before = errand(idle)
    assert weakenings(before, errand(), variants(before)) == []


def test_a_trap_that_could_not_be_played_may_go() -> None:
    before = errand(setting("/traps/a1-guesses/drop", ["nothing"]))
    assert weakenings(before, errand(setting("/traps/a1-guesses", ...)), variants(before)) == []


def test_whether_another_moment_is_weaker_is_measured() -> None:
    other = setting(f"{TOLD}/after", {"said": "greta"})
    assert found(other, measured=True) == []
    assert found(setting(f"{TOLD}/after", ...), measured=True) == ["the check told has no `after` any more"]


@pytest.mark.parametrize("twin", [None, "a1-other"])
def test_what_a_twin_says_of_its_own_is_compared_there(twin: str | None) -> None:
    own: dict[str, Any] = {"told": {"weight": 7}}
    before = errand(setting("/twins/a1-other/checks", own))
    after = errand(setting("/twins/a1-other/checks", own if twin is None else {"told": {"weight": 3}}))
    wanted = [] if twin is None else ["the check told weighs 3, not 7 in the twin a1-other"]
    assert weakenings(before, after, variants(before)) == wanted
