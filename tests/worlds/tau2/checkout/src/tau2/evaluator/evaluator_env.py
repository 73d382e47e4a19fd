"""Databases and assertions, of the stand-in: both sides run again from the start."""

from types import SimpleNamespace


class EnvironmentEvaluator:
    @classmethod
    def calculate_reward(cls, environment_constructor, task, full_trajectory, solo_mode, env_kwargs):
        criteria, initial = task.evaluation_criteria, task.initial_state
        actions = initial.initialization_actions if initial else None
        played = environment_constructor(solo_mode=solo_mode, **env_kwargs)
        played.set_state(None, actions, full_trajectory)
        wanted = environment_constructor(**env_kwargs)
        wanted.set_state(None, actions, initial.message_history if initial else [])
        for action in criteria.actions:
            try:
                wanted.make_tool_call(action.name, action.requestor, **action.arguments)
            except Exception:
                continue
        pairs = [(played.tools, wanted.tools), (played.user_tools, wanted.user_tools)]
        same = all(mine.db.data == theirs.db.data for mine, theirs in pairs)
        checks = [
            getattr(played.user_tools, each["func_name"])(**each["arguments"]) for each in criteria.env_assertions
        ]
        return SimpleNamespace(
            db_check=SimpleNamespace(db_reward=float(same)),
            env_assertions=[SimpleNamespace(met=check) for check in checks],
        )
