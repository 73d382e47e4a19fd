"""ClawMark's agent reads documents; of pictures it hears what somebody wrote of them, and else their size."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from coworkenv.agents.building import build_agent
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.clawmark import host, preflight
from coworkenv.engine.clawmark.grading import grade_by_checkers
from coworkenv.engine.clawmark.host import Setup
from coworkenv.engine.clawmark.importing import importer
from coworkenv.engine.clawmark.loading import load_task
from coworkenv.engine.clawmark.people import StageUser
from coworkenv.engine.clawmark.sidecar import VARIABLE
from coworkenv.engine.episode import Episode, run_episode
from coworkenv.engine.importing import Wanted
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import CheckGraded, Json, ToolReturned
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.clawmark import find_checkout, world_of
from tests.loopback import ModelServer, completion

from .documents.making import docx, pdf, png, xlsx
from .shop import copied

INPUT = "assets/input"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """The flower shop with papers and a picture; without a sandbox, so that tests run everywhere."""
    root = copied(tmp_path)
    folder = root / "tasks" / "shop" / "task1" / INPUT
    (folder / "order.pdf").write_bytes(pdf("Twelve roses", "Two lilies"))
    (folder / "scan.pdf").write_bytes(pdf(""))
    (folder / "broken.xlsx").write_bytes(xlsx([["a"]])[:500])
    (folder / "letter.docx").write_bytes(docx(["Dear Ida,"]))
    (folder / "photo.png").write_bytes(png(30, 20))
    (folder / "long.txt").write_text("x" * 60_000 + "the end")
    made = Setup(checkout=find_checkout(root), unsafe=True, seconds=100)
    monkeypatch.setattr(host.CHECKOUTS, "current", made)
    monkeypatch.delenv(VARIABLE, raising=False)
    return made


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where captions are: that of the picture."""
    path = tmp_path / "words" / "tasks" / "shop" / "task1" / INPUT / "photo.png.txt"
    path.parent.mkdir(parents=True)
    path.write_text("A wilted rose.")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "words"))
    return path


def reader(*calls: dict[str, Json]) -> Script:
    steps = (ScriptStep(call="read_file", args={**call, "path": f"input/{call['path']}"}) for call in calls)
    done = (ScriptStep(ask="user", text="Done.") for _ in range(2))
    return Script([ScriptStep(wait="user"), *steps, *done])


async def played(setup: Setup, log: MemoryLog, *calls: dict[str, Json]) -> Episode:
    task = await load_task(setup, "shop/task1")
    async with log.writing():
        return await run_episode(Plan(world_of(task), reader(*calls), {"user": StageUser()}), log)


def returned(episode: Episode) -> list[ToolReturned]:
    found = [event for event in episode.events if event.actor == "agent" and isinstance(event.body, ToolReturned)]
    return [event.body for event in found if isinstance(event.body, ToolReturned)]


async def test_documents_are_read_and_pictures_are_measured(setup: Setup) -> None:
    log = MemoryLog()
    names = ("order.pdf", "scan.pdf", "letter.docx", "photo.png", "broken.xlsx")
    episode = await played(setup, log, *({"path": name} for name in names))
    order, scan, letter, photo, broken = returned(episode)
    assert order.result == {"kind": "pdf", "pages": 2, "text": "Twelve roses\n\nTwo lilies", "characters": 24}
    assert scan.result["text"] == ""
    assert "no text" in scan.result["says"]
    assert letter.result == {"kind": "document", "text": "Dear Ida,", "characters": 9}
    assert photo.result["says"].startswith(f"Picture of 30x20 pixels, {len(png(30, 20))} bytes.")
    assert broken.error is not None
    assert broken.error.message == "/workspace/input/broken.xlsx is damaged: its archive is cut off or wrong."
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"


async def test_captions_that_say_nothing_are_said(setup: Setup, words: Path) -> None:
    root = setup.checkout.root
    assert not any("photo" in note for note in (await importer.load(root, Wanted(unsafe=True))).notes)
    words.write_text(" ")
    notes = (await importer.load(root, Wanted(unsafe=True))).notes
    assert f"{words} is empty: agents are told that there is nothing to see or hear." in notes


