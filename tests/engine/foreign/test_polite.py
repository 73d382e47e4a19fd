"""A worker and code that behaves: what is asked and answered, what it sees, and how it asks us."""

from __future__ import annotations

import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.engine.foreign import ForeignFailed, Room, foreign
from coworkenv.events.errors import NotJson
from coworkenv.events.event import Json

HOSTED = Path(__file__).parent / "hosted"
ROOM = Room(reads=(), paths=(HOSTED,), seconds=60)
POLITE = "polite:Polite"

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)
leaves = st.none() | st.booleans() | st.integers() | decimals | st.text(st.characters(exclude_categories=("Cs",)))
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner))


async def test_values_come_back_as_they_went(unsafe: bool) -> None:
    seen: list[Json] = []

    @given(value=st.lists(values, max_size=5))
    def collect(value: Json) -> None:
        seen.append(value)

    collect()
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        for value in seen:
            assert await worker.ask("echo", value=value) == value


async def test_keys_keep_their_order_and_numbers_their_digits(unsafe: bool) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        value = {"z": Decimal("1.50"), "a": 10**30, "m": {"b": -1, "a": Decimal("1E-7")}}
        answer = await worker.ask("echo", value=value)
        assert list(answer) == ["z", "a", "m"]
        assert str(answer["z"]) == "1.50"
        assert list(answer["m"]) == ["b", "a"]
        assert answer == value
        assert await worker.ask("third") == Decimal(repr(1 / 3))


async def test_a_worker_remembers_and_another_knows_nothing_of_it(unsafe: bool) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as one, foreign(ROOM, POLITE, unsafe=unsafe) as other:
        assert [await one.ask("counted") for _ in range(3)] == [1, 2, 3]
        assert await other.ask("counted") == 1


async def test_many_may_ask_and_take_turns(unsafe: bool) -> None:
    answers: list[int] = []
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:

        async def ask() -> None:
            answers.append(await worker.ask("counted"))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
    assert sorted(answers) == list(range(1, 21))


async def test_what_it_prints_is_kept_apart(unsafe: bool) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        assert await worker.ask("prints", text="hello") is None
        assert sorted(worker.output.split()) == ["HELLO", "hello"]


async def test_its_environment_is_what_the_room_says(unsafe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    room = Room(reads=(), paths=(HOSTED,), environment={"TASK": "T1", "HOME": "/elsewhere"})
    async with foreign(room, POLITE, unsafe=unsafe) as worker:
        found = await worker.ask("surroundings")
        scratch = str(worker.scratch)
    assert found["folder"] == found["temporary"] == scratch
    environment = found["environment"]
    environment.pop("PYTHONUSERBASE", None)  # only where packages may be installed for one user
    environment.pop("__CF_USER_TEXT_ENCODING", None)  # macOS adds it
    assert environment == {
        "PYTHONHASHSEED": "0",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OMP_NUM_THREADS": "1",
        "HOME": scratch,
        "TMPDIR": scratch,
        "TASK": "T1",
    }


async def test_confined_workers_cannot_be_told_apart(confined: None) -> None:
    async def look() -> Any:
        async with foreign(ROOM, POLITE) as worker:
            return await worker.ask("surroundings")

    one, other = await look(), await look()
    assert one == other
    assert (one["host"], one["user"]) == ("worker", 1000)


async def test_its_scratch_folder_is_its_own_and_goes_with_it(unsafe: bool) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        assert await worker.ask("keeps", name="note.txt", text="kept") == "kept"
        assert (worker.scratch / "note.txt").exists() == unsafe
    assert not (worker.scratch / "note.txt").exists()


async def test_it_reads_the_folders_that_it_was_given(confined: None, tmp_path: Path) -> None:
    shown, hidden = tmp_path / "shown", tmp_path / "hidden"
    for folder in (shown, hidden):
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "file.txt").write_text(folder.name)
    link = tmp_path / "link"
    link.symlink_to(shown)
    room = Room(reads=(link,), paths=(HOSTED,))
    async with foreign(room, POLITE) as worker:
        for folder in (shown, link):
            assert await worker.ask("reads", path=str(folder / "inner" / "file.txt")) == "shown"
        assert await worker.ask("lists", path=str(tmp_path)) == ["link", "shown"]
        with pytest.raises(ForeignFailed, match="FileNotFoundError"):
            await worker.ask("reads", path=str(hidden / "inner" / "file.txt"))


async def test_a_folder_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    for paths in ({"reads": (tmp_path / "nowhere",)}, {"reads": (), "paths": (tmp_path / "nowhere",)}):
        with pytest.raises(ForeignFailed, match="nowhere does not exist") as failure:
            async with foreign(Room(**paths), POLITE):
                raise AssertionError
        assert failure.value.kind == "refused"
    with pytest.raises(ForeignFailed, match="whole file system"):
        async with foreign(Room(reads=(Path("/"),)), POLITE):
            raise AssertionError


async def test_it_asks_and_its_clock_stands_meanwhile(unsafe: bool) -> None:
    async def answers(name: str, args: Json) -> Json:
        await trio.sleep(1.2)
        return {"name": name, "args": args}

    room = Room(reads=(), paths=(HOSTED,), seconds=60)
    async with foreign(room, POLITE, unsafe=unsafe, answers=answers) as worker:
        worker._room = Room(reads=(), paths=(HOSTED,), seconds=1.0)  # once it has started, which may be slow here
        answer = await worker.ask("asks", name="llm", args=[Decimal("1.0")])
    assert answer == {"name": "llm", "args": [Decimal("1.0")]}


