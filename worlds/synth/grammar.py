"""The grammar that texts are made by: phrases with alternatives, styles, languages.

Knows how one phrase of several is chosen and filled, and how sentences become a message in a style. Does not know what
the phrases say. In a phrase, `[a|b]` is a choice, `{name}` a word that is known when the environment is made, and
`${fact}` and `@{step}` are left as they are: references of the environment.

Alternatives are split in halves before anything is made (see `origin.Half`): of each list, the even places are the
first half, the odd ones the second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from .origin import Draw, Half

T = TypeVar("T")

LANGUAGES = ("en", "de")
STYLES = ("plain", "terse", "chatty", "formal", "hurried")


class Manner(msgspec.Struct, frozen=True):
    """How the sentences of a style become a message, in one language."""

    opening: tuple[str, ...] = ("",)
    closing: tuple[str, ...] = ("",)
    between: tuple[str, ...] = (" ",)
    """What stands between two sentences."""


MANNERS: Mapping[str, Mapping[str, Manner]] = {
    "en": {
        "plain": Manner(("Hi!", "Hello!", "Hi there!", "Morning!"), ("Thanks!", "Thank you.", "", "Many thanks.")),
        "terse": Manner(closing=("", "Thx.")),
        "chatty": Manner(
            ("Hey, hope your week is off to a good start!", "Hi you, sorry to drop this on you before lunch.",
             "Hello hello! One more thing for your list, if you don't mind.", "Hey! Me again, with a small favour."),
            ("You're a star, thank you so much!", "Shout if anything is odd. Thanks a million!",
             "No rush, and thanks in advance.", "Coffee is on me. Thank you!"),
        ),
        "formal": Manner(
            ("Good morning.", "Good day to you.", "Good day.", "Good morning to you."),
            ("Thank you for taking care of this.", "Kind regards.", "With thanks in advance.", "Best regards."),
        ),
        "hurried": Manner(("", "hey", "", "quick one:"), ("", "thx", "gotta run", "ta"), (" - ", " / ", "... ", ", ")),
    },
    "de": {
        "plain": Manner(("Hallo!", "Guten Morgen!", "Hi!", "Moin!"), ("Danke!", "Vielen Dank.", "", "Danke dir.")),
        "terse": Manner(closing=("", "Danke.")),
        "chatty": Manner(
            ("Hallo du, ich hoffe, die Woche hat gut angefangen!", "Hi, entschuldige, dass ich schon wieder störe.",
             "Huhu! Noch eine Kleinigkeit für deine Liste.", "Hallo! Ich bin's noch mal, mit einer kleinen Bitte."),
            ("Du bist ein Schatz, tausend Dank!", "Melde dich, wenn etwas komisch ist. Danke dir!",
             "Eilt nicht auf die Minute. Danke schon mal!", "Der Kaffee geht auf mich. Danke!"),
        ),
        "formal": Manner(
            ("Guten Tag.", "Einen guten Tag.", "Guten Morgen.", "Einen schönen guten Morgen."),
            ("Vielen Dank für die Erledigung.", "Mit freundlichen Grüßen.", "Besten Dank im Voraus.", "Freundliche Grüße."),
        ),
        "hurried": Manner(("", "hey", "", "kurz:"), ("", "danke", "muss los", "thx"), (" - ", " / ", "... ", ", ")),
    },
}  # fmt: skip

_CHOICE = re.compile(r"\[([^\[\]{}]*\|[^\[\]{}]*)\]")
_WORD = re.compile(r"(?<![$@{])\{([a-z][a-z_]*(?:\.[a-z_]+)*)\}")


class Grammar:
    """Chooses and fills phrases of one half, from one stream of numbers."""

    def __init__(self, draw: Draw, half: Half, language: str, style: str) -> None:
        self._draw = draw
        self._half = half
        self.language = language
        self.style = style

    def phrase(self, alternatives: Sequence[str], words: Mapping[str, str]) -> str:
        """One of the alternatives, filled. Raises KeyError for a word that is not given."""
        chosen = self._draw.choice(halved(alternatives, self._half))
        chosen = _CHOICE.sub(lambda match: self._draw.choice(match[1].split("|")), chosen)
        return filled(chosen, words)

    def message(self, sentences: Sequence[str]) -> str:
        """Sentences as one message in the style."""
        manner = MANNERS[self.language][self.style]
        between = self._draw.choice(halved(manner.between, self._half))
        opening = self._draw.choice(halved(manner.opening, self._half))
        closing = self._draw.choice(halved(manner.closing, self._half))
        if self.style == "hurried":
            return between.join(part for part in (opening, *map(_hurried, sentences), closing) if part)
        return " ".join(part for part in (opening, between.join(sentences), closing) if part)


def halved(alternatives: Sequence[T], half: Half) -> Sequence[T]:
    """The alternatives of one half; all of a list of one."""
    return alternatives if len(alternatives) < 2 else alternatives[0 if half == "first" else 1 :: 2]


def filled(phrase: str, words: Mapping[str, str]) -> str:
    """A phrase with its `{name}`s put in, also those inside of what was put in."""
    for _ in range(3):
        phrase = _WORD.sub(lambda match: words[match[1]], phrase)
    return phrase


def capital(sentence: str) -> str:
    """With a capital at the start, unless it starts with a reference."""
    return sentence[:1].upper() + sentence[1:]


def _hurried(sentence: str) -> str:
    """As typed in a hurry: no capital at the start, no full stop at the end."""
    start = sentence[:1].lower() if sentence[1:2].islower() else sentence[:1]
    return (start + sentence[1:]).removesuffix(".")
