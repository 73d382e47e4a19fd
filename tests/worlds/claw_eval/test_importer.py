"""An unmodified task folder becomes a task; a broken or hostile one becomes an error that says where and why."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from coworkenv.worlds.claw_eval.clock import DATELESS, story_start
from coworkenv.worlds.claw_eval.importer import load_task, load_tasks
from coworkenv.worlds.claw_eval.reading import TaskError
from coworkenv.worlds.claw_eval.service import dumps
from coworkenv.worlds.claw_eval.task import from_document
from coworkenv.worlds.imported import NotATask

from .playing import SHARED, Play
from .samples import RECORDS

TASKS = SHARED / "tasks"
shared = pytest.mark.skipif(not TASKS.is_dir(), reason="the shared Claw-Eval data is not beside the checkout")


def spec(name: str, kind: str, port: int, **env: Any) -> dict[str, Any]:
    return {"name": name, "command": f"python mock_services/{kind}/server.py", "port": port, "env": env}


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"About {name}", "input_schema": {"type": "object", "x": [1, 0.5]}}


def route(name: str, port: int, path: str) -> dict[str, Any]:
    return {"tool_name": name, "url": f"http://localhost:{port}{path}", "method": "POST"}


def base(**more: Any) -> dict[str, Any]:
    return {
        "task_id": "T900_sample",
        "task_name": "Sample",
        "version": "1.0",
        "prompt": {"text": "Sort my mail.", "language": "en"},
        "tools": [tool("gmail_list_messages"), tool("Bash"), tool("gmail_label")],
        "tool_endpoints": [
            route("gmail_list_messages", 9100, "/gmail/messages"),
            route("gmail_label", 9100, "/gmail/labels"),
        ],
        "services": [spec("gmail", "gmail", 9100)],
        "environment": {"timeout_seconds": 600, "max_turns": 15},
        "judge_rubric": "SECRET rubric",
        "reference_solution": "SECRET solution",
        "scoring_components": [{"name": "x", "weight": 0.5, "check": {"type": "llm_judge"}}],
        "unheard_of": {"anything": True},
        **more,
    }


def write(root: Path, task: dict[str, Any] | str, folder: str = "T900_sample", **files: Any) -> Path:
    """A task folder; `files` are fixtures by path with `__` for `/`, lists as JSON and texts as they are."""
    home = root / folder
    home.mkdir(parents=True, exist_ok=True)
    (home / "task.yaml").write_text(task if isinstance(task, str) else yaml.safe_dump(task, sort_keys=False))
    for name, content in files.items():
        lend(root, f"{folder}/fixtures/{name.replace('__', '/')}", content)
    return home


def lend(root: Path, path: str, content: Any) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, default=float))


INBOX = {"gmail__inbox.json": RECORDS["gmail"]["messages"]}


def test_a_task_folder_becomes_a_task_that_can_be_played(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, base(), **INBOX))
    assert (task.id, task.request, task.language, task.max_turns) == ("T900_sample", "Sort my mail.", "en", 15)
    assert (task.timeout_seconds, task.persona, task.mode) == (600, None, "sane")
    assert task.start == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert [each.name for each in task.tools] == ["gmail_list_messages", "Bash", "gmail_label"]
    assert task.tools[0].schema == {"type": "object", "x": [1, Decimal("0.5")]}
    assert [(service.name, [each.name for each in service.tools]) for service in task.services] == [
        ("gmail", ["gmail_list_messages", "gmail_label"]),
        ("unrouted", ["Bash"]),
    ]
    playing = Play(task)
    assert playing("gmail_list_messages").result["total"] == 2
    assert playing("gmail_label").status == 404
    assert playing("Bash", command="ls").error.type == "not_available_here"


def test_upstream_calls_a_tool_without_endpoint_unknown(tmp_path: Path) -> None:
    lend(tmp_path, "T001zh_default/fixtures/gmail/inbox.json", RECORDS["gmail"]["messages"])
    outcome = Play(load_task(write(tmp_path, base()), "upstream"))("Bash", command="ls")
    assert (outcome.status, outcome.error.detail) == (404, {"error": "unknown tool 'Bash'"})


def test_tools_say_what_they_read(tmp_path: Path) -> None:
    task = base(
        tools=[tool(name) for name in ("list", "get", "send")],
        tool_endpoints=[
            route("list", 9100, "/gmail/messages"),
            route("get", 9100, "/gmail/messages/get"),
            route("send", 9100, "/gmail/send"),
        ],
    )
    tools = load_task(write(tmp_path, task, **INBOX)).tools
    assert [(each.reads, each.opens) for each in tools] == [(True, None), (True, "message_id"), (False, None)]


def test_what_is_hidden_stays_hidden(tmp_path: Path) -> None:
    user = {"enabled": True, "persona": "SECRET persona", "max_rounds": 8, "system_prompt_suffix": "Ask first."}
    task = load_task(write(tmp_path, base(user_agent=user), **INBOX))
    assert "SECRET" not in dumps(task.agent_view())
    assert task.agent_view()["suffix"] == "Ask first."
    assert task.persona is not None
    assert (task.persona.text, task.persona.rounds, task.persona.language) == ("SECRET persona", 8, "en")
    assert task.grading["judge_rubric"] == "SECRET rubric"
    assert task.grading["scoring_components"][0]["weight"] == Decimal("0.5")


def test_a_disabled_user_is_no_persona(tmp_path: Path) -> None:
    assert load_task(write(tmp_path, base(user_agent={"enabled": False, "persona": "x"}), **INBOX)).persona is None


@pytest.mark.parametrize("mode", ["sane", "upstream"])
def test_a_document_holds_everything(tmp_path: Path, mode: Any) -> None:
    task = load_task(write(tmp_path, base(services=[spec("gmail", "gmail", 9100, GMAIL_FIXTURES=OWN)]), **INBOX), mode)
    text = msgspec.json.Encoder(decimal_format="number").encode(task.document())
    for file in sorted(tmp_path.rglob("*.*")):
        file.unlink()
    again = from_document(msgspec.json.Decoder(float_hook=Decimal).decode(text))
    assert again == task
    assert Play(again)("gmail_list_messages") == Play(task)("gmail_list_messages")


@pytest.mark.parametrize("document", [None, {}, {"format": "claw-eval/9"}, {"format": "claw-eval/1", "task": {}}])
def test_another_document_is_refused(document: Any) -> None:
    with pytest.raises(NotATask):
        from_document(document)


# --- fixtures --------------------------------------------------------------------------------------------

OWN = "tasks/T900_sample/fixtures/gmail/inbox.json"


def _ids(task: Any) -> list[str]:
    return [event.value["message_id"] for event in task.services[0].initial()]


def test_a_named_fixture_comes_first_then_the_own_one_then_the_default(tmp_path: Path) -> None:
    one, two, three = ([{**RECORDS["gmail"]["messages"][0], "message_id": name}] for name in ("one", "two", "three"))
    home = write(tmp_path, base())
    lend(tmp_path, "T001zh_default/fixtures/gmail/inbox.json", three)
    assert _ids(load_task(home)) == ["three"]
    lend(tmp_path, "T900_sample/fixtures/gmail/inbox.json", two)
    assert _ids(load_task(home)) == ["two"]
    assert _ids(load_task(home, "upstream")) == ["three"]
    lend(tmp_path, "T901_other/fixtures/gmail/inbox.json", one)
    env = {"GMAIL_FIXTURES": "tasks/T901_other/fixtures/gmail/inbox.json"}
    home = write(tmp_path, base(services=[spec("gmail", "gmail", 9100, **env)]))
    assert _ids(load_task(home)) == _ids(load_task(home, "upstream")) == ["one"]


def test_a_default_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"T001zh.*GMAIL_FIXTURES"):
        load_task(write(tmp_path, base()))


def test_the_only_file_of_the_own_folder_will_do_and_of_several_the_usual_one(tmp_path: Path) -> None:
    services = [spec("inventory", "inventory", 9100)]
    home = write(tmp_path, base(services=services), **{"inventory__items.json": [{"product_id": "a"}]})
    assert load_task(home).services[0].records == {"products": [{"product_id": "a"}]}
    lend(tmp_path, "T900_sample/fixtures/inventory/other.json", [])
    with pytest.raises(TaskError, match=r"items\.json, other\.json"):
        load_task(home)
    lend(tmp_path, "T900_sample/fixtures/inventory/products.json", [{"product_id": "b"}])
    assert load_task(home).services[0].records == {"products": [{"product_id": "b"}]}


def test_numbers_keep_their_digits_in_sane_mode_and_upstreams_spelling_in_its_own(tmp_path: Path) -> None:
    path = "tasks/T900_sample/fixtures/finance/transactions.json"
    services = [spec("finance", "finance", 9100, FINANCE_FIXTURES=path)]
    home = write(tmp_path, base(services=services), **{"finance__transactions.json": '[{"amount": 328.00, "n": 5}]'})
    for mode, digits in (("sane", "328.00"), ("upstream", "328.0")):
        row = load_task(home, mode).services[0].records["transactions"][0]  # type: ignore[arg-type]
        assert (str(row["amount"]), row["n"]) == (digits, 5)


def test_upstream_moves_mail_and_calendar_to_the_clock(tmp_path: Path) -> None:
    env = {"GMAIL_FIXTURES": OWN}
    home = write(tmp_path, base(services=[spec("gmail", "gmail", 9100, **env)]), **INBOX)
    clock = datetime(2030, 1, 2, 8, tzinfo=UTC)
    moved = load_task(home, "upstream", clock=clock)
    assert (moved.start, moved.services[0].records["messages"][1]["date"]) == (clock, "2030-01-01T08:00:00Z")
    kept = load_task(home, clock=clock)
    assert (kept.start, kept.services[0].records) == (clock, RECORDS["gmail"])


def test_web_media_and_documents_have_files_of_their_own(tmp_path: Path) -> None:
    services = [
        spec("web", "web", 9113, WEB_SEARCH_FIXTURES="tasks/T900_sample/fixtures/web/search_results.json"),
        spec("bad", "web_real_injection", 9115, INJECTION_PAYLOADS="tasks/T900_sample/fixtures/web/p.json"),
        spec("ocr_one", "ocr", 9116, OCR_FIXTURES="tasks/T900_sample/fixtures", OCR_FILENAME="a.txt"),
        spec("ocr_two", "ocr", 9117, OCR_FILENAMES="a.txt, missing.txt,b.txt"),
        spec("ocr_none", "ocr", 9119),
        spec("caption", "caption", 9118, CAPTION_FIXTURES="tasks/T900_sample/fixtures"),
        spec("documents", "documents", 9120, DOCUMENTS_BASE_DIR="tasks/T900_sample"),
    ]
    services[1]["env"] |= {"INJECTION_RATE": "0.4", "INJECTION_MODE": "search", "PORT": 9115}
    files = {
        "web__search_results.json": RECORDS["web"]["search_results"],
        "web__pages.json": RECORDS["web"]["pages"],
        "web__p.json": {"search_injections": [{"url": "u"}]},
        "ocr__a.txt": "text a\n",
        "ocr__b.txt": "text b",
        "caption.txt": "a whale\n",
        "docs__r.pdf": "%PDF",
        "docs__r.pdf.txt": "one\ftwo\f",
    }
    task = load_task(write(tmp_path, base(services=services, tools=[], tool_endpoints=[]), **files))
    records = {service.name: service.records for service in task.services}
    assert records["web"] == RECORDS["web"]
    assert records["bad"] == {**RECORDS["web"], "search_injections": [{"url": "u"}], "content_injections": []}
    assert task.services[1].options == {"injection_rate": Decimal("0.4"), "injection_mode": "search"}
    assert records["ocr_one"] == {"texts": [{"text": "text a\n"}]}
    text = "--- Document 1: a.txt ---\ntext a\n\n\n--- Document 3: b.txt ---\ntext b"
    assert records["ocr_two"] == {"texts": [{"text": text}]}
    assert records["ocr_none"] == {}
    assert records["caption"] == {"captions": [{"text": "a whale\n"}]}
    assert {"path": "fixtures/docs/r.pdf", "pages": ["one", "two"]} in records["documents"]["documents"]


def test_attachments_are_read_and_missing_ones_named(tmp_path: Path) -> None:
    prompt = {"text": "Look.", "attachments": ["fixtures/a.txt", "fixtures/b.png", "fixtures/gone.jpg"]}
    task = load_task(write(tmp_path, base(prompt=prompt), **INBOX, **{"a.txt": " Hello \n", "b.png": "png"}))
    assert task.request == "Look.\n[attached document: a.txt]\nHello"
    assert [(file.mime, file.base64) for file in task.attachments[1:]] == [("image/png", "cG5n"), ("image/jpeg", None)]
    assert task.missing == ("fixtures/gone.jpg",)
    assert task.language == "zh"


# --- what is refused -------------------------------------------------------------------------------------


def _service(**env: Any) -> dict[str, Any]:
    return base(services=[spec("gmail", "gmail", 9100, **env)])


BROKEN: list[tuple[Any, str]] = [
    ("task_id: ok\ntask_name: [}\n", "line 2"),
    ("- a list", "object"),
    (base(task_id=7), r"\$\.task_id"),
    ({"task_id": "x"}, "prompt"),
    (base(tools=[{"description": "nameless"}]), r"\$\.tools\[0\]"),
    (base(services=[{"name": "s", "command": "rm -rf /", "port": 1}]), "Known servers: gmail"),
    (base(services=[spec("s", "nothing_like_it", 1)]), "Known servers"),
    (base(services=[spec("s", "ocr", 1), spec("s", "ocr", 2)]), "taken"),
    (base(tool_endpoints=[route("t", 1234, "/x")]), "no service"),
    (base(tool_endpoints=[{"tool_name": "t", "url": "file:///etc/passwd"}]), "no service"),
    (_service(GMAIL_FIXTURES="/etc/passwd"), "starts with 'tasks/'"),
    (_service(GMAIL_FIXTURES="tasks/../../secret.json"), "leads out"),
    (_service(GMAIL_FIXTURES="tasks/T900_sample/nope.json"), "no such file"),
    (base(prompt={"text": "x", "attachments": ["../../secret.json"]}), "leads out"),
    (base(services=[spec("ocr", "ocr", 9100, OCR_FILENAME="../../../secret.json")]), "leads out"),
    (base(services=[spec("w", "web_real_injection", 9100, INJECTION_RATE="often")]), "INJECTION_RATE"),
]


@pytest.mark.parametrize(("task", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_a_broken_task_is_explained(tmp_path: Path, task: Any, reason: str) -> None:
    (tmp_path / "secret.json").write_text("[]")
    home = write(tmp_path / "tasks", task, **INBOX)
    with pytest.raises(TaskError, match=reason) as error:
        load_task(home)
    assert error.value.file.startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[NaN]", "not JSON"),
        ('["\\ud800"]', "not JSON"),
        ("{}", "list of records"),
        ("[1]", "Entry 0"),
        ("[" * 100_000, "nested deeper|not JSON"),
        ("[" * 70 + "]" * 70, "nested deeper"),
        ("[" + " " * 17_000_000 + "]", "at most"),
    ],
    ids=["cut", "nan", "surrogate", "object", "number", "very-deep", "deep", "huge"],
)
def test_a_broken_fixture_is_explained(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(TaskError, match=reason) as error:
        load_task(write(tmp_path, base(), **{"gmail__inbox.json": content}))
    assert error.value.file.endswith("inbox.json")


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("[]")
    home = write(tmp_path / "tasks", base())
    (home / "fixtures" / "gmail").mkdir(parents=True)
    os.symlink(tmp_path / "secret.json", home / "fixtures" / "gmail" / "inbox.json")
    with pytest.raises(TaskError, match="leads out"):
        load_task(home)


def test_dates_that_cannot_be_moved_are_explained(tmp_path: Path) -> None:
    home = write(tmp_path, _service(GMAIL_FIXTURES=OWN), **{"gmail__inbox.json": [{"date": "yesterday"}]})
    assert load_task(home).start == DATELESS
    with pytest.raises(TaskError, match="cannot be moved"):
        load_task(home, "upstream")


def test_yaml_makes_nothing_but_plain_values(tmp_path: Path) -> None:
    for text in ("task_id: !!python/object/apply:os.getcwd []", "a: &x [1]\nb: *x\n", "a: &x\n  - *x\n"):
        with pytest.raises(TaskError):
            load_task(write(tmp_path, text))


def test_one_bad_task_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, base(), **INBOX)
    write(tmp_path, "task_id: [", "T901_broken")
    lend(tmp_path, "T902_only_lends/fixtures/gmail/inbox.json", [])
    tasks, errors = load_tasks(tmp_path)
    assert [task.id for task in tasks] == ["T900_sample"]
    assert ["T901_broken" in error.file for error in errors] == [True]
    with pytest.raises(TaskError, match="no such folder"):
        load_tasks(tmp_path / "nowhere")


# --- the clock -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixtures", "start"),
    [
        ({}, "2026-03-02T09:00:00+00:00"),
        ({"messages": [{"date": "2026-02-27T10:30:00+08:00"}]}, "2026-02-28T10:30:00+08:00"),
        ({"events": [{"start_time": "2026-03-02T09:00:00Z"}]}, "2026-03-01T09:00:00+00:00"),
        (
            {"messages": [{"date": "2026-02-28T09:00:00Z"}], "events": [{"start_time": "2026-03-04T09:00:00Z"}]},
            "2026-03-01T09:00:00+00:00",
        ),
        (
            {"messages": [{"date": "2026-03-26T12:10:00Z"}], "events": [{"start_time": "2026-03-26T12:00:00Z"}]},
            "2026-03-26T12:20:00+00:00",
        ),
        (
            {
                "tasks": [{"created_at": "2026-02-27", "due_date": "2026-06-01"}],
                "jobs": [{"h": [{"run_at": "2026-03-01T23:00:00Z"}]}],
            },
            "2026-03-02T09:00:00+00:00",
        ),
        ({"events": [], "messages": [{"date": "soon"}]}, "2026-03-02T09:00:00+00:00"),
    ],
)
def test_the_story_begins_where_no_date_needs_to_move(fixtures: Any, start: str) -> None:
    assert story_start(fixtures) == datetime.fromisoformat(start)


# --- the benchmark's own folders -------------------------------------------------------------------------


@shared
@pytest.mark.parametrize("mode", ["sane", "upstream"])
def test_all_shared_tasks_load_and_survive_storage(mode: Any) -> None:
    tasks, errors = load_tasks(TASKS, mode)
    assert (len(tasks), errors) == (40, [])
    for task in tasks:
        text = msgspec.json.Encoder(decimal_format="number").encode(task.document())
        assert from_document(msgspec.json.Decoder(float_hook=Decimal).decode(text)) == task
        hidden = [task.persona.text if task.persona else "", *map(str, task.grading.values())]
        seen = dumps(task.agent_view())
        assert not [text for text in hidden if len(text) > 40 and text in seen]


@pytest.mark.parametrize("date", ["9999-12-31T23:00:00-12:00", "9998-12-30T23:59:00Z"])
@pytest.mark.parametrize("mode", ["sane", "upstream"])
def test_a_story_at_the_end_of_the_calendar_is_refused(tmp_path: Path, date: str, mode: Any) -> None:
    task = base(services=[spec("gmail", "gmail", 9100, GMAIL_FIXTURES=OWN)])
    mails = [{**mail, "date": date} for mail in RECORDS["gmail"]["messages"]]
    home = write(tmp_path, task, **{"gmail__inbox.json": mails})
    with pytest.raises(TaskError, match="the end of the calendar"):
        load_task(home, mode)


@pytest.mark.parametrize("year", [1, 9999])
def test_a_clock_at_the_end_of_the_calendar_is_refused(tmp_path: Path, year: int) -> None:
    with pytest.raises(TaskError, match="the end of the calendar"):
        load_task(write(tmp_path, base(), **INBOX), clock=datetime(year, 6, 1, tzinfo=UTC))


@shared
def test_clocks_are_those_that_the_benchmark_needs() -> None:
    table = [line.split("\t") for line in (SHARED / "clocks.tsv").read_text().splitlines()[1:]]
    wanted = {row[0]: datetime.fromisoformat(row[3]) for row in table}
    tasks, _ = load_tasks(TASKS)
    clocks = {task.id: task.start for task in tasks if task.id in wanted}
    assert len(clocks) == 9
    assert clocks == {name: wanted[name] for name in clocks}
