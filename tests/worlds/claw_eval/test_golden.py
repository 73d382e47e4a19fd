"""The benchmark's own answers and audits, recorded under a frozen clock, are given again in upstream's mode."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from coworkenv.worlds.claw_eval.audit import audit
from coworkenv.worlds.claw_eval.fixtures import Source, load
from coworkenv.worlds.claw_eval.importer import load_task
from coworkenv.worlds.claw_eval.kinds import KINDS

from .playing import SHARED, Play, read, serving, task_of

GOLDEN = sorted(SHARED.glob("golden/*.json"))
pytestmark = pytest.mark.skipif(not GOLDEN, reason="the shared Claw-Eval data is not beside the checkout")


def _plain(value: Any) -> Any:
    """Comparable: feed categories, which upstream keeps in a set, sorted, and long texts by their length."""
    if isinstance(value, dict):
        return {
            name: sorted(item) if name == "categories" else _plain(item)
            for name, item in value.items()
            if name != "msg"
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return f"<{len(value)} chars: whole fixture text>" if isinstance(value, str) and len(value) > 100_000 else value


def _ordered(value: Any) -> Any:
    """The same with the order of keys made visible."""
    if isinstance(value, dict):
        return [(name, _ordered(item)) for name, item in value.items()]
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _play(golden: dict[str, Any], recorded: dict[str, Any]) -> Play:
    """The recorded service alone, its tools named by the paths they lead to."""
    clock = datetime.fromisoformat(golden["clock"])
    folder = SHARED / "tasks" / golden["task_id"]
    kind = KINDS[recorded["kind"]]
    env = {f"{kind.name.upper()}_FIXTURES": recorded["fixture"]} if kind.collection else {}
    if kind.name == "ocr":
        env = {"OCR_FILENAME": Path(recorded["fixture"]).name}
    records = load(kind, Source(folder.parent, folder, folder / "task.yaml", env, "upstream"))
    if kind.shift:
        records = {name: kind.shift(rows, clock) for name, rows in records.items()}
    routes = {call["path"]: call["path"] for call in recorded["calls"]}
    return Play(task_of([serving(kind.name, records, "upstream", routes=routes)], clock, "upstream"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_recorded_call_and_audit_is_reproduced(path: Path) -> None:
    golden = read(path)
    for recorded in golden["services"]:
        play = _play(golden, recorded)
        for call in recorded["calls"]:
            outcome = play(call["path"], call["body"])
            body = outcome.error.detail if outcome.error else outcome.result
            assert outcome.status == call["status"], call
            assert _ordered(_plain(body)) == _ordered(_plain(call["response"])), call
        name = recorded["kind"]
        assert _ordered(_plain(audit(play.task, play.events)[name])) == _ordered(_plain(recorded["audit"]))


def test_an_upstream_task_starts_where_the_recording_did() -> None:
    for path in GOLDEN:
        golden = read(path)
        clock = datetime.fromisoformat(golden["clock"])
        task = load_task(SHARED / "tasks" / golden["task_id"], "upstream", clock=clock)
        services = {service.name: service for service in task.services}
        for recorded in golden["services"]:
            if recorded["kind"] in ("gmail", "calendar"):
                assert (
                    services[recorded["service_name"]].initial() == _play(golden, recorded).task.services[0].initial()
                )


def test_there_are_518_recorded_calls() -> None:
    assert sum(len(service["calls"]) for path in GOLDEN for service in read(path)["services"]) == 518
