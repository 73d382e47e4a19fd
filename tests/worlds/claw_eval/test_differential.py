"""The same calls go to a checkout's server and to ours, and whatever differs between the answers is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.claw_eval.calls import odd, right, text_of, wrong
from benchmarks.claw_eval.services import normal
from coworkenv.engine.draw import Drawer
from coworkenv.events.codec import from_json
from coworkenv.worlds.claw_eval.endpoint import Endpoint, Kind
from coworkenv.worlds.claw_eval.kinds import KINDS
from coworkenv.worlds.claw_eval.validation import Invalid, validate

from .samples import RECORDS

SERVER = """
import json
import os
from datetime import datetime, timezone
from pathlib import Path

TEXT = (Path(os.environ["CAPTION_FIXTURES"]) / "caption.txt").read_text(encoding="utf-8")
CALLS = []


def answer(path, body):
    if path == "/caption/audit":
        return 200, {"calls": CALLS}
    if path != "/caption/describe":
        return 404, {"detail": "Not Found"}
    path = body.get("image_path", "")
    if not isinstance(path, str):
        fault = {"type": "string_type", "loc": ["body", "image_path"], "msg": "in my own words", "input": path}
        return 422, {"detail": [fault]}
    now = datetime.now(timezone.utc).isoformat()
    CALLS.append({"endpoint": "/caption/describe", "request_body": {"image_path": path}, "timestamp": now})
    return 200, {"caption": TEXT, "confidence": CONFIDENCE}


class App:
    def openapi(self):
        return {"paths": {"/caption/describe": {"post": {}}, "/caption/audit": {"get": {}}}}

    async def __call__(self, scope, receive, send):
        message = await receive()
        status, value = answer(scope["path"], json.loads(message["body"] or b"{}"))
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(value).encode()})


app = App()
"""

TASK = """
task_id: K50_what_is_on_it
prompt: {text: What is on the picture?}
tools: [{name: describe, description: Describes it., input_schema: {type: object}}]
tool_endpoints: [{tool_name: describe, url: "http://localhost:9118/caption/describe", method: POST}]
services:
  - name: caption
    command: python mock_services/caption/server.py
    port: 9118
    env: {CAPTION_FIXTURES: tasks/K50_what_is_on_it/fixtures}
"""


def _checkout(folder: Path, confidence: str) -> Path:
    fixtures = folder / "tasks" / "K50_what_is_on_it" / "fixtures"
    fixtures.mkdir(parents=True)
    (fixtures.parent / "task.yaml").write_text(TASK)
    (fixtures / "caption.txt").write_text("  A cat.\n\n")
    server = folder / "mock_services" / "caption" / "server.py"
    server.parent.mkdir(parents=True)
    server.write_text(SERVER.replace("CONFIDENCE}", confidence + "}"))
    return folder


def _run(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.claw_eval.services", str(checkout), "--show", "--calls", "60"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[3])


def test_a_server_that_does_the_same_is_found_equal(tmp_path: Path) -> None:
    ran = _run(_checkout(tmp_path, "0.92"))
    assert "| caption | 1 | 61 | 60 |" in ran.stdout
    assert "| all | 1 | 61 | | | 61 | 1 |" in ran.stdout
    assert (ran.returncode, ran.stderr.strip()) == (0, "")


def test_one_other_digit_is_a_difference(tmp_path: Path) -> None:
    ran = _run(_checkout(tmp_path, "0.920001"))
    assert ran.returncode == 1
    assert "0.920001" in ran.stderr


def _endpoints() -> list[tuple[Kind, Endpoint]]:
    return [(kind, endpoint) for kind in KINDS.values() if kind.name in RECORDS for endpoint in kind.endpoints]


@pytest.mark.parametrize(("kind", "endpoint"), _endpoints(), ids=lambda each: getattr(each, "path", ""))
@given(seed=st.integers(0, 1000))
def test_right_and_odd_bodies_fit_and_are_the_same_again(kind: Kind, endpoint: Endpoint, seed: int) -> None:
    rows = RECORDS[kind.name][kind.collection] if kind.collection else []
    for make in (right, odd):
        bodies = [text_of(make(endpoint, kind, rows, Drawer([seed], 0, "body"))) for _ in range(2)]
        assert bodies[0] == bodies[1]
        validate(endpoint.fields, from_json(bodies[0]))


def test_wrong_bodies_find_every_kind_of_fault() -> None:
    found = set()
    for kind, endpoint in _endpoints():
        rows = RECORDS[kind.name][kind.collection] if kind.collection else []
        for seed in range(60):
            try:
                validate(endpoint.fields, from_json(text_of(wrong(endpoint, kind, rows, Drawer([seed], 1, "body")))))
            except Invalid as invalid:
                found |= {fault["type"] for fault in invalid.detail}
    assert found >= {"missing", "string_type", "list_type", "int_type", "int_parsing", "int_from_float"}
    assert found >= {"bool_type", "bool_parsing", "float_type", "float_parsing", "int_parsing_size"}


def test_only_the_words_of_a_refusal_and_the_order_of_categories_are_put_aside() -> None:
    crm, rss = KINDS["crm"], KINDS["rss"]
    assert normal('{"msg": "a", "input": 7.5}', crm, 422) == normal('{"msg": "b", "input": 7.5}', crm, 422)
    assert normal('{"input": 7.50}', crm, 422) != normal('{"input": 7.5}', crm, 422)
    assert normal('{"msg": "a"}', crm, 200) != normal('{"msg": "b"}', crm, 200)
    assert normal('{"categories": ["b", "a"]}', rss, 200) == normal('{"categories": ["a", "b"]}', rss, 200)
    assert normal('{"a": 1, "b": 2}', rss, 200) != normal('{"b": 2, "a": 1}', rss, 200)
    assert json.loads(normal('{"tags": ["b", "a"]}', rss, 200)) == {"tags": ["b", "a"]}
