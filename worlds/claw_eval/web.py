"""Claw-Eval's web: a recorded corpus, and the two services that upstream connects to the live web.

Knows search over keywords, fetching by exact address, and how the injecting variant puts hostile text into answers.
Here nothing is live. In sane mode the live services answer from a user's pages (`offline`), else from the task's own
recorded ones, and otherwise say that the web is not available; upstream's mode answers as upstream does without a
network. Who searches or fetches a user's pages is stopped where upstream stops: what was asked is kept in records.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise

import msgspec

from ...events.event import Json
from ..service import Record, RecordEvent
from .endpoint import Answer, Endpoint, Handler, Kind, Request, file_note, not_available, shown
from .knowledge import is_han
from .offline import place_of
from .ranking import ranked, snippet
from .validation import Field, defaulted

_PUNCTUATION = ",.!?;:\"'()[]{}。，！？；：（）【】《》"
_RESULT = ("url", "title", "snippet", "source", "published_at")
_MOST = 10
"""Results of a search in a user's pages, as upstream."""
_QUERY = 1_000
"""Characters of a query that are read."""
_QUOTAS = {"MAX_SEARCHES": 20, "MAX_FETCHES": 30}
"""What a session may ask for; a task may set others."""


def keyword_tokens(text: str) -> set[str]:
    """Lower-cased words without punctuation around them, Han characters, and pairs of adjacent Han characters."""
    lower = text.lower()
    words = {word.strip(_PUNCTUATION) for word in lower.split()} - {""}
    pairs = {first + second for first, second in pairwise(lower) if is_han(first) and is_han(second)}
    return words | {char for char in lower if is_han(char)} | pairs


def _search(request: Request) -> Answer:
    """By the number of tokens shared with an entry's keywords, ties in the order of the fixture."""
    query = request.body["query"]
    asked = keyword_tokens(query)
    scored = [(len(asked & keyword_tokens(" ".join(row["keywords"]))), row) for row in request.rows("search_results")]
    ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
    results = [shown(row, _RESULT) for _, row in ranked[: request.body["max_results"]]]
    return Answer({"results": results, "total": len(results), "query": query})


def _fetch(request: Request) -> Answer:
    """HTTP 200 always; how the page's own server answered is `status_code` in the body."""
    url = request.body["url"]
    found = request.find("pages", "url", url)
    if found is None:
        return Answer({"status_code": 404, "url": url, "error": "Page not found or unavailable", "content": None})
    page = found[1]
    status = page["status_code"]
    if status >= 400:
        error = page.get("error") or f"HTTP {status}"
        return Answer({"status_code": status, "url": url, "error": error, "content": None})
    return Answer(
        {
            "status_code": status,
            "url": url,
            **shown(page, ("title", "content")),
            "content_type": page.get("content_type", "text/html"),
            "fetched_at": request.timestamp(),
        }
    )


def _live_search(request: Request) -> Answer:
    if request.mode == "upstream":
        return Answer({"results": [], "total": 0, "query": request.body["query"]})
    if "MAX_SEARCHES" in request.options:
        return _injected_results(request, _offline_search(request))
    if not request.rows("search_results"):
        raise not_available("The live web", 503)
    return _injected_results(request, _search(request))


def _live_fetch(request: Request) -> Answer:
    url = request.body["url"]
    if request.mode == "upstream":
        return Answer({"status_code": 500, "url": url, "error": "Fetch failed: offline", "content": None})
    if "MAX_FETCHES" in request.options:
        return _injected_text(request, _offline_fetch(request))
    if not request.rows("pages"):
        raise not_available("The live web", 503)
    return _injected_text(request, _fetch(request))


# --- a user's pages --------------------------------------------------------------------------------------


def offline_options(env: Mapping[str, str]) -> dict[str, Json]:
    """What a service has beside a user's pages: how often they may be asked for. Raises ValueError."""
    return {name: int(env.get(name, most)) for name, most in _QUOTAS.items()}


def _offline_search(request: Request) -> Answer:
    """What was recorded for the query, or else what a search over the pages finds. The same again is free."""
    query, most = request.body["query"], max(0, min(request.body["max_results"], _MOST))
    limit = request.options["MAX_SEARCHES"]
    if len(request.rows("searches")) >= limit:
        error = f"Session search limit reached ({limit})"
        return Answer({"results": [], "total": 0, "query": query, "error": error})
    changes = _kept(request, "searches", {"query": query, "max_results": request.body["max_results"]})
    results = _found(request, query, most)
    return Answer({"results": results, "total": len(results), "query": query}, changes)


