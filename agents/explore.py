"""Agents that look around in a world they know nothing about, and change nothing.

Knows tools only by what they say of themselves: whether they read, what they open, which arguments they take. A
baseline for any environment, benchmarks included, and the control that reading alone must earn nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from ..events.event import Json
from ..worlds.service import Tool
from ..worlds.values import written
from .agent import Call, Context, Result
from .arguments import days, generous, keywords, places, plausible, required

SEARCHES = 3
"""With how many words of the request a search is tried."""
PHRASE = 8
"""How many words of the request a search is given at once, where single ones found nothing."""
WEEK = 7
"""How many days ahead something is looked for that is not there today."""
OPENED = 20
"""How many records are opened with one tool."""


class ReadOnly:
    """Calls each reading tool once, and finishes."""

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "readonly"}

    async def act(self, context: Context) -> str:
        words = keywords(await _request(context))
        today = context.world.start
        for tool in context.tools:
            if tool.reads:
                await context.call(Call(tool.name, plausible(tool, today, words)))
        return ""


class Explore:
    """Lists and searches everything, opens what it found, and sums up what it read."""

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "explore"}

    async def act(self, context: Context) -> str:
        request = await _request(context)
        reading = [tool for tool in context.tools if tool.reads]
        results: list[Result] = []
        for tool in reading:
            if opens(tool) is None:
                results.extend(await _search(context, tool, request))
        found = [result for result in results if result.error is None]
        for tool in reading:
            argument = opens(tool)
            if argument is not None:
                values = _candidates(tool.name, argument, found) or _mentioned(argument, request)
                calls = [Call(tool.name, {argument: value}) for value in values]
                results.extend(await context.call(*calls) if calls else [])
        return _summary(results)


async def _request(context: Context) -> str:
    messages = await context.receive() if context.world.openings else []
    return "\n".join(message.text for message in messages)


async def _search(context: Context, tool: Tool, request: str) -> list[Result]:
    """Call a tool that lists or searches; if it answers and finds nothing, call it more widely until it does."""
    calls = _searches(context, tool, keywords(request))
    results = await context.call(*calls)
    answers = [result.result for result in results if result.error is None]
    if answers and all(map(_is_empty, answers)):
        for call in _wider(context, tool, request):
            if call in calls:
                continue
            calls.append(call)
            [result] = await context.call(call)
            results.append(result)
            if result.error is None and not _is_empty(result.result):
                break
    return results


def _is_empty(result: Json) -> bool:
    """Whether a list or search came back without anything in it."""
    if not isinstance(result, Mapping):
        return not result
    lists = [value for value in result.values() if isinstance(value, list)]
    return bool(lists) and not any(lists)


def _wider(context: Context, tool: Tool, request: str) -> Iterator[Call]:
    """On the days that the request names and those that come; for many words at once, and for none, which some searches
    take for everything."""
    today, phrase = context.world.start, " ".join(keywords(request)[:PHRASE])
    ahead = [today + timedelta(days=number) for number in range(WEEK + 1)]
    for day in [*days(request, today), *ahead]:
        for query in (phrase, ""):
            yield Call(tool.name, {**plausible(tool, day, [query]), **generous(tool)})


def _mentioned(argument: str, request: str) -> list[Json]:
    """What to open where nothing was found to open: a place or a word that the request names."""
    named = places(request) if "url" in argument or "path" in argument else []
    return [*(named or keywords(request))[:1]]


def opens(tool: Tool) -> str | None:
    """The argument that names the one record which `tool` reads; None for a tool that lists or searches."""
    if tool.opens is not None:
        return tool.opens
    names = required(tool)
    return names[0] if len(names) == 1 and (names[0] == "id" or names[0].endswith("_id")) else None


def _searches(context: Context, tool: Tool, words: Sequence[str]) -> list[Call]:
    """The same call with each of the first words of the request, where it takes one; else one call."""
    calls: list[Call] = []
    for start in range(max(1, min(SEARCHES, len(words)))):
        call = Call(tool.name, plausible(tool, context.world.start, words[start:]))
        if call not in calls:
            calls.append(call)
    return calls


def _candidates(tool: str, argument: str, found: Sequence[Result]) -> list[Json]:
    """Values to open with `tool`: of fields called like its argument, or of `id` fields in what its service gave."""
    service = _service(tool)
    named = [value for result in found for name, value in _scalars(result.result) if name == argument]
    if not named:
        own = [result for result in found if _service(result.tool) == service]
        named = [value for result in own for name, value in _scalars(result.result) if name == "id"]
    unique = {written(value): value for value in named}
    return list(unique.values())[:OPENED]


def _service(tool: str) -> str:
    return tool.replace(".", "_").partition("_")[0]


def _scalars(value: Json) -> Iterator[tuple[str, Json]]:
    """Each text or integer field anywhere in `value`."""
    pending = deque([value])
    while pending:
        part = pending.popleft()
        if isinstance(part, Mapping):
            yield from ((k, v) for k, v in part.items() if isinstance(v, str | int) and not isinstance(v, bool))
            pending.extend(v for v in part.values() if isinstance(v, Mapping | list))
        elif isinstance(part, list):
            pending.extend(v for v in part if isinstance(v, Mapping | list))


def _summary(results: Sequence[Result]) -> str:
    """One line for each call: what was read, in short."""
    lines = []
    for result in results:
        text = f"error: {result.error.message}" if result.error is not None else written(result.result)
        lines.append(f"{result.tool}: {text if len(text) <= 300 else text[:300] + '…'}")
    return "\n".join(lines) if lines else "There was nothing to read."
