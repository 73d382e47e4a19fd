"""What a text says in numbers, dates and times, whoever wrote it and in whichever usual notation.

Knows notations. Does not know what is looked for (`matching`), nor what an environment is. The text is untrusted and
may be long: every pattern here is fixed, and the work is linear in its length.

* Numbers: `165`, `165.00`, `€165`, `165 EUR`, `-3`, `12%`, `1,234.50`, `1.234,50`, `1'234`, `1 234`, `3万`, `2k`. Where
  both separators occur, the last is the decimal point. A lone separator before exactly three digits is ambiguous, and
  so is a space there: the text counts as saying both (`1.234` is 1.234 and 1234). Digits inside an id (`O-165`,
  `RMA7741`), with superfluous zeros (`007`) or in a date or time are no numbers; `10-20` is two.
* Dates: `2026-03-13`, `13.03.2026`, `13.3.`, `03/13/2026`, `13 March 2026`, `March 13th`, `13. März`, `3月13日`. One
  without a year is that day of any year; where day and month could be either, both readings count.
* Times: `16:00`, `16:00:00`, `4 pm`, `4:30 p.m.`, `16 Uhr`, `下午4点`.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

Day: TypeAlias = tuple[int | None, int, int]
"""Year, where there is one, month and day."""

_LONGEST_NUMBER = 40
_LONGEST_KEPT = 4096
_PIECE = re.compile(r"\s+|\S{1,1000}")
_PLAIN: dict[int, str | None] = {
    **dict.fromkeys(map(ord, "*`—"), " "),
    **dict.fromkeys(map(ord, "‐–−"), "-"),
    **dict.fromkeys(map(ord, "’‘ʼ"), "'"),
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), None),
}
_CHUNK = re.compile(r"[0-9]+(?:[.,':/\-][0-9]+)*")
_SPACED = re.compile(r"[0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]+)?")
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3])[:.]([0-5][0-9])(?::([0-5][0-9])(?:[.,][0-9]+)?)?")
_HALF_DAY = re.compile(r" ?([ap])\.?m\b")
_O_CLOCK = re.compile(r" ?(?:(?:uhr|o'clock)\b|[点點时時](?:([0-5]?[0-9])分|(半))?)")
_LETTERS = re.compile(r"[a-zµà-ÿ]+")
_FACTOR = re.compile(r"(k\b)|[ -]?(?:(thousand|tausend)|(million|millionen|mio))\b|([千万萬亿億])")
_FACTORS = {"千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_CURRENCIES = frozenset({"eur", "usd", "gbp", "chf", "jpy", "cny", "rmb", "kr"})
_UNITS = _CURRENCIES.union(
    ["d", "h", "hr", "hrs", "min", "mins", "s", "sec", "ms", "kg", "g", "mg", "km", "m", "cm", "mm", "l", "ml"],
    ["pcs", "px", "kb", "mb", "gb", "tb", "x"],
)
_MONTH_NAMES = (
    ("jan", "january", "januar"),
    ("feb", "february", "februar"),
    ("mar", "march", "märz", "mär"),
    ("apr", "april"),
    ("may", "mai"),
    ("jun", "june", "juni"),
    ("jul", "july", "juli"),
    ("aug", "august"),
    ("sep", "sept", "september"),
    ("oct", "october", "okt", "oktober"),
    ("nov", "november"),
    ("dec", "december", "dez", "dezember"),
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_YEAR = r"(?:,? (?P<year>[0-9]{4})\b)?"
# Nothing stands before what each begins with, so that the engine can skip to it; the place before is looked at later.
_DAY_MONTH = re.compile(rf"(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|\.)? ?(?:of )?{_MONTH}{_YEAR}")
_MONTH_DAY = re.compile(rf"{_MONTH} (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![0-9:]){_YEAR}")
_WIDE_DATE = re.compile(r"(?:(?P<year>[0-9]{4})年)?(?P<month>[0-9]{1,2})月(?P<day>[0-9]{1,2})[日号號]")


def fold(text: str) -> str:
    """A text as it is compared: compatibility forms, case and marks of emphasis gone, white space single."""
    if text.isascii():
        folded = text.lower()
    else:
        # In pieces, because the normalisation of one run of combining marks takes quadratic time.
        pieces = [text] if len(text) <= 1000 else _PIECE.findall(text)
        folded = "".join(unicodedata.normalize("NFKC", piece) for piece in pieces).casefold()
    return " ".join(folded.translate(_PLAIN).split())


def is_wide(char: str) -> bool:
    """Whether words of this script are written without spaces: Chinese, Japanese, Thai and their like."""
    return (
        "\u2e80" <= char <= "\ua4cf"
        or "\uf900" <= char <= "\ufaff"
        or char >= "\U00020000"
        or "\u0e00" <= char <= "\u0eff"
    )


def is_word(char: str) -> bool:
    """Whether the character binds to its neighbour, as letters and digits do where words have spaces."""
    return (char.isalnum() or char == "_") and not is_wide(char)


def as_read(text: str) -> Reading:
    """A text as it is read: the same `Reading` for a text that was read lately, since episodes repeat one another."""
    return _reading(text) if len(text) <= _LONGEST_KEPT else Reading(text)


class Reading:
    """A text, and what it says; it is read when first asked."""

    __slots__ = ("_dates", "_folded", "_numbers", "_raw", "_times")

    def __init__(self, text: str) -> None:
        self._raw = text
        self._folded: str | None = None
        self._numbers: set[Decimal] | None = None
        self._dates: set[Day] = set()
        self._times: set[int] = set()

    @property
    def text(self) -> str:
        """The text, folded."""
        if self._folded is None:
            self._folded = fold(self._raw)
        return self._folded

    @property
    def numbers(self) -> set[Decimal]:
        if self._numbers is None:
            self._read()
        assert self._numbers is not None
        return self._numbers

    @property
    def dates(self) -> frozenset[Day]:
        """All dates that it may mean; days of any year have none."""
        if self._numbers is None:
            self._read()
        return frozenset(self._dates)

    @property
    def times(self) -> frozenset[int]:
        """Times of day, in seconds since midnight."""
        if self._numbers is None:
            self._read()
        return frozenset(self._times)

    def says_date(self, year: int, month: int, day: int) -> bool:
        if self._numbers is None:
            self._read()
        return (year, month, day) in self._dates or (None, month, day) in self._dates

    def says_time(self, seconds: int) -> bool:
        """Whether it names this time of day, in seconds since midnight."""
        if self._numbers is None:
            self._read()
        return seconds in self._times

    def _read(self) -> None:
        self._numbers = set()
        text = _WIDE_DATE.sub(self._named_date, self.text) if "月" in self.text else self.text
        text = _MONTH_DAY.sub(self._named_date, _DAY_MONTH.sub(self._named_date, text))
        for chunk in _CHUNK.finditer(text):
            self._chunk(text, chunk.start(), chunk.end())
        for spaced in _SPACED.finditer(text):
            start, end = spaced.span()
            if _is_free(text, start) and not (end < len(text) and (is_word(text[end]) or text[end] in ":/-'")):
                self._numbers.update(_numbers(spaced[0].replace(" ", "'")))

    def _date(self, year: str | None, month: int, day: str) -> bool:
        number = int(day)
        full = None if year is None else int(year) + (2000 if len(year) == 2 else 0)
        if not (1 <= month <= 12 and 1 <= number <= calendar.monthrange(full or 2000, month)[1] and full != 0):
            return False
        self._dates.add((full, month, number))
        return True

    def _named_date(self, match: re.Match[str]) -> str:
        """Note a date that names its month; what is left to read instead of it."""
        start = match.start()
        before = match.string[start - 1] if start else " "
        if before.isdigit() or (is_word(before) and not match[0][0].isdigit()):
            return match[0]
        month = _MONTHS.get(match["month"]) or int(match["month"])
        return " ; " if self._date(match["year"], month, match["day"]) else match[0]

    def _chunk(self, text: str, start: int, end: int) -> None:
        """Read one run of digits and separators, if it is not part of an id."""
        chunk = text[start:end]
        if len(chunk) > _LONGEST_NUMBER or not _is_free(text, start):
            return
        if self._as_time(text, start, end) or not _ends_free(text, end):
            return
        assert self._numbers is not None
        if chunk.isdigit():
            found = _numbers(chunk)
        elif "-" in chunk:
            found = self._dashed(chunk)
        elif "/" in chunk:
            found = self._slashed(chunk)
        elif ":" in chunk:
            return
        else:
            found = self._dotted(chunk, end < len(text) and text[end] == ".")
        factor = _factor(text, end)
        sign = -1 if start and text[start - 1] == "-" else 1
        self._numbers.update(sign * factor * number for number in found)

    def _as_time(self, text: str, start: int, end: int) -> bool:
        chunk = text[start:end]
        following = text[end : end + 2].lstrip()[:1]
        if ":" not in chunk and (not following or following not in "apuo点點時时"):
            return False
        half, clock = _HALF_DAY.match(text, end), _O_CLOCK.match(text, end)
        if not (half or clock or ":" in chunk):
            return False
        later = bool(half and half[1] == "p") or text[max(0, start - 2) : start] in ("下午", "晚上", "傍晚")
        for part in re.split("[-/]", chunk):
            match = _CLOCK.fullmatch(part)
            if match:
                hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
            elif part.isdigit() and int(part) < 24 and (half or clock):
                hour, second = int(part), 0
                minute = int(clock[1] or 30 * bool(clock[2])) if clock else 0
            else:
                continue
            if half:
                hour %= 12
            self._times.add(((hour + 12 if later and hour < 12 else hour) * 60 + minute) * 60 + second)
        return True

    def _dashed(self, chunk: str) -> list[Decimal]:
        parts = chunk.split("-")
        if len(parts) == 3:
            self._three(parts)
        return [number for part in parts for number in _numbers(part)] if len(parts) == 2 else []

    def _slashed(self, chunk: str) -> list[Decimal]:
        parts = chunk.split("/")
        if len(parts) == 3:
            self._three(parts)
        if len(parts) != 2:
            return []
        if all(part.isdigit() and len(part) <= 2 for part in parts):
            self._date(None, int(parts[0]), parts[1])
            self._date(None, int(parts[1]), parts[0])
        return [number for part in parts for number in _numbers(part)]

    def _three(self, parts: list[str]) -> bool:
        """Year, month and day; or day, month and year; or, with other months, month, day and year."""
        if not all(part.isdigit() for part in parts):
            return False
        lengths = [len(part) for part in parts]
        if lengths[0] == 4 and max(lengths[1:]) <= 2:
            return self._date(parts[0], int(parts[1]), parts[2])
        if max(lengths[:2]) > 2 or lengths[2] not in (2, 4):
            return False
        first = self._date(parts[2], int(parts[1]), parts[0])
        return self._date(parts[2], int(parts[0]), parts[1]) or first

    def _dotted(self, chunk: str, dot_follows: bool) -> list[Decimal]:
        parts = chunk.split(".")
        if len(parts) == 3 and self._three(parts):
            return []
        if len(parts) == 2 and dot_follows and all(part.isdigit() and len(part) <= 2 for part in parts):
            self._date(None, int(parts[1]), parts[0])
        return _numbers(chunk)


@lru_cache(maxsize=2048)
def _reading(text: str) -> Reading:
    return Reading(text)


def _is_free(text: str, start: int) -> bool:
    """Whether what starts here is not the tail of an id, a name or a longer number."""
    if start == 0:
        return True
    before, second = text[start - 1], text[start - 2] if start > 1 else " "
    if before.isdigit() or before == "@":
        return False
    if is_word(before):
        if before == "t" and second.isdigit():
            return True  # 2026-03-13T08:00
        run = start - 1
        while run > 0 and start - run < 5 and is_word(text[run - 1]):
            run -= 1
        return text[run:start] in _CURRENCIES
    if before == "+" and second.isdigit():
        return text[start + 2 : start + 3] != ":"  # 16:00+01:00
    if before in "-./,'":
        return not (is_word(second) and (before in "-./" or second.isdigit()))
    return True


def _ends_free(text: str, end: int) -> bool:
    """Whether what ends here does not go on as an id, as `165-A` and `12b` do; `165kg` and `30-minute` do not."""
    if end == len(text):
        return True
    after = text[end]
    if after == "@" or after == "_":
        return False
    if after == "-":
        letters = _LETTERS.match(text, end + 1)
        if letters is None:
            return not (end + 1 < len(text) and is_word(text[end + 1]))
        return letters.end() - letters.start() >= 3 and not _goes_on(text, letters.end())
    if not is_word(after):
        return True
    letters = _LETTERS.match(text, end)
    if letters is None:
        return False
    if letters[0] == "t" and text[end + 1 : end + 2].isdigit():
        return True
    return (letters[0] in _UNITS or letters[0] == "k") and not _goes_on(text, letters.end())


def _goes_on(text: str, end: int) -> bool:
    return end < len(text) and is_word(text[end])


def _factor(text: str, end: int) -> int:
    match = _FACTOR.match(text, end)
    if match is None:
        return 1
    if match[4]:
        return _FACTORS[match[4]]
    return 10**6 if match[3] else 10**3


def _numbers(chunk: str) -> list[Decimal]:
    """All readings of digits with points, commas and apostrophes between them."""
    if len(chunk) > 1 and chunk[0] == "0" and chunk[1].isdigit():
        return []
    if chunk.isdigit():
        return [Decimal(chunk)]
    separators = [char for char in chunk if char in ".,'"]
    if len(separators) + sum(map(str.isdigit, chunk)) < len(chunk):
        return []
    last = separators[-1]
    whole, _, fraction = chunk.rpartition(last)
    readings = []
    if last != "'" and separators.count(last) == 1 and (whole.isdigit() or _is_grouped(whole)):
        readings.append(Decimal("".join(filter(str.isdigit, whole)) + "." + fraction))
    if len(set(separators)) == 1 and _is_grouped(chunk):
        readings.append(Decimal("".join(filter(str.isdigit, chunk))))
    return readings


def _is_grouped(digits: str) -> bool:
    """`1,234`, `12'345'678`, and by hundreds of thousands `1,23,456`; one kind of separator."""
    groups = re.split("[.,']", digits)
    if len(groups) < 2 or len({char for char in digits if not char.isdigit()}) != 1:
        return False
    inner = all(len(group) in (2, 3) for group in groups[1:-1])
    return 1 <= len(groups[0]) <= 3 and groups[0][0] != "0" and inner and len(groups[-1]) == 3
