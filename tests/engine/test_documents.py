"""Documents become text, the same each time; bad ones become a sentence, and take neither time nor memory."""

from __future__ import annotations

import contextlib
import zipfile
from datetime import date, datetime
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from coworkenv.engine.documents import reading
from coworkenv.engine.documents.bounded import Exceeded, bounded
from coworkenv.engine.documents.captions import LONGEST, faults
from coworkenv.engine.documents.kinds import Kind, kind_of, size_of
from coworkenv.engine.documents.packages import UNPACKED, Unreadable
from coworkenv.engine.documents.reading import DOCUMENTS, Missing, read

from .documents.making import BOMB, archive, docx, pdf, png, pptx, replaced, xlsx

GOOD = {
    "report.pdf": pdf("First page", "Second page"),
    "stock.xlsx": xlsx([["Name", "Price"], ["Rose", 2.5]]),
    "letter.docx": docx(["Dear Ida,"]),
    "talk.pptx": pptx(("Roses", "")),
}


def test_pages_of_a_pdf() -> None:
    found = read("pdf", GOOD["report.pdf"])
    assert found.pages == ("First page", "Second page")
    assert (found.text, found.count) == ("First page\n\nSecond page", 2)


def test_cells_of_a_workbook() -> None:
    rows = [
        ["a", "b"],
        [],
        [1, 2.5, None],
        [date(2026, 1, 5), datetime(2026, 1, 5, 9, 30), True, "x,y"],
        ["=1+1"],
        [None],
    ]
    found = read("spreadsheet", xlsx(rows))
    expected = ["[sheet Stock]", "a,b", "", "1,2.5", '2026-01-05,2026-01-05 09:30:00,TRUE,"x,y"', "=1+1"]
    assert (found.text.split("\n"), found.count) == (expected, 1)


def test_a_cell_far_below_yields_no_million_of_lines() -> None:
    book, made = Workbook(), BytesIO()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["A101"], sheet["A1048576"], sheet["B1048576"] = "first", "near", "last", 1
    book.save(made)
    lines = read("spreadsheet", made.getvalue()).text.split("\n")
    assert lines == ["[sheet Sheet]", "first", *[""] * 99, "near", "[1048474 empty rows]", "last,1"]


def test_paragraphs_and_tables_of_a_document() -> None:
    made = docx(["Dear Ida,", "roses."], [["rose", "2.50"], ["lily", "3"]])
    assert read("document", made).text.split("\n") == ["Dear Ida,", "roses.", "rose | 2.50", "lily | 3"]


def test_what_was_inserted_and_boxes_are_read_and_what_was_deleted_is_not() -> None:
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    xml = f"""<w:document xmlns:w="{w}"><w:body>
      <w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>
      <w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins>
        <w:del><w:r><w:delText>old</w:delText></w:r></w:del>
        <w:r><w:pict><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>
    </w:body></w:document>"""
    made = replaced(docx([]), "word/document.xml", xml.encode())
    assert read("document", made).text == "control\na\tbnew\nbox"


def test_slides_with_their_notes() -> None:
    found = read("slides", pptx(("Roses", "Smile."), ("Lilies", "")))
    assert (found.text, found.count) == ("[slide 1]\nRoses\n[notes]\nSmile.\n\n[slide 2]\nLilies", 2)


@pytest.mark.parametrize("name", GOOD)
def test_a_kind_is_told_by_content_whatever_the_name(name: str) -> None:
    kind = kind_of(name, GOOD[name])
    assert kind in DOCUMENTS
    assert kind_of("wrong.png", GOOD[name]) == kind
    assert read(kind, GOOD[name]) == read(kind, GOOD[name])


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", b"plain words", "text"),
        ("a.csv", "ä,ß".encode("utf-16"), "text"),
        ("a.pdf", png(), "picture"),
        ("a.txt", b"", "text"),
        ("a.pdf", b"", "pdf"),
        ("a.bin", b"\0\1\2", "other"),
        ("a.mp4", b"\0\0\0\x18ftypisom", "video"),
        ("a.m4a", b"\0\0\0\x18ftypM4A ", "sound"),
        ("a.zip", archive({"x": b"y"}), "other"),
        ("BMW.txt", b"BMW drives", "text"),
    ],
)
def test_kinds(name: str, data: bytes, kind: Kind) -> None:
    assert kind_of(name, data) == kind


def test_the_size_of_a_picture() -> None:
    assert size_of(png(30, 20)) == (30, 20)
    assert size_of(b"\x89PNG") is None


