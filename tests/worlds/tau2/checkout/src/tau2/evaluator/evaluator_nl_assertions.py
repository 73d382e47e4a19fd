"""Whether a model finds that assertions hold, of the stand-in."""

import json
from types import SimpleNamespace

from tau2.data_model.message import SystemMessage, UserMessage
from tau2.utils.llm_utils import generate


class NLAssertionsEvaluator:
    @classmethod
    def calculate_reward(cls, task, full_trajectory):
        said = "\n".join(f"{message.role}: {message.content}" for message in full_trajectory)
        asked = f"{said}\n{task.evaluation_criteria.nl_assertions}"
        messages = [SystemMessage("system", "Judge as JSON."), UserMessage("user", asked)]
        answer = generate(model="any", messages=messages, call_name="nl", temperature=0.0)
        return SimpleNamespace(reward=float(json.loads(answer.content)["met"]))
