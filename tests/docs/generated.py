"""The parts of the documentation that are made from the code, so that they stay true.

In a page, what is between `<!-- made: NAME -->` and `<!-- end -->` is made by the function of that name below; ids of
the demo's episodes, named in `<!-- episodes: ID name, … -->`, follow the demo; what a ```console checked block shows is
what its commands print.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import trio
from sqlite_utils import Database

from coworkenv.engine.cli.root import root
from coworkenv.engine.validation import freeze
from coworkenv.events import event
from coworkenv.events.log import StreamRow
from coworkenv.events.sqlite import SqliteLog
from coworkenv.worlds import environment as environments
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.validators.registry import VALIDATORS
from coworkenv.worlds.writing import with_frozen
from tests.docs.gallery import gallery
from tests.docs.pages import blocks, environment
from tests.docs.running import Ran
from tests.docs.structs import Struct, structs

SHORT = 10
"""Digits of an id that are enough in the documentation."""

_PART = re.compile(r"(<!-- made: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_EPISODES = re.compile(r"<!-- episodes: (?P<names>[^>]*?) -->")


# --- parts -------------------------------------------------------------------------------------------------


def commands(_: str) -> str:
    """The help of every command, one after the other."""
    found: list[str] = []

    def walk(command: click.Command, words: Sequence[str], parent: click.Context | None) -> None:
        context = click.Context(command, info_name=words[-1], parent=parent, terminal_width=80, **_settings(command))
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        found.append(f"{'##' if len(words) > 1 else '#'}# `{' '.join(words)}`\n\n```text\n{text}\n```\n")
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            walk(command.commands[name], (*words, name), context)

    walk(root(), ("coworkenv",), None)
    return "\n".join(found)


def _settings(command: click.Command) -> dict[str, object]:
    return {name: value for name, value in command.context_settings.items() if name == "help_option_names"}


def vocabulary(_: str) -> str:
    """Every kind of event, with its fields and what the source says of them."""
    lines = ["| event | fields | |", "|---|---|---|"]
    for struct in structs(event):
        if struct.tag:
            fields = " ".join(f"`{field.name}{'' if field.default is None else '?'}`" for field in struct.fields)
            lines.append(f"| `{struct.tag}` | {fields} | {_cell(_told(struct))} |")
    return "\n".join(lines) + "\n"


def _told(struct: Struct) -> str:
    parts = [struct.about, *(f"`{field.name}`: {field.about}" for field in struct.fields if field.about)]
    return " ".join(part for part in parts if part)


def tables(_: str) -> str:
    """The tables and views of a log, as SQLite describes them."""
    lines = ["| table or view | columns |", "|---|---|"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        SqliteLog(path, create=True).close()
        db = Database(path)
        for name in [*db.table_names(), *db.view_names()]:
            if not name.startswith("sqlite_"):
                columns = " ".join(f"`{column.name}`" for column in db[name].columns)
                lines.append(f"| `{name}` | {columns} |")
        db.close()
    return "\n".join(lines) + "\n"


def reference(_: str) -> str:
    """Every key of an environment file."""
    found = []
    order = structs(environments)
    whole = [struct for struct in order if struct.name == "Environment"]
    for struct in [*whole, *(struct for struct in order if struct not in whole)]:
        lines = [f"### {struct.name}", "", struct.about, ""] if struct.about else [f"### {struct.name}", ""]
        lines += ["| key | value | default | |", "|---|---|---|---|"]
        for field in struct.fields:
            default = "required" if field.default is None else _default(field.default)
            lines.append(f"| `{field.name}` | {field.type} | {default} | {_cell(field.about)} |")
        found.append("\n".join(lines) + "\n")
    return "\n".join(found)


def _default(source: str) -> str:
    """What a key has when it is left out, as a file would say it; nothing for what is empty."""
    try:
        value = ast.literal_eval(source)
    except ValueError:  # a struct, whose own keys say it
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value or value == 0 else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def frozen(page: str) -> str:
    """The page's own environment, frozen."""
    text = environment(page, leaving_out="frozen:")
    whole = with_frozen(text, trio.run(freeze, read_environment(text)))
    return f"```yaml\n{whole[whole.index('frozen:') :]}```\n"


def validators(_: str) -> str:
    """Every validator, in the order in which they are asked."""
    lines = ["| | validator | finds | |", "|---|---|---|---|"]
    for validator in VALIDATORS:
        level = "static" if validator.level == "static" else ""
        lines.append(f"| {validator.number} | `{validator.name}` | {_cell(validator.about)} | {level} |")
    return "\n".join(lines) + "\n"


def shown(_: str) -> str:
    """Six synthesised environments."""
    return gallery()


PARTS: dict[str, Callable[[str], str]] = {
    "gallery": shown,
    "commands": commands,
    "vocabulary": vocabulary,
    "tables": tables,
    "reference": reference,
    "frozen": frozen,
    "validators": validators,
}


# --- pages -------------------------------------------------------------------------------------------------


def with_parts(page: str) -> str:
    return _PART.sub(lambda match: f"{match[1]}{PARTS[match['name']](page)}{match[3]}", page)


def with_ids(page: str, log: Path) -> str:
    """The page with the ids that the demo's episodes have now."""
    for match in _EPISODES.finditer(page):
        for pair in match["names"].split(", "):
            old, name = pair.split(" ", 1)
            page = page.replace(old, episode(log, name)[:SHORT])
    return page


def episode(log: Path, name: str) -> str:
    """The id of an episode of the demo: `oracle`, `trap:NAME`, `oracle@TWIN`, or `fork`."""
    agent, _, twin = name.partition("@")

    def fits(row: StreamRow) -> bool:
        if name == "fork":
            return row.parent is not None
        return (row.agent, row.twin or "", row.parent) == (agent, twin, None)

    store = SqliteLog(log)
    try:
        return next(row.id for row in store.rows(kind="episode") if fits(row))
    finally:
        store.close()


def with_output(page: str, ran: Sequence[Ran]) -> str:
    """The page with what its commands have printed, where it says that this is checked."""
    for block in reversed(blocks(page, "console")):
        if "checked" in block.words:
            start, end = block.span
            page = page[:start] + _session([run for run in ran if run.block == block]) + page[end:]
    return page


def _session(ran: Sequence[Ran]) -> str:
    parts = []
    for run in ran:
        first, *rest = run.command.splitlines()
        parts.append("\n".join([f"$ {first}", *(f"> {line}" for line in rest)]) + "\n")
        parts.append("".join(f"{line.rstrip()}\n" for line in run.output.splitlines()))
    return "".join(parts)
