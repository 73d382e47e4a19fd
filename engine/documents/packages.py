"""Office files: zip archives of XML, which may be made to take all memory, or to mean more than they say.

Knows how large a part may get and that none declares entities. Does not know what a part means.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree
from xml.parsers import expat

PARTS = 5_000
"""Parts of an archive."""
UNPACKED = 256 << 20
"""Bytes of all parts together."""
XML = 48 << 20
"""Bytes of a part that is XML."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Unreadable(Exception):
    """A file that cannot be read; `says` completes the sentence that its path begins."""

    def __init__(self, says: str) -> None:
        super().__init__(says)
        self.says = says


@contextmanager
def opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    """The archive, once all its XML is known to be harmless. Raises Unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _bounded(archive)
            for each in archive.infolist():
                if each.filename.lower().endswith((".xml", ".rels", ".vml")):
                    _harmless(each.filename, archive.read(each))
            yield archive
    except zipfile.BadZipFile:
        raise Unreadable("is damaged: its archive is cut off or wrong.") from None


def _bounded(archive: zipfile.ZipFile) -> None:
    parts = archive.infolist()
    whole = sum(each.file_size for each in parts)
    if len(parts) > PARTS:
        raise Unreadable(f"has {len(parts):,} parts, and at most {PARTS:,} are read.")
    if whole > UNPACKED:
        raise Unreadable(f"has {whole:,} bytes when it is unpacked, and at most {UNPACKED:,} are read.")
    for each in parts:
        if each.flag_bits & 1:
            raise Unreadable("is encrypted.")
        if each.compress_type not in _METHODS:
            raise Unreadable("is packed in a way that Office does not use.")
        if each.filename.lower().endswith((".xml", ".rels")) and each.file_size > XML:
            raise Unreadable(f"has a part of {each.file_size:,} bytes, and at most {XML:,} are read.")


def _harmless(name: str, data: bytes) -> None:
    """Raises Unreadable for XML that declares a type, in which entities can be, or that is none."""

    def refuse(*_: object) -> None:
        raise Unreadable("declares entities in its XML, which Office files never do.")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        raise Unreadable(f"is damaged: {name[:80]} in it is no XML.") from None


def part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element | None:
    """The XML of a part; None where there is none of this name."""
    try:
        return ElementTree.fromstring(archive.read(name))
    except KeyError:
        return None
