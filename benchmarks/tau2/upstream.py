"""Run by an interpreter that has all of upstream: grades trajectories, one a line, as `evaluate_simulation` does.

python benchmarks/tau2/upstream.py CHECKOUT < LINES
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    root = Path(sys.argv[1])
    os.environ["TAU2_DATA_DIR"] = str(root / "data")
    sys.path[:0] = [str(root / "src"), str(Path(__file__).parent)]
    lines = sys.stdin.read().splitlines()
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in lines:
        try:
            answer = grade(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(answer), file=answers, flush=True)


def grade(asked: dict[str, Any]) -> dict[str, Any]:
    from loguru import logger
    from stub import verdict
    from tau2.data_model.message import AssistantMessage
    from tau2.data_model.simulation import SimulationRun, TerminationReason
    from tau2.data_model.tasks import Task
    from tau2.evaluator import evaluator_nl_assertions
    from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
    from tau2.runner.build import _derive_read_log_allowlist

    logger.remove()
    evaluator_nl_assertions.generate = lambda messages, **_: AssistantMessage(
        role="assistant", content=verdict(messages[1].content, asked["kind"])
    )
    task = Task.model_validate(asked["task"])
    given: dict[str, Any] = dict(asked["options"])
    if asked["domain"] == "banking_knowledge":
        given |= {"task": task, "read_log_allowlist": _derive_read_log_allowlist(task)}
    run = SimulationRun.model_validate(
        {
            "id": "1",
            "task_id": task.id,
            "start_time": "",
            "end_time": "",
            "duration": 0.0,
            "termination_reason": TerminationReason(asked["ended"]),
            "messages": asked["messages"],
        }
    )
    info = evaluate_simulation(
        simulation=run,
        task=task,
        evaluation_type=EvaluationType.ALL,
        solo_mode=asked["solo"],
        domain=asked["domain"],
        env_kwargs=given,
    )
    parts = {kind.value: value for kind, value in (info.reward_breakdown or {}).items()}
    return {"reward": info.reward, "components": parts}


if __name__ == "__main__":
    main()
