"""Reading environments: everything that is wrong is found at once, on its line, with what was probably meant."""

import random
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coworkenv.worlds.compiling import variants
from coworkenv.worlds.problems import InvalidEnvironment, Problem
from coworkenv.worlds.reading import problems, read_environment

REFUND = (files("coworkenv.worlds") / "examples" / "refund.yaml").read_text(encoding="utf-8")
ESCALATION = (files("coworkenv.worlds") / "examples" / "escalation.yaml").read_text(encoding="utf-8")


def changed(*changes: tuple[str, str], text: str = REFUND) -> list[Problem]:
    """The problems of a file with some of its text replaced, each once."""
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return problems(text)


def line_of(part: str) -> int:
    return REFUND[: REFUND.index(part)].count("\n") + 1


def test_a_good_file_has_no_problems() -> None:
    assert problems(REFUND) == []
    assert read_environment(REFUND).id == "finance.refund/0007"


def test_everything_is_found_at_once() -> None:
    found = changed(
        ("deadline: 6h", "deadline: 6 hours"),
        ("limit: 150\n", "limit: 150\n  loop: $loop\n"),
        ("{any: [which, order", "{anny: [which, order"),
        ("refunded: {weight: 4", "refunded: {wieght: 4"),
        ("call: kb.policies.find", "call: kb.policy.find"),
        ("drop: [approval]", "drop: [aproval]"),
        ("{rma: RMA-8820}", "{rna: RMA-8820}"),
    )
    assert [problem.path for problem in found] == [
        "clock.deadline",
        "facts.loop",
        "people.lena.replies[0].anny",
        "checks.refunded.wieght",
        "oracle[5].call",
        "traps.no-approval.drop[0]",
        "twins.other-return.facts.rna",
    ]
    assert [problem.hint for problem in found] == [
        None,
        None,
        "Did you mean 'any'?",
        "Did you mean 'weight'?",
        "Did you mean 'kb.policies.find'?",
        "Did you mean 'approval'?",
        "Did you mean 'rma'?",
    ]
    assert found == sorted(found, key=lambda problem: problem.line or 0)


