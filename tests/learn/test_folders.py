"""A folder is there whole or not at all; a line is there whole or not at all."""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coworkenv.learn.folders import NotWritten, add_line, cleared, whole


def fill(folder: Path, text: str) -> None:
    with whole(folder) as part:
        (part / "inner").mkdir()
        (part / "inner" / "file").write_text(text)


def fill_half(folder: Path, error: BaseException) -> None:
    with whole(folder) as part:
        (part / "file").write_text("half")
        raise error


def read(folder: Path) -> str:
    return (folder / "inner" / "file").read_text()


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    fill(tmp_path / "a", "old")
    fill(tmp_path / "a", "new")
    assert read(tmp_path / "a") == "new"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("precious")
    with pytest.raises(NotWritten, match="Not a directory"):
        fill(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "precious"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("a bug"), OSError(errno.EIO, "broken")])
def test_what_fails_halfway_leaves_the_old_one(tmp_path: Path, error: BaseException) -> None:
    fill(tmp_path / "a", "old")
    with pytest.raises(NotWritten if isinstance(error, OSError) else type(error)):
        fill_half(tmp_path / "a", error)
    assert read(tmp_path / "a") == "old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "raised",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
        RuntimeError('IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })'),
    ],
)
def test_a_full_disk_is_told_in_a_sentence_whichever_library_meets_it(tmp_path: Path, raised: Exception) -> None:
    with pytest.raises(NotWritten) as told, whole(tmp_path / "a"):
        raise raised
    assert told.value.errno == errno.ENOSPC
    assert "No space left on device. It was not written" in str(told.value)
    assert told.value.filename == str(tmp_path / "a")


@pytest.mark.parametrize("moment", range(4))
def test_after_a_kill_at_any_moment_the_old_or_the_new_one_is_there(tmp_path: Path, moment: int) -> None:
    """The four states that a kill can leave: half written; old one moved away; new one in place; all done."""
    names = [[".a.part", "a"], [".a.part", ".a.old"], ["a", ".a.old"], ["a"]][moment]
    for name in names:
        (tmp_path / name).mkdir()
        new = name == ".a.part" or (name == "a" and moment > 1)
        (tmp_path / name / "file").write_text("new" if new else "old")
    cleared(tmp_path)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a" / "file").read_text() == ("new" if moment > 1 else "old")


def test_a_line_that_does_not_fit_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """The system's own limit of a file's size stands for a full disk: it, too, takes a part of what is written."""
    path = tmp_path / "lines"
    limited(path, lambda: add_line(path, b"x" * 60), 100)
    assert path.read_bytes() == b"x" * 60 + b"\n"


def limited(path: Path, work: Callable[[], None], size: int) -> None:
    """Do `work` twice with files of at most `size` bytes; the second time must fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        work()
        with pytest.raises(NotWritten, match="It was not written") as told:
            work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert told.value.filename == str(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_device_is_told_in_a_sentence() -> None:
    with pytest.raises(NotWritten, match="No space left on device"):
        add_line(Path("/dev/full"), b"x")


FILLS = """
import sys
from pathlib import Path
from coworkenv.learn.folders import NotWritten, whole
folder = Path(sys.argv[1]) / "a"
with whole(folder) as part:
    (part / "file").write_bytes(b"old")
try:
    with whole(folder) as part:
        (part / "file").write_bytes(b"n" * (1 << 22))
except NotWritten as error:
    print(error)
print((folder / "file").read_text(), [path.name for path in folder.parent.iterdir()])
"""


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A file system of one MiB, in a name space of its own."""
    script = tmp_path / "fills.py"
    script.write_text(FILLS)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=1m none "{disk}" && exec "{sys.executable}" "{script}" "{disk}"'
    done = subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, text=True)
    if done.returncode and not done.stdout:
        pytest.skip("this machine does not let a test mount a disk")
    assert "No space left on device" in done.stdout
    assert done.stdout.splitlines()[-1] == "old ['a']"
