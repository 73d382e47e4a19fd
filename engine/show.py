"""An episode on a screen: its timeline, its events, its messages, its records.

Knows how moments, lanes and words become coloured lines of a given width. Does not know logs or the command line. Every
text that came out of a log goes through `printable`; none is ever read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ..events.event import AGENT, WORLD, ActorFinished, EpisodeStarted, Event, Json, MessageReceived, MessageSent
from .clocks import MINUTE, clock_time, length
from .lanes import Lanes, Part
from .printable import brief, printable, printable_lines, shortened
from .story import Moment, Role, Word, story

PAUSE = 5 * MINUTE
"""A silence that is worth a line of its own."""

WORDS: dict[Role, str] = {
    "plain": "",
    "quiet": "dim",
    "said": "italic",
    "tool": "cyan",
    "good": "green",
    "bad": "bold red",
    "record": "yellow",
    "mark": "bold yellow",
    "time": "blue",
    "strong": "bold",
}
PARTS: dict[Part, str] = {
    "empty": "",
    "idle": "dim",
    "thinking": "magenta",
    "calling": "cyan",
    "acts": "bold",
    "arrow": "green",
    "on its way": "green",
    "world": "bold yellow",
}


def start_of(events: Sequence[Event]) -> datetime:
    """The date and time of virtual time 0; an arbitrary one where the stream is not an episode."""
    body = events[0].body if events else None
    return datetime.fromisoformat(body.start) if isinstance(body, EpisodeStarted) else datetime(1970, 1, 1)


def actors_of(events: Sequence[Event]) -> list[str]:
    """Who takes part: the world, the agent, then everybody else in order of appearance."""
    found = dict.fromkeys([WORLD, AGENT])
    for event in events:
        if isinstance(event.body, EpisodeStarted):
            found |= dict.fromkeys(event.body.coworkers)
        found[event.actor] = None
        if isinstance(event.body, MessageSent):
            found[event.body.to] = None
    return list(found)


class _Page(msgspec.Struct, frozen=True):
    """How wide everything is, in cells: the page, what is left of the lanes, one lane, the words behind them."""

    width: int
    left: int
    lane: int
    room: int

    def heading(self, actors: Sequence[str]) -> Text:
        line = Text(" " * self.left)
        for actor in actors:
            line.append(set_cell_size(shortened(actor, self.lane - 1), self.lane), "bold")
        line.truncate(self.width)
        line.rstrip()
        return line

    def line(self, number: str, clock: str, lanes: Iterable[tuple[str, Part]], words: Iterable[Word] = ()) -> Text:
        line = Text(no_wrap=True, end="")
        digits = self.left - 3 - max(len(clock), 8)
        line.append(f"{number:>{digits}} ", "dim")
        line.append(f"{clock:>{self.left - 2 - digits}} ", "blue")
        for text, part in lanes:
            line.append(text, PARTS[part])
        line.append_text(self._words(words))
        line.truncate(self.width)
        line.rstrip()
        return line

    def fits(self, words: Iterable[Word]) -> bool:
        return sum(cell_len(printable(word[: self.room + 1])) for _, word in words) <= self.room

    def _words(self, words: Iterable[Word]) -> Text:
        text = Text()
        for role, word in words:
            # A message may be megabytes long: what is surely beyond the margin is not even looked at.
            text.append(printable(word[: 4 * self.room + 4]), WORDS[role])
        text.truncate(self.room, overflow="ellipsis")
        return text


def _page(events: Sequence[Event], actors: Sequence[str], width: int) -> _Page:
    numbers = max(4, 2 * len(str(events[-1].seq)) + 1)
    clock = 12 if clock_time(start_of(events), events[-1].at).startswith("+") else 8
    left = numbers + clock + 3
    lane = max(2, min(8, (width - left - 1) * 2 // 5 // len(actors)))
    return _Page(width=width, left=left, lane=lane, room=max(12, width - left - lane * len(actors)))


def timeline(events: Sequence[Event], width: int) -> Iterator[Text]:
    """The episode in virtual time, one lane an actor, in lines of at most `width` cells."""
    if not events:
        return
    actors = actors_of(events)
    page = _page(events, actors, width)
    yield page.heading(actors)
    lanes, start, before = Lanes(actors, page.lane), start_of(events), 0
    finished = {event.seq: event.actor for event in events if isinstance(event.body, ActorFinished)}
    for moment in story(events):
        if moment.at - before >= PAUSE:
            yield page.line("", f"+ {length(moment.at - before)}", lanes.pause(moment.at - 1))
        clock = "" if moment.at == before and moment.seqs[0] else clock_time(start, moment.at)
        yield from _moment_lines(page, lanes, moment, clock)
        before = max(before, moment.at)
        for seq in moment.seqs:
            if seq in finished:
                lanes.gone(finished[seq])


def _moment_lines(page: _Page, lanes: Lanes, moment: Moment, clock: str) -> Iterator[Text]:
    """One line, or two where what came of it does not fit beside it."""
    row = lanes.row(moment)
    space: list[Word] = [("plain", " ")] if moment.then else []
    words = [*moment.words, *space, *moment.then]
    if not moment.then or page.fits(words):
        yield page.line(_seqs(moment.seqs), clock, row, words)
        return
    yield page.line(_seqs(moment.seqs), clock, row, moment.words)
    yield page.line("", "", lanes.pause(moment.at), [("plain", "  "), *moment.then])


def _seqs(seqs: Sequence[int]) -> str:
    """`7`, `7–9` or, where others are in between, `7,9`."""
    if len(seqs) == 1:
        return str(seqs[0])
    return f"{seqs[0]}{'–' if seqs[-1] - seqs[0] == len(seqs) - 1 else ','}{seqs[-1]}"


# --- the other views ---------------------------------------------------------------------------------------


def event_line(event: Event, start: datetime, width: int) -> Text:
    """One event on one line: number, time, actor, cause, type and fields."""
    line = Text(no_wrap=True, end="")
    line.append(f"{event.seq:>5} ", "dim")
    line.append(f"{clock_time(start, event.at):>8} ", "blue")
    cause = "" if event.cause is None else f"←{event.cause}"
    line.append(f"{shortened(event.actor, 10):<10} ", "bold")
    line.append(f"{cause:<6}", "dim")
    line.append(f"{event.type} ", "cyan")
    fields = msgspec.structs.asdict(event.body)
    told = {name: msgspec.to_builtins(value) for name, value in fields.items() if value not in (None, {}, ())}
    line.append(brief(told, max(10, width - len(line))))
    return line


def conversation(events: Sequence[Event], width: int) -> Iterator[Text]:
    """All messages in full, with when each was sent and read."""
    start = start_of(events)
    read = {event.body.message: event.at for event in events if isinstance(event.body, MessageReceived)}
    for event in events:
        body = event.body
        if not isinstance(body, MessageSent):
            continue
        line = Text()
        line.append(f"{event.seq:>5} ", "dim")
        line.append(f"{clock_time(start, event.at)} ", "blue")
        line.append(f"{printable(event.actor)} → {printable(body.to)}", "bold")
        after = f"read {length(read[event.seq] - event.at)} later" if event.seq in read else "never read"
        line.append(f"  {after}", "dim" if event.seq in read else "bold red")
        if body.reply_to is not None:
            line.append(f", answers {body.reply_to}", "dim")
        if body.mark:
            line.append(f"  ✓{printable(body.mark)}", "bold yellow")
        for name, value in body.gives.items():
            line.append(f"  {printable(name)} = {brief(value, 40)}", "green")
        yield line
        for paragraph in printable_lines(body.text):
            yield Text(f"      {paragraph}")


def state_lines(state: dict[str, Json], width: int) -> Iterator[Text]:
    """Records by service and collection, one a line."""
    for service, collections in state.items():
        for collection, records in collections.items():
            count = f"  {len(records)} record{'' if len(records) == 1 else 's'}"
            yield Text.assemble((f"{printable(service)}.{printable(collection)}", "bold"), (count, "dim"))
            for key, record in records.items():
                name = shortened(key, 24)
                yield Text.assemble(("  ", ""), (name, "yellow"), "  ", brief(record, max(10, width - len(name) - 4)))


def moments_json(moments: Iterable[Moment]) -> list[Json]:
    """The story in plain data."""
    return [
        {
            "seqs": moment.seqs,
            "at": moment.at,
            "actor": moment.actor,
            "kind": moment.kind,
            "peer": moment.peer,
            "says": "".join(text for _, text in moment.words),
        }
        for moment in moments
    ]
