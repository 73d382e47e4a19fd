"""Drawings for a screen that shows ASCII alone: each character becomes one that is as wide and says about the same.

Knows what this command line draws with. Does not know what is drawn. What people wrote in other scripts is not changed;
the stream itself shows a question mark for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO, cast

_FORMS = str.maketrans(
    "│┃║┊─━╌–—┼╮╭╰╯“”‘’▶→◀←●◆✓✗✎⑂×⌀≠…·⏎µ",
    "|#H:-----+..''\"\"''>><<o*+x*Yx~|~./u",
)
_SAMPLE = "│●╮✓…"


def shows_drawings(stream: TextIO) -> bool:
    """Whether a stream's encoding has the characters that timelines are drawn with."""
    try:
        _SAMPLE.encode(stream.encoding or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


class _Ascii:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.translate(_FORMS))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def in_ascii(stream: TextIO) -> TextIO:
    """The stream, with drawings written in ASCII."""
    return cast(TextIO, _Ascii(stream))
