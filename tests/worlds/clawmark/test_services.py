"""Mail, databases, sheets and calendars of ClawMark, called with anything: each call is an outcome, the same again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coworkenv.worlds.clawmark import calendars, databases, mail, sheets
from coworkenv.worlds.clawmark.calendars import CALENDAR
from coworkenv.worlds.clawmark.databases import DATABASE
from coworkenv.worlds.clawmark.mail import MAIL
from coworkenv.worlds.clawmark.properties import KINDS, kept, plain
from coworkenv.worlds.clawmark.sheets import SHEETS
from coworkenv.worlds.clawmark.verbs import Refused, VerbService, derived_id
from coworkenv.worlds.records import State
from coworkenv.worlds.service import Draw, Instant, Outcome

NOW = Instant(datetime.fromisoformat("2026-03-01T09:00:00+08:00"), 0)
NONE: Any = None
"""No service draws."""
DRAW: Draw = NONE

TEXTS = st.sampled_from(
    [
        *("a@x.test", "B <b@x.test>", "@", "Sheet1!A1:B2", "C3", "A:B", "Sheet1", "things", "shop", "open", "a, b"),
        *("2026-03-01", "2026-03-02T10:00:00+02:00", "0001-01-01", "2026-W01-1", "Name", "State", "Price", "Day"),
        *(derived_id(kind, number) for kind in ("row", "sheet", "event", "database") for number in ("#1", "#2")),
    ]
)
NUMBERS = st.integers(-5, 10**20) | st.decimals(-9, 9, places=2)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS | st.text(max_size=5)
KEYS = TEXTS | st.sampled_from(["title", "rich_text", "select", "number", "date", "name", "start", "text", "content"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))

PROPERTIES = {
    "Name": {"title": {}},
    "Note": {"rich_text": {}},
    "State": {"select": {"options": [{"name": "open"}]}},
    "Many": {"multi_select": {}},
    "Price": {"number": {}},
    "Day": {"date": {}},
    "Done": {"checkbox": {}},
}


def begun() -> State:
    """One of each thing that stages make, and tools cannot."""
    state = State()
    state = state.apply(databases.create_page(state[databases.NAME], "page"))
    state = state.apply(databases.create_database(state[databases.NAME], "things", PROPERTIES))
    state = state.apply(sheets.create(state[sheets.NAME], "sheet"))
    made = calendars.create_calendar(state[calendars.NAME], "shop")
    assert made is not None
    return state.apply(made)


@st.composite
def calls(draw: st.DrawFn, service: VerbService) -> tuple[str, Any]:
    tool = draw(st.sampled_from(service.tools))
    names = list(tool.schema.get("properties", {}))
    known = dict.fromkeys(names, VALUES)
    fields = st.dictionaries(st.sampled_from(list(PROPERTIES)), VALUES, max_size=3)
    known |= {name: fields | VALUES for name in ("properties", "where") if name in known}
    fitting = {"database": "things", "spreadsheet": "sheet", "calendar": "shop", "range": "Sheet1!A1:C9"}
    known |= {name: st.just(value) | VALUES for name, value in fitting.items() if name in known}
    return tool.name, draw(st.fixed_dictionaries(known) | st.fixed_dictionaries({}, optional=known) | VALUES)


def played(service: VerbService, made: list[tuple[str, Any]]) -> tuple[State, list[Outcome]]:
    state, found = begun(), []
    reads = {tool.name: tool.reads for tool in service.tools}
    for tool, args in made:
        outcome = service.call(tool, args, state[service.name], NOW, DRAW)
        assert not (outcome.error and outcome.changes)
        assert not (reads[tool] and outcome.changes)
        state = state.apply(*outcome.changes)
        found.append(outcome)
    return state, found


@pytest.mark.parametrize("service", [MAIL, DATABASE, SHEETS, CALENDAR], ids=lambda service: str(service.name))
@given(st.data())
@settings(deadline=None, max_examples=150)
def test_any_call_is_an_outcome_and_the_same_again(service: VerbService, data: st.DataObject) -> None:
    made = data.draw(st.lists(calls(service), max_size=6))
    state, found = played(service, made)
    again, outcomes = played(service, made)
    assert (found, state) == (outcomes, again)


@given(st.sampled_from(KINDS), VALUES | st.dictionaries(st.sampled_from(KINDS), VALUES, min_size=1, max_size=1))
@settings(deadline=None, max_examples=500)
@example("rich_text", True)
@example("title", {"title": {"text": 1}})
def test_a_property_takes_a_value_or_says_why_not(kind: str, value: Any) -> None:
    """What it takes is taken again, in the same form."""
    try:
        taken = kept("Name", kind, value)
    except Refused:
        return
    plain(kind, taken)
    assert kept("Name", kind, taken) == taken


ROWS = st.lists(st.lists(st.text("ab ", max_size=3), max_size=4), max_size=4)


@given(ROWS, ROWS, st.integers(1, 5), st.sampled_from("ABC"))
def test_what_is_written_in_a_sheet_is_read_there(first: Any, second: Any, row: int, column: str) -> None:
    """Cells are as they were written last; what is empty at the ends is not shown."""
    corner = f"{sheets.SHEET}!{column}{row}:{'ZZ'}99"
    state, asked = begun(), derived_id("sheet", "#1")
    for rows in (first, second):
        state = state.apply(*sheets.update(state[sheets.NAME], asked, corner, rows))
    wide = max(map(len, [*first, *second]), default=0)
    cells = [
        [_cell(second, down, right, _cell(first, down, right, "")) for right in range(wide)]
        for down in range(max(len(first), len(second)))
    ]
    assert sheets.values(state[sheets.NAME], asked, corner) == _shorn(cells)


def _cell(rows: list[list[str]], down: int, right: int, otherwise: str) -> str:
    return rows[down][right] if down < len(rows) and right < len(rows[down]) else otherwise


def _shorn(cells: list[list[str]]) -> list[list[str]]:
    found = [row[: max((place + 1 for place, cell in enumerate(row) if cell), default=0)] for row in cells]
    return found[: max((place + 1 for place, row in enumerate(found) if row), default=0)]


BOXES = ["a@x.test", "b@x.test", "c@x.test"]
MANY = st.lists(st.sampled_from(BOXES), max_size=3)


@given(MANY, MANY, MANY)
def test_each_address_gets_one_copy(to: list[str], cc: list[str], bcc: list[str]) -> None:
    args = {"sender": "d@x.test", "to": to, "cc": cc, "bcc": bcc, "subject": "s", "body": "b\n"}
    outcome = MAIL.call("mail_send", args, State()[mail.NAME], NOW, DRAW)
    assert (outcome.error is None) == bool(to or cc or bcc)
    records = State().apply(*outcome.changes)[mail.NAME]
    for box in BOXES:
        got = mail.inbox(records, box.upper())
        assert len(got) == (box in (*to, *cc, *bcc))
        assert all((each["body"], "d@x.test" in each["from"]) == ("b\n", True) for each in got)


HOURS = st.integers(0, 23)


@given(st.lists(st.tuples(HOURS, HOURS), max_size=6), HOURS, HOURS)
def test_events_of_a_time_are_those_that_overlap_it(spans: list[tuple[int, int]], since: int, until: int) -> None:
    def at(hour: int) -> str:
        return f"2026-03-01T{hour:02}:30:00"

    state, kept = begun(), []
    for number, (start, end) in enumerate(spans):
        args = {"calendar": "shop", "summary": str(number), "start": at(start), "end": at(end)}
        outcome = CALENDAR.call("calendar_create_event", args, state[calendars.NAME], NOW, DRAW)
        assert (outcome.error is None) == (start <= end)
        state = state.apply(*outcome.changes)
        if start < until and end > since and start <= end:
            kept.append(str(number))
    found = calendars.events(state[calendars.NAME], "shop", at(since), at(until))
    assert [each["summary"] for each in found] == kept
