"""Tasks, of the stand-in."""

from enum import Enum
from types import SimpleNamespace

from tau2.data_model.message import AssistantMessage, ToolMessage, UserMessage

_KINDS = {"assistant": AssistantMessage, "user": UserMessage, "tool": ToolMessage}
RewardType = Enum(
    "RewardType", {name: name for name in ("DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")}
)


class Task:
    @classmethod
    def model_validate(cls, data):
        task = cls()
        task.id, task.user_tools, task.user_scenario = data["id"], data.get("user_tools"), data["user_scenario"]
        initial = data.get("initial_state")
        task.initial_state = initial and SimpleNamespace(
            initialization_data=None,
            initialization_actions=[SimpleNamespace(**each) for each in initial.get("initialization_actions") or ()],
            message_history=[_KINDS[m["role"]].model_validate(m) for m in initial.get("message_history") or ()],
        )
        criteria = data.get("evaluation_criteria")
        task.evaluation_criteria = criteria and SimpleNamespace(
            actions=[SimpleNamespace(**{"requestor": "assistant", **each}) for each in criteria.get("actions") or ()],
            communicate_info=criteria.get("communicate_info") or [],
            nl_assertions=criteria.get("nl_assertions") or [],
            env_assertions=criteria.get("env_assertions") or [],
            reward_basis=[RewardType(name) for name in criteria.get("reward_basis", ("DB", "COMMUNICATE"))],
        )
        return task
