"""Claw-Eval's knowledge base, meeting notes and news feeds.

Knows their endpoints, and the matching that upstream calls a search: letters that stand next to each other.
"""

from __future__ import annotations

from itertools import pairwise

from ...events.event import Json
from .endpoint import Answer, Endpoint, Kind, Request, file_note, get_one, matches, missing, shown
from .validation import Field, defaulted, nullable

# --- kb --------------------------------------------------------------------------------------------------


def is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


def search_tokens(text: str) -> set[str]:
    """Lower-cased words with their punctuation, all pairs of adjacent characters, and single Han characters.

    Nearly every two texts share a pair, so nearly every query matches nearly every article.
    """
    lower = text.lower()
    pairs = {first + second for first, second in pairwise(lower)}
    return set(lower.split()) | {pair for pair in pairs if pair.strip()} | {char for char in lower if is_han(char)}


def _search_articles(request: Request) -> Answer:
    """Matching articles in the order of the fixture: there is no ranking."""
    asked = search_tokens(request.body["query"])
    found: list[dict[str, Json]] = []
    for row in request.rows("articles"):
        text = f"{row['title']} {' '.join(row['tags'])} {row['content']}"
        if matches(row, request.body, ("category",)) and asked & search_tokens(text):
            summary = shown(row, ("article_id", "title", "category", "tags", "last_updated", "views"))
            found.append({**summary, "snippet": row["content"][:150] + "..."})
    listed = found[: request.body["max_results"]]
    return Answer({"articles": listed, "total": len(listed)})


def _update_article(request: Request) -> Answer:
    article = request.body["article_id"]
    found = request.find("articles", "article_id", article)
    if found is None:
        return missing("Article", article)
    values = {"content": request.body["content"], "last_updated": f"{request.now:%Y-%m-%d}"}
    update = request.create("updates", {"article_id": article, "timestamp": request.timestamp()})
    changes = (*request.change("articles", found[0], values), update)
    return Answer({"status": "updated", "article_id": article}, changes)


KB = Kind(
    "kb",
    (
        Endpoint(
            "/kb/search",
            (Field("query"), nullable("category"), defaulted("max_results", 5, "integer")),
            _search_articles,
            reads=True,
        ),
        get_one("/kb/articles/get", "articles", "article_id", "Article"),
        Endpoint("/kb/articles/update", (Field("article_id"), Field("content")), _update_article),
    ),
    sides=("updates",),
    collection="articles",
    fixture="articles.json",
    default="T015zh",
)

# --- notes -----------------------------------------------------------------------------------------------

_NOTE = ("note_id", "title", "created_at", "participants", "duration_minutes")


def _list_notes(request: Request) -> Answer:
    notes = [shown(row, _NOTE) for row in request.rows("notes")[: request.body["max_results"]]]
    return Answer({"notes": notes, "total": len(notes)})


NOTES = Kind(
    "notes",
    (
        Endpoint("/notes/list", (defaulted("max_results", 10, "integer"),), _list_notes, reads=True),
        get_one("/notes/get", "notes", "note_id", "Note"),
        file_note("/notes/share", (Field("note_id"), Field("recipients", "strings")), "shared", "shared", "record"),
    ),
    sides=("shared",),
    collection="notes",
    fixture="meetings.json",
    default="T013zh",
)

# --- rss -------------------------------------------------------------------------------------------------

_ARTICLE = ("article_id", "title", "source", "category", "published_at", "summary", "word_count")


def _list_feeds(request: Request) -> Answer:
    """One feed a source, in the order of first sight; so are its categories, for which upstream has no order."""
    feeds: dict[str, dict[str, Json]] = {}
    for row in request.rows("articles"):
        if matches(row, request.body, ("category",)):
            empty: dict[str, Json] = {"source": row["source"], "categories": [], "article_count": 0}
            feed = feeds.setdefault(row["source"], empty)
            feed["article_count"] += 1
            if row["category"] not in feed["categories"]:
                feed["categories"].append(row["category"])
    return Answer({"feeds": list(feeds.values()), "total": len(feeds)})


def _list_articles(request: Request) -> Answer:
    rows = [row for row in request.rows("articles") if matches(row, request.body, ("source", "category"))]
    listed = [shown(row, _ARTICLE) for row in rows[: request.body["max_results"]]]
    return Answer({"articles": listed, "total": len(listed)})


RSS = Kind(
    "rss",
    (
        Endpoint("/rss/feeds", (nullable("category"),), _list_feeds, reads=True),
        Endpoint(
            "/rss/articles",
            (nullable("source"), nullable("category"), defaulted("max_results", 20, "integer")),
            _list_articles,
            reads=True,
        ),
        get_one("/rss/articles/get", "articles", "article_id", "Article"),
        file_note(
            "/rss/publish",
            (Field("title"), Field("content"), defaulted("recipients", [], "strings")),
            "published",
            "published",
            "record",
        ),
    ),
    sides=("published",),
    collection="articles",
    fixture="articles.json",
    default="T021zh",
)