async def test_it_asks_from_an_asyncio_loop(unsafe: bool) -> None:
    async def answers(name: str, args: Json) -> Json:
        return f"{name} {args}"

    async with foreign(ROOM, POLITE, unsafe=unsafe, answers=answers) as worker:
        names = [f"q{number}" for number in range(5)]
        assert await worker.ask("asks_in_a_loop", names=names) == [f"{name} {name}" for name in names]


async def test_it_hears_that_nobody_answers(unsafe: bool) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        with pytest.raises(ForeignFailed, match="NotAnswered: Nobody here answers 'llm'") as failure:
            await worker.ask("asks", name="llm", args=None)
        assert failure.value.kind == "raised"
        assert await worker.ask("counted") == 1


async def test_it_cannot_ask_while_nobody_waits(unsafe: bool) -> None:
    async def answers(name: str, args: Json) -> Json:
        raise AssertionError("asked")

    async with foreign(ROOM, POLITE, unsafe=unsafe, answers=answers) as worker:
        await worker.ask("asks_later")
        await trio.sleep(0.5)
        while not (heard := await worker.ask("heard")):
            await trio.sleep(0.1)
        assert heard == "NotAsked"


async def test_an_error_of_ours_reaches_us_and_ends_the_worker(unsafe: bool) -> None:
    async def answers(name: str, args: Json) -> Json:
        raise ConnectionError("no judge")

    async with foreign(ROOM, POLITE, unsafe=unsafe, answers=answers) as worker:
        with pytest.raises(ConnectionError, match="no judge"):
            await worker.ask("asks", name="llm", args=None)
        with pytest.raises(ForeignFailed, match="ended before"):
            await worker.ask("counted")


async def test_what_the_body_raises_is_raised_as_it_is(unsafe: bool) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with foreign(ROOM, POLITE, unsafe=unsafe):
            raise KeyError("mine")


async def test_cancelling_ends_it(unsafe: bool) -> None:
    with trio.move_on_after(0.5) as scope:
        async with foreign(ROOM, "wild:Wild", unsafe=unsafe) as worker:
            await worker.ask("sleeps")
    assert scope.cancelled_caught


@pytest.mark.parametrize("method", ["_secret", "__init__", "absent"])
async def test_only_public_methods_are_asked(unsafe: bool, method: str) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        with pytest.raises(ForeignFailed, match="AttributeError") as failure:
            await worker.ask(method)
        assert failure.value.kind == "raised"


async def test_questions_that_cannot_be_asked_harm_nothing(unsafe: bool) -> None:
    async with foreign(ROOM, POLITE, unsafe=unsafe) as worker:
        with pytest.raises(NotJson):
            await worker.ask("echo", value={1, 2})
        with pytest.raises(ForeignFailed, match="16,777,216 are allowed"):
            await worker.ask("echo", value="x" * (17 << 20))
        assert await worker.ask("counted") == 1


@pytest.mark.parametrize(
    ("target", "says"),
    [("polite:broken", "cannot be made"), ("polite:absent", "absent"), ("nowhere:X", "No module named 'nowhere'")],
)
async def test_what_cannot_be_made_is_reported(unsafe: bool, target: str, says: str) -> None:
    with pytest.raises(ForeignFailed, match=says) as failure:
        async with foreign(ROOM, target, unsafe=unsafe):
            raise AssertionError
    assert failure.value.kind == "raised"


async def test_no_descriptor_is_left_open(unsafe: bool) -> None:
    if sys.platform != "linux":
        pytest.skip("counts descriptors in /proc")
    before = len(os.listdir("/proc/self/fd"))
    for target in (POLITE, POLITE, "polite:broken"):
        try:
            async with foreign(ROOM, target, unsafe=unsafe) as worker:
                await worker.ask("counted")
        except ForeignFailed:
            pass
    assert len(os.listdir("/proc/self/fd")) == before


async def test_where_code_cannot_be_confined_it_is_not_run(confined: None) -> None:
    """In a user namespace that may have none in it."""
    program = f"""
import ctypes, os
from pathlib import Path

user = os.geteuid()
ctypes.CDLL(None).unshare(0x10000000)  # before anything starts a thread
Path("/proc/self/uid_map").write_text(f"0 {{user}} 1")
Path("/proc/sys/user/max_user_namespaces").write_text("0")

import trio
from coworkenv.engine.foreign import ForeignFailed, Room, foreign

async def main():
    room = Room(reads=(), paths=(Path({str(HOSTED)!r}),))
    try:
        async with foreign(room, "polite:broken"):
            pass
    except ForeignFailed as failure:
        print(failure.kind, failure.says)
    async with foreign(room, "polite:Polite", unsafe=True) as worker:
        print(await worker.ask("counted"))

trio.run(main)
"""
    found = await trio.run_process([sys.executable, "-c", program], capture_stdout=True)
    refused, counted = found.stdout.decode().splitlines()
    assert refused.startswith("refused This system does not let a user confine a process: unshare: ")
    assert counted == "1"
