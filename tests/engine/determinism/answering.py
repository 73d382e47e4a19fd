"""A model whose answer is a function of the request, and nothing else.

Knows what agents, coworkers and personas are asked, and answers each in character: calls that fit the offered tools or
do not, messages to people, short waits, long and short answers, refusals. Does not know which episode it is in, how
often it was asked, or what time it is: so whatever differs between two runs of an episode, this is not why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Any

from coworkenv.agents.agent import Outside, Perform, Request
from coworkenv.agents.answers import judge
from coworkenv.agents.counting import as_json
from tests.loopback import Reply, completion

Json = Any

_WORDS = [
    "order",
    "which",
    "number",
    "sure",
    "urgent",
    "approve",
    "invoice",
    "list",
    "wait",
    "box",
    "notes",
    "project",
    "figures",
    "region",
    "ticket",
    "error",
    "serial",
    "code",
    "check",
    "really",
    "come",
    "parcel",
    "bell",
    "budget",
    "RMA",
    "refund",
    "contract",
    "priority",
    "meeting",
    "customer",
    "Uhr",
    "Sitzung",
    "編號",
    "stop",
    "model",
]
_IDENTIFIER = re.compile(r"\b[A-Z]{1,3}-[0-9]{1,5}\b")
_PERSON = re.compile(r"^- ([^:\n]+?)(?::|$)", re.MULTILINE)
_OWN = ("send_message", "wait", "finish")


class Chance:
    """Numbers that are a function of the request and of how many were drawn for it."""

    def __init__(self, request: Json) -> None:
        self._key = json.dumps(request, sort_keys=True).encode()
        self._counter = 0

    def below(self, n: int) -> int:
        self._counter += 1
        digest = blake2b(self._key, digest_size=8, salt=self._counter.to_bytes(8, "big")).digest()
        return int.from_bytes(digest, "big") % n

    def percent(self, p: int) -> bool:
        return self.below(100) < p

    def one_of(self, values: Sequence[Any]) -> Any:
        return values[self.below(len(values))]


def answer(request: dict[str, Json]) -> Reply:
    """The response to one chat completion request."""
    chance = Chance(request)
    system = request["messages"][0]["content"]
    if system.startswith("You play a person"):
        return _persona(request, chance)
    if "own words" in system:
        return _coworker(request, chance)
    return _agent(request, chance)


def inside(latency: Callable[[], Awaitable[None]]) -> Perform:
    """Asks the model without a server: what HTTP carries, encoded and decoded as it would be."""

    async def perform(request: Request) -> Outside:
        messages = [part for part in request.prompt if "tools" not in part]
        tools = [tool for part in request.prompt if "tools" in part for tool in part["tools"]]
        prompt = {"messages": messages, "tools": tools} if tools else {"messages": messages}
        reply = answer(json.loads(as_json({**request.settings, **prompt})))
        await latency()
        verdict = judge(reply.status, reply.headers, json.dumps(reply.body).encode(), as_json(prompt))
        assert isinstance(verdict, Outside), verdict
        return verdict

    return perform


def _refused(code: str) -> Reply:
    return Reply({"error": {"code": code, "message": f"refused: {code}"}}, status=400)


# --- coworkers and personas ----------------------------------------------------------------------------------


def _coworker(request: Json, chance: Chance) -> Reply:
    if chance.percent(4):
        return _refused("content_filter")
    plain = request["messages"][-1]["content"]
    kind = chance.below(10)
    if kind == 0:
        text = re.sub(r"[0-9]", "", plain)  # Loses what must be kept: the plain words are sent instead.
    elif kind == 1:
        text = ""
    else:
        text = f"{chance.one_of(['Well:', 'Hey,', 'So …', '嗯，'])} {plain}"
    return Reply(completion(text, tokens=chance.one_of([3, 12, 40, 150, 400, None])))


def _persona(request: Json, chance: Chance) -> Reply:
    if chance.percent(25):
        return Reply(completion("[DONE]", tokens=2))
    return Reply(completion(f"And what about the {chance.one_of(_WORDS)}?", tokens=chance.one_of([8, 60, 300])))


# --- agents --------------------------------------------------------------------------------------------------


def _agent(request: Json, chance: Chance) -> Reply:
    messages = request["messages"]
    done = _decisions(messages)
    if chance.percent(2):
        long = sum(len(message["content"]) for message in messages) > 6000
        return _refused("context_length_exceeded" if long else "content_filter")
    tokens = chance.one_of([1, 15, 30, 60, 120, 250, 500, 900, None])
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in request.get("tools", ())}
    own = "finish" in tools
    if done >= 8 + len(messages[1]["content"]) % 7:
        calls = [("finish", {"summary": f"{done} decisions"})] if own else []
        return Reply(completion("" if calls else "That is all.", calls, tokens=tokens))
    if chance.percent(7) or not tools:
        return Reply(completion(_sentence(chance), tokens=tokens))
    calls = [_call(tools, messages, chance) for _ in range(chance.one_of([1, 1, 2, 3]))]
    if own and chance.percent(55):
        calls.append(("send_message", {"to": chance.one_of(_people(messages)), "text": _sentence(chance)}))
    if own and chance.percent(35):
        calls.append(("wait", {"minutes": chance.one_of([0.05, 0.1, 0.25, 0.5, 1, 2])}))
    text = _sentence(chance) if chance.percent(60) else chance.one_of(["", "\ud83d alone", "€ ☕ 好"])
    return Reply(completion(text, calls, tokens=tokens))


def _decisions(messages: Json) -> int:
    """How many were taken: the last call that can be seen tells, where older messages are left out."""
    seen = sum(message["role"] == "assistant" for message in messages)
    numbers = [int(message["tool_call_id"][:6]) for message in messages if message["role"] == "tool"]
    return max([seen, *numbers])


def _people(messages: Json) -> list[str]:
    return _PERSON.findall(messages[0]["content"]) or ["nobody"]


def _sentence(chance: Chance) -> str:
    words = [chance.one_of(_WORDS) for _ in range(1 + chance.below(4))]
    return f"What about {' and '.join(words)}?" + " I am thinking about this." * chance.below(8)


def _call(tools: dict[str, Json], messages: Json, chance: Chance) -> tuple[str, Json]:
    if chance.percent(3):
        return "no_such_tool", {}
    name = chance.one_of([name for name in tools if name not in _OWN] or list(tools))
    if chance.percent(3):
        return name, "{broken"
    schema = tools[name]
    known = _IDENTIFIER.findall(" ".join(str(message["content"]) for message in messages[-12:])) or ["X-1"]
    required = schema.get("required", [])
    args = {
        key: _value(key, part, known, chance)
        for key, part in schema.get("properties", {}).items()
        if key in required or chance.percent(20)
    }
    return name, args


def _value(name: str, schema: Json, known: Sequence[str], chance: Chance) -> Json:
    if not isinstance(schema, dict):
        return None
    if schema.get("enum"):
        return chance.one_of(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind in ("integer", "number"):
        return chance.below(9) if kind == "integer" else chance.one_of([1, 165.0, 9.75, 0.1])
    if kind in ("boolean", "array", "object"):
        return {"boolean": chance.percent(50), "array": [], "object": {}}[kind]
    form = schema.get("format")
    if form == "date":
        return "2026-10-26"
    if form == "date-time" or name in ("start", "end", "due"):
        return "2026-10-26T09:00"
    if form == "email" or name in ("to", "attendee", "email"):
        return "anna@hydra.example"
    return chance.one_of([*known, chance.one_of(_WORDS)])