async def test_a_long_text_is_read_on(setup: Setup) -> None:
    episode = await played(setup, MemoryLog(), {"path": "long.txt"}, {"path": "long.txt", "start": 60_000})
    first, rest = returned(episode)
    assert (first.result["next"], first.result["characters"]) == (60_000, 60_007)
    assert rest.result == {"text": "the end", "characters": 60_007}


async def test_arguments_that_are_none_are_a_sentence(setup: Setup) -> None:
    [wrong] = returned(await played(setup, MemoryLog(), {"path": "long.txt", "start": -1}))
    assert wrong.error is not None
    assert "`start`" in wrong.error.message


async def test_nothing_is_written_into_a_file_as_if_it_were_a_folder(setup: Setup) -> None:
    log, task = MemoryLog(), await load_task(setup, "shop/task1")
    calls = [
        ScriptStep(call="write_file", args={"path": "input/long.txt/a/b.txt", "text": "x"}),
        ScriptStep(call="write_file", args={"path": "input", "text": "x"}),
        ScriptStep(call="write_file", args={"path": "x" * 300, "text": "x"}),
        ScriptStep(call="write_file", args={"path": "a\0b", "text": "x"}),
        ScriptStep(call="shell", args={"command": "git init input/long.txt/a; mkdir -p input/long.txt/b"}),
    ]
    steps = [ScriptStep(wait="user"), *calls, ScriptStep(ask="user", text="Done.")]
    async with log.writing():
        episode = await run_episode(Plan(world_of(task), Script(steps), {"user": StageUser()}), log)
        await grade_by_checkers(log, episode.id, setup)
    inside, folder, *unusable, shell = returned(episode)
    assert inside.error is not None
    assert inside.error.message == "/workspace/input/long.txt/a/b.txt would be in a file, which is no folder."
    assert folder.error is not None
    assert folder.error.message == "/workspace/input is a folder."
    assert [each.error is not None and "no name has" in each.error.message for each in unusable] == [True, True]
    assert shell.result["code"] == 1


async def test_captions_stand_for_pictures_and_the_grade_says_what_was_read(setup: Setup, words: Path) -> None:
    log = MemoryLog()
    episode = await played(setup, log, {"path": "photo.png"}, {"path": "scan.pdf"})
    photo = returned(episode)[0]
    assert photo.result == {"kind": "picture", "by": "sidecar", "text": "A wilted rose.", "characters": 14}
    async with log.writing():
        graded = await grade_by_checkers(log, episode.id, setup)
    [read] = [check for check in graded.checks if isinstance(check, CheckGraded) and check.check == "read"]
    expected = "0 of 2 PDF (1 opened), 0 of 1 spreadsheets, 0 of 1 documents, 1 of 1 pictures"
    assert (read.says, read.applies, read.passed) == (expected, False, False)


async def test_a_caption_that_is_a_link_out_of_its_folder_is_none(setup: Setup, words: Path, tmp_path: Path) -> None:
    """A worker cannot read it, so it must not change what is played either."""
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("A fresh rose.")
    before = (await load_task(setup, "shop/task1")).sidecar
    words.with_name("scan.pdf.txt").symlink_to(elsewhere)
    assert (await load_task(setup, "shop/task1")).sidecar == before != ""


async def test_what_answered_is_in_the_log_and_other_captions_are_not_gone_on_with(setup: Setup, words: Path) -> None:
    log = MemoryLog()
    episode = await played(setup, log, {"path": "photo.png"})
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
    words.write_text("A fresh rose.")
    assert (await verify(log, episode.id)).verdict == "identical"
    refused = await verify(log, episode.id, foreign=True)
    assert refused.verdict == "not driven"
    assert "captions or transcripts" in refused.says


async def test_what_a_checkout_lacks_is_said_before_anything_is_played(setup: Setup) -> None:
    root, folder = setup.checkout.root, setup.checkout.folder("shop/task1")
    assert preflight.lacking(setup.checkout, ["shop/task1"]) == {}
    (folder / INPUT / "rose.png").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    (folder / "inject" / "stage1" / "late.csv").unlink()
    found = await importer.load(root, Wanted(unsafe=True))
    lacking = [note for note in found.notes if "lacks" in note]
    assert [note.partition(";")[0] for note in lacking] == [
        "clawmark.shop.task1: the checkout lacks assets/input/rose.png, inject/stage1/late.csv",
    ]


