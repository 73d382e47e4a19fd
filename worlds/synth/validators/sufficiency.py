"""Validator 11, information sufficiency: what the oracle needs to know, somebody tells when asked so.

Knows which slots of an answer the oracle uses, and looks in its episodes for answers that give them: each must be given
in some variant (a twin may refuse). Does not know whether a question is allowed, nor what records say.

`details` of its findings: `step`, `person`, `slot`, `question` (the text that was sent), `told` (the slots that it
opened), `rule` (the place of the reply that would give the slot); or `tool` and `argument`, for an argument that is
null wherever the oracle passes it. It proposes `widen_keywords`, `drop` (a word that the reply demands), `replace`
(`tells`), `add_reply` and `drop_step`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ....events.event import AGENT, Event, Json, MessageSent, ToolCalled
from ...coworker import FISHING
from ...environment import Step
from ...matching import Reading
from ...signs import FactError, Hole, Whole, read
from ...world import World
from ..findings import Edit, Finding, pointer
from ..playing import Case
from .dataflow import labels, slots, sources

NUMBER = 11

_WORD = re.compile(r"[^\W\d_]{4,}")
_NOT_ASKED_FOR = frozenset({"text"})
"""A slot that every message has."""


class Asked(msgspec.Struct, kw_only=True):
    """What came of one step that asks or waits, over all variants."""

    step: str
    place: int
    person: str
    waits: bool
    needed: frozenset[str]
    twin: str
    question: str = ""
    given: set[str] = msgspec.field(default_factory=set)
    answered: bool = False


async def find(case: Case) -> list[Finding]:
    """What nobody tells. See the module for `details` and candidates."""
    asked: dict[tuple[str, str], Asked] = {}
    passed: dict[tuple[str, str], list[Json]] = {}
    for variant, world in case.worlds.items():
        events = (await case.run(case.oracle(variant), variant)).events
        _hear(asked, events, world, variant)
        for event in events:
            if isinstance(event.body, ToolCalled) and event.actor == AGENT:
                for name, value in event.body.args.items():
                    passed.setdefault((event.body.tool, name), []).append(value)
    return [
        *(finding for item in asked.values() for finding in _untold(item, case)),
        *_unknown(passed, case.worlds[""]),
    ]


# --- what was asked, and told ------------------------------------------------------------------------------


def _hear(asked: dict[tuple[str, str], Asked], events: Sequence[Event], world: World, variant: str) -> None:
    """Note what was asked in an episode of the oracle, and what came of it."""
    sent = [(event.seq, event.actor, event.body) for event in events if isinstance(event.body, MessageSent)]
    used = slots(world.oracle)
    for place, (label, step) in enumerate(zip(labels(world.oracle), world.oracle, strict=True)):
        template = step.wait if step.wait is not None else step.ask
        if template is None:
            continue
        needed = used.get(step.name or "", frozenset()) - _NOT_ASKED_FOR
        for seq, person, question in _occasions(step, template, sent):
            new = Asked(
                step=label, place=place, person=person, waits=step.wait is not None, needed=needed, twin=variant
            )
            item = asked.setdefault((label, person), new)
            item.needed |= needed
            item.question = item.question or question
            for _, actor, body in sent:
                if actor == person and (seq is None or body.reply_to == seq):
                    item.answered = True
                    item.given.update(body.gives)


def _occasions(
    step: Step, template: str, sent: Sequence[tuple[int, str, MessageSent]]
) -> Iterator[tuple[int | None, str, str]]:
    """The messages (`seq`, to whom, text) that a step sent; for one that waits, once, whom it waits for."""
    if step.wait is not None:
        if _pattern(template).pattern == re.escape(template):
            yield None, template, ""
        return
    whom, what = _pattern(template), _pattern(step.text)
    for seq, actor, body in sent:
        if actor == AGENT and whom.fullmatch(body.to) and what.fullmatch(body.text):
            yield seq, body.to, body.text


def _pattern(template: str) -> re.Pattern[str]:
    """What a text with values in it may have become."""
    try:
        what = read(template)
    except FactError:
        what = (template,)
    pieces = [".*"] if isinstance(what, Whole) else [".*" if isinstance(p, Hole) else re.escape(p) for p in what]
    return re.compile("".join(pieces), re.DOTALL)


# --- findings ----------------------------------------------------------------------------------------------


def _untold(item: Asked, case: Case) -> Iterator[Finding]:
    for slot in sorted(item.needed - item.given):
        yield _finding(item, slot, case)
    if not item.needed and not item.answered and not _may_be_silent(item, case):
        yield _finding(item, None, case)


def _may_be_silent(item: Asked, case: Case) -> bool:
    people = (world.people[item.person] for world in case.worlds.values() if item.person in world.people)
    return item.waits or any(reply.tells == "absent" for person in people for reply in person.replies)


def _finding(item: Asked, slot: str | None, case: Case) -> Finding:
    world = case.worlds[item.twin]
    rule = None if slot is None else _rule_of(slot, item.person, world)
    details: dict[str, Json] = {"step": item.step, "person": item.person, "told": sorted(item.given)}
    details |= {"question": item.question} if item.question else {}
    details |= {"slot": slot} if slot is not None else {}
    details |= {"rule": rule} if rule is not None else {}
    how = "waits for" if item.waits else "asks"
    what = "an answer" if slot is None else f"{item.person}.{slot}"
    return Finding(
        validator=NUMBER,
        at=pointer("oracle", item.place),
        twin=item.twin,
        observed=f"The step {item.step} {how} {item.person}, and never gets {what}.",
        expected="In at least one variant it is told.",
        details=details,
        candidates=tuple(_edits(item, slot, rule, world, case)),
    )


def _rule_of(slot: str, person: str, world: World) -> int | None:
    replies = world.people[person].replies if person in world.people else ()
    return next((place for place, reply in enumerate(replies) if slot in reply.gives), None)


def _edits(item: Asked, slot: str | None, rule: int | None, world: World, case: Case) -> Iterator[Edit]:
    if rule is not None and not item.waits:
        yield from _opening(item, rule, world)
    elif rule is None and slot is not None and not item.waits:
        fact = _fact_called(slot, case.data.get("facts", {}))
        words = _words(item, world)
        if fact is not None and words:
            reply: Json = {"any": words, "say": f"It is ${{{fact}}}.", "gives": {slot: f"${fact}"}}
            yield Edit("add_reply", pointer("people", item.person, "replies"), reply, 2)
    yield Edit("drop_step", pointer("oracle", item.place), cost=5)


def _opening(item: Asked, rule: int, world: World) -> Iterator[Edit]:
    """What would let the question open the rule."""
    book = world.rulebooks[item.person]
    compiled, reading = book.rules[rule], Reading(item.question)
    at = ("people", item.person, "replies", rule)
    reply = compiled.reply
    if compiled.any and not any(found(reading) for found in compiled.any):
        yield Edit("widen_keywords", pointer(*at, "any"), _words(item, world))
    for place, found in reversed(list(enumerate(compiled.all))):
        if not found(reading):
            yield Edit("drop", pointer(*at, "all", place), cost=2)
    heard = sum(other.is_heard_in(reading) for other in book.rules)
    if reply.tells in ("never", "absent") or (reply.tells == "on_specific_ask" and heard > FISHING):
        yield Edit("replace", pointer(*at, "tells"), "on_ask", 3)
    if reply.needs is not None:
        yield Edit("drop", pointer(*at, "needs"), cost=3)


def _words(item: Asked, world: World) -> list[Json]:
    """Words of the question by which a reply can be recognised: those that open no other."""
    others = [found for rule in world.rulebooks[item.person].rules for found in rule.any]
    words = dict.fromkeys(word.lower() for word in _WORD.findall(item.question))
    own = [word for word in words if not any(found(Reading(word)) for found in others)]
    return [*sorted(own, key=lambda word: -len(word))[:3]]


def _fact_called(slot: str, facts: Mapping[str, Json], before: str = "") -> str | None:
    """The first fact of this name."""
    for name, value in facts.items():
        if name == slot and not isinstance(value, Mapping):
            return f"{before}{name}"
        if isinstance(value, Mapping) and (inner := _fact_called(slot, value, f"{before}{name}.")) is not None:
            return inner
    return None


def _unknown(passed: Mapping[tuple[str, str], Sequence[Json]], world: World) -> Iterator[Finding]:
    """Arguments that should come from what was seen, and are null whenever they are passed."""
    for place, (label, step) in enumerate(zip(labels(world.oracle), world.oracle, strict=True)):
        for name, value in step.args.items():
            values = passed.get((step.call or "", name), ())
            if sources(step, value) and values and all(given is None for given in values):
                yield Finding(
                    validator=NUMBER,
                    at=pointer("oracle", place, "args", name),
                    observed=f"The argument {name} of the step {label} is null in every variant.",
                    expected="What it refers to has been seen before in at least one variant.",
                    details={"step": label, "tool": step.call, "argument": name},
                    candidates=(Edit("drop", pointer("oracle", place, "args", name), cost=3),),
                )
