"""Files are written whole, or not at all."""

import os
import threading
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


def test_nothing_takes_the_place_of_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, b"through")
    reader.join(5)
    assert read == [b"through"]
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_nothing_takes_the_place_of_a_device(tmp_path: Path) -> None:
    (tmp_path / "device").symlink_to(os.devnull)
    write_whole(tmp_path / "device", b"gone")
    assert (tmp_path / "device").is_char_device()
