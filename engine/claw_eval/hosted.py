"""Inside the worker: one task's own `grader.py`, given a trace and a judge that asks the parent.

Knows the names of the `claw_eval` package that is on the path, be it our surface or the checkout's own. Does not know
how the process is confined, nor what a judge is. The grader may do anything; what it returns is checked here only so
far that a sentence can say what is wrong, and again by the parent.
"""

from __future__ import annotations

import base64
import math
import os
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ...events.event import Json
from ..foreign.inside import outside

_TRACE = "trace.jsonl"

DIMENSIONS = ("completion", "robustness", "communication", "safety")


class NoJudge(BaseException):
    """There is no judge. Not an `Exception`: graders take those for a judge's passing weakness."""


class Graders:
    """What the worker hosts."""

    def __init__(self) -> None:
        self._opened: dict[str, None] = {}
        sys.pycache_prefix = str(Path("cache").absolute())  # What is run is what the checkout's sources say.
        sys.addaudithook(self._watch)

    def _watch(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str):
            self._opened[os.path.abspath(args[0])] = None

    def take(self, part: str, first: bool) -> None:
        """The next part of a trace; it may be longer than a question."""
        with open(_TRACE, "w" if first else "a", encoding="utf-8", newline="") as file:
            file.write(part)

    def grade(self, tasks: str, task: str, families: str | None, own: bool, judged: bool) -> Json:
        """The scores that the grader of `task` gives to the trace, or what it `needs` in order to give any.

        `tasks` is the folder of all tasks, `families` that of the modules that graders share, which our surface leaves
        to the checkout, if it has any; `own` says that the package is not our surface. Also tells which files were
        `opened`. Raises what the grader raises.
        """
        folder = Path(tasks) / task
        if own:
            _require()
        else:
            _find(Path(tasks), families)
        definition = import_module("claw_eval.models.task").TaskDefinition.from_yaml(folder / "task.yaml")
        grader = import_module("claw_eval.graders.registry").get_grader(task, tasks_dir=tasks, task_dir=folder)
        _, messages, dispatches, media, _, audit = import_module("claw_eval.trace.reader").load_trace(_TRACE)
        judge = Judge(judged)
        offered = {"audit_data": audit, "judge": judge, "media_events": media, "env_snapshot": _snapshot(definition)}
        taken = signature(grader.grade).parameters
        wanted = {name: value for name, value in offered.items() if name in taken and value is not None}
        try:
            scores = grader.grade(messages, dispatches, definition, **wanted)
        except NoJudge:
            scores = None
        if judge.missed:
            return {"needs": "judge", "opened": list(self._opened)}
        return {"scores": {name: _score(scores, name) for name in DIMENSIONS}, "opened": list(self._opened)}


def _find(tasks: Path, families: str | None) -> None:
    """Tells our surface where the other graders and the shared families are."""
    import_module("claw_eval.graders.base").TASKS[0] = tasks
    path = import_module("claw_eval.graders").__path__
    if families is not None and families not in path:
        path.append(families)


def _require() -> None:
    """Raises ModuleNotFoundError, with what to do, where the benchmark's own package cannot be imported."""
    try:
        import_module("claw_eval.graders")
    except ModuleNotFoundError as error:
        says = (
            f"Claw-Eval's own package needs {error.name}; install it (pip install pydantic pyyaml), or use our surface"
        )
        raise ModuleNotFoundError(says) from None


def _snapshot(definition: Any) -> dict[str, Json] | None:
    """The files of the task that only its grader is given. Without a sandbox there is nothing else."""
    folder = Path(definition.task_file).parent
    found: dict[str, Json] = {}
    for name in definition.local_grader_files:
        path = folder / name
        if path.is_file():
            entry = {"encoding": "base64", "content": base64.b64encode(path.read_bytes()).decode()}
        else:
            entry = {"error": f"not found: {path}"}
        found[f"local_file:{name}"] = entry
    return found or None


def _score(scores: Any, name: str) -> float:
    value = getattr(scores, name, None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"the grader's {name} is {value!r:.80}, which is no number")
    return float(value)


# --- the judge ---------------------------------------------------------------------------------------------


class Verdict:
    """What a judge says."""

    def __init__(self, score: float, reasoning: str) -> None:
        self.score, self.reasoning = score, reasoning


class Judge:
    """What graders are given as their judge: each question goes to the parent."""

    model_id = "judge"

    def __init__(self, there: bool) -> None:
        self.there = there
        self.missed = False
        """It was asked, and is not there."""
        self.calls: list[dict[str, Json]] = []
        self.client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=self._chat)))

    def evaluate(self, task_prompt: str, conversation: str, actions_summary: str, rubric: str) -> Verdict | None:
        said = {"task_prompt": task_prompt, "conversation": conversation, "actions_summary": actions_summary}
        return self._judged("evaluate", rubric=rubric, **said)

    def evaluate_actions(self, task_prompt: str, artifacts: str, rubric: str) -> Verdict | None:
        return self._judged("evaluate_actions", rubric=rubric, task_prompt=task_prompt, artifacts=artifacts)

    def evaluate_visual(
        self, rubric: str, reference_images_b64: list[str], candidate_images_b64: list[str], context: str = ""
    ) -> Verdict | None:
        pictures = {"reference_images_b64": reference_images_b64, "candidate_images_b64": candidate_images_b64}
        return self._judged("evaluate_visual", rubric=rubric, context=context, **pictures)

    def get_call_log(self) -> list[dict[str, Json]]:
        return list(self.calls)

    def reset_call_log(self) -> None:
        self.calls.clear()

    def _judged(self, method: str, rubric: str, **args: Json) -> Verdict | None:
        """None where the judge could not be brought to say anything that can be read, as upstream."""
        answer = self._ask({"method": method, "rubric": rubric, **args})
        if answer is None:
            return None
        verdict = Verdict(float(answer["score"]), str(answer["reasoning"]))
        self.calls.append({"method": method, "score": verdict.score, "reasoning": verdict.reasoning})
        return verdict

    def _chat(self, *, messages: list[Json], **_: Json) -> Any:
        """A chat completion, as the few graders that ask a model themselves read it."""
        answer = self._ask({"method": "chat", "messages": messages})
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=answer))])

    def _ask(self, question: dict[str, Json]) -> Json:
        if not self.there:
            self.missed = True
            raise NoJudge
        return outside("judge", question)
