"""Files made on the spot, in memory."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE bomb [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><bomb>&j;</bomb>"
)


def pdf(*pages: str, password: str = "", blanks: int = 0) -> bytes:
    """A page for each text; with `blanks`, so many of them before each text, compressed."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        content = DecodedStreamObject()
        shown = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode("latin-1") if text else b""
        content.set_data(b" " * blanks + shown)
        page[NameObject("/Contents")] = writer._add_object(content.flate_encode() if blanks else content)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    return _saved(writer.write)


def xlsx(rows: Sequence[Sequence[object]], title: str = "Stock") -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(list(row))
    return _saved(book.save)


def docx(paragraphs: Sequence[str], table: Sequence[Sequence[str]] = ()) -> bytes:
    document = Document()
    for text in paragraphs:
        document.add_paragraph(text)
    if table:
        made = document.add_table(len(table), len(table[0]))
        for row, texts in zip(made.rows, table, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
    return _saved(document.save)


def pptx(*slides: tuple[str, str]) -> bytes:
    """Slides of a text and its notes."""
    show = Presentation()
    for text, notes in slides:
        slide = show.slides.add_slide(show.slide_layouts[6])
        slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.text = text
        if notes:
            frame = slide.notes_slide.notes_text_frame
            assert frame is not None
            frame.text = notes
    return _saved(show.save)


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def archive(parts: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return made.getvalue()


def replaced(data: bytes, name: str, content: bytes) -> bytes:
    """An archive with another part."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return archive({**{each: file.read(each) for each in file.namelist()}, name: content})


def _saved(save: object) -> bytes:
    made = io.BytesIO()
    save(made)  # type: ignore[operator]
    return made.getvalue()