async def test_commands_that_stages_ask_for_in_vain_are_said_before_anything_is_played(setup: Setup) -> None:
    path = setup.checkout.folder("shop/task1") / "task.py"
    asked = 'exec("mkdir -p /workspace/output")'
    path.write_text(path.read_text().replace(asked, f'exec("ffmpeg -i a")\n    await ctx.sandbox.{asked}'))
    found = await importer.load(setup.checkout.root, Wanted(unsafe=True))
    assert [note for note in found.notes if "commands" in note] == [
        "clawmark.shop.task1: its code asks for commands that are not done here (ffmpeg); "
        "what they would have done is not there"
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_git_knows_what_is_not_there(setup: Setup) -> None:
    root = setup.checkout.root
    name = ("-c", "user.name=a", "-c", "user.email=a@shop.test")
    for command in (("init", "-q"), ("add", "."), (*name, "commit", "-q", "-m", "all")):
        subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True)
    for file in (setup.checkout.folder("shop/task1") / INPUT).glob("*.pdf"):
        file.unlink()
    [told] = preflight.lacking(setup.checkout, ["shop/task1"]).values()
    assert told == ["assets/input/order.pdf", "assets/input/scan.pdf"]


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_git_is_not_made_to_fetch_by_a_checkout(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings may say that what is not there comes from a command; git would run that."""
    root, mark = setup.checkout.root, setup.checkout.root / "fetched"
    monkeypatch.setattr(preflight, "_QUIET", {k: v for k, v in preflight._QUIET.items() if "LAZY" not in k})

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@shop.test", "commit", "-q", "-m", "all")
    tree = git("rev-parse", "HEAD:tasks").strip()
    (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for name, value in (
        ("remote.origin.url", f"ext::touch {mark}"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("protocol.ext.allow", "always"),
    ):
        git("config", name, value)
    assert preflight.lacking(setup.checkout, ["shop/task1"]) == {}
    assert not mark.exists()


def test_a_library_that_is_missing_is_named(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "find_spec", lambda name: None)
    [told] = preflight.libraries(setup.checkout, ["shop/task1"])
    assert told.startswith("without pypdf, openpyxl, ")
    assert told.endswith("pip install 'coworkenv[documents]'")


@pytest.mark.parametrize("sees", [True, False])
async def test_a_model_is_shown_a_picture_where_it_can_see_one(setup: Setup, sees: bool) -> None:
    """Once: it stands behind the result, and what the agent cannot see does not count as read."""
    log, task = MemoryLog(), await load_task(setup, "shop/task1")
    look = completion(calls=[("view_picture", {"path": "input/photo.png"})])

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return completion("Done.") if any(m["role"] == "tool" for m in request["messages"]) else look

    async with ModelServer(answer).serving() as server, log.writing():
        agent = build_agent("openai:loopback", {"url": server.url, **({"pictures": True} if sees else {})})
        episode = await run_episode(Plan(world_of(task), agent, {"user": StageUser()}), log)
        sent = server.requests[-1]["messages"]
        graded = await grade_by_checkers(log, episode.id, setup)
    pictures = [part for m in sent if isinstance(m["content"], list) for part in m["content"] if "image_url" in part]
    uri = f"data:image/png;base64,{b64encode(png(30, 20)).decode()}"
    assert pictures == ([{"type": "image_url", "image_url": {"url": uri}}] if sees else [])
    assert uri[-20:] not in str([m for m in sent if m["role"] == "tool"])
    assert ("1 of 1 pictures" if sees else "0 of 1 pictures (1 opened)") in str(graded.checks)
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"


async def test_only_pictures_can_be_looked_at(setup: Setup) -> None:
    steps = [ScriptStep(call="view_picture", args={"path": f"input/{name}"}) for name in ("order.pdf", "none.png")]
    script = Script([ScriptStep(wait="user"), *steps, *(ScriptStep(ask="user", text="Done.") for _ in range(2))])
    log, task = MemoryLog(), await load_task(setup, "shop/task1")
    async with log.writing():
        episode = await run_episode(Plan(world_of(task), script, {"user": StageUser()}), log)
    assert [body.error.type for body in returned(episode) if body.error] == ["unreadable", "not_found"]
