"""Answers calls by a checkout's own services, in this process and with their clock stopped: runs under another
interpreter, and imports nothing of ours.

python -m benchmarks.claw_eval.serving CHECKOUT < lines     # a line, JSON: kind, env, now, calls

Their files are read as they are; only the name `datetime` in them means a class whose `now` stands still.
"""

from __future__ import annotations

import asyncio
import datetime as dates
import importlib
import importlib.util
import json
import os
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

LONG = 50_000
"""Characters from which an answer is told by its digest."""


def stopped(now: str) -> type[dates.datetime]:
    at = dates.datetime.fromisoformat(now)

    class Stopped(dates.datetime):
        @classmethod
        def now(cls, tz: dates.tzinfo | None = None) -> Stopped:
            when = at.astimezone(tz) if tz else at.replace(tzinfo=None)
            return cls.fromisoformat(when.isoformat())

    return Stopped


def started(checkout: Path, number: int, question: dict[str, Any]) -> Any:
    """The app of a fresh server, with its fixtures loaded at the instant `now`."""
    given = {name: value for name, value in os.environ.items() if "FIXTURES" not in name and "OCR_" not in name}
    os.environ.clear()
    os.environ.update({**given, **question["env"]})
    path = checkout / "mock_services" / question["kind"] / "server.py"
    specification = importlib.util.spec_from_file_location(f"served_{number}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module
    real = dates.datetime
    dates.datetime = stopped(question["now"])  # type: ignore[misc]
    try:
        specification.loader.exec_module(module)
    finally:
        dates.datetime = real  # type: ignore[misc]
    return module.app


async def answered(app: Any, calls: list[list[str]]) -> dict[str, Any]:
    from httpx import ASGITransport, AsyncClient

    paths = app.openapi()["paths"]
    audit = next(path for path in paths if path.endswith("/audit"))
    headers = {"Content-Type": "application/json"}
    answers = []
    transport = ASGITransport(app, raise_app_exceptions=False)
    async with AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        for path, body in calls:
            response = await client.post(path, content=body.encode())
            text = as_shown(response.text)
            long = f"sha256:{sha256(text.encode()).hexdigest()}"
            answers.append([response.status_code, long if len(text) > LONG else text])
        record = as_shown((await client.get(audit)).text)
    own = ("/reset", "/health")
    posted = sorted(path for path, methods in paths.items() if "post" in methods and not path.endswith(own))
    return {"answers": answers, "audit": record, "paths": posted}


def as_shown(text: str) -> str:
    """What the benchmark's loop makes of an answer; a text that is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def main() -> None:
    for name in ("fastapi", "httpx", "pydantic", "uvicorn"):
        with suppress(ImportError):
            importlib.import_module(name)  # Now, so that they keep the real clock.
    checkout = Path(sys.argv[1]).resolve()
    os.chdir(checkout)
    out, sys.stdout = sys.stdout, sys.stderr
    for number, line in enumerate(sys.stdin):
        question = json.loads(line)
        answer = asyncio.run(answered(started(checkout, number, question), question["calls"]))
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
