"""19, spam agent: a grader that can be had by saying everything to everyone, or by guessing what people listen to.

`spam` (`programs.spam`) must score 0 in some variant, and `keyword-bag` less than 1 in some. A bag is emptied only over
people who listen to more than a message may be about: over others it is a question, oddly put. Details: `agent`,
`score` (the lowest), `passed` (checks that it passes where it scores lowest).

Proposes for `spam` `move_row` for the first record of each collection, since it takes the first for an example,
`to_gate` for the weighted checks that it fails, and `add_count` for claims on records that have none; for `keyword-bag`
`split_rule` to `on_specific_ask` for each rule that tells whoever asks, since a message that is about too much opens
none of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from ...checks.scoring import decimal_text
from ...coworker import FISHING
from ...world import World
from ..findings import Edit, Finding, pointer
from ..playing import Case, Program, Run
from ..programs.spam import keyword_bag, spam
from .places import told

NUMBER = 19


async def find(case: Case) -> list[Finding]:
    found: list[Finding] = []
    run = await _lowest(case, spam, Fraction(0))
    if run.score > 0:
        found.append(_finding(run, "spam", "It scores 0 in some variant.", tuple(_strict(case, run))))
    if not any(_is_fished(world) for world in case.worlds.values()):
        return found
    run = await _lowest(case, keyword_bag, Fraction(99, 100))
    if run.score == 1:
        found.append(_finding(run, "keyword-bag", "It scores less than 1 in some variant.", tuple(_specific(case))))
    return found


def _is_fished(world: World) -> bool:
    """Whether such a message says more than a question to someone who must be asked. Else it is one, oddly put."""
    asked = {step.ask for step in world.oracle if step.ask is not None}
    known = asked if asked <= set(world.people) else set(world.people)
    return bool(asked) and any(len(world.people[name].replies) > FISHING for name in known)


async def _lowest(case: Case, agent: Callable[[Case, str], Program], enough: Fraction) -> Run:
    """The run with the lowest score, or the first that is low enough."""
    lowest: Run | None = None
    for variant in case.worlds:
        run = await case.run(agent(case, variant), variant)
        if lowest is None or run.score < lowest.score:
            lowest = run
        if run.score <= enough:
            break
    assert lowest is not None
    return lowest


def _finding(run: Run, agent: str, expected: str, candidates: tuple[Edit, ...]) -> Finding:
    passed = [verdict.name for verdict in run.verdicts if verdict.applicable and verdict.passed and not verdict.gate]
    return Finding(
        validator=NUMBER,
        at=pointer("checks", passed[0]) if passed else "/checks",
        twin=run.variant,
        observed=f"The agent {agent} scores at least {float(run.score):.2f} everywhere, as {told(run.variant)}.",
        expected=expected,
        details={"agent": agent, "score": decimal_text(run.score), "passed": passed},
        candidates=candidates,
    )


def _strict(case: Case, run: Run) -> Iterator[Edit]:
    for service, spec in case.environment.services.items():
        for name, records in spec.records.items():
            if len(records) > 1:
                yield Edit("move_row", pointer("services", service, "records", name, 0), len(records) - 1)
    failed = [verdict.name for verdict in run.verdicts if verdict.applicable and not verdict.passed]
    for name, check in case.environment.checks.items():
        if name in failed and not check.gate:
            yield Edit("to_gate", pointer("checks", name), cost=2)
        claim = check.claim
        if claim is not None and claim.record is not None and claim.count is None:
            yield Edit("add_count", pointer("checks", name, "expect", "count"), 1)


def _specific(case: Case) -> Iterator[Edit]:
    for name, person in case.environment.people.items():
        for number, reply in enumerate(person.replies):
            if reply.tells == "on_ask" and reply.gives:
                yield Edit("split_rule", pointer("people", name, "replies", number, "tells"), "on_specific_ask")
