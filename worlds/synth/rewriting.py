"""New wordings for an environment's texts, by a model that is not trusted with their meaning.

Knows which texts may be reworded, and when a wording is accepted: it says what the template says (`entities`), people
hear the same intents in it, and the environment is as sound as before. Does not know how a model is reached nor what is
examined: both are arguments. The templates stay where a wording is not accepted, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from ...events.event import Json
from ..compiling import plain, resolved, with_twin
from ..coworker import rulebook
from ..document import DocumentError, parse
from ..environment import Environment
from ..facts import resolve, unescaped
from ..matching import Reading, leaves
from ..problems import InvalidEnvironment
from ..signs import FactError, Hole, Whole, read
from .entities import preserved
from .extracting import object_in
from .findings import Finding, pointer
from .pointing import put
from .prompts import Complete, NoAnswer, Unreachable, rewording

AFFECTED = (4, 12, 13, 16, 26)
"""Validators whose answer a text can change."""
TOGETHER = 40
"""Texts that are asked for at once."""

Check: TypeAlias = Callable[[Environment], Awaitable[Sequence[Finding]]]
"""What the affected validators find in an environment."""


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one text."""

    at: tuple[str, ...]
    """Where it stands: JSON pointers into the environment's data."""
    before: str
    after: str
    """What the model proposed; empty where it proposed nothing."""
    reason: str = ""
    """Why the template stays; empty where the wording was accepted."""

    @property
    def accepted(self) -> bool:
        return not self.reason


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """An environment with the wordings that were accepted. Changed ones are no longer frozen."""

    environment: Environment
    wordings: tuple[Wording, ...]

    @property
    def accepted(self) -> int:
        return sum(wording.accepted for wording in self.wordings)


async def rewritten(environment: Environment, complete: Complete, check: Check, *, articles: bool = False) -> Rewritten:
    """The environment in other words. With `articles`, records that are prose may be reworded, too.

    Texts are judged one by one, and then together by `check`: where new findings come of them, those texts that bring
    them go back to their templates. Never raises for what a model answers; `Unreachable` where it cannot be asked.
    """
    data = plain(environment)
    places = texts(data, articles=articles)
    if not places:
        return Rewritten(environment=environment, wordings=())
    proposed, silence = await _proposed(list(places), complete)
    judge = _Judge(environment, data)
    wordings = [
        Wording(at=at, before=text, after=proposed.get(text, ""), reason=silence or judge.objection(text, proposed))
        for text, at in places.items()
    ]
    return await _examined(environment, data, wordings, check)


# --- which texts -------------------------------------------------------------------------------------------


def texts(data: Mapping[str, Json], *, articles: bool = False) -> dict[str, tuple[str, ...]]:
    """The texts of an environment's data that may be reworded, with all places of each: in twins, too, so that no twin
    is told by its style."""
    found: dict[str, tuple[str, ...]] = {}
    sides = [((), data), *((("twins", name), patch) for name, patch in _items(data.get("twins")))]
    for start, side in sides:
        for path, text in (*_spoken(side), *(_prose(side) if articles else ())):
            if _is_wording(text):
                found[text] = (*found.get(text, ()), pointer(*start, *path))
    return found


_Place: TypeAlias = tuple[tuple[str | int, ...], Json]


def _spoken(data: Json) -> Iterator[_Place]:
    """What people say."""
    for name, person in _items(_value(data, "people")):
        for key in ("opens", "otherwise"):
            yield ("people", name, key), _value(person, key)
        for number, reply in enumerate(_list(_value(person, "replies"))):
            yield ("people", name, "replies", number, "say"), _value(reply, "say")
            yield ("people", name, "replies", number, "first", "say"), _value(_value(reply, "first"), "say")
    for number, entry in enumerate(_list(_value(data, "timeline"))):
        yield ("timeline", number, "say"), _value(entry, "say")


def _prose(data: Json) -> Iterator[_Place]:
    """Records' fields that hold prose."""
    for service, spec in _items(_value(data, "services")):
        for collection, records in _items(_value(spec, "records")):
            for number, record in enumerate(_list(records)):
                for field, text in _items(record):
                    if isinstance(text, str) and len(text.split()) >= _PROSE:
                        yield ("services", service, "records", collection, number, field), text


_PROSE = 6
"""Words from which on a field is prose."""


def _is_wording(text: Json) -> bool:
    """Whether it is a text with words of its own, not a value or a reference."""
    if not isinstance(text, str) or len(text) > 4000:
        return False
    try:
        pieces = read(text)
    except FactError:
        return False
    return not isinstance(pieces, Whole) and any(
        isinstance(piece, str) and re.search(r"[^\W\d_]{2}", piece) for piece in pieces
    )


def _items(value: Json) -> Iterable[tuple[str, Json]]:
    return value.items() if isinstance(value, Mapping) else ()


def _list(value: Json) -> Iterable[Json]:
    return value if isinstance(value, list | tuple) else ()