@pytest.mark.parametrize(
    ("before", "after", "path", "says"),
    [
        ("environment: coworkenv/1", "environment: coworkenv/2", "environment", "reads the format"),
        ("id: finance.refund/0007", "id: 7", "id", "must be a text, not a number"),
        ("id: finance.refund/0007\n", "", "", "'id' is missing"),
        ("capabilities: [A1", "capabilities: x # [A1", "capabilities", "must be a list"),
        ("start: 2026-03-03T09:00", "start: tomorrow", "clock.start", "needs a date or time"),
        ("start: 2026-03-03T09:00", "start: 2026-03-03T09:00+01:00", "clock.start", "without an offset"),
        ("start: 2026-03-03T09:00", "start: 2026-03-29T02:30", "clock.start", "is skipped"),
        ("start: 2026-03-03T09:00", "start: 2026-10-25T02:30", "clock.start", "comes twice"),
        ("start: 2026-03-03T09:00", "start: 9999-12-31T20:00", "clock.start", "too near the end of the calendar"),
        ("start: 2026-03-03T09:00", "start: 9998-12-30T20:00", "clock.start", "too near the end of the calendar"),
        ("start: 2026-03-03T09:00", "start: 0001-01-01T00:00", "clock.start", "too near the end of the calendar"),
        ("zone: Europe/Berlin", "zone: Europe/Berlim", "clock.zone", "not a time zone"),
        ("call: 20s", "call: 20", "clock.call", "must be a text"),
        ("  lena:\n    role", "  agent:\n    role", "people.agent", "cannot be called"),
        (
            "gives: {ok: true}, mark: approved",
            "gives: {ok: true}, mrk: approved",
            "people.tomas.replies[0].mrk",
            "not a key",
        ),
        ("{all: [$meant.order, $meant.lamp], say", "{say", "people.tomas.replies[0]", "no message can bring"),
        ("after: 55m", "after: 55min", "people.tomas.replies[0].after", "not a duration"),
        ("say: Approved.", "tells: sometimes, say: Approved.", "people.tomas.replies[0].tells", "not a choice"),
        ("say: Approved.", "first: {say: No.}, say: Approved.", "people.tomas.replies[0]", "'first' goes with"),
        ("say: Approved.", "needs: aproved, say: Approved.", "people.tomas.replies[0].needs", "no mark"),
        (
            "say: Approved.",
            "cancels: [later], say: Approved.",
            "people.tomas.replies[0].cancels[0]",
            "no reply of tomas",
        ),
        ("can: [find]", "can: [fnd]", "services.crm.collections.customers.can[0]", "not a choice"),
        ("use: payments", "use: paymints", "services.payments.use", "no ready service"),
        (
            "record: payments.refunds, where",
            "record: payments.refund, where",
            "checks.refunded.expect.record",
            "no collection",
        ),
        (
            "where: {order: $meant",
            "where: {ordr: $meant",
            "checks.refunded.expect.where.ordr",
            "no field of payments.refunds",
        ),
        ("count: 1}}", "count: 1, at_least: 1}}", "checks.refunded.expect.count", "says it all"),
        ("count: 1}}", "count: -1}}", "checks.refunded.expect.count", "0 or more"),
        (
            "expect: {said: lena, mentions",
            "expect: {said: lena, mark: approved, mentions",
            "checks.named-both.expect",
            "exactly one of",
        ),
        (
            "never: {record: payments.refunds, at_least: 2}",
            "never: {at_least: 2}",
            "checks.only-one.never",
            "says nothing",
        ),
        ("only-one: {gate: true,", "only-one: {gate: true, weight: 1,", "checks.only-one", "either a gate"),
        ("only-one: {gate: true,", "only-one: {", "checks.only-one", "either a gate"),
        ("named-both: {weight: 1", "named-both: {weight: 0", "checks.named-both.weight", "1 or more"),
        ('if: "$meant.lamp > $limit"', 'if: "$meant.lamp > $limits"', "checks.approved-first.if", "no fact limits"),
        ('if: "$meant.lamp > $limit"', 'if: "$meant.lamp >> $limit"', "checks.approved-first.if", "character 14"),
        ("gave: lena.order", "gave: lena.odrer", "checks.named-both.expect.before.gave", "no slot"),
        ("never: {said: tomas}", "never: {said: thomas}", "checks.no-needless-ask.never.said", "no person"),
        ("before: {mark: approved}", "before: {mark: aproved}", "checks.approved-first.never.before.mark", "no mark"),
        (
            "before: {mark: approved}",
            "before: {mark: approved, args: {a: 1}}",
            "checks.approved-first.never.before.args",
            "beside 'called'",
        ),
        ("before: {mark: approved}", "before: {fired: noon}", "checks.approved-first.never.before.fired", "no entry"),
        ("args: {name: $surname}", "args: {nam: $surname}", "oracle[0].args.nam", "no argument of crm.customers.find"),
        ('args: {order: "@which.order", amount', "args: {amount", "oracle[8]", "needs the argument 'order'"),
        ("as: which, ask: lena", "as: which, ask: lenna", "oracle[1].ask", "no person"),
        ("as: which, ask: lena", "as: which, say: lena, ask: lena", "oracle[1]", "exactly one of"),
        ("as: returned, ask", "as: which, ask", "oracle[2].as", "given to two steps"),
        ("as: returned, ask", "as: re-turned, ask", "oracle[2].as", "cannot be referred to"),
        ("calc: first(@lines)", "calc: first(@line)", "oracle[4].calc", "no earlier step"),
        ("calc: first(@lines)", "calc: first(it)", "oracle[4].calc", "only a step with 'each'"),
        ("calc: first(@lines)", "calc: frist(@lines)", "oracle[4].calc", "did you mean first"),
        ('order: "@which.order", item', 'order: "@which.odrer", item', "oracle[3].args", "no slot of lena"),
        ("text: And what", "limit: 5min, text: And what", "oracle[2].limit", "not a duration"),
        ("asks-for-all: {ceiling: 0.9", "asks-for-all: {ceiling: 1.9", "traps.asks-for-all.ceiling", "between 0 and 1"),
        (
            "change: {approval.if: null}",
            "change: {approval.iff: null}",
            "traps.asks-for-all.change.approval.iff",
            "no part of a step",
        ),
        ("change: {approval.if: null}", "drop: []", "traps.asks-for-all", "just what the oracle does"),
        ("bind: {which.order: $amara.order}", "bind: {who.id: x}", "traps.guesses-order.bind.who.id", "is not dropped"),
        ("change: {paid.args.amount", "change: {paid.args.amont", "traps.whole-order.change.amont", "no argument"),
        ("repeat: [paid]", "repeat: [pays]", "traps.pays-twice.repeat[0]", "no step"),
        (
            "other-customer: {facts: {meant: $amaru}}",
            "other-customer: {facts: {meant: $amara}}",
            "twins.other-customer",
            "changes nothing",
        ),
        ("{facts: {rma: RMA-8820}}", "{clock: {start: 2026-03-04T09:00}}", "twins.other-return.clock", "cannot change"),
        ("      refunded: null", "      refundet: null", "twins.refused.checks.refundet", "to remove"),
        ("{facts: {rma: RMA-8820}}", "{facts: {surname: Okafour}}", "people.lena.opens", "request is not the same"),
        ("{facts: {rma: RMA-8820}}", "{facts: {rma: $nothing}}", "twins.other-return.facts.rma", "no fact nothing"),
        (
            "{facts: {rma: RMA-8820}}",
            "{chekcs: {}}",
            "twins.other-return.chekcs",
            "in the twin other-return, 'chekcs' is not a key",
        ),
        ("{facts: {rma: RMA-8820}}", "x", "twins.other-return", "must be an object"),
    ],
)
def test_each_mistake_is_told_where_it_was_made(before: str, after: str, path: str, says: str) -> None:
    found = changed((before, after))
    assert any(problem.path == path and says in problem.message for problem in found), [str(one) for one in found]
    for problem in found:
        assert problem.message.endswith((".", "?"))
        assert problem.line is not None


