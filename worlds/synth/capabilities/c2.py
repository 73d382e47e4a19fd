"""C2: complete search: pages, folders, all candidates.

The job is about everything of a category, and the register answers in pages.
"""

from __future__ import annotations

from ..draft import SOURCE, Draft
from .fragment import Fragment, Stage

PAGE = 4
MATCHING = 5
OTHERS = 4


def build(draft: Draft) -> None:
    category = draft.register.names["category"]
    values = draft.family.register.category.values
    wanted = draft.facts.choose("c2.category", values[:1])
    draft.register.shape["pages"] = PAGE
    things = [draft.thing() for _ in range(MATCHING)]
    for thing in things:
        draft.vary_number(thing)
        thing.wanted = []
        draft.facts.choose(f"{thing.name}.category", values[:1])
    last = things[-1]
    last.flips = True
    last.wanted = [f"{last.ref('category')} == $c2.category"]
    draft.facts.choose(f"{last.name}.category", values[1:], twin="c2-fewer")
    draft.twin("c2-fewer")
    for _ in range(OTHERS):
        draft.thing()
    phrases = draft.family.words[draft.origin.language].do_all
    draft.sentences.insert(0, draft.grammar.phrase(phrases, {**draft.words, "category": "${c2.category}"}))
    search = f"{draft.register.path}.find"
    draft.step(SOURCE, "c2_page1", call=search, args={category: wanted})
    draft.step(
        SOURCE, "c2_page2", call=search, args={category: wanted, "page": "@c2_page1.next"}, condition="@c2_page1.next"
    )
    draft.sources.append("@c2_page1.items + choose(@c2_page2, @c2_page2.items, [])")
    draft.trap("c2-first-page", 2, drop=["c2_page2"], why="Stops at the first page.")


FRAGMENT = Fragment(
    id="C2",
    title="searches completely: every page, every candidate",
    failure="stops at the first page",
    stage=Stage.SOURCE,
    build=build,
)
