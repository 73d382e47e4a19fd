"""What a user or a checkout adds to tasks of Claw-Eval: pages in the place of the web, and pictures of a request."""

from __future__ import annotations

import shutil
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from coworkenv.agents.building import build_agent
from coworkenv.engine.cli import main
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import load_task, world_of
from tests.loopback import ModelServer, completion

from .claw_eval.folders import write_tasks


@pytest.mark.parametrize("shown", [True, False])
async def test_pictures_of_the_request_are_shown_to_who_can_see(tmp_path: Path, shown: bool) -> None:
    folder = write_tasks(tmp_path, "notes") / "W_notes"
    names = ["fixtures/cat.png", "fixtures/huge.jpg", "fixtures/gone.gif", "fixtures/film.mp4", "fixtures/note.txt"]
    file = folder / "task.yaml"
    file.write_text(file.read_text().replace("prompt:\n", f"prompt:\n  attachments: {names}\n"))
    for name, data in zip(names, (b"meow", bytes((5 << 20) + 3), b"", b"film", b"text"), strict=True):
        (folder / name).write_bytes(data)
    (folder / names[2]).unlink()
    log = MemoryLog()
    async with ModelServer(lambda _: completion("A cat.")).serving() as server:
        agent = build_agent("openai:loopback", {"url": server.url, **({"pictures": True} if shown else {})})
        async with log.writing():
            episode = await run_episode(Plan(world_of(load_task(folder)), agent), log)
    [request] = server.requests
    uri = f"data:image/png;base64,{b64encode(b'meow').decode()}"
    parts = [{"type": "text", "text": "[Attached: cat.png]"}, {"type": "image_url", "image_url": {"url": uri}}]
    assert [message["role"] for message in request["messages"]] == ["system", "user", *(["user"] * shown)]
    assert not shown or request["messages"][2]["content"] == parts
    assert (await verify(log, episode.id)).verdict == "identical"


def test_pages_of_a_folder_are_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    folder, pages, log = write_tasks(tmp_path / "tasks", "web_real"), tmp_path / "pages", str(tmp_path / "log.db")
    for file in ("pages.json", "search_results.json"):
        (folder / "W_web_real" / "fixtures" / "web" / file).unlink()
    script = tmp_path / "surf.yaml"
    script.write_text(
        "[{call: web_search, args: {query: outage}}, {call: web_fetch, args: {url: 'https://a.example'}}]"
    )
    run = ["run", str(folder), "--agent", f"script:{script}", "--log", log]
    assert main(run) == 0
    assert "1 task searches the live web, which is not here; COWORKENV_WEB=FOLDER names pages" in capfd.readouterr().err

    monkeypatch.setenv("COWORKENV_WEB", str(pages))
    assert main(run) == 2
    assert capfd.readouterr().err == f"coworkenv: COWORKENV_WEB names {pages}: There is no such folder of web pages.\n"
    pages.mkdir()
    (pages / "index.yaml").write_text("pages: {https://a.example: {file: a.md}}")
    assert main(run) == 2
    assert capfd.readouterr().err == f"coworkenv: {pages / 'a.md'}: There is no such file.\n"
    (pages / "a.md").write_text("# Status\nAn outage on Tuesday.")
    assert main(run) == 0
    assert capfd.readouterr().err == ""

    shutil.rmtree(pages)
    monkeypatch.delenv("COWORKENV_WEB")
    assert main(["verify", "--all", "--log", log]) == 0
    assert "2 of 2 are sound" in capfd.readouterr().out


def test_pages_for_other_tasks_and_for_upstreams_mode_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    folder = write_tasks(tmp_path / "tasks", "web_real")
    shutil.rmtree(folder / "W_web_real" / "fixtures")
    other = tmp_path / "pages" / "tasks" / "other"
    other.mkdir(parents=True)
    (other / "index.json").write_text('{"searches": {"outage": []}}')
    monkeypatch.setenv("COWORKENV_WEB", str(tmp_path / "pages"))
    for mode, says in (
        ("sane", f"1 task searches the live web, and {tmp_path / 'pages'} has no index for it"),
        ("upstream", "COWORKENV_WEB changes nothing in the mode upstream"),
    ):
        assert main(["run", str(folder), "--agent", "noop", "--mode", mode, "--log", str(tmp_path / "log.db")]) == 0
        assert says in capfd.readouterr().err