def test_problems_name_the_line() -> None:
    [problem] = changed(("deadline: 6h", "deadline: 6 hours"))
    assert problem.line == line_of("deadline: 6h")
    assert str(problem) == f"line {problem.line}, clock.deadline: {problem.message}"
    [problem] = changed(("{rma: RMA-8820}", "{rna: RMA-8820}"))
    assert problem.line == line_of("{rma: RMA-8820}")


def test_what_is_wrong_in_the_base_is_not_told_again_for_each_twin() -> None:
    assert len(changed(("call: kb.policies.find", "call: kb.policy.find"))) == 1
    assert (
        len(changed(("wieght", "weight") if "wieght" in REFUND else ("refunded: {weight: 4", "refunded: {wieght: 4")))
        == 1
    )


def test_what_is_wrong_only_in_a_twin_is_told_of_the_twin() -> None:
    [problem] = changed(("told-no: {weight: 1, expect: {said: lena", "told-no: {weight: 1, expect: {said: lenna"))
    assert problem.path == "twins.refused.checks.told-no.expect.said"
    assert problem.message == "in the twin refused, there is no person 'lenna'."


def test_a_twin_may_refer_to_what_only_the_base_discloses() -> None:
    assert "mark: approved" in REFUND
    assert problems(REFUND) == [], "the twin `refused` has no reply that reaches the mark of the gate"


