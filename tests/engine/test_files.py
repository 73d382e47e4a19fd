"""Files are written whole, or not at all."""

from pathlib import Path

import pytest

from coworkenv.engine.files import write_whole, writing_whole


def test_what_was_there_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    for content in (b"first", b"second, and longer", b""):
        write_whole(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_was_there_stays_where_writing_fails(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"before")

    def cut_off() -> None:
        with writing_whole(tmp_path / "file") as draft:
            draft.write(b"aft")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        cut_off()
    assert (tmp_path / "file").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