def _value(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None


# --- asking ------------------------------------------------------------------------------------------------


async def _proposed(wanted: Sequence[str], complete: Complete) -> tuple[dict[str, str], str]:
    """By text, the model's wording of it; and, where there are none at all, why."""
    proposed: dict[str, str] = {}
    silence = ""
    for start in range(0, len(wanted), TOGETHER):
        numbered = {str(number): text for number, text in enumerate(wanted[start : start + TOGETHER], start=1)}
        try:
            answer = await complete(rewording(numbered))
        except Unreachable:
            raise
        except NoAnswer as error:
            silence = str(error)
            continue
        found = _answered(answer)
        proposed |= {text: found[number] for number, text in numbered.items() if isinstance(found.get(number), str)}
    return proposed, "" if proposed else silence or "the model's answer holds no wordings."


def _answered(answer: str) -> Mapping[str, Json]:
    extract = object_in(answer)
    try:
        value = parse(extract.text) if extract else None
    except DocumentError:
        return {}
    return value if isinstance(value, Mapping) else {}


# --- judging one text --------------------------------------------------------------------------------------


class _Judge:
    """What is known of an environment when one of its texts is judged."""

    def __init__(self, environment: Environment, data: dict[str, Json]) -> None:
        self._facts: Json = data.get("facts", {})
        self._known = list(_names(environment))
        given = [
            [reply.gives, reply.first and reply.first.gives] for p in environment.people.values() for reply in p.replies
        ]
        hidden = leaves(self._realised([self._facts, given]))
        self._hidden = [text for text in dict.fromkeys(map(_told, hidden)) if text]
        people = resolved(with_twin(data, None)).people
        self._books = {name: rulebook(person) for name, person in people.items()}

    def objection(self, before: str, proposed: Mapping[str, str]) -> str:
        """Why the wording that is proposed for a text cannot be taken; empty if it can."""
        after = proposed.get(before)
        if after is None:
            return "the model proposed no wording."
        if after == before:
            return "the model left it as it was."
        if len(after) > 3 * len(before) + 200:
            return f"it has {len(after)} characters, the template {len(before)}."
        if not after.strip() or not after.replace("\n", "").isprintable() or ("\n" in after and "\n" not in before):
            return "it is empty, or has line breaks or characters that the template has not."
        try:
            holes, kept = _holes(before), _holes(after)
        except FactError as error:
            return f"a reference in it is broken: {error.message}"
        if holes != kept:
            return "its references are not those of the template."
        differences = preserved(before, after, self._known, self._hidden)
        if differences:
            return " ".join(differences)
        lost, new = self._intents(before), self._intents(after)
        if lost != new:
            return f"people hear something else in it: {_said(lost)} before, {_said(new)} now."
        return ""

    def _intents(self, template: str) -> frozenset[tuple[str, int]]:
        """The rules, by person and place, that hear their words in a text as it is told."""
        reading = Reading(str(self._realised(template)))
        return frozenset(
            (name, place)
            for name, book in self._books.items()
            for place, rule in enumerate(book.rules)
            if rule.is_heard_in(reading)
        )

    def _realised(self, value: Json) -> Json:
        """A value with facts in the place of references."""
        return unescaped(resolve({"facts": self._facts, "title": value})["title"], ())


def _said(intents: Collection[tuple[str, int]]) -> str:
    return ", ".join(f"{name}'s reply {place}" for name, place in sorted(intents)) or "nothing"


def _told(value: Json) -> str:
    """A hidden value as it may be given away; what is too short to be telling is not looked for."""
    text = "" if value is None or isinstance(value, bool) else str(value)
    return text if len(text) > 2 else ""


def _names(environment: Environment) -> Iterator[str]:
    """Names that texts may hold: people, services, and what in facts is written like a name."""
    for name in environment.people:
        yield from (name, name.capitalize())
    for value in leaves(environment.facts):
        if isinstance(value, str) and re.fullmatch(r"[A-ZÀ-Þ]\w+(?: [A-ZÀ-Þ]\w+){0,3}", value):
            yield from (value, *value.split())


def _holes(text: str) -> list[Hole] | None:
    """The references in a text, in order; None where the whole text is one. Raises `FactError`."""
    pieces = read(text)
    return None if isinstance(pieces, Whole) else [piece for piece in pieces if isinstance(piece, Hole)]


# --- judging all texts together ----------------------------------------------------------------------------


async def _examined(
    environment: Environment, data: dict[str, Json], wordings: Sequence[Wording], check: Check
) -> Rewritten:
    """The environment with the wordings that nothing new is found in."""
    hopeful = [wording for wording in wordings if wording.accepted]
    if not hopeful:
        return Rewritten(environment=environment, wordings=tuple(wordings))
    known = {_key(finding) for finding in await check(environment)}
    best, data = environment, {key: value for key, value in data.items() if key != "frozen"}
    reasons: dict[str, str] = {}
    waiting = [hopeful]
    while waiting:
        group = waiting.pop(0)
        changed = _with(data, group)
        candidate, found = await _found(changed, check)
        new = [finding for finding in found if _key(finding) not in known]
        if candidate is not None and not new:
            best, data = candidate, changed
        elif len(group) > 1:
            middle = len(group) // 2
            waiting[:0] = [group[:middle], group[middle:]]
        else:
            reasons[group[0].before] = _why(new)
    told = (msgspec.structs.replace(w, reason=w.reason or reasons.get(w.before, "")) for w in wordings)
    return Rewritten(environment=best, wordings=tuple(told))


async def _found(data: dict[str, Json], check: Check) -> tuple[Environment | None, Sequence[Finding]]:
    """The environment of this data, and what is found in it; none where it cannot be played."""
    try:
        environment = msgspec.convert(data, Environment)
        return environment, await check(environment)
    except (InvalidEnvironment, msgspec.ValidationError) as error:
        return None, [Finding(validator=1, at="", observed=str(error), expected="The environment can be played.")]


def _with(data: dict[str, Json], wordings: Iterable[Wording]) -> dict[str, Json]:
    for wording in wordings:
        for at in wording.at:
            data = put(data, at, wording.after)
    return data


def _key(finding: Finding) -> tuple[int, str, str, str | None]:
    return finding.validator, finding.severity, finding.at, finding.twin


def _why(findings: Sequence[Finding]) -> str:
    first = findings[0]
    return f"validator {first.validator} finds something new with it at {first.at or 'the whole'}: {first.observed}"
