"""A judge that is a function of what it is asked: the same for our graders and for upstream's.

Needs nothing but the standard library, since both processes import it.
"""

from __future__ import annotations

import json
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

CHAT = '{"#": "a stub has no categories"}'
"""What it writes where a grader asks a model in its own words: a flat object, as those graders want it."""


def score_of(question: dict[str, Any]) -> float:
    """From 0 to 1 in hundredths, by the question's digest: each detail of it counts."""
    text = json.dumps(question, sort_keys=True, ensure_ascii=False)
    return int(sha256(text.encode()).hexdigest()[:8], 16) % 101 / 100


class StubJudge:
    """For upstream's graders."""

    model_id = "stub"

    def __init__(self) -> None:
        self.asked = 0
        self.client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=self._create)))

    def evaluate(self, task_prompt: str, conversation: str, actions_summary: str, rubric: str) -> SimpleNamespace:
        said = {"task_prompt": task_prompt, "conversation": conversation, "actions_summary": actions_summary}
        return self._verdict({"method": "evaluate", "rubric": rubric, **said})

    def evaluate_actions(self, task_prompt: str, artifacts: str, rubric: str) -> SimpleNamespace:
        said = {"task_prompt": task_prompt, "artifacts": artifacts}
        return self._verdict({"method": "evaluate_actions", "rubric": rubric, **said})

    def evaluate_visual(
        self, rubric: str, reference_images_b64: list[str], candidate_images_b64: list[str], context: str = ""
    ) -> SimpleNamespace:
        pictures = {"reference_images_b64": reference_images_b64, "candidate_images_b64": candidate_images_b64}
        return self._verdict({"method": "evaluate_visual", "rubric": rubric, "context": context, **pictures})

    def _verdict(self, question: dict[str, Any]) -> SimpleNamespace:
        self.asked += 1
        return SimpleNamespace(score=score_of(question), reasoning="a stub")

    def _create(self, **_: Any) -> SimpleNamespace:
        self.asked += 1
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=CHAT))])
