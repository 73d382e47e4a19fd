"""Whether each reference action was done by somebody, of the stand-in."""

from types import SimpleNamespace


class ActionEvaluator:
    @classmethod
    def calculate_reward(cls, task, full_trajectory):
        calls = [call for message in full_trajectory for call in getattr(message, "tool_calls", None) or ()]
        done = [(call.name, call.arguments) for call in calls]
        wanted = [(action.name, action.arguments) for action in task.evaluation_criteria.actions]
        return SimpleNamespace(reward=float(all(each in done for each in wanted)))
