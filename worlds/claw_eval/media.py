"""Claw-Eval's readers of pictures and papers: text recognition, captions and PDF.

Knows that none of them looks at what it is asked to read: the texts were made beforehand and are records. A text that
the task does not come with is, in sane mode, said not to be available.
"""

from __future__ import annotations

import posixpath
from decimal import Decimal

from ...events.event import Json, ToolError
from .endpoint import Answer, Endpoint, Kind, Refusal, Request, not_available
from .validation import Field, defaulted, nullable

_IMAGE = (defaulted("image_path", ""),)


def _text(request: Request, collection: str, what: str) -> str:
    rows = request.rows(collection)
    if not rows and request.mode == "sane":
        raise not_available(what, 503)
    return str(rows[0]["text"]) if rows else ""


def _extract(request: Request) -> Answer:
    text = _text(request, "texts", "The recognised text of this document")
    return Answer({"text": text, "confidence": Decimal("0.95"), "language": "mixed"})


def _describe(request: Request) -> Answer:
    caption = _text(request, "captions", "A caption of this picture")
    return Answer({"caption": caption, "confidence": Decimal("0.92")})


def _document(request: Request) -> tuple[str, list[str]]:
    """Path below the task's folder and pages of the PDF that is asked for; or the reason why not.

    Upstream looks first whether a path outside of the folder exists. We never look there: it escapes.
    """
    asked = request.body["path"]
    path = posixpath.normpath(asked)
    if path.startswith(("/", "..")):
        raise _refused(400, f"Path escapes base directory: {asked}")
    found = request.find("documents", "path", path)
    if found is None:
        if request.mode == "sane" and path.lower().endswith(".pdf"):
            raise not_available(f"The document {asked!r}", 404)
        raise _refused(404, f"File not found: {asked}")
    if not path.lower().endswith(".pdf"):
        raise _refused(400, "Only PDF files are supported")
    pages = found[1]["pages"]
    if pages is None and "problem" in found[1]:
        raise _refused(503, f"{asked} {found[1]['problem']}")
    if pages is None:
        raise not_available(f"The text of {asked!r}", 503)
    return path, pages


def _refused(status: int, detail: str) -> Refusal:
    kind = "not_found" if status == 404 else "refused"
    return Refusal(ToolError(kind, detail, status=status, detail={"detail": detail}))


def _extract_document(request: Request) -> Answer:
    path, pages = _document(request)
    limit = request.body["max_pages"]
    returned = pages[:limit] if limit else pages
    body: dict[str, Json] = {"path": path, "page_count": len(pages), "pages_returned": len(returned)}
    return Answer({**body, "text": "\n\n".join(returned).strip()})


OCR = Kind("ocr", (Endpoint("/ocr/extract", _IMAGE, _extract, reads=True, logs="request"),))
CAPTION = Kind("caption", (Endpoint("/caption/describe", _IMAGE, _describe, reads=True, logs="request"),))
DOCUMENTS = Kind(
    "documents",
    (
        Endpoint(
            "/documents/extract_text",
            (Field("path"), nullable("max_pages", "integer")),
            _extract_document,
            reads=True,
            opens="path",
            logs="summary",
        ),
    ),
)
