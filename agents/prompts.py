"""What a model is told: instructions, tools, and what has happened since its last decision.

Knows the chat format and our wording. Does not know when a model is asked, or how much of this is sent. All pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..events.event import Event, Json, MessageSent, ToolCalled, ToolReturned
from ..worlds.service import Instant, Tool
from ..worlds.world import Picture, World
from .agent import Message, Result
from .counting import as_json
from .pictures import in_words, part

NAME_LIMIT = 64
PAST_LIMIT = 2_000
"""Characters of each thing that was done before a model took over."""

SEND, WAIT, FINISH = "send_message", "wait", "finish"

OWN_TOOLS: tuple[Tool, ...] = (
    Tool(
        SEND,
        "Send a message to a person. It returns at once; an answer, if there is one, arrives later.",
        {
            "type": "object",
            "properties": {
                "to": {"type": "string", "description": "Who gets it."},
                "text": {"type": "string"},
                "reply_to": {"type": "integer", "description": "The number of the message that this one answers."},
            },
            "required": ["to", "text"],
        },
    ),
    Tool(
        WAIT,
        "Wait until a message arrives. With `minutes`, at most so long.",
        {"type": "object", "properties": {"minutes": {"type": "number", "exclusiveMinimum": 0}}},
    ),
    Tool(
        FINISH,
        "Say that all work is done. Nothing can be done afterwards.",
        {
            "type": "object",
            "properties": {"summary": {"type": "string", "description": "What was done, and what was not."}},
            "required": ["summary"],
        },
    ),
)


def wire_name(name: str) -> str:
    """A tool's name with only the characters, and of the length, that the chat format allows."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:NAME_LIMIT] or "unnamed"


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Names as they are on the wire, each with the tool it means. Those that would be the same get a number."""
    wire: dict[str, str] = {}
    for name in names:
        candidate, number = wire_name(name), 1
        while candidate in wire:
            number += 1
            candidate = f"{wire_name(name)[: NAME_LIMIT - 4]}_{number}"
        wire[candidate] = name
    return wire


def offered(tools: Sequence[Tool], wire: Mapping[str, str]) -> dict[str, Json]:
    """The first part of a prompt: the tools, under their names on the wire."""
    by_name = {tool.name: tool for tool in tools}
    functions = [
        {"name": on_wire, "description": by_name[name].description, "parameters": by_name[name].schema}
        for on_wire, name in wire.items()
    ]
    return {"tools": [{"type": "function", "function": function} for function in functions]}


def clock(world: World, at: int, brief: bool = False) -> str:
    """A moment as people write it, such as `Tuesday 2026-03-03 09:04`; in brief, on the first day, `09:04`."""
    date = Instant(world.start, at).date()
    if brief and date.date() == Instant(world.start, 0).date().date():
        return f"{date.hour:02d}:{date.minute:02d}"
    # Not `strftime`: its names of days depend on the machine's language.
    return f"{_DAYS[date.weekday()]} {date.date().isoformat()} {date.hour:02d}:{date.minute:02d}"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def instructions(world: World, people: Mapping[str, str], now: int, brief: bool = False) -> str:
    """The system message; in brief, only what differs from one workspace to the next."""
    zone = world.start.tzinfo
    when = f"It is {clock(world, now)} ({zone})."
    suffixes = [persona.suffix for name, persona in world.personas.items() if persona.suffix and name in people]
    if not world.talks:
        own = (
            f"You are an assistant that works with tools. {when} When the work is done, answer in text without a tool."
        )
        return "\n\n".join([own, *suffixes])
    if brief:
        there = "; ".join(f"{name} ({role})" if role else name for name, role in people.items()) or "nobody"
        return "\n\n".join([f"You are a coworker. {when}\nPeople: {there}", *suffixes])
    names = "\n".join(f"- {name}: {role}" if role else f"- {name}" for name, role in people.items()) or "- nobody"
    return "\n\n".join([_COWORKER.format(when=when, people=names, text=_ON_TEXT[world.on_text]), *suffixes])


_COWORKER = """You are a coworker. You do your work with tools. {when} Time passes while you work.

People you can write to with `send_message`:
{people}