def _found(request: Request, query: str, most: int) -> list[Json]:
    query = query[:_QUERY]
    recorded = next((row for row in request.rows("recorded") if _folded(row["query"]) == _folded(query)), None)
    if recorded is not None:
        return list(recorded["results"][:most])
    pages = request.rows("pages")
    best = ranked(query, [f"{page['title']}\n{page['content']}" for page in pages])
    return [_result(query, pages[place]) for place in best[:most]]


def _result(query: str, page: Record) -> dict[str, Json]:
    told = {"snippet": snippet(query, page["content"]), "source": ""}
    return {**shown(page, ("url", "title")), **told, **shown(page, ("published_at",))}


def _folded(query: str) -> str:
    return " ".join(query.casefold().split())


def _offline_fetch(request: Request) -> Answer:
    """The page at an address, however that is written. One that is there is free from the second time on."""
    url, limit = request.body["url"], request.options["MAX_FETCHES"]
    if len(request.rows("fetches")) >= limit:
        error = f"Session fetch limit reached ({limit})"
        return Answer({"status_code": 429, "url": url, "error": error, "content": None})
    place = place_of(url)
    page = next((row for row in request.rows("pages") if place_of(row["url"]) == place), None)
    if page is None:
        gone = {"status_code": 404, "url": url, "error": "HTTP 404", "content": None}
        return Answer(gone, (request.create("fetches", {"url": url}),))
    answer = {"status_code": 200, "url": url, **shown(page, ("title", "content", "content_type"))}
    return Answer({**answer, "fetched_at": request.timestamp()}, _kept(request, "fetches", {"url": url}))


def _kept(request: Request, collection: str, asked: dict[str, Json]) -> tuple[RecordEvent, ...]:
    """The record of what is asked for the first time. These count calls; nobody else looks at them."""
    known = any(all(row[name] == value for name, value in asked.items()) for row in request.rows(collection))
    return () if known else (request.create(collection, asked),)


# --- hostile text ----------------------------------------------------------------------------------------


def _injects(request: Request, what: str) -> bool:
    """Whether this answer gets a payload: a draw for each, where the task has payloads and the mode asks for it."""
    if request.options.get("injection_mode", "both") not in ("both", what):
        return False
    rate = Decimal(request.options.get("injection_rate", 0))
    return bool(request.rows(f"{what}_injections")) and request.draw.fraction() < rate


def _injected_results(request: Request, answer: Answer) -> Answer:
    """A false result somewhere behind the first."""
    results = answer.body["results"]
    if not results or not _injects(request, "search"):
        return answer
    payloads = request.rows("search_injections")
    false = shown(payloads[request.draw.below(len(payloads))], _RESULT)
    index = 1 + request.draw.below(len(results))
    mixed = [*results[:index], false, *results[index:]]
    return msgspec.structs.replace(answer, body={**answer.body, "results": mixed, "total": len(mixed)})


def _injected_text(request: Request, answer: Answer) -> Answer:
    content = answer.body["content"]
    if not content or not _injects(request, "content"):
        return answer
    payloads = request.rows("content_injections")
    chosen = payloads[request.draw.below(len(payloads))]
    lines = content.split("\n")
    at = {"start": 0, "middle": len(lines) // 2}.get(chosen["position"], len(lines))
    whole = "\n".join([*lines[:at], chosen["payload"], *lines[at:]])
    return msgspec.structs.replace(answer, body={**answer.body, "content": whole})


def _kind(name: str, search: Handler, fetch: Handler) -> Kind:
    notice: tuple[Field, ...] = (Field("channel"), Field("message"), defaulted("recipients", [], "strings"))
    return Kind(
        name,
        (
            Endpoint("/web/search", (Field("query"), defaulted("max_results", 10, "integer")), search, reads=True),
            Endpoint(
                "/web/fetch",
                (Field("url"), defaulted("timeout_seconds", 30, "integer")),
                fetch,
                reads=True,
                opens="url",
            ),
            file_note("/web/notify", notice, "notifications", "sent", "record"),
        ),
        sides=("notifications",),
    )


WEB = _kind("web", _search, _fetch)
WEB_REAL = _kind("web_real", _live_search, _live_fetch)
WEB_REAL_INJECTION = _kind("web_real_injection", _live_search, _live_fetch)
LIVE = (WEB_REAL.name, WEB_REAL_INJECTION.name)
"""What upstream connects to the live web."""


def injection_options(env: dict[str, str]) -> dict[str, Json]:
    """The options that `INJECTION_RATE` and `INJECTION_MODE` set."""
    names = {"INJECTION_RATE": "injection_rate", "INJECTION_MODE": "injection_mode"}
    return {names[name]: env[name] for name in names if name in env}
