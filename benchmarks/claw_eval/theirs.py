"""Plays a script through upstream's own loop and HTTP servers: runs under another interpreter, imports nothing of ours.

python -m benchmarks.claw_eval.theirs CHECKOUT < lines

Lines are JSON: `{"open": task}` starts the task's servers, `{"script": [[tool, args], …], "episodes": n}` plays it as
often, `{"close": true}` stops the servers. Each is answered by a line.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SAID = "All steps are done."
TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pids: Iterable[int]) -> float:
    """Seconds that the processors have worked for these processes so far."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in stats) / TICKS


def memory(pids: Iterable[int]) -> float:
    """The most memory that these processes have had resident, in MiB, each counted by itself."""
    status = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return sum(int(each.split("VmHWM:")[1].split()[0]) for each in status) / 1024


class Scripted:
    """In place of a model: a call in each message, and a text at the end."""

    model_id = "script"

    def __init__(self, script: list[list[Any]]) -> None:
        self._script, self._next = script, 0

    def chat(self, messages: Any, tools: Any = None) -> tuple[Any, Any]:
        from claw_eval.models.content import TextBlock, ToolUseBlock
        from claw_eval.models.message import Message
        from claw_eval.models.trace import TokenUsage

        turn, self._next = self._next, self._next + 1
        if turn < len(self._script):
            name, args = self._script[turn]
            block = ToolUseBlock(id=f"call_{turn}", name=name, input=args)
        else:
            block = TextBlock(text=SAID)
        return Message(role="assistant", content=[block]), TokenUsage()


class Opened:
    """A task with its servers running."""

    def __init__(self, checkout: Path, name: str, stack: ExitStack) -> None:
        from claw_eval.models.task import TaskDefinition
        from claw_eval.runner.services import ServiceManager

        self.task = TaskDefinition.from_yaml(checkout / "tasks" / name / "task.yaml")
        for service in self.task.services:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", service.port)) == 0:
                    raise SystemExit(f"Port {service.port} is taken. Stop what listens there.")
        self.manager = stack.enter_context(ServiceManager(self.task.services, cwd=checkout))
        self.pids = [os.getpid(), *(process.pid for _, process in self.manager._spawned)]

    def play(self, script: list[list[Any]], episodes: int) -> dict[str, Any]:
        from claw_eval.runner.loop import run_task

        with TemporaryDirectory() as folder:
            worked, started = cpu(self.pids), time.perf_counter()
            for _ in range(episodes):
                self.manager.reset_all()
                written = run_task(self.task, Scripted(script), folder)
            seconds, worked = time.perf_counter() - started, cpu(self.pids) - worked
            lines = [json.loads(line) for line in written.read_text().splitlines()]
        statuses = [line["response_status"] for line in lines if line["type"] == "tool_dispatch"]
        return {"seconds": seconds, "cpu": worked, "memory": memory(self.pids), "statuses": statuses}


def main() -> None:
    checkout = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(checkout / "src"))
    os.chdir(checkout)
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "localhost,127.0.0.1"
    out = sys.stdout
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), ExitStack() as stack:
        opened: Opened | None = None
        for line in sys.stdin:
            asked, started = json.loads(line), time.perf_counter()
            answer: dict[str, Any] = {}
            if "open" in asked:
                opened = Opened(checkout, asked["open"], stack)
            elif "script" in asked and opened:
                answer = opened.play(asked["script"], asked["episodes"])
            else:
                stack.close()
            print(json.dumps({"seconds": time.perf_counter() - started, **answer}), file=out, flush=True)


if __name__ == "__main__":
    main()