Do what you were asked, and nothing beyond it. Look up what can be looked up; ask people for what only they know. They
answer when they can, and may write at any time: use `wait` if you cannot go on without them. {text}
When everything is done, tell whoever asked, then call `finish`."""

_ON_TEXT = {
    "wait": "Text that you write without calling a tool is sent to whoever asked you, and you wait for a message.",
    "finish": "Text that you write without calling a tool ends your work.",
    "round": "Text that you write without calling a tool is sent to whoever asked you, and you wait for the answer.",
}


def notice(
    world: World, messages: Sequence[Message], people: Mapping[str, str], brief: bool = False
) -> dict[str, Json]:
    """Messages that have arrived, as the model sees them: who wrote, when, and to which message it is an answer."""
    if not world.talks:
        return _user("\n\n".join(f"[user_agent]\n{message.text}" for message in messages))
    return _user("\n\n".join(_message(world, message, people, brief) for message in messages))


def request(
    world: World, messages: Sequence[Message], people: Mapping[str, str], brief: bool = False
) -> dict[str, Json]:
    """The first message of a prompt after its instructions."""
    if world.talks:
        return notice(world, messages, people, brief)
    return _user("\n\n".join(message.text for message in messages))


def _message(world: World, message: Message, people: Mapping[str, str], brief: bool) -> str:
    media = "".join(f"\n[attached: {_medium(item)}]" for item in message.media)
    if brief:
        answer = f" re #{message.reply_to}" if message.reply_to is not None else ""
        head = f"[{clock(world, message.at, brief)} #{message.seq} {message.sender}{answer}]"
        return f"{head}\n{message.text}{media}"
    role = people.get(message.sender)
    who = f"{message.sender} ({role})" if role else message.sender
    answer = f", in reply to your message {message.reply_to}" if message.reply_to is not None else ""
    return f"[{clock(world, message.at)}, message {message.seq} from {who}{answer}]\n{message.text}{media}"


def _medium(item: Json) -> str:
    names = [item.get(key) for key in ("name", "path", "mime")] if isinstance(item, Mapping) else [item]
    return " ".join(name for name in names if isinstance(name, str)) or "a file"


def remark(text: str) -> dict[str, Json]:
    """Something that we say to the model, such as that its last answer was refused."""
    return _user(f"[{text}]")


def _user(text: str) -> dict[str, Json]:
    return {"role": "user", "content": text}


def call_id(decision: int, index: int) -> str:
    """Names a call in a prompt: nine digits, which every dialect of the format accepts."""
    return f"{decision % 1_000_000:06d}{index % 1000:03d}"


def decided(text: str, calls: Sequence[Json], decision: int) -> dict[str, Json]:
    """A model's answer as it stands in later prompts."""
    message: dict[str, Json] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": call_id(decision, index),
                "type": "function",
                "function": {"name": wire_name(call["name"]), "arguments": as_json(_arguments(call["args"]))},
            }
            for index, call in enumerate(calls)
        ]
    return message


def _arguments(args: Json) -> Json:
    """Arguments as servers take them back: an object, even where a model gave something else."""
    return args if isinstance(args, dict) else {}


def returned(decision: int, index: int, text: str) -> dict[str, Json]:
    """What came of a call."""
    return {"role": "tool", "tool_call_id": call_id(decision, index), "content": text}


def attached(pictures: Sequence[Picture]) -> dict[str, Json]:
    """The pictures that the request comes with."""
    named = [
        [{"type": "text", "text": f"[Attached: {each.name}]"}, part(f"data:{each.mime};base64,{each.base64}")]
        for each in pictures
    ]
    return {"role": "user", "content": [each for pair in named for each in pair]}


def looked_at(pictures: Mapping[str, str]) -> dict[str, Json]:
    """The pictures that calls returned: data URIs by the ids of the calls."""
    parts = [[{"type": "text", "text": f"[The picture of call {call}:]"}, part(uri)] for call, uri in pictures.items()]
    return {"role": "user", "content": [each for pair in parts for each in pair]}


def result_text(result: Result, pictures: bool = False) -> str:
    """What a tool returned, as the model reads it: the result as JSON, or what the error says. With `pictures`, those
    among the results are shown to it, too."""
    error = result.error
    if error is None:
        return result.result if isinstance(result.result, str) else as_json(in_words(result.result, pictures))
    if error.detail is not None:
        return error.detail if isinstance(error.detail, str) else as_json(error.detail)
    plain: dict[str, Json] = {"type": error.type, "message": error.message}
    if error.retry_after is not None:
        plain["retry_after_seconds"] = (error.retry_after + 999_999) // 1_000_000
    return as_json({"error": plain})


def handed_over(past: Sequence[Event]) -> dict[str, Json] | None:
    """What was done before this model took over from another; None if there is nothing to say."""
    lines: list[str] = []
    for event in past:
        body = event.body
        if isinstance(body, ToolCalled):
            lines.append(f"Called {wire_name(body.tool)} with {as_json(body.args)}")
        elif isinstance(body, ToolReturned):
            lines.append(f"It returned {result_text(Result(body.call, '', body.result, body.error, body.status))}")
        elif isinstance(body, MessageSent):
            lines.append(f"Wrote message {event.seq} to {body.to}: {body.text}")
    if not lines:
        return None
    short = (line if len(line) <= PAST_LIMIT else line[:PAST_LIMIT] + "…" for line in lines)
    return remark("\n".join(["This has been done so far on your behalf:", *short]))