@given(
    st.sampled_from([b"\xff\xd8\xff", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBPVP8 ", b""]),
    st.binary(max_size=60),
)
def test_signatures_never_raise(start: bytes, rest: bytes) -> None:
    kind_of("x.jpg", start + rest)
    size_of(start + rest)


BAD: dict[str, tuple[Kind, bytes, str]] = {
    "nothing": ("pdf", b"", "is empty"),
    "cut off": ("spreadsheet", GOOD["stock.xlsx"][:900], "damaged"),
    "a cut-off PDF": ("pdf", GOOD["report.pdf"][:60], "cannot be read as a PDF"),
    "entities": ("document", replaced(GOOD["letter.docx"], "word/document.xml", BOMB), "entities"),
    "entities in a workbook": ("spreadsheet", replaced(GOOD["stock.xlsx"], "xl/workbook.xml", BOMB), "entities"),
    "entities in UTF-16": (
        "slides",
        replaced(GOOD["talk.pptx"], "ppt/presentation.xml", BOMB.decode().encode("utf-16")),
        "entities",
    ),
    "a password": ("pdf", pdf("secret", password="rose"), "encrypted"),
    "a bomb": ("pdf", pdf("secret", blanks=80 << 20), "takes more than a PDF may"),
    "old Office": ("spreadsheet", reading.OLD_OFFICE + bytes(600), "old Office"),
    "no XML": ("document", archive({"word/document.xml": b"no XML"}), "no XML"),
    "no document": ("document", archive({"word/other.xml": b"<a/>"}), "damaged"),
    "deep XML": ("document", archive({"word/document.xml": b"<a>" * 9000 + b"</a>" * 9000}), "nested"),
    "another kind": ("slides", GOOD["stock.xlsx"], "damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_a_sentence(name: str) -> None:
    kind, data, says = BAD[name]
    with pytest.raises(Unreadable, match=says):
        read(kind, data)


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked() -> None:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file, file.open("word/media/x", "w") as part:
        for _ in range(UNPACKED // (1 << 20) + 1):
            part.write(bytes(1 << 20))
    with pytest.raises(Unreadable, match="unpacked"):
        read("document", made.getvalue())


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_a_damaged_file_is_read_or_a_sentence(name: str, data: st.DataObject) -> None:
    file = bytearray(GOOD[name])
    kind = kind_of(name, bytes(file))
    at = data.draw(st.integers(0, len(file) - 1))
    file[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=20))
    with contextlib.suppress(Unreadable):
        read(kind, bytes(file))


def test_a_missing_library_is_named_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    with pytest.raises(Missing, match=r"pip install 'coworkenv\[documents\]'"):
        read("pdf", GOOD["report.pdf"])
    assert read("document", GOOD["letter.docx"]).text == "Dear Ida,"


def test_work_has_its_limits() -> None:
    def forever() -> None:
        while True:
            pass

    assert bounded(lambda: {"a": 1}) == {"a": 1}
    with pytest.raises(Exceeded, match="time"):
        bounded(forever, seconds=1)
    with pytest.raises(Exceeded, match="memory"):
        bounded(lambda: len(bytearray(1 << 30)), memory=1 << 28)


def test_captions_that_are_none_are_said(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    (folder / "a.png.txt").mkdir(parents=True)
    for name, data in {"b": b" \n", "c": b"\xff\xd8\xff\xe0", "d": b"a\0b", "e": b"x" * (LONGEST + 1)}.items():
        (folder / f"{name}.png.txt").write_bytes(data)
    (folder / "good.png.txt").write_text("A rose.")
    (folder / "loose.png.txt").symlink_to(folder / "gone")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "out.png.txt").symlink_to(tmp_path / "secret.txt")
    told = [sentence.removeprefix(f"{folder}/") for sentence in faults(folder)]
    assert told == [
        "a.png.txt is no file, so it says nothing.",
        "b.png.txt is empty: agents are told that there is nothing to see or hear.",
        "c.png.txt is no text in UTF-8; agents are shown what cannot be read of it as question marks.",
        "d.png.txt is no text in UTF-8; agents are shown what cannot be read of it as question marks.",
        "e.png.txt has more than 4,194,304 bytes; only so many are read.",
        "loose.png.txt is no file, so it says nothing.",
        "out.png.txt is a link out of its folder, so it is not read.",
    ]


def test_a_caption_that_is_a_link_to_itself_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("a.txt")
    (said,) = faults(tmp_path)
    assert said.startswith(f"{tmp_path}/a.txt is ")
