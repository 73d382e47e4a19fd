"""The text of Office documents and presentations, in the order in which people read it.

Knows paragraphs, tables, slides and notes. Read from the XML itself: what libraries leave out (text boxes, content
controls, what somebody inserted and nobody accepted yet) is there for who opens the file. Deleted text is not.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from .packages import Unreadable, part

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_LEFT_OUT = (f"{_W}del", f"{_W}moveFrom", f"{_W}instrText", f"{_W}delText", f"{_MC}Fallback", f"{_W}pPr", f"{_W}rPr")
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_A}br": "\n"}
_DEEPEST = 200
"""Elements within each other."""


# --- documents -------------------------------------------------------------------------------------------


def document_text(archive: zipfile.ZipFile) -> str:
    """Raises Unreadable."""
    body = _needed(archive, "word/document.xml")
    pieces = ["\n".join(_paragraphs(body))]
    for name, title in (
        ("word/footnotes.xml", "notes"),
        ("word/endnotes.xml", "notes"),
        ("word/comments.xml", "comments"),
    ):
        found = part(archive, name)
        text = "" if found is None else "\n".join(line for line in _paragraphs(found) if line.strip())
        pieces += [f"[{title}]\n{text}"] if text else []
    return "\n\n".join(pieces)


def _paragraphs(element: Element, depth: int = 0) -> Iterator[str]:
    """Its lines: one for each paragraph, and for each row of a table."""
    if depth > _DEEPEST:
        raise Unreadable("is nested too deeply.")
    for child in element:
        if child.tag in (f"{_W}p", f"{_A}p"):
            yield _line(child)
        elif child.tag in (f"{_W}tr", f"{_A}tr"):
            yield " | ".join(_cell(cell, depth) for cell in child if cell.tag in (f"{_W}tc", f"{_A}tc", f"{_W}sdt"))
        elif child.tag not in _LEFT_OUT:
            yield from _paragraphs(child, depth + 1)


def _cell(cell: Element, depth: int) -> str:
    return " / ".join(line for line in _paragraphs(cell, depth + 1) if line)


def _line(paragraph: Element) -> str:
    return "".join(_runs(paragraph))


def _runs(element: Element, depth: int = 0) -> Iterator[str]:
    if depth > _DEEPEST:
        raise Unreadable("is nested too deeply.")
    for child in element:
        if child.tag in (f"{_W}t", f"{_A}t"):
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag in (f"{_W}p", f"{_A}p"):
            yield f"\n{_line(child)}"
        elif child.tag not in _LEFT_OUT:
            yield from _runs(child, depth + 1)


# --- presentations ---------------------------------------------------------------------------------------


def slides_text(archive: zipfile.ZipFile) -> tuple[str, int]:
    """The text, and how many slides there are. Raises Unreadable."""
    whole = _needed(archive, "ppt/presentation.xml")
    targets = _targets(archive, "ppt/presentation.xml")
    ids = [each.get(f"{_R}id", "") for each in whole.iter(f"{_P}sldId")]
    slides = [_slide(archive, number, targets.get(name, "")) for number, name in enumerate(ids, 1)]
    return "\n\n".join(slides), len(slides)


def _slide(archive: zipfile.ZipFile, number: int, name: str) -> str:
    found = part(archive, name)
    hidden = ", hidden" if found is not None and found.get("show") in ("0", "false") else ""
    lines = [f"[slide {number}{hidden}]", *_written(found)]
    for target in _targets(archive, name).values():
        if "/notesSlides/" in target:
            notes = list(_written(part(archive, target)))
            lines += ["[notes]", *notes] if notes else []
    return "\n".join(lines)


def _written(slide: Element | None) -> Iterator[str]:
    return (line for line in _paragraphs(slide) if line.strip()) if slide is not None else iter(())


def _targets(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Parts that another refers to, by the ids that it uses."""
    folder, file = posixpath.split(name)
    found = part(archive, f"{folder}/_rels/{file}.rels")
    return {
        each.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/")
        for each in (() if found is None else found)
        if each.get("TargetMode") != "External"
    }


def _needed(archive: zipfile.ZipFile, name: str) -> Element:
    found = part(archive, name)
    if found is None:
        raise Unreadable(f"is damaged: there is no {name} in it.")
    return found
