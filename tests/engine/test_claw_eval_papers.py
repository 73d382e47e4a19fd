"""Claw-Eval's documents service reads a checkout's PDFs; what is read is in the task, and so in the log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.auditing import examined_folder
from coworkenv.engine.claw_eval.importing import importer
from coworkenv.engine.claw_eval.loading import Loader
from coworkenv.engine.episode import run_episode
from coworkenv.engine.importing import Imported, Wanted
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import Json, ToolReturned
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.world import World

from .claw_eval.folders import write_tasks
from .documents.making import pdf

SCAN = "fixtures/docs/scan.pdf"


async def imported(root: Path, scan: bytes) -> Imported:
    """A task with a PDF whose text is beside it, and with another."""
    folder = write_tasks(root / "tasks", "documents")
    (folder / "W_documents" / SCAN).write_bytes(scan)
    return await importer.load(folder, Wanted(unsafe=True))


async def extracted(world: World, log: MemoryLog, *calls: Mapping[str, Json]) -> list[ToolReturned]:
    steps = [ScriptStep(call="documents_extract_text", args=dict(call)) for call in calls]
    async with log.writing():
        episode = await run_episode(Plan(world, Script([*steps, ScriptStep(finish="Done.")])), log)
    assert (await verify(log, episode.id)).verdict == "identical"
    return [event.body for event in episode.events if isinstance(event.body, ToolReturned)]


async def test_a_pdf_is_read_by_pages(tmp_path: Path) -> None:
    found = await imported(tmp_path, pdf("one", "two", "three"))
    assert (found.problems, found.notes) == ([], [])
    (tmp_path / "tasks" / "W_documents" / SCAN).unlink()
    whole, first, beside = await extracted(
        found.worlds[0],
        MemoryLog(),
        {"path": SCAN},
        {"path": f"fixtures/../{SCAN}", "max_pages": 1},
        {"path": "fixtures/docs/report.pdf"},
    )
    assert whole.result == {"path": SCAN, "page_count": 3, "pages_returned": 3, "text": "one\n\ntwo\n\nthree"}
    assert first.result == {"path": SCAN, "page_count": 3, "pages_returned": 1, "text": "one"}
    assert beside.result["text"] == "first\n\nsecond"


@pytest.mark.parametrize(
    ("scan", "says"),
    [
        (b"", "is empty"),
        (b"%PDF", "is damaged, or not what it seems: it cannot be read as a PDF"),
        (pdf("secret", password="rose"), "is encrypted"),
    ],
)
async def test_one_that_cannot_be_read_is_named_before_anything_is_played(
    tmp_path: Path, scan: bytes, says: str
) -> None:
    found = await imported(tmp_path, scan)
    [note] = found.notes
    assert note.startswith(f"W_documents: {SCAN} {says}")
    [refused] = await extracted(found.worlds[0], MemoryLog(), {"path": SCAN})
    assert refused.status == 503
    assert refused.error is not None
    assert refused.error.message.startswith(f"{SCAN} {says}")


async def test_a_link_out_of_the_checkout_and_a_folder_are_no_pdf_and_are_said(tmp_path: Path) -> None:
    folder = write_tasks(tmp_path / "tasks", "documents")
    docs = folder / "W_documents" / "fixtures" / "docs"
    (tmp_path / "secret.pdf").write_bytes(pdf("secret"))
    (tmp_path / "secret.txt").write_text("secret")
    (docs / "folder.pdf").mkdir()
    (docs / "out.pdf").symlink_to(tmp_path / "secret.pdf")
    (docs / "loose.PDF").symlink_to(docs / "gone")
    (docs / "within.pdf").symlink_to(docs / "scan.pdf")
    (docs / "scan.pdf").write_bytes(pdf("mine"))
    (docs / "scan.pdf.txt").symlink_to(tmp_path / "secret.txt")
    found = await importer.load(folder, Wanted(unsafe=True))
    assert found.notes == [
        "W_documents: fixtures/docs/folder.pdf is a folder, so it is not read.",
        "W_documents: fixtures/docs/loose.PDF is a link that leads out, or nowhere, so it is not read.",
        "W_documents: fixtures/docs/out.pdf is a link that leads out, or nowhere, so it is not read.",
    ]
    assert "secret" not in found.worlds[0].document
    calls = ({"path": f"fixtures/docs/{name}.pdf"} for name in ("folder", "out", "within", "scan"))
    mapped, out, within, scan = await extracted(found.worlds[0], MemoryLog(), *calls)
    assert [(each.status, each.result and each.result["text"]) for each in (mapped, out, within, scan)] == [
        (503, None),
        (503, None),
        (200, "mine"),
        (200, "mine"),
    ]
    assert (await importer.load(folder, Wanted(only="X_*", unsafe=True))).notes == []


async def test_an_audit_reads_the_pdfs_as_well(tmp_path: Path) -> None:
    folder = write_tasks(tmp_path / "tasks", "documents") / "W_documents"
    (folder / SCAN).write_bytes(pdf("read"))
    _, task = await examined_folder(folder, Loader(unsafe=True))
    assert task is not None
    pages = {row["path"]: row["pages"] for row in task.services[0].records["documents"]}
    assert pages[SCAN] == ["read"]


async def test_files_that_a_checkout_lacks_are_named(tmp_path: Path) -> None:
    folder = write_tasks(tmp_path / "tasks", "documents")
    file = folder / "W_documents" / "task.yaml"
    file.write_text(file.read_text() + "\nsandbox_files: [fixtures/docs/report.pdf, fixtures/docs/gone.pdf]\n")
    for path, wanted, told in ((folder, "W_*", 1), (folder, "X_*", 0), (file.parent, None, 1)):
        found = await importer.load(path, Wanted(only=wanted, unsafe=True))
        assert [note for note in found.notes if "lacks" in note] == told * [
            "the checkout lacks files of W_documents (fixtures/docs/gone.pdf); nobody can read what is not there"
        ]
