"""Inside the worker: one environment of τ²-bench, its tools called and its evaluators asked, unmodified.

Knows the names of the benchmark's own modules. Does not know how the process is confined, nor who plays. Of the
package only what is needed is imported: its top level and its client of models are stood in for, since they want the
network and a dozen libraries. The client asks the parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ...events.event import Json
from ...worlds.tau2.checkout import WORKFLOW, package
from ...worlds.tau2.layout import Part, Snapshot, differences, layout_of, records_of
from ..foreign.doubles import doubles
from ..foreign.inside import outside

ROOT = "COWORKENV_TAU2"
"""The environment variable that names the checkout's folder, inside."""

_NEEDS = "pydantic loguru docstring-parser addict deepdiff toml PyYAML python-dotenv pandas"
_LIBRARIES = ("pydantic", "loguru", "docstring_parser", "addict", "deepdiff", "toml", "yaml", "dotenv")


class NoJudge(BaseException):
    """There is no model to judge. Not an `Exception`: nobody may take it for a failed check."""


class Hosted:
    """What the worker hosts."""

    def __init__(self) -> None:
        self._judged = False
        self._know_libraries()
        sys.pycache_prefix = str(Path("cache").absolute())  # What is run is what the checkout's sources say.
        self._stand_in()
        self._require("tau2.environment.environment")
        self._environment: Any = None
        self._services: tuple[str, str] = ("", "")
        self._layouts: dict[str, tuple[Part, ...]] = {}
        self._known: dict[str, Snapshot] = {}
        self._calls = 0

    # --- imports -------------------------------------------------------------------------------------------

    def _stand_in(self) -> None:
        package = ModuleType("tau2")
        package.__path__ = [str(Path(os.environ[ROOT]) / "src" / "tau2")]
        sys.modules["tau2"] = package
        client = ModuleType("tau2.utils.llm_utils")
        client.generate = self._generate  # type: ignore[attr-defined]
        sys.modules["tau2.utils.llm_utils"] = client

    def _know_libraries(self) -> None:
        """Import what the checkout imports, while Python's own cache still serves; and quieten it."""
        for name in _LIBRARIES:
            with contextlib.suppress(ModuleNotFoundError):  # The import that needs it says so.
                import_module(name)
        if "loguru" in sys.modules:
            sys.modules["loguru"].logger.remove()  # It would print each call.

    def _require(self, name: str) -> None:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            says = f"τ²-bench needs {error.name}; install what it takes (pip install {_NEEDS})"
            raise ModuleNotFoundError(says) from None

    def _generate(self, *, messages: list[Any], **_: Any) -> Any:
        """Stands for upstream's client of models: the parent asks one, if there is any."""
        if not self._judged:
            raise NoJudge
        asked = [{"role": message.role, "content": message.content} for message in messages]
        content = outside("chat", {"method": "chat", "messages": asked})
        return import_module("tau2.data_model.message").AssistantMessage(role="assistant", content=content)

    # --- an environment ------------------------------------------------------------------------------------

    def open(self, domain: str, task: Json, options: Json, solo: bool, service: str, user: str) -> None:
        """Make the environment of a task, as it is before anybody acts; `service` and `user` are what the agent's and
        the user's records are said to belong to."""
        task = _task(task)
        self._environment = _constructor(domain)(solo_mode=solo, **_options(domain, task, options))
        initial = task.initial_state
        self._environment.set_state(
            initialization_data=initial.initialization_data if initial else None,
            initialization_actions=initial.initialization_actions if initial else None,
            message_history=(initial.message_history if initial else None) or [],
        )
        self._services, self._calls = (service, user), 0
        databases = self._databases()
        self._layouts = {name: layout_of(database) for name, database in databases.items()}
        self._known = {
            name: Snapshot(records_of(database, self._layouts[name])) for name, database in databases.items()
        }

    def describe(self, task: Json, solo: bool) -> Json:
        """What the open environment offers, and how its databases stand."""
        environment, wanted = self._environment, _task(task)
        tools = [_described(environment.tools, tool) for tool in environment.get_tools()]
        users = []
        if environment.user_tools is not None:
            include = None if solo else wanted.user_tools
            kit = environment.user_tools
            users = [_described(kit, tool) for tool in environment.get_user_tools(include=include)]
        sides = [self._side(name, offered) for name, offered in zip(self._services, (tools, users))]
        return {
            "agent": sides[0],
            "user": sides[1],
            "prompt": _agent_prompt(environment.get_policy(), solo),
            "scenario": "" if solo else _user_prompt(wanted, bool(users)),
        }

    def _side(self, name: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
        layout = self._layouts.get(name, ())
        parts = [{"path": list(part.path), "kind": part.kind, "apart": list(part.apart)} for part in layout]
        return {"tools": tools, "layout": parts, "records": self._known[name].records if name in self._known else {}}

    def databases(self) -> Json:
        """Each side's database as it is now; a shared one is the agent's."""
        return self._databases()

    def _databases(self) -> dict[str, Any]:
        tools, users = self._environment.tools, self._environment.user_tools
        found = {}
        if tools is not None and tools.db is not None:
            found[self._services[0]] = _plain_dump(tools.db)
        if users is not None and users.db is not None and (tools is None or users.db is not tools.db):
            found[self._services[1]] = _plain_dump(users.db)
        return found

    def call(self, side: str, tool: str, args: Json) -> Json:
        """What a call answers, as JSON of a `HostedAnswer`, with what it has changed."""
        if not isinstance(args, dict):
            says = "Error: The arguments must be an object."
            return {"error": {"type": "invalid_arguments", "message": says, "detail": says}}
        self._calls += 1
        asked = import_module("tau2.data_model.message").ToolCall(
            id=str(self._calls), name=tool, arguments=doubles(args), requestor=side
        )
        answer = self._environment.get_response(asked)
        try:
            self._environment.sync_tools()  # As upstream does after each of its steps; it did, unless the call failed.
        except Exception:
            pass
        content = answer.content or ""
        found: dict[str, Json] = {"result": content}
        if answer.error:
            found = {"error": {"type": "tool_error", "message": content, "detail": content}}
        changes = self._changes(tool)
        return {**found, "changes": changes} if changes else found

    def _changes(self, tool: str) -> list[dict[str, Any]]:
        """What has changed since the last look. Not looked for where upstream itself would not."""
        base = import_module("tau2.environment.environment").Environment
        syncs = type(self._environment).sync_tools is not base.sync_tools
        if not syncs and not self._environment._is_mutating_tool(tool):
            return []
        changes = []
        for name, database in self._databases().items():
            now = Snapshot(records_of(database, self._layouts[name]))
            changes += differences(name, self._known[name], now)
            self._known[name] = now
        return changes

    # --- a grade -------------------------------------------------------------------------------------------

    def grade(self, domain: str, task: Json, options: Json, solo: bool, messages: Json, judged: bool) -> Json:
        """Each component of the grade that upstream's evaluators give a trajectory, whether or not it counts; `basis`
        are those that do. One that asks a model is `null` where there is none. Raises what the evaluators raise."""
        self._judged = judged
        whole = _task(task)
        criteria = whole.evaluation_criteria
        if criteria is None:
            return {"basis": [], "components": {}}
        said = [_message(message) for message in messages]
        construct, given = _constructor(domain), _options(domain, whole, options)
        state = _evaluator("env", "EnvironmentEvaluator").calculate_reward(
            environment_constructor=construct, task=whole, full_trajectory=said, solo_mode=solo, env_kwargs=given
        )
        asserted = [check.met for check in state.env_assertions or ()]
        components: dict[str, float | None] = {
            "DB": state.db_check.db_reward if state.db_check else 1.0,
            "ENV_ASSERTION": float(all(asserted)),
            "ACTION": _reward("action", "ActionEvaluator", whole, said),
            "COMMUNICATE": _reward("communicate", "CommunicateEvaluator", whole, said),
        }
        basis = [kind.value for kind in criteria.reward_basis]
        if "NL_ASSERTION" in basis:
            components["NL_ASSERTION"] = self._judgement(whole, said)
        return {"basis": basis, "components": components}

    def _judgement(self, task: Any, said: list[Any]) -> float | None:
        try:
            return _reward("nl_assertions", "NLAssertionsEvaluator", task, said)
        except NoJudge:
            return None


def _evaluator(module: str, name: str) -> Any:
    return getattr(import_module(f"tau2.evaluator.evaluator_{module}"), name)


def _reward(module: str, name: str, task: Any, said: list[Any]) -> float:
    return float(_evaluator(module, name).calculate_reward(task=task, full_trajectory=said).reward)


# --- upstream's values -------------------------------------------------------------------------------------


def _task(raw: Json) -> Any:
    return import_module("tau2.data_model.tasks").Task.model_validate(doubles(raw))


def _message(given: Json) -> Any:
    module = import_module("tau2.data_model.message")
    kinds = {"assistant": module.AssistantMessage, "user": module.UserMessage, "tool": module.ToolMessage}
    return kinds[given["role"]].model_validate(doubles(given))


def _constructor(domain: str) -> Any:
    return import_module(f"tau2.domains.{package(domain)}.environment").get_environment


def _options(domain: str, task: Any, options: Json) -> dict[str, Any]:
    """What a constructor is given, as upstream's runner gives it."""
    given = dict(doubles(options))
    if domain == WORKFLOW:
        given["policy_type"] = "workflow"
    if domain == "banking_knowledge":
        actions = (task.evaluation_criteria.actions if task.evaluation_criteria else None) or ()
        named = [action.arguments.get("agent_tool_name") for action in actions if action.name == _DISCOVERED]
        given |= {"task": task, "read_log_allowlist": {name for name in named if name}}
    return given


_DISCOVERED = "call_discoverable_agent_tool"


def _plain_dump(database: Any) -> Any:
    return json.loads(json.dumps(database.model_dump(), default=str))


def _described(kit: Any, tool: Any) -> dict[str, Any]:
    function = tool.openai_schema["function"]
    return {
        "name": function["name"],
        "description": function["description"],
        "schema": function["parameters"],
        "reads": not kit.tool_mutates_state(function["name"]),
    }


def _agent_prompt(policy: str, solo: bool) -> str:
    """What upstream's own agent is told. It has another text for an agent that works alone."""
    agent = import_module("tau2.agent.llm_agent")
    if solo:
        return f"<policy>\n{policy}\n</policy>"
    return str(agent.SYSTEM_PROMPT.format(agent_instruction=agent.AGENT_INSTRUCTION, domain_policy=policy))


def _user_prompt(task: Any, tools: bool) -> str:
    simulator = import_module("tau2.user.user_simulator").UserSimulator
    made = simulator(llm="", instructions=str(task.user_scenario), tools=[object()] if tools else None)
    return str(made.system_prompt)
