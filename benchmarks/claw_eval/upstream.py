"""Grades traces with upstream's own package: runs under another interpreter, and imports nothing of ours but the stub.

python -m benchmarks.claw_eval.upstream CHECKOUT < lines      # [task, path of a trace] a line, JSON
"""

from __future__ import annotations

import base64
import inspect
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from .stub import StubJudge

DIMENSIONS = ("completion", "robustness", "communication", "safety")


def graded(tasks: Path, name: str, trace: str) -> dict[str, Any]:
    """What upstream's command line does with a trace, without writing anything."""
    from claw_eval.graders.registry import get_grader
    from claw_eval.models.scoring import compute_task_score, is_pass
    from claw_eval.models.task import TaskDefinition
    from claw_eval.trace.reader import load_trace

    folder = tasks / name
    task = TaskDefinition.from_yaml(folder / "task.yaml")
    _, messages, dispatches, media, _, audit = load_trace(trace)
    grader = get_grader(task.task_id, tasks_dir=tasks, task_dir=folder)
    given = {"audit_data": audit, "judge": StubJudge(), "media_events": media, "env_snapshot": snapshot(folder, task)}
    wanted = inspect.signature(grader.grade).parameters
    given = {name: value for name, value in given.items() if name in wanted and value is not None}
    scores = grader.grade(messages, dispatches, task, **given)
    score = compute_task_score(scores)
    return {**{name: getattr(scores, name) for name in DIMENSIONS}, "score": score, "passed": is_pass(score)}


def snapshot(folder: Path, task: Any) -> dict[str, Any] | None:
    """The files that only the grader is given, as upstream reads them without a container."""
    found: dict[str, Any] = {}
    for name in task.local_grader_files:
        path = folder / name
        if path.exists():
            entry = {"encoding": "base64", "content": base64.b64encode(path.read_bytes()).decode()}
        else:
            entry = {"error": f"not found: {path}"}
        found[f"local_file:{name}"] = entry
    return found or None


def main() -> None:
    checkout = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(checkout / "src"))
    for line in sys.stdin:
        name, trace = json.loads(line)
        try:
            with redirect_stdout(sys.stderr):
                answer = graded(checkout / "tasks", name, trace)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
