"""The pages of a PDF as text. Knows pypdf, which is an extra. Pictures of pages have no text: nothing is recognised."""

from __future__ import annotations

import io
import logging

from .packages import Unreadable

PAGES = 500
LIMIT = 2_000_000
"""Characters of all pages."""


def pages_of(data: bytes) -> tuple[list[str], int]:
    """The text of each page that is read, and how many pages there are.

    Raises Unreadable for what is encrypted or takes more than pypdf allows, and whatever else pypdf raises.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").addHandler(logging.NullHandler())
    logging.getLogger("pypdf").propagate = False
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is encrypted, and its password is not known.")
        count = len(reader.pages)
        texts: list[str] = []
        for number in range(min(count, PAGES)):
            texts.append(reader.pages[number].extract_text() or "")
            if sum(map(len, texts)) > LIMIT:
                break
    except (DependencyError, FileNotDecryptedError):
        raise Unreadable("is encrypted, in a way that cannot be read here.") from None
    except PyPdfError as error:
        if type(error).__name__ != "LimitReachedError":  # By its name, since older releases have none.
            raise
        raise Unreadable("takes more than a PDF may, so it is not read.") from None
    return texts, count
