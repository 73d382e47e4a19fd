"""Whether the agent said what was to be said, of the stand-in."""

from types import SimpleNamespace


class CommunicateEvaluator:
    @classmethod
    def calculate_reward(cls, task, full_trajectory):
        said = [message.content or "" for message in full_trajectory if message.role == "assistant"]
        wanted = task.evaluation_criteria.communicate_info
        return SimpleNamespace(reward=float(all(any(each in text for text in said) for each in wanted)))
