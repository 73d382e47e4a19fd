"""Asks its judge three ways, and takes the mean."""

import json

from claw_eval.graders.base import AbstractGrader
from claw_eval.models.trace import DimensionScores


class KindGrader(AbstractGrader):
    def grade(self, messages, dispatches, task, audit_data=None, judge=None, media_events=None, env_snapshot=None):
        conversation = self.format_conversation(messages)
        kind = judge.evaluate(task.prompt.text, conversation, self.summarize_actions(audit_data), task.judge_rubric)
        acted = judge.evaluate_actions(task.prompt.text, self.format_audit_artifacts(audit_data), rubric="none needed")
        points = kind.score + acted.score
        answer = judge.client.chat.completions.create(
            model=judge.model_id,
            messages=[{"role": "user", "content": f"Rate this from 0 to 1, as JSON: {conversation}"}],
            temperature=0.0,
            max_tokens=100,
        )
        rated = json.loads(answer.choices[0].message.content)["rate"]
        scores = DimensionScores(robustness=1.0)
        scores.completion = round((points + rated) / 3, 4)
        scores.communication = len(kind.reasoning) / 100
        return scores
