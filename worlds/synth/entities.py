"""What a text is about that no other wording of it may change: values, names, references, negations and restrictions.

Knows English and German, and the notations of `worlds.notations`. Does not know environments, nor who words a text.
Texts are untrusted: every pattern is fixed and bounded, and the work is about linear in the text.

Two wordings are equivalent here if they hold the same entities equally often, those of one kind in the same order (so
that nothing changes places), and if each negation or restriction still stands in a clause about the same things. That
is stricter than it need be: a good wording may be refused, a bad one should not get through. What it cannot see is a
new name in German that is neither known nor stands behind a title, since there every noun has a capital.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from ...events.event import Json
from ..matching import mentions
from ..notations import Reading, fold

LONGEST = 20_000
"""Characters of a text that are looked at; nobody's message is longer."""


class Entity(msgspec.Struct, frozen=True):
    """One thing that a text says."""

    kind: str
    """`reference`, `e-mail`, `link`, `quotation`, `name`, `title`, `moment`, `date`, `time`, `id`, `number`, `day`,
    `number word`, `negation` or `restriction`."""
    value: str
    """What it is, in one notation for all that mean the same."""
    at: int = 0
    """Where in the text it begins, in characters."""


_Value: TypeAlias = Callable[[re.Match[str]], str | None]
"""What a find means; None where it is no such thing."""

_FLAGS = re.IGNORECASE
_MONTHS = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz?|apr(?:il)?|may|mai|june?|juni|july?|juli|"
    r"aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\b\.?"
)
_ISO_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_UNITS = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), "EUR"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "USD"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), "GBP"),
    **dict.fromkeys(("chf", "franken"), "CHF"),
    **dict.fromkeys(("%", "percent", "prozent"), "%"),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "minuten"), "minutes"),
    **dict.fromkeys(("h", "hour", "hours", "stunde", "stunden"), "hours"),
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen"), "days"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen"), "weeks"),
    **dict.fromkeys(("kg", "g", "km", "m", "cm", "l"), None),
    "k": "thousand",
}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<before>€|\$|£|(?:eur|usd|gbp|chf)\b)? ?(?P<sign>[-−])?"
    rf"(?P<digits>[0-9]{{1,40}}(?:[.,'][0-9]{{1,40}}| [0-9]{{3}}(?![0-9]))*)"
    rf"(?:[ -]?(?P<after>{_UNIT})(?!\w))?",
    _FLAGS,
)
_WORDS = {
    "number word": (
        "two three four five six seven eight nine ten eleven twelve dozen twice half hundred thousand",
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dutzend zweimal halb hundert tausend",
    ),
    "day": (
        "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag heute gestern übermorgen",
    ),
}
_NEGATIONS = {
    "not": r"not|cannot|\w{1,12}n['’]t|nicht",
    "no": r"no|none|kein\w{0,2}",
    "never": r"never|nie|niemals",
    "nothing": r"nothing|nichts",
    "nobody": r"nobody|no one|niemand\w{0,2}",
    "without": r"without|ohne",
    "neither": r"neither|nor|weder|noch nie",
}
_RESTRICTIONS = {
    "at most": r"at most|no more than|not more than|höchstens|maximal|nicht mehr als",
    "at least": r"at least|no less than|mindestens",
    "only": r"only|nur|lediglich|ausschließlich",
    "unless": r"unless|es sei denn",
    "except": r"except|außer|ausser|ausgenommen",
    "must": r"must|have to|has to|muss|müssen|musst|müsst",
    "until": r"until|bis",
    "exactly": r"exactly|genau",
    "always": r"always|immer",
}


