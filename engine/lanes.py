"""Lanes of a timeline: who acts, who is busy, and which messages are on their way, drawn with characters.

Knows cells and tracks. Does not know events or colours: it is told moments, and answers with pieces of text, each with
the part that it plays. One row is as wide as all lanes; a message that has been sent and not yet read runs down between
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..events.event import WORLD
from .story import Moment

Part: TypeAlias = Literal["empty", "idle", "thinking", "calling", "acts", "arrow", "on its way", "world"]
Piece: TypeAlias = tuple[str, Part]

_BUSY: dict[str, str] = {"thinking": "┃", "calling": "║"}


class Lanes:
    """The lanes of `actors`, from left to right, each `width` cells wide; rows are asked for in order of time."""

    def __init__(self, actors: Sequence[str], width: int) -> None:
        self._x = {actor: place * width for place, actor in enumerate(actors)}
        self._width = width
        self._cells = len(actors) * width
        self._tracks: dict[int, int] = {}
        """By the message: the cell in which it runs down."""
        self._busy: dict[str, tuple[Part, int]] = {}
        self._gone: set[str] = set()

    def row(self, moment: Moment) -> list[Piece]:
        """The row of a moment; the moments must come in order."""
        landing = (
            self._tracks.pop(moment.subject, None) if moment.kind == "read" and moment.subject is not None else None
        )
        self._note(moment)
        canvas = self._canvas(moment.at)
        x = self._x.get(moment.actor)
        peer = self._x.get(moment.peer) if moment.peer is not None else None
        if x is not None:
            canvas[x] = ("●", "acts") if moment.actor != WORLD else ("◆", "world")
            if moment.kind == "said" and peer is not None:
                self._arrow(canvas, x, peer)
            elif moment.kind == "sent" and peer is not None and moment.subject is not None:
                self._depart(canvas, x, peer, moment.subject)
            elif moment.kind == "read" and peer is not None:
                self._land(canvas, x, peer, landing)
        return _pieces(canvas)

    def pause(self, at: int) -> list[Piece]:
        """A row in which nothing happens."""
        return _pieces(self._canvas(at))

    def _note(self, moment: Moment) -> None:
        if moment.busy is not None:
            self._busy[moment.actor] = moment.busy
        elif moment.kind in ("returned", "cut short", "did"):
            self._busy.pop(moment.actor, None)

    def gone(self, actor: str) -> None:
        """From the next row on, the actor is not there any more."""
        self._gone.add(actor)

    def _canvas(self, at: int) -> list[Piece]:
        canvas: list[Piece] = [(" ", "empty")] * self._cells
        for actor, x in self._x.items():
            doing, until = self._busy.get(actor, ("idle", 0))
            if actor in self._gone:
                continue
            canvas[x] = (_BUSY[doing], doing) if at < until else ("│", "idle")
        for x in self._tracks.values():
            canvas[x] = ("┊", "on its way")
        return canvas

    def _arrow(self, canvas: list[Piece], start: int, end: int) -> None:
        right = end > start
        self._line(canvas, start, end)
        canvas[end - 1 if right else end + 1] = ("▶" if right else "◀", "arrow")

    def _line(self, canvas: list[Piece], start: int, end: int) -> None:
        """A horizontal line over the cells between two cells; it crosses what it meets."""
        for x in range(min(start, end) + 1, max(start, end)):
            canvas[x] = ("─" if canvas[x][0] == " " else "┼", "arrow")

    def _depart(self, canvas: list[Piece], start: int, end: int, message: int) -> None:
        right = end > start
        track = self._free_track(start, right)
        if track is None:
            canvas[start + 1 if right else start - 1] = ("╌", "on its way")
            return
        self._tracks[message] = track
        self._line(canvas, start, track)
        canvas[track] = ("╮" if right else "╭", "on its way")

    def _free_track(self, start: int, right: bool) -> int | None:
        offsets = range(2, self._width - 1, 2)
        taken = set(self._tracks.values())
        for offset in offsets:
            track = start + offset if right else start - offset
            if 0 <= track < self._cells and track not in taken:
                return track
        return None

    def _land(self, canvas: list[Piece], end: int, sender: int, track: int | None) -> None:
        right = end > sender
        if track is not None:
            self._line(canvas, track, end)
            canvas[track] = ("╰" if right else "╯", "on its way")
        canvas[end - 1 if right else end + 1] = ("▶" if right else "◀", "arrow")


def _pieces(canvas: Sequence[Piece]) -> list[Piece]:
    """Neighbouring cells of the same part, put together."""
    pieces: list[Piece] = []
    for character, part in canvas:
        if pieces and pieces[-1][1] == part:
            pieces[-1] = (pieces[-1][0] + character, part)
        else:
            pieces.append((character, part))
    return pieces
