"""An agent that does no work: it may read everything, may write to everywhere, and says back all that it knows.

Knows tools only by their schemas. Does not know benchmarks. What stands in a call was told or read before: the value of
a field of the argument's name, an address, a path, or simply everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from coworkenv.agents.agent import Call, Context, Message, Result
from coworkenv.agents.arguments import keywords, places, plausible, required
from coworkenv.agents.persona import DONE
from coworkenv.events.codec import BAD_JSON, from_json, to_json
from coworkenv.events.event import Json
from coworkenv.worlds.service import Tool
from coworkenv.worlds.values import written

MOST = 10
"""Calls of one tool in one round."""
ROUNDS = 2
"""How often everything is read: what is found in one round is opened in the next."""
SAID, WRITTEN, EACH = 50_000, 10_000, 5_000
"""Characters of everything, where it is said, and where it is written into a record; and of one result in it."""

_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBERED = re.compile(r"#?[\w-]*\d[\w-]*")
_TAKING = re.compile("archive|delete|remove")
_FILE = re.compile(r"\S*?[^\s/]{1,100}\.\w+")
_FOLDER = re.compile(r"/[\w/]+")
_SUCH_AS = re.compile(r"Such as ([^\s,]+)")
_PEOPLE = ("to", "address", "email", "sender", "recipient", "recipients", "from", "attendees", "participants")
_PLACES = ("path", "file", "filename", "url")


class Spam:
    """Acts whenever it is its turn, and then says all that it was told and has read, until the conversation is over.

    `told` is what it knows from the start. `waits`: others speak first. `spares`: it takes nothing away. `most` is
    how often it calls one tool in a round; it stops calling when so many calls as `failures` have failed.
    """

    def __init__(
        self,
        kind: str,
        told: str = "",
        *,
        reads: bool = False,
        writes: bool = False,
        waits: bool = False,
        spares: bool = False,
        most: int = MOST,
        failures: int = 10_000,
    ) -> None:
        self.specification: dict[str, Json] = {"kind": f"audit-{kind}"}
        self._told = [told]
        self._reads, self._writes, self._waits, self._spares = reads, writes, waits, spares
        self._most, self._failures = most, failures
        self._results: list[Json] = []
        self._done: set[bytes] = set()

    async def act(self, context: Context) -> str:
        people = list(context.world.personas)
        if context.world.openings or self._waits:
            self._hear(await context.receive())
        if not people or context.world.on_text != "round":
            await self._work(context)
            return self._everything()
        while True:
            await self._work(context)
            asked = await context.send(people[0], self._everything() or "Done.")
            heard = await _answer(context, asked)
            if any(message.mark == DONE for message in heard):
                return ""
            self._hear(heard)

    def _hear(self, messages: Sequence[Message]) -> None:
        self._told += [message.text for message in messages if message.text]

    def _everything(self) -> str:
        read = [written(result)[:EACH] for result in self._results]
        return "\n".join(dict.fromkeys([*read, *filter(None, self._told)]))[:SAID]

    def _text(self) -> str:
        return self._everything()[:WRITTEN]

    # --- calls ---------------------------------------------------------------------------------------------

    async def _work(self, context: Context) -> None:
        if self._reads:
            for _ in range(ROUNDS):
                await self._call(context, [tool for tool in context.tools if tool.reads])
        if self._writes:
            writing = [tool for tool in context.tools if not tool.reads]
            await self._call(context, [tool for tool in writing if not (self._spares and _TAKING.search(tool.name))])

    async def _call(self, context: Context, tools: Sequence[Tool]) -> None:
        for tool in tools:
            calls = {to_json([call.tool, call.args]): call for call in self._calls(context, tool)}
            new = [name for name in calls if name not in self._done][: min(self._most, self._failures)]
            self._done.update(new)
            if new:
                for result in await context.call(*(calls[name] for name in new)):
                    self._take(result)

    def _take(self, result: Result) -> None:
        if result.error is not None:
            self._failures -= 1
            return
        self._results.append(_opened(result.result))

    def _calls(self, context: Context, tool: Tool) -> Iterator[Call]:
        """Calls with all that fits each argument that a call must have, side by side; none where nothing fits one."""
        words = keywords("\n".join(self._told)) if tool.reads else [self._text()]
        guesses = plausible(tool, context.world.start, words)
        values = {name: self._values(tool, name, guesses[name]) for name in required(tool)}
        if all(values.values()):
            for place in range(max(map(len, values.values()), default=1)):
                yield Call(tool.name, {name: fitting[place % len(fitting)] for name, fitting in values.items()})

    # --- arguments -----------------------------------------------------------------------------------------

    def _values(self, tool: Tool, name: str, guess: Json) -> Sequence[Json]:
        schema = tool.schema.get("properties", {}).get(name)
        schema = schema if isinstance(schema, Mapping) else {}
        if isinstance(schema.get("enum"), list):
            return schema["enum"]
        if name in _PEOPLE:
            found = list(dict.fromkeys(_ADDRESS.findall(self._everything())))
            return [[each] for each in found] if schema.get("type") == "array" else found
        if name in _PLACES:
            told = places("\n".join(reversed(self._told)))  # What was asked for last comes first.
            found = [each for each in (*told, *self._named(name)) if isinstance(each, str)]
            folders = _FOLDER.findall(str(schema.get("description", ""))) if tool.reads else []
            return _unique([*folders, *(each for each in found if _FILE.fullmatch(each))])
        if named := self._named(name):
            return named
        if name == "id" or name.endswith("_id"):
            return _unique(_NUMBERED.findall("\n".join(self._told)))
        if such := _SUCH_AS.search(str(schema.get("description", ""))):
            return [such[1]]
        if schema.get("type") == "array":
            items = schema.get("items")
            inner = isinstance(items, Mapping) and items.get("type") == "array"
            return [[[self._text()]] if inner else [self._text()]]
        return [guess]

    def _named(self, name: str) -> Sequence[Json]:
        """Values of fields that are called like an argument, or of what stands in a list of them."""
        found = []
        for field, value in _fields(self._results):
            if field == name and not isinstance(value, list):
                found.append(value)
            elif field == f"{name}s" and isinstance(value, list):
                found += [each.get("id", each.get("name")) if isinstance(each, Mapping) else each for each in value]
            elif field == "id" and name.endswith("_id"):
                found.append(value)
        return _unique(each for each in found if each is not None)


async def _answer(context: Context, asked: int) -> list[Message]:
    """What is said after one's own words were heard."""
    while True:
        heard = await context.receive()
        if any(message.text or message.mark == DONE for message in heard):
            return heard


def _unique(values: Iterator[Json] | Sequence[Json]) -> list[Json]:
    return list({to_json(value): value for value in values}.values())


def _opened(result: Json) -> Json:
    """A result; where it is a text that holds JSON, that."""
    try:
        return from_json(result) if isinstance(result, str) and result[:1] in ("{", "[") else result
    except BAD_JSON:
        return result


def _fields(value: Json) -> Iterator[tuple[str, Json]]:
    """All named values within `value`, in its order."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name, item
            yield from _fields(item)
    elif isinstance(value, list):
        for item in value:
            yield from _fields(item)
