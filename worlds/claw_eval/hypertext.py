"""The text of an HTML page, for whoever can only read: paragraphs in lines of their own, links as `[text](address)`.

Knows tags as far as they part text or hide it. Takes time in proportion to the page, whatever is in it, and never
fails: a page that somebody has recorded may be anything. Nothing in it is executed.
"""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

_MARK = re.compile(r"<(?:!--|[!?]|/?[a-zA-Z])")
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)")
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_LONGEST_TAG = 4_000
"""Characters of a tag in which an address is looked for."""
_SPACE = re.compile(r"\s+")
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "textarea", "title"})
"""What is in these is no text of the page. The title is told apart."""
_PARTS = re.compile(
    "address|article|aside|blockquote|body|br|caption|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|head|header|hr|"
    "html|legend|li|main|nav|ol|option|p|pre|section|select|summary|table|tbody|tfoot|thead|tr|ul"
)
"""What begins or ends one of these begins a new line."""
_ENDS = {name: re.compile(f"</{name}(?![^\\s/>])", re.IGNORECASE) for name in _HIDDEN}
_EMPTY = re.compile(r"/\s*>$")
"""How a tag ends that has nothing in it, as in XHTML: `<script src=x />`."""


def page_of(markup: str, address: str) -> tuple[str, str]:
    """The title of a page and its text. `address` is where relative links begin."""
    page = _Page(address)
    at = 0
    while (mark := _MARK.search(markup, at)) is not None:
        page.text(markup[at : mark.start()])
        if mark[0] == "<!--":
            at = _after(markup, "-->", mark.end() - 2)
            continue
        at = _after(markup, ">", mark.end())
        at = page.tag(markup, mark.start(), at)
    page.text(markup[at:])
    return page.title, page.whole()


def _after(markup: str, sign: str, at: int) -> int:
    found = markup.find(sign, at)
    return len(markup) if found < 0 else found + len(sign)


class _Page:
    def __init__(self, address: str) -> None:
        self.title = ""
        self._address = address
        self._pieces: list[str] = []
        self._link: tuple[int, str] | None = None
        """The piece at which a link's text begins, and where it leads."""

    def text(self, markup: str) -> None:
        if markup:
            self._pieces.append(_plain(markup))

    def tag(self, markup: str, start: int, end: int) -> int:
        """What the tag there does; where to read on."""
        named = _NAME.match(markup, start)
        name = named[1].lower() if named is not None else ""
        opens = markup[start + 1] != "/"
        if opens and name in _HIDDEN and _EMPTY.search(markup[max(start, end - 8) : end]):
            return end
        if opens and name in _HIDDEN:
            return self._passed_over(name, markup, end)
        if _PARTS.fullmatch(name):
            self._pieces.append("\n")
        elif name in ("td", "th"):
            self._pieces.append(" ")
        elif name == "a":
            self._end_link()
            if opens:
                self._begin_link(markup[start : min(end, start + _LONGEST_TAG)])
        return end

    def _passed_over(self, name: str, markup: str, at: int) -> int:
        closing = _ENDS[name].search(markup, at)
        if name == "title" and not self.title:
            self.title = _plain(markup[at : closing.start() if closing else at]).strip()
        return len(markup) if closing is None else _after(markup, ">", closing.end())

    def _begin_link(self, tag: str) -> None:
        found = _HREF.search(tag)
        target = "" if found is None else _unescaped(found[1] or found[2] or found[3] or "").strip()
        try:
            whole = urljoin(self._address, target)
        except ValueError:
            return
        if target and not target.startswith("#") and whole.startswith(("http://", "https://")):
            self._link = (len(self._pieces), whole)

    def _end_link(self) -> None:
        if self._link is None:
            return
        (begun, target), self._link = self._link, None
        said = " ".join("".join(self._pieces[begun:]).split())
        if said:
            self._pieces[begun:] = [f"[{said}]({target})"]

    def whole(self) -> str:
        self._end_link()
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)


def _plain(markup: str) -> str:
    return _SPACE.sub(" ", _unescaped(markup))


def _unescaped(markup: str) -> str:
    """With its entities replaced. A number of thousands of digits is none."""
    try:
        return unescape(markup)
    except ValueError:
        return markup
