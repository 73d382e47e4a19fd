"""The same said otherwise: other forms of numbers and dates, another case, more politeness, a slip of the pen.

Knows texts as people write them. Does not know steps, nor what a text is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import date
from typing import TypeAlias

Rewording: TypeAlias = Callable[[str], str]

_DATE = re.compile(r"(?<![\w-])(\d{4}-\d{2}-\d{2})(?![\w-]|T\d)")
_MONEY = re.compile(r"(?<![\w.,:/€$£-])(\d+)\.(\d{1,2})(?![\w:/-]|[.,]\d)")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*(?=\S)")
_PUNCTUATION = re.compile(r"[.,;:!?…](?=\s|$)")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


# --- numbers and dates -------------------------------------------------------------------------------------


def grouped(text: str) -> str:
    """`1234.50` becomes `1,234.50`."""
    return _MONEY.sub(lambda found: f"{int(found[1]):,}.{found[2]}", text)


def continental(text: str) -> str:
    """`1234.50` becomes `1.234,50`; with two places after the point a sum of money, `1.234,50 €`."""

    def form(found: re.Match[str]) -> str:
        return f"{int(found[1]):,}".replace(",", ".") + f",{found[2]}{' €' if len(found[2]) == 2 else ''}"

    return _MONEY.sub(form, text)


def with_currency(text: str) -> str:
    """`1234.50` becomes `EUR 1234.5`, unless there is a currency already."""

    def form(found: re.Match[str]) -> str:
        known = re.search(r"(EUR|USD|GBP|CHF)\s*$", text[: found.start()]) is not None
        digits = found[2].rstrip("0")
        return f"{'' if known else 'EUR '}{found[1]}{'.' if digits else ''}{digits}"

    return _MONEY.sub(form, text)


def long_dates(text: str) -> str:
    """`2026-05-11` becomes `11 May 2026`."""
    return _dated(text, lambda day: f"{day.day} {_MONTHS[day.month - 1]} {day.year}")


def dotted_dates(text: str) -> str:
    """`2026-05-11` becomes `11.05.2026`."""
    return _dated(text, lambda day: f"{day.day:02}.{day.month:02}.{day.year}")


def _dated(text: str, form: Callable[[date], str]) -> str:
    def written(found: re.Match[str]) -> str:
        try:
            return form(date.fromisoformat(found[1]))
        except ValueError:
            return found[0]

    return _DATE.sub(written, text)


# --- tone and case -----------------------------------------------------------------------------------------


def polite(text: str) -> str:
    return f"{text} Many thanks in advance, and have a good day!"


def emphatic(text: str) -> str:
    """With the marks of Markdown."""
    return f"**Note**\n\n- {text}\n"


def formal(text: str) -> str:
    return f"Dear colleague,\n\n{text}\n\nYours sincerely"


def terse(text: str) -> str:
    """Without punctuation, except inside of numbers and the like."""
    return _PUNCTUATION.sub("", text)


def chatty(text: str) -> str:
    return f"Hey! {text} Hope your day is going well :-)"


def mistyped(text: str, kept: Collection[str]) -> str:
    """Every second long word has two letters swapped, except those that somebody looks for (`kept`, in small letters).

    Only in words that are all small letters: others may be names.
    """
    count = 0

    def slip(found: re.Match[str]) -> str:
        nonlocal count
        word = found[0]
        if len(word) < 5 or word != word.lower() or word in kept or not word.isascii() or word[2] == word[3]:
            return word
        if any(found.string[place : place + 1] in ("-", "@", "_", ".") for place in (found.start() - 1, found.end())):
            return word
        count += 1
        return word if count % 2 == 0 else word[:2] + word[3] + word[2] + word[4:]

    return _WORD.sub(slip, text)


def words(text: str) -> list[str]:
    """Its words, in small letters."""
    return _WORD.findall(text.lower())


def sentences(text: str) -> list[str]:
    """Its sentences."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


FORMS: Mapping[str, Rewording] = {
    "numbers-grouped": grouped,
    "numbers-continental": continental,
    "numbers-with-currency": with_currency,
    "dates-long": long_dates,
    "dates-dotted": dotted_dates,
    "polite": polite,
    "markdown": emphatic,
}
"""Forms that say the same to whoever reads."""

STYLES: Mapping[str, Rewording] = {
    "lower-case": str.lower,
    "upper-case": str.upper,
    "formal": formal,
    "terse": terse,
    "chatty": chatty,
}
"""Styles of writing. `mistyped` is one more; it has to know which words count."""
