"""What a task's stages and checkers are given as `ctx`: services whose every call reads or changes records.

Knows the names that tasks use, and their arguments. Does not know what a service does: that is `worlds.clawmark`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ...worlds.clawmark import calendars, databases, mail, sheets
from ...worlds.clawmark.tree import NAME as FILES
from ...worlds.clawmark.tree import Tree
from ...worlds.clawmark.verbs import Refused
from ...worlds.records import ServiceRecords, State
from ...worlds.service import Instant, Record, RecordEvent
from ..foreign.doubles import doubles
from .shell.running import Shell


@dataclass
class Workspace:
    """The records while a stage or a checker runs, and what it has changed."""

    folder: Path
    """The task's own."""
    now: Instant
    state: State = field(default_factory=State)
    changes: list[RecordEvent] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Files of the task's folder that were asked for, and are not there."""
    refused: list[str] = field(default_factory=list)
    """Commands that were asked for, and are not supported."""

    def records(self, service: str) -> ServiceRecords:
        return self.state[service]

    def apply(self, changes: Iterable[RecordEvent]) -> None:
        mine = list(changes)
        self.state = self.state.apply(*mine)
        self.changes += mine

    def tree(self) -> Tree:
        return Tree(self.records(FILES), self.source, self.now.at)

    def source(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()


class Files:
    """`ctx.fs`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._sandbox = Sandbox(workspace)

    async def upload_dir(self, local_dir: Any, remote_dir: str) -> None:
        tree, local = self._workspace.tree(), Path(local_dir)
        root = tree.path(remote_dir)
        tree.make(root)
        for path in sorted(local.rglob("*")):
            target = tree.path(path.relative_to(local).as_posix(), root)
            if path.is_dir():
                tree.make(target)
            else:
                tree.write(target, path.read_bytes(), path.relative_to(self._workspace.folder).as_posix())
        self._workspace.apply(tree.changes())

    async def upload_file(self, local: Any, remote: str) -> None:
        """As upstream, silent where there is no such file, or no folder for it."""
        tree, path = self._workspace.tree(), Path(local)
        if not path.is_file():
            self._workspace.missing.append(posixpath.relpath(path, self._workspace.folder))
            return
        target = tree.path(remote)
        if tree.is_folder(target):
            target = tree.path(path.name, target)
        tree.write(target, path.read_bytes(), path.relative_to(self._workspace.folder).as_posix())
        self._workspace.apply(tree.changes())

    async def exists(self, remote: str) -> bool:
        tree = self._workspace.tree()
        return tree.path(remote) in tree.files or tree.is_folder(tree.path(remote))

    async def read_file(self, remote: str) -> str:
        tree = self._workspace.tree()
        path = tree.path(remote)
        return tree.read(path).decode(errors="replace") if path in tree.files else ""


class Sandbox:
    """`ctx.sandbox`: the small shell."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def exec(self, command: str, **_: Any) -> SimpleNamespace:
        tree = self._workspace.tree()
        shell = Shell(tree, self._workspace.now)
        done = shell.run(command)
        self._workspace.apply(tree.changes())
        self._workspace.refused += shell.refused
        out, err = (each.decode(errors="replace") for each in (done.stdout, done.stderr))
        return SimpleNamespace(stdout=out, stderr=err, return_code=done.code)


class Email:
    def __init__(self, workspace: Workspace, users: Mapping[str, Any]) -> None:
        self._workspace = workspace
        self._users = users

    def _address(self, user: str) -> str:
        if user not in self._users:
            raise ValueError(f"Unknown email user: {user}")
        return str(self._users[user]["email"])

    async def send_email(
        self, from_user: str, to: str, subject: str, body: str, sender_name: str | None = None
    ) -> bool:
        records, now = self._workspace.records(mail.NAME), self._workspace.now
        sender = self._address(from_user)
        try:
            made = mail.deliver(records, now, sender=sender, name=sender_name, to=[to], subject=subject, body=body)
        except Refused:
            return False
        self._workspace.apply(made)
        return True

    async def get_emails(self, user: str) -> list[dict[str, Any]]:
        arrived = mail.inbox(self._workspace.records(mail.NAME), self._address(user))
        return [{name: each[name] for name in ("subject", "from", "to", "cc", "date", "body")} for each in arrived]


class _Service:
    """What reads and changes the records of one service, by its `name`."""

    name: str

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def _records(self) -> ServiceRecords:
        return self._workspace.records(self.name)


class Notion(_Service):
    name = databases.NAME

    async def create_page(self, title: str) -> dict[str, str]:
        made = databases.create_page(self._records, title)
        self._workspace.apply([made])
        found = _last(self._records, "pages")["id"]
        return {"page_id": found, "page_url": f"https://www.notion.so/{found.replace('-', '')}"}

    async def create_database(self, title: str, properties_schema: dict[str, Any]) -> str:
        self._workspace.apply([databases.create_database(self._records, title, properties_schema)])
        return str(_last(self._records, "databases")["id"])

    async def add_database_row(self, db_title: str, properties: dict[str, Any]) -> str:
        database = databases.find(self._records, db_title)
        if database is None:
            raise RuntimeError(f"there is no database {db_title!r}")
        self._workspace.apply(databases.create_row(self._records, database, properties))
        return str(_last(self._records, "rows")["id"])

    async def query_db(self, db_title: str) -> list[dict[str, Any]]:
        database = databases.find(self._records, db_title)
        if database is None:
            return []
        rows: list[dict[str, Any]] = [
            doubles(databases.row_object(database, row)) for row in databases.rows(self._records, database)
        ]
        return rows

    async def update_db_row(self, page_id: str, properties: dict[str, Any]) -> None:
        self._workspace.apply(databases.update_row(self._records, page_id, properties))


class GoogleSheets(_Service):
    name = sheets.NAME

    async def create_spreadsheet(self, title: str) -> dict[str, str]:
        self._workspace.apply([sheets.create(self._records, title)])
        found = _last(self._records, "spreadsheets")["id"]
        return {"sheet_id": found, "sheet_url": f"https://docs.google.com/spreadsheets/d/{found}"}

    async def get_spreadsheet_id(self, name: str) -> str | None:
        sheet = sheets.find(self._records, name)
        return None if sheet is None else str(sheet["id"])

    async def update_values(self, sheet_id: str, range_: str, values: list[list[Any]]) -> None:
        self._workspace.apply(sheets.update(self._records, sheet_id, range_, values))

    async def append_rows(self, sheet_id: str, range_: str, rows: list[list[Any]]) -> None:
        self._workspace.apply(sheets.append(self._records, sheet_id, range_, rows))

    async def read_values(self, sheet_id: str, range_: str) -> list[list[str]]:
        return sheets.values(self._records, sheet_id, range_)


class Calendar(_Service):
    name = calendars.NAME

    async def create_calendar(self, name: str) -> str:
        made = calendars.create_calendar(self._records, name)
        self._workspace.apply([] if made is None else [made])
        return str(calendars.calendar_of(self._records, name)["url"])

    async def list_calendars(self) -> list[dict[str, str]]:
        return [dict(each) for each in self._records["calendars"].values()]

    async def add_event(
        self,
        calendar_name: str,
        summary: str,
        dtstart: Any,
        dtend: Any,
        description: str = "",
        location: str = "",
        uid: str | None = None,
    ) -> str:
        self._there(calendar_name)
        made = calendars.add_event(
            self._records, calendar_name, summary, _time(dtstart), _time(dtend), description, location, uid
        )
        self._workspace.apply([made])
        return str(_last(self._records, "events")["uid"])

    async def get_events(self, calendar_name: str, start: Any = None, end: Any = None) -> list[dict[str, Any]]:
        self._there(calendar_name)
        between = (None if each is None else _time(each) for each in (start, end))
        return calendars.events(self._records, calendar_name, *between)

    async def find_events(self, calendar_name: str, summary_contains: str) -> list[dict[str, Any]]:
        wanted = summary_contains.lower()
        return [each for each in await self.get_events(calendar_name) if wanted in each["summary"].lower()]

    async def delete_event(self, calendar_name: str, uid: str) -> None:
        self._there(calendar_name)
        self._workspace.apply([calendars.delete_event(self._records, calendar_name, uid)])

    def _there(self, name: str) -> None:
        try:
            calendars.calendar_of(self._records, name)
        except Refused as refused:
            raise ValueError(refused.says) from None


class Context:
    """`ctx`. Tasks put attributes of their own on it."""

    def __init__(self, workspace: Workspace, environments: Iterable[str], settings: Mapping[str, Any]) -> None:
        self.task_dir = workspace.folder
        self.workspace: Path | None = None
        self.snapshots: dict[str, Path] = {}
        self.sandbox = Sandbox(workspace)
        made: dict[str, Callable[[], Any]] = {
            "email": lambda: Email(workspace, settings.get("email", {}).get("users", {})),
            "notion": lambda: Notion(workspace),
            "google_sheets": lambda: GoogleSheets(workspace),
            "calendar": lambda: Calendar(workspace),
            "filesystem": lambda: Files(workspace),
        }
        for name in environments:
            setattr(self, name, made[name]())
        if "filesystem" in environments:
            self.fs = self.filesystem  # type: ignore[attr-defined]


def _last(records: ServiceRecords, collection: str) -> Record:
    """The newest record."""
    return list(records[collection].values())[-1]


def _time(given: Any) -> str:
    return given.isoformat() if isinstance(given, date) else str(given)
