"""An agent that knows nothing: calls tools at random with what it has seen, mails everybody, and writes every file.

Knows the tools' schemas, and the names of files and addresses in what it is told. Does not know any task. All that it
draws comes from the episode's seed. What it is worth is what a grader gives to activity alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from coworkenv.agents.agent import Call, Context, Result
from coworkenv.agents.persona import DONE
from coworkenv.agents.registry import register_agent
from coworkenv.events.event import Json
from coworkenv.worlds.clawmark.world import USER
from coworkenv.worlds.service import Draw, Tool
from coworkenv.worlds.values import written

KIND = "benchmark-noise"
_CALLS, _MAILS, _FILES, _LINES = 20, 8, 12, 5
"""In a stage, at most: calls at random, mails, files, and lines for the shell."""
_KEPT = 300
"""Values that it remembers of a kind."""
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_FILE = re.compile(r"[\w./-]*\w\.(?:csv|json|md|txt|html|yaml)\b")
_WORD = re.compile(r"[^\W\d_]{4,}|\d[\d.,-]*\d")
_ODD: tuple[Json, ...] = ("", " ", "🙂é", "a\nb", -1, 0, 10**30, None, [], {}, [["a", 1]], True, "x" * 3000)
_COMMANDS = (
    "cat {file} | grep -i {word}",
    "cp {file} outputs/{word}.txt; ls -la outputs",
    "mv {file} /tmp/{word}",
    "mkdir -p outputs && echo {word} >> outputs/{word}.md",
    "find . -name '*{word}*' -o -type f | head -3 | wc -l",
    "git init && git add . && git commit -m {word}; git log --oneline",
    "sqlite3 {file} .tables",
    "md5sum {file} > {file}",
    "rm -r {word} {file} || echo {word} > {file}",
    "if [ -d {word} ]; then {word}; fi; {word} $({word})",
)


class Noise:
    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": KIND}

    async def act(self, context: Context) -> str:
        seen, draw = _Seen(), context.draw("noise")
        if draw.below(2):  # Half of the time it begins before anybody told it to.
            await _calls(context, draw, seen, 3)
        while True:
            messages = await context.receive()
            if any(message.mark == DONE for message in messages):
                return ""
            seen.take("text", [message.text for message in messages])
            await _calls(context, draw, seen, _CALLS)
            for call in (*_mails(draw, seen), *_files(draw, seen), *_lines(draw, seen)):
                seen.hear(await context.call(call))
            await context.send(USER, seen.some(draw))


async def _calls(context: Context, draw: Draw, seen: _Seen, count: int) -> None:
    for _ in range(count):
        tool = context.tools[draw.below(len(context.tools))]
        seen.hear(await context.call(Call(tool.name, _args(tool, draw, seen))))


def _args(tool: Tool, draw: Draw, seen: _Seen) -> dict[str, Json]:
    """Now and then one is left out, or odd, or one that the tool does not have."""
    properties = tool.schema.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    needed = tool.schema.get("required") or []
    args: dict[str, Json] = {}
    for name in names:
        if draw.below(20) and (name in needed or draw.below(3) == 0):
            schema = properties.get(name) if isinstance(properties, Mapping) else None
            args[name] = _value(name, schema if isinstance(schema, Mapping) else {}, draw, seen)
    if not draw.below(30):
        args["odd"] = _one(draw, _ODD)
    return args


def _value(name: str, schema: Mapping[str, Json], draw: Draw, seen: _Seen) -> Json:
    if not draw.below(15):
        return _one(draw, _ODD)
    if name == "properties":
        fields = [seen.word(draw) if not draw.below(6) else seen.value(draw, "property") for _ in range(3)]
        return {str(field): seen.word(draw) if draw.below(3) else draw.below(1000) for field in fields}
    if name == "values":
        return [[seen.word(draw) for _ in range(1 + draw.below(3))] for _ in range(1 + draw.below(2))]
    if name == "range":
        return f"Sheet1!{'ABCDEF'[draw.below(6)]}{1 + draw.below(12)}"
    if name in ("start", "end") and schema.get("type") != "integer":
        return f"2026-{1 + draw.below(12):02}-{1 + draw.below(28):02}T{draw.below(24):02}:00:00"
    if name in ("start", "after"):
        return draw.below(100)
    if name == "command":
        return _line(draw, seen)
    return seen.value(draw, _LIKE.get(name, name))


_LIKE = {"sender": "address", "to": "address", "cc": "address", "bcc": "address", "row": "id", "spreadsheet": "title"}
_LIKE |= {"database": "title", "calendar": "name", "body": "text", "subject": "text", "summary": "text"}


def _mails(draw: Draw, seen: _Seen) -> Iterator[Call]:
    for address in seen.all("address")[:_MAILS]:
        text = {"subject": seen.some(draw, 5), "body": seen.some(draw, 40)}
        yield Call("mail_send", {"sender": seen.value(draw, "address"), "to": address, **text})


def _files(draw: Draw, seen: _Seen) -> Iterator[Call]:
    for name in seen.all("file")[:_FILES]:
        path = name if "/" in name else f"outputs/{name}"
        if path.startswith(("/workspace/input", "input")):
            continue
        words = [seen.word(draw) for _ in range(8)]
        text = "{}" if path.endswith("json") else f"{','.join(words)}\n{','.join(reversed(words))}\n"
        yield Call("write_file", {"path": path, "text": text})


def _lines(draw: Draw, seen: _Seen) -> Iterator[Call]:
    return (Call("shell", {"command": _line(draw, seen)}) for _ in range(_LINES))


def _line(draw: Draw, seen: _Seen) -> str:
    return str(_one(draw, _COMMANDS)).format(file=seen.value(draw, "path"), word=seen.word(draw))


def _one(draw: Draw, choices: Sequence[Json]) -> Json:
    return choices[draw.below(len(choices))]


class _Seen:
    """What it was told and has read, by the name of the field that it stood in; in order, each once."""

    def __init__(self) -> None:
        self._by: dict[str, dict[str, None]] = {}

    def hear(self, results: Sequence[Result]) -> None:
        for result in results:
            self._field("text" if result.error else "", result.error.message if result.error else result.result)

    def _field(self, name: str, value: Json) -> None:
        if isinstance(value, Mapping):
            if name == "properties":
                self.take("property", value)
            for key, each in value.items():
                self._field(key, each)
        elif isinstance(value, list):
            for each in value:
                self._field(name, each)
        elif isinstance(value, str | int):
            self.take(name, [written(value)])

    def take(self, name: str, values: Sequence[str] | Mapping[str, Json]) -> None:
        for value in values:
            self._keep(name, value[:2000])
            for kind, pattern in (("address", _ADDRESS), ("file", _FILE), ("word", _WORD)):
                for found in pattern.findall(value[:20_000]):
                    self._keep(kind, found)

    def _keep(self, name: str, value: str) -> None:
        known = self._by.setdefault(name, {})
        if len(known) < _KEPT:
            known[value] = None

    def all(self, name: str) -> list[str]:
        return list(self._by.get(name, ()))

    def value(self, draw: Draw, name: str) -> str:
        known = self.all(name) or self.all("word") or ["anything"]
        return known[draw.below(len(known))]

    def word(self, draw: Draw) -> str:
        return self.value(draw, "word")

    def some(self, draw: Draw, count: int = 10) -> str:
        return " ".join(self.word(draw) for _ in range(count))


register_agent(KIND, lambda specification: Noise())
