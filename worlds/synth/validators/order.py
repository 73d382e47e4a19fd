"""15, order robustness: a grader that demands an order in which nobody has to work.

At most 40 legal orders of the oracle (`programs.orders`), half of them in the base and the rest spread over the twins,
must score 1. There is one finding for each set of checks that fail. Details: `order` (the steps, by label), `failed`
(checks), `orders` (how many fail so). Proposes `relax_before` for a failing check that has a `before` or `after`, and
for a step that was too early `replace` of its `uses`, with the steps that had been before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..findings import Edit, Finding, pointer
from ..playing import Case, Run
from ..programs.orders import orders
from ..programs.scenes import Scene, scene
from .dataflow import labels
from .places import told, written_at

NUMBER = 15
MOST = 40


async def find(case: Case) -> list[Finding]:
    failures: dict[tuple[str, ...], list[tuple[Scene, Run]]] = {}
    twins = len(case.worlds) - 1
    for variant in case.worlds:
        known = await scene(case, variant)
        if known.run.score < 1:
            continue  # validator 4 says so, and no order could be better
        share = MOST if not twins else MOST // 2 if not variant else MOST // 2 // twins or 1
        for program in orders(known, case.environment, share):
            run = await case.run(program, variant)
            if run.score < 1:
                failures.setdefault(run.failed or (run.failure,), []).append((known, run))
    return [_finding(case, failed, runs) for failed, runs in failures.items()]


def _finding(case: Case, failed: tuple[str, ...], runs: Sequence[tuple[Scene, Run]]) -> Finding:
    known, run = runs[0]
    names = labels(known.steps)
    order = [names[known.steps.index(step)] for step in run.program.steps]
    return Finding(
        validator=NUMBER,
        at=pointer("checks", failed[0]) if failed[0] in known.world.checks else "/oracle",
        twin=run.variant,
        observed=f"The oracle in another legal order scores {float(run.score):.2f} {told(run.variant)}.",
        expected="Every order that respects what depends on what scores 1.",
        details={"order": order, "failed": list(failed), "orders": len(runs)},
        candidates=tuple(_edits(case, known, failed, order)),
    )


def _edits(case: Case, known: Scene, failed: Sequence[str], order: Sequence[str]) -> Iterator[Edit]:
    for name in failed:
        check = known.world.checks.get(name)
        claim = None if check is None else check.claim or check.never
        for part in ("before", "after"):
            if check is not None and claim is not None and getattr(claim, part) is not None:
                kind = "expect" if check.claim is not None else "never"
                yield Edit("relax_before", written_at(case, known.variant, "checks", name, kind, part), cost=2)
    if known.steps != case.worlds[""].oracle and "oracle" in case.environment.twins.get(known.variant, {}):
        return
    names = labels(known.steps)
    for place, name in enumerate(names):
        late = [other for other in names[:place] if order.index(other) > order.index(name) and other[0] != "#"]
        if late and known.steps[place].calc is None:
            uses = [*known.steps[place].uses, *(other for other in late if other not in known.steps[place].uses)]
            yield Edit("replace", pointer("oracle", place, "uses"), uses, 3)
