"""H3: an idempotent retry after a failure.

A call fails, and may have done its work all the same: look before trying again. There are several things, so that some
call succeeds: what waits for the first success (`called`) is not held up.
"""

from __future__ import annotations

from ..draft import VERIFY, Draft
from .fragment import Fragment, Stage

NOBODY = "none"


def build(draft: Draft) -> None:
    thing, key, book = draft.sure(), draft.deed_key, draft.book
    applied = draft.facts.set("h3.applied", thing.id)
    lost = draft.facts.set("h3.lost", NOBODY)
    for which, done in ((applied, True), (lost, False)):
        draft.faults.append({"tool": draft.deed_tool, "args": {key: which}, "nth": 1, "kind": "error", "applied": done})
    draft.step(VERIFY - 2, "h3_now", call=f"{book.path}.find", args={}, uses=["deed"])
    missing = f"where({draft.targets} as t, not (t.id in each(@h3_now as entry, entry.{key})))"
    draft.step(VERIFY - 2, "h3_missing", calc=missing)
    draft.deed_again(VERIFY - 2, "h3_again", "@h3_missing")
    draft.step(VERIFY - 2, "h3_entries", call=f"{book.path}.find", args={}, uses=["h3_again"])
    draft.done = "where(@h3_entries as entry, entry)"
    draft.twin("h3-lost", facts={"h3": {"applied": NOBODY, "lost": thing.id}})
    draft.retry_twin = "h3-lost"
    draft.trap("h3-blind-retry", change={"h3_missing.calc": f"where({draft.targets} as t, t.id == {thing.id})"},
               why="Tries again without looking.")  # fmt: skip
    draft.trap("h3-gives-up", 2, drop=["h3_again"], why="Does not try again.")


FRAGMENT = Fragment(
    id="H3",
    title="retries after a failure without doing it twice",
    failure="does it twice, or gives up",
    stage=Stage.WRAP,
    order=1,
    mode="create",
    several=True,
    build=build,
)