@pytest.mark.parametrize(
    ("before", "after", "path", "says"),
    [
        ("- {name: waited-long-enough, when", "- {when", "timeline[0]", "nothing happens here"),
        ("when: {said: $first.person}, ", "", "timeline[0]", "say one of them"),
        ("after: $patience}", "after: $patience, at: 1h}", "timeline[0]", "say one of them"),
        ("after: $patience}", "after: $patience, from: petra}", "timeline[0]", "go together"),
        ("after: $patience}", "after: $patience, gives: {a: 1}}", "timeline[0]", "needs 'say'"),
        (
            "after: $patience}",
            "after: $patience, changes: [{create: roster.shift}]}",
            "timeline[0].changes[0].create",
            "no collection",
        ),
        (
            "after: $patience}",
            "after: $patience, changes: [{delete: roster.shifts, set: {level: 1}}]}",
            "timeline[0].changes[0].set",
            "means nothing",
        ),
        (
            "after: $patience}",
            "after: $patience, changes: [{create: roster.shifts, record: {who: x}}]}",
            "timeline[0].changes[0].record.who",
            "no field",
        ),
        ("checks:\n", "faults: [{tool: tickets.asign}]\nchecks:\n", "faults[0].tool", "no tool"),
        ("checks:\n", "faults: [{tool: tickets.assign, nth: 0}]\nchecks:\n", "faults[0].nth", "from 1"),
        ("checks:\n", "faults: [{tool: tickets.assign, chance: 2}]\nchecks:\n", "faults[0].chance", "between 0 and 1"),
        (
            "checks:\n",
            "faults: [{tool: tickets.assign, retry_after: 1m}]\nchecks:\n",
            "faults[0].retry_after",
            "rate_limit",
        ),
        (
            "checks:\n",
            "faults: [{tool: tickets.assign, args: {ticket: x}}]\nchecks:\n",
            "faults[0].args.ticket",
            "no argument",
        ),
    ],
)
def test_timelines_and_faults_are_checked(before: str, after: str, path: str, says: str) -> None:
    found = changed((before, after), text=ESCALATION)
    assert any(problem.path == path and says in problem.message for problem in found), [str(one) for one in found]


def test_the_error_holds_all_problems_and_reads_as_sentences(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(REFUND.replace("6h", "6 hours").replace("weight: 4", "wieght: 4"), encoding="utf-8")
    with pytest.raises(InvalidEnvironment) as error:
        read_environment(file)
    assert len(error.value.problems) == 3, "the twin `refused` has a weight of 4, too"
    assert str(error.value).startswith(f"{file}: line ")


def test_files_that_cannot_be_read_are_told_like_anything_else(tmp_path: Path) -> None:
    with pytest.raises(InvalidEnvironment, match="cannot be read"):
        read_environment(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"id: \xe4")
    with pytest.raises(InvalidEnvironment, match="not UTF-8"):
        read_environment(tmp_path / "latin.yaml")
    with pytest.raises(InvalidEnvironment, match="not YAML"):
        read_environment("a: [")


@pytest.mark.parametrize(
    "text", ["", "a", "[]", "{}", "environment: coworkenv/1", "environment: [coworkenv/1]", "twins: 3", "twins: {a: 1}"]
)
def test_what_is_nothing_like_an_environment_has_problems(text: str) -> None:
    assert problems(text)


@pytest.mark.parametrize("sign", ["$surname", "${surname}", "@{x}", "=1 +", "$$5"])
def test_signs_in_the_frozen_part_mean_nothing(sign: str) -> None:
    head = REFUND.partition("\nfrozen:")[0]
    text = f"{head}\nfrozen: {{digest: '', frame: ['shop.lines:{sign}.price'], scores: {{oracle: '{sign}'}}}}\n"
    assert problems(text) == []
    worlds = variants(read_environment(text))
    assert all(world.frame == (f"shop.lines:{sign}.price",) for world in worlds.values())


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_a_damaged_file_is_either_told_or_still_makes_a_world(seed: int) -> None:
    lots = random.Random(seed)
    lines = REFUND.splitlines(keepends=True)
    for _ in range(lots.randint(1, 3)):
        place = lots.randrange(len(lines))
        match lots.randrange(4):
            case 0:
                del lines[place]
            case 1:
                lines[place] = lines[place].replace(lots.choice("abcdefgor$@{}[]:,"), lots.choice("xyz{}[]:,$@= 0"), 1)
            case 2:
                words = lines[place].split(" ")
                lots.shuffle(words)
                lines[place] = " ".join(words)
            case _:
                other = lots.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
    text = "".join(lines)
    if not problems(text):
        worlds: dict[str, Any] = dict(variants(read_environment(text)))
        assert worlds
