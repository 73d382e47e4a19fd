"""A stand-in for τ²-bench's package, in words of our own: just as much as hosting a domain touches.

It needs no library, so tests run anywhere. Names and shapes are those by which a host knows the real one; what stands
behind them is the shortest thing that behaves so.
"""

import json

from tau2.data_model.message import ToolMessage


class Database:
    def __init__(self, data):
        self.data = data

    def model_dump(self):
        return self.data


class Toolkit:
    mutating = ()

    def __init__(self, db):
        self.db = db

    def tool_mutates_state(self, name):
        return name in self.mutating

    def offered(self):
        return [name for name in vars(type(self)) if not name.startswith("_") and name not in ("mutating", "checks")]


class Tool:
    def __init__(self, name, method):
        properties = {key: {"type": "string"} for key in method.__annotations__ if key != "return"}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        self.openai_schema = {
            "type": "function",
            "function": {"name": name, "description": method.__doc__ or name, "parameters": schema},
        }


class Environment:
    def __init__(self, policy, tools, user_tools=None, solo_mode=False):
        self.policy, self.tools, self.user_tools, self.solo_mode = policy, tools, user_tools, solo_mode
        self.sync_tools()

    def get_policy(self):
        return self.policy

    def get_tools(self):
        return [Tool(name, getattr(self.tools, name)) for name in self.tools.offered()]

    def get_user_tools(self, include=None):
        names = self.user_tools.offered()
        return [Tool(name, getattr(self.user_tools, name)) for name in names if include is None or name in include]

    def sync_tools(self):
        pass

    def _is_mutating_tool(self, name):
        return any(name in kit.mutating for kit in (self.tools, self.user_tools))

    def make_tool_call(self, tool_name, requestor="assistant", **arguments):
        kits = (
            [self.user_tools] if requestor == "user" else [self.tools, *([self.user_tools] if self.solo_mode else [])]
        )
        for kit in kits:
            if tool_name in kit.offered():
                return getattr(kit, tool_name)(**arguments)
        raise ValueError(f"no tool {tool_name}")

    def get_response(self, call):
        try:
            answer = self.make_tool_call(call.name, call.requestor, **call.arguments)
            self.sync_tools()
            content, failed = answer if isinstance(answer, str) else json.dumps(answer), False
        except Exception as error:
            content, failed = f"Error: {error}", True
        return ToolMessage(role="tool", id=call.id, content=content, requestor=call.requestor, error=failed)

    def set_state(self, initialization_data, initialization_actions, message_history):
        for action in initialization_actions or ():
            kit = self.user_tools if action.env_type == "user" else self.tools
            getattr(kit, action.func_name)(**action.arguments)
        calls = {call.id: call for message in message_history for call in getattr(message, "tool_calls", None) or ()}
        for message in message_history:
            if isinstance(message, ToolMessage) and self._is_mutating_tool(calls[message.id].name):
                answer = self.get_response(calls[message.id])
                if answer.content != message.content:
                    raise ValueError(f"{calls[message.id].name} answers {answer.content}, not {message.content}")
        self.sync_tools()
