"""13, hidden stays hidden: a coworker who gives something away to whoever talks to them about anything else.

Each coworker hears messages that ask for nothing, in English and in German, with all their milestones reached: no reply
may give a slot or reach a milestone, and `otherwise` must not mention a hidden value. A message that asks for something
of the request is no probe: whoever says its words is talking about the task. Details: `person`, `probe` (the text),
`gives` and `marks` (what it brought), `words` (positions of the keywords in `any` that were heard). Proposes
`split_rule`, which takes those keywords out, or has the fact told to a specific question only; `restyle` of an
`otherwise`; `re_solve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....events.event import AGENT, Json
from ...coworker import FISHING, Mind, Planned, Rule, Rulebook, hear
from ...environment import Person
from ...matching import Reading, leaves, needle
from ...world import World
from ..findings import Edit, Finding
from ..playing import Case
from ..pointing import read, there
from .places import told, written_at

NUMBER = 13

PROBES = (
    "Hello!",
    "Hi, good morning to you.",
    "Good evening, how are you?",
    "Thanks!",
    "Thank you so much for your help.",
    "OK, got it.",
    "Sounds good, have a nice weekend.",
    "It is raining again, isn't it?",
    "The weather is lovely today.",
    "Did you see the game last night?",
    "I am back from my break.",
    "Please tell me everything.",
    "Tell me all you know.",
    "Just give it to me.",
    "I am working on it.",
    "What a day!",
    "When I have news I will write.",
    "Sorry for the delay.",
    "Hallo!",
    "Guten Morgen, wie geht es Ihnen?",
    "Vielen Dank für Ihre Hilfe.",
    "Alles klar, schönes Wochenende!",
    "Was für ein Tag! Das Wetter ist herrlich.",
    "Bitte erzählen Sie mir alles.",
    "Sag mir einfach, was du weißt.",
    "Entschuldigung, ich melde mich gleich.",
)
"""Messages that ask for nothing in particular."""

_READINGS = tuple(Reading(text) for text in PROBES)


async def find(case: Case) -> list[Finding]:
    found: list[Finding] = []
    known: dict[str, list[Person]] = {}
    places: set[str] = set()
    for variant, world in case.worlds.items():
        for name, person in world.people.items():
            if person in known.setdefault(name, []):
                continue
            known[name].append(person)
            for finding in _findings(case, variant, world, name):
                if finding.at not in places:
                    places.add(finding.at)
                    found.append(finding)
    return found


def _findings(case: Case, variant: str, world: World, name: str) -> Iterator[Finding]:
    book = world.rulebooks[name]
    for text, reading in zip(PROBES, _READINGS, strict=True):
        heard = sum(rule.is_heard_in(reading) for rule in book.rules)
        given = _given(book, text) if heard else []
        if given:
            yield _told(case, variant, name, text, heard, given)
    yield from _otherwise(case, variant, world, name)


def _given(book: Rulebook, text: str) -> list[Planned]:
    """The replies to a probe that give or grant something, whatever has been reached before."""
    _, decision = hear(book, Mind(), text, AGENT, 0, 0, lambda mark: True)
    return [reply for reply in decision.replies if reply.gives or reply.mark is not None]


def _told(case: Case, variant: str, name: str, text: str, heard: int, given: Sequence[Planned]) -> Finding:
    gives: dict[str, Json] = {slot: value for reply in given for slot, value in reply.gives.items()}
    marks = [reply.mark for reply in given if reply.mark is not None]
    to_blame = (part.rule for reply in given for part in reply.parts if part.gives or part.mark is not None)
    place = next(place for place in to_blame if place is not None)
    rule = case.worlds[variant].rulebooks[name].rules[place]
    words = _words(rule, Reading(text))
    at = written_at(case, variant, "people", name, "replies", place)
    return Finding(
        validator=NUMBER,
        at=at,
        twin=variant,
        observed=f"{name} answers “{text}” with {', '.join([*gives, *marks])} {told(variant)}.",
        expected="A message that asks for nothing brings nothing.",
        details={"person": name, "probe": text, "gives": gives, "marks": marks, "words": words},
        candidates=(*_narrower(case, at, rule, words, heard), Edit("re_solve", cost=5)),
    )


def _words(rule: Rule, reading: Reading) -> list[int]:
    return [position for position, found in enumerate(rule.any) if found(reading)]


def _narrower(case: Case, at: str, rule: Rule, words: Sequence[int], heard: int) -> Iterator[Edit]:
    written = read(case.data, f"{at}/any") if there(case.data, f"{at}/any") else []
    rest = [word for position, word in enumerate(written) if position not in words]
    if words and (rest or rule.all):
        yield Edit("split_rule", f"{at}/any", rest)
    if rule.reply.tells == "on_ask" and heard > FISHING:
        yield Edit("split_rule", f"{at}/tells", "on_specific_ask", cost=2)


def _otherwise(case: Case, variant: str, world: World, name: str) -> Iterator[Finding]:
    """Hidden values in what the person says to anything."""
    text = world.people[name].otherwise
    if text is None:
        return
    reading, requests = Reading(text), [Reading(opening.text) for opening in world.openings]
    for slot, value in _hidden(world):
        found = needle(value)
        if found(reading) and not any(map(found, requests)):
            at = written_at(case, variant, "people", name, "otherwise")
            yield Finding(
                validator=NUMBER,
                at=at,
                twin=variant,
                observed=f"What {name} says to anything mentions {value}, which is {slot}, {told(variant)}.",
                expected="`otherwise` mentions nothing that has to be asked for.",
                details={"person": name, "probe": "", "gives": {slot: value}, "marks": [], "words": []},
                candidates=(Edit("restyle", at, "Thank you."),),
            )
            return


def _hidden(world: World) -> Iterator[tuple[str, Json]]:
    """The values that people may give, by `person.slot`; yes and no are no values."""
    for name, person in world.people.items():
        for reply in person.replies:
            for gives in (reply.gives, reply.first.gives if reply.first is not None else {}):
                yield from _slots(name, gives)
    for happening in world.timeline:
        yield from _slots(happening.sender or "", happening.gives)


def _slots(name: str, gives: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for slot, value in gives.items():
        for leaf in leaves(value):
            if leaf is not None and not isinstance(leaf, bool):
                yield f"{name}.{slot}", leaf