def _either(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", _FLAGS)


def _whole(match: re.Match[str]) -> str:
    return match[0]


def _inner(match: re.Match[str]) -> str:
    return fold(match[0].strip('"“”„`'))


def _link(match: re.Match[str]) -> str:
    return match[0].rstrip(".,;:!?)")


def _title(match: re.Match[str]) -> str:
    return {"mrs": "ms", "herrn": "herr"}.get(match[1].lower(), match[1].lower())


def _date(match: re.Match[str]) -> str | None:
    return str(sorted(Reading(match[0]).dates, key=str)) if Reading(match[0]).dates else None


def _time(match: re.Match[str]) -> str | None:
    return str(sorted(Reading(match[0]).times)) if Reading(match[0]).times else None


def _moment(match: re.Match[str]) -> str | None:
    day, time = _date(match), _time(match)
    return None if day is None or time is None else f"{day} {time}"


def _number(match: re.Match[str]) -> str:
    readings = Reading(match["digits"]).numbers
    value = " or ".join(sorted(f"{number.normalize():f}" for number in readings)) or match["digits"]
    found = (match["before"] or match["after"] or "").lower()
    unit = _UNITS.get(found) or found
    return f"{'-' if match['sign'] else ''}{value} {unit}".rstrip()


_FINDS: tuple[tuple[str, re.Pattern[str], _Value], ...] = (
    ("reference", re.compile(r"[$@]\{(?:[^{}]|\{[^{}]{0,200}\}){0,400}\}"), _whole),
    ("link", re.compile(r"https?://\S{1,500}", _FLAGS), _link),
    ("e-mail", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"), _whole),
    ("quotation", re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|`[^`\n]{1,200}`"), _inner),
    ("title", re.compile(r"(?<!\w)(Mr|Mrs|Ms|Dr|Prof|Herrn?|Frau)\b\.?(?= )"), _title),
    ("moment", re.compile(rf"(?<![\w-]){_ISO_DAY}[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}})?(?![\w:])"), _moment),
    (
        "date",
        re.compile(
            rf"(?<![\w.-])(?:{_ISO_DAY}(?![\w-])|[0-9]{{1,2}}\.[0-9]{{1,2}}\.(?:[0-9]{{4}}|[0-9]{{2}})?(?![\w])|"
            rf"[0-9]{{1,2}}/[0-9]{{1,2}}(?:/[0-9]{{2,4}})?(?![\w/])|"
            rf"[0-9]{{1,2}}(?:st|nd|rd|th|\.)? ?(?:of )?{_MONTHS}(?:,? [0-9]{{4}}\b)?|"
            rf"{_MONTHS} [0-9]{{1,2}}(?:st|nd|rd|th)?(?![0-9:])(?:,? [0-9]{{4}}\b)?)",
            _FLAGS,
        ),
        _date,
    ),
    (
        "time",
        re.compile(
            r"(?<![\w.:])(?:[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?(?:[ap]\.?m\b\.?|uhr\b))?|"
            r"[0-9]{1,2}(?:\.[0-9]{2})? ?(?:[ap]\.?m\b\.?|uhr\b|o['’]clock\b))(?![\w:])",
            _FLAGS,
        ),
        _time,
    ),
    (
        "id",
        re.compile(
            rf"(?<![\w@-])(?!-?[0-9]+(?:[.,][0-9]+)?(?:st|nd|rd|th|{_UNIT})(?!\w))(?![0-9]+-[^\W\d_]{{3,}}(?!\w))"
            r"(?=[^\W_]{0,20}(?:[-_/][^\W_]{0,20}){0,4}[0-9])(?=[0-9]{0,20}(?:[-_/][0-9]{0,20}){0,4}[^\W\d_])"
            r"[^\W_]{1,30}(?:[-_/][^\W_]{1,30}|\.[0-9]{1,30}){0,5}(?![\w@])"
        ),
        _whole,
    ),
    ("number", _NUMBER, _number),
    *((kind, _either("|".join(" ".join(words).split())), lambda m: m[0].lower()) for kind, words in _WORDS.items()),
    ("day", re.compile(r"(?<!\w)morgen(?!\w)"), _whole),
    *(("restriction", _either(words), lambda _, name=name: name) for name, words in _RESTRICTIONS.items()),
    *(("negation", _either(words), lambda _, name=name: name) for name, words in _NEGATIONS.items()),
)
"""In this order; what one has found is hidden from the next."""


def entities(text: str, known: Sequence[str] = ()) -> list[Entity]:
    """All entities of a text, in its order; `known` are names to look for, with their capitals."""
    text = text[:LONGEST]
    names = sorted({name for name in known if name.strip()}, key=len, reverse=True)
    finds = list(_FINDS)
    if names:
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        finds.insert(5, ("name", pattern, _whole))
    found: list[Entity] = []
    for kind, pattern, value in finds:
        text, here = _taken(text, kind, pattern, value)
        found += here
    return sorted(found, key=lambda entity: entity.at)


def _taken(text: str, kind: str, pattern: re.Pattern[str], value: _Value) -> tuple[str, list[Entity]]:
    """The text with the finds of one kind blanked out, and these."""
    found: list[Entity] = []

    def take(match: re.Match[str]) -> str:
        meant = value(match)
        if meant is None:
            return match[0]
        found.append(Entity(kind, meant, match.start()))
        return " " * len(match[0])

    return pattern.sub(take, text), found


# --- comparing ---------------------------------------------------------------------------------------------


def preserved(before: str, after: str, known: Sequence[str] = (), hidden: Sequence[Json] = ()) -> list[str]:
    """What the second wording changes of what the first says, in sentences; nothing if it says the same.

    `known` are names that may occur, `hidden` values that the second may not give away unless the first does.
    """
    if len(after) > LONGEST:
        return [f"it has {len(after)} characters; {LONGEST} are allowed."]
    old, new = entities(before, known), entities(after, known)
    differences = [*_counted(old, new)]
    if not differences:
        differences += _moved(old, new)
    differences += _clauses(before, after, old, new)
    differences += _capitals(before, after)
    said = [value for value in hidden if mentions(after, value) and not mentions(before, value)]
    return list(dict.fromkeys([*differences, *(f"it gives away {value!s}." for value in said)]))


def _counted(old: Sequence[Entity], new: Sequence[Entity]) -> Iterator[str]:
    first, second = (Counter((entity.kind, entity.value) for entity in side) for side in (old, new))
    for kind, value in first - second:
        yield f"the {kind} {value} is lost{' once' if (kind, value) in second else ''}."
    for kind, value in second - first:
        yield f"the {kind} {value} is {'there once more' if (kind, value) in first else 'new'}."


_ORDERED = ("reference", "e-mail", "link", "quotation", "name", "moment", "date", "time", "id", "number", "day")


def _moved(old: Sequence[Entity], new: Sequence[Entity]) -> Iterator[str]:
    """Kinds whose values stand in another order: who gives what to whom may have changed with it."""
    for kind in _ORDERED:
        first, second = ([entity.value for entity in side if entity.kind == kind] for side in (old, new))
        for one, other in zip(first, second):
            if one != other:
                yield f"the {kind} {one} and the {kind} {other} have changed places."
                break


_CLAUSE_END = re.compile(r"[.,;:!?\n—–]|\b(?:but|and|aber|sondern|und)\b", _FLAGS)
_CONTENT = re.compile(r"[^\W\d_]{4,}")
_STEM = 4
_PARTICLES = _either("|".join((*_NEGATIONS.values(), *_RESTRICTIONS.values())))
_BOUND = ("negation", "restriction")
_COMMON = frozenset(
    {"that", "this", "with", "from", "have", "will", "would", "could", "should", "please", "them", "they", "your"}
    | {"bitte", "dies", "diese", "diesen", "dass", "haben", "wird", "werden"}
)


def _clauses(before: str, after: str, old: Sequence[Entity], new: Sequence[Entity]) -> Iterator[str]:
    """Negations and restrictions whose clauses have no word in common: they are about something else now."""
    first, second = _Clauses(before), _Clauses(after)
    for kind, value in dict.fromkeys((entity.kind, entity.value) for entity in old if entity.kind in _BOUND):
        there = [first.words(entity.at) for entity in old if (entity.kind, entity.value) == (kind, value)]
        here = [second.words(entity.at) for entity in new if (entity.kind, entity.value) == (kind, value)]
        if len(there) == len(here) and any(a and b and not a & b for a, b in zip(there, here)):
            yield f"the {kind} {value} is about something else."


class _Clauses:
    """A text in clauses, each with the beginnings of its longer words; a clause is read when first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [match.end() for match in _CLAUSE_END.finditer(text)]
        self._read: dict[int, frozenset[str]] = {}

    def words(self, at: int) -> frozenset[str]:
        """Those of the clause around a place."""
        number = bisect_right(self._ends, at)
        if number not in self._read:
            start = self._ends[number - 1] if number else 0
            end = self._ends[number] if number < len(self._ends) else len(self._text)
            words = _CONTENT.findall(_PARTICLES.sub(" ", self._text[start:end]).lower())
            self._read[number] = frozenset(word[:_STEM] for word in words if word not in _COMMON)
        return self._read[number]


_CAPITAL = re.compile(r"(?<=[^\W\d_.!?:;,)] )[A-ZÀ-Þ][^\W\d_]+|(?<=, )[A-ZÀ-Þ][^\W\d_]+")
_ACRONYM = re.compile(r"(?<![\w-])[A-Z]{2,10}(?![\w-])")
_GERMAN = re.compile(r"\b(?:und|der|das|ist|nicht|bitte|ich|sie|mir|auf|für|den|dem|ein|eine|danke|guten|es)\b", _FLAGS)
_ENGLISH = re.compile(r"\b(?:and|the|is|not|please|you|me|on|for|of|to|a|an|thanks|it|in)\b", _FLAGS)
_MANNERS = frozenset(("Hi", "Hello", "Hey", "Thanks", "Thank", "Please", "Good", "Dear"))


def _capitals(before: str, after: str) -> Iterator[str]:
    """Capitalised words within sentences that only one of the wordings has at all; English, and acronyms anywhere."""
    for text, other, what in ((after, before, "new"), (before, after, "lost")):
        found = set(_ACRONYM.findall(text))
        if len(_GERMAN.findall(text)) <= len(_ENGLISH.findall(text)):
            found.update(_CAPITAL.findall(text))
        words = set(re.findall(r"\w+", other))
        for word in sorted(found - words - _MANNERS):
            if word.lower() not in _NO_NAMES:
                yield f"the name {word} is {what}."


_NO_NAMES = frozenset(" ".join((*_WORDS["day"], "mr mrs ms dr herr herrn frau ok am pm eur usd gbp chf")).split())
