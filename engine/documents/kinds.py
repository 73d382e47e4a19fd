"""What kind of file something is: by its first bytes, or, where they say nothing, by its name.

Knows signatures, and where pictures keep their size. Does not know how a kind is read.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["text", "pdf", "spreadsheet", "document", "slides", "picture", "sound", "video", "other"]
Medium: TypeAlias = Literal["picture", "sound", "video"]

MEDIA: tuple[Medium, ...] = get_args(Medium)
"""What nobody can read as it is; somebody may have put it into words."""

NAMES: dict[Kind, str] = {
    "text": "a text",
    "pdf": "a PDF",
    "spreadsheet": "a spreadsheet (xlsx)",
    "document": "a document (docx)",
    "slides": "a presentation (pptx)",
    "picture": "a picture",
    "sound": "a sound recording",
    "video": "a video",
    "other": "a file of an unknown kind",
}

_ENDINGS: dict[str, Kind] = {
    **dict.fromkeys(
        ("txt", "md", "csv", "tsv", "json", "jsonl", "yaml", "yml", "xml", "html", "log", "py", "tex"), "text"
    ),
    "pdf": "pdf",
    **dict.fromkeys(("xlsx", "xlsm"), "spreadsheet"),
    **dict.fromkeys(("docx", "docm"), "document"),
    **dict.fromkeys(("pptx", "pptm"), "slides"),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic", "svg"), "picture"),
    **dict.fromkeys(("mp3", "wav", "m4a", "ogg", "flac", "aac", "opus"), "sound"),
    **dict.fromkeys(("mp4", "mov", "webm", "mkv", "avi"), "video"),
}

_SIGNATURES: tuple[tuple[int, bytes, Kind], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "picture"),
    (0, b"\xff\xd8\xff", "picture"),
    (0, b"GIF87a", "picture"),
    (0, b"GIF89a", "picture"),
    (0, b"BM", "picture"),
    (0, b"II*\0", "picture"),
    (0, b"MM\0*", "picture"),
    (0, b"ID3", "sound"),
    (0, b"\xff\xfb", "sound"),
    (0, b"\xff\xf3", "sound"),
    (0, b"\xff\xf1", "sound"),
    (0, b"OggS", "sound"),
    (0, b"fLaC", "sound"),
    (8, b"WEBP", "picture"),
    (8, b"WAVE", "sound"),
    (8, b"AVI ", "video"),
    (0, b"\x1aE\xdf\xa3", "video"),
)
"""Offset, bytes, kind."""

OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of old Office begin, and encrypted ones of today's."""

_SOUNDS = (b"M4A ", b"M4B ")
_PICTURES = (b"heic", b"heix", b"mif1", b"avif")
_PARTS: tuple[tuple[bytes, Kind], ...] = (
    (b"xl/workbook.xml", "spreadsheet"),
    (b"word/document.xml", "document"),
    (b"ppt/presentation.xml", "slides"),
)


def named(path: str) -> Kind:
    """The kind that a name promises."""
    return _ENDINGS.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "other")


def kind_of(path: str, data: bytes) -> Kind:
    """The kind of a file. What says nothing of itself and is text is text, whatever its name."""
    found = _signed(data)
    if found is not None:
        return found
    if named(path) == "picture" and path.lower().endswith(".svg"):
        return "text"
    if data and as_text(data) is not None:
        return "text"
    promised = named(path)
    return "text" if promised == "other" and not data else promised


def as_text(data: bytes) -> str | None:
    """The text of a text file, in UTF-8, or in UTF-16 where it says so; else None."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _signed(data: bytes) -> Kind | None:
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return next((kind for part, kind in _PARTS if part in data), None)
    if data[4:8] == b"ftyp":
        brand = data[8:12]
        return "sound" if brand in _SOUNDS else "picture" if brand in _PICTURES else "video"
    if data.startswith(b"BM") and as_text(data) is not None:
        return None
    return next((kind for at, sign, kind in _SIGNATURES if data[at : at + len(sign)] == sign), None)


def mime_of(data: bytes) -> str | None:
    """The type of a picture that servers take; None of anything else."""
    signs = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}
    found = next((f"image/{name}" for sign, name in signs.items() if data.startswith(sign)), None)
    return "image/webp" if found is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP" else found


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height of a picture, in pixels; None where they are not found."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return _two(data[16:24], 4)
    if data.startswith(b"GIF8") and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data[8:12] == b"WEBP":
        return _webp(data)
    return None


def _two(data: bytes, each: int) -> tuple[int, int]:
    return int.from_bytes(data[:each], "big"), int.from_bytes(data[each : 2 * each], "big")


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in range(0xC0, 0xD0) and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _two(data[at + 5 : at + 9], 2)
            return width, height
        at += (
            2 if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD7 else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        )
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if form == b"VP8 " and len(data) >= 30:
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if form == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return None
