"""Needs no judge: whether a page that the answer names was read."""

from claw_eval.graders.base import AbstractGrader
from claw_eval.models.trace import DimensionScores


class LookGrader(AbstractGrader):
    def grade(self, messages, dispatches, task, audit_data=None, judge=None, media_events=None, env_snapshot=None):
        scores = DimensionScores()
        said = self._get_final_assistant_text(messages)
        calls = (audit_data or {}).get("web_real", {}).get("calls", [])
        fetched = [call["response_body"] for call in calls if call["endpoint"] == "/web/fetch"]
        scores.completion = float(any(page.get("content") and page["url"] in said for page in fetched))
        scores.robustness = self.compute_robustness(dispatches)
        return scores
