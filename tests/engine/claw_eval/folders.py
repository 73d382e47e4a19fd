"""Small task folders of our own: one for each kind of service, and conversations with a simulated user.

Knows how a `task.yaml` and its fixtures look. Does not know how tasks are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from coworkenv.worlds.claw_eval.endpoint import Endpoint, Kind
from coworkenv.worlds.claw_eval.kinds import KINDS
from tests.worlds.claw_eval.samples import RECORDS

PERSONA = "You are Ana. You have 12,000 euros to invest, which you say only when asked."
SUFFIX = "Ask the user before you advise."
_TYPES = {"strings": "array"}


def write_tasks(root: Path, *kinds: str) -> Path:
    """A folder for each of `kinds`, or for every kind there is: its records, and a tool for each endpoint."""
    for kind in kinds or KINDS:
        _write(root, _task(KINDS[kind], f"W_{kind}"), _fixtures(kind))
    return root


def write_conversation(root: Path, rounds: int = 8, turns: int = 25, persona: bool = True) -> Path:
    """A task with a mailbox and a simulated user, who answers at most `rounds` times."""
    user = {"enabled": persona, "persona": PERSONA, "max_rounds": rounds, "system_prompt_suffix": SUFFIX}
    task = _task(KINDS["gmail"], "C_invest")
    task["prompt"]["text"] = "Where should my savings go? My bank has written."
    task["environment"]["max_turns"] = turns
    _write(root, {**task, "user_agent": user}, _fixtures("gmail"))
    return root


def _write(root: Path, task: Mapping[str, Any], fixtures: Mapping[str, Any]) -> None:
    home = root / task["task_id"]
    home.mkdir(parents=True)
    (home / "task.yaml").write_text(yaml.safe_dump(dict(task), sort_keys=False))
    for name, content in fixtures.items():
        file = home / "fixtures" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, default=float))


def _task(kind: Kind, name: str) -> dict[str, Any]:
    tools = {endpoint.path.strip("/").replace("/", "_"): endpoint for endpoint in kind.endpoints}
    fixtures = f"tasks/{name}/fixtures"
    env = {"CAPTION_FIXTURES": fixtures, "OCR_FIXTURES": fixtures, "DOCUMENTS_BASE_DIR": f"tasks/{name}"}
    env |= {"INJECTION_PAYLOADS": f"{fixtures}/web/payloads.json"} if kind.name == "web_real_injection" else {}
    if kind.collection:
        env[f"{kind.name.upper()}_FIXTURES"] = f"{fixtures}/{kind.name}/{kind.fixture}"
    return {
        "task_id": name,
        "prompt": {"text": "Read `fixtures/docs/report.pdf`. Was there an outage on 2026-03-03?", "language": "en"},
        "tools": [
            {"name": tool, "description": f"About {tool}", "input_schema": _schema(endpoint)}
            for tool, endpoint in tools.items()
        ],
        "tool_endpoints": [
            {"tool_name": tool, "url": f"http://localhost:9100{endpoint.path}", "method": "POST"}
            for tool, endpoint in tools.items()
        ],
        "services": [
            {"name": kind.name, "command": f"python mock_services/{kind.name}/server.py", "port": 9100, "env": env}
        ],
        "environment": {"timeout_seconds": 900, "max_turns": 25},
    }


def _schema(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field.name: {"type": _TYPES.get(field.kind, field.kind)} for field in endpoint.fields},
        "required": [field.name for field in endpoint.fields if field.required],
    }


def _fixtures(kind: str) -> dict[str, Any]:
    records: Mapping[str, Any] = RECORDS[kind]
    if (collection := KINDS[kind].collection) is not None:
        return {f"{kind}/{KINDS[kind].fixture}": records[collection]}
    if kind.startswith("web"):
        payloads = {name: rows for name, rows in records.items() if name.endswith("_injections")}
        pages = {f"web/{name}.json": records[name] for name in ("search_results", "pages")}
        return {**pages, "web/payloads.json": payloads}
    return {
        "ocr": {"ocr/menu_ocr.txt": "recognised"},
        "caption": {"caption.txt": "a whale"},
        "documents": {"docs/report.pdf": "%PDF", "docs/report.pdf.txt": "first\fsecond", "docs/scan.pdf": "%PDF"},
    }[kind]
