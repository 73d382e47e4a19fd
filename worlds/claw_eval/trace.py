"""The trace that upstream's own graders and readers take, as a projection of a stream.

Knows how upstream's loop writes down a run: who said what, which calls went where, what the services' audits hold at
the end. Does not know graders, nor where a trace is kept. Times are the workspace's, in the task's calendar; an
agent's thinking is counted in virtual time.

An answer of a model is one message of the assistant, its calls in it; what came of them is the next message. An agent
that asks no model has each call in a message of its own. Pictures and sound are not shown to agents here, and the
trace says that they were skipped.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import UTC, timedelta
from hashlib import sha256

import msgspec

from ...events.codec import to_json
from ...events.event import (
    AGENT,
    ActorFailed,
    ActorFinished,
    EffectRequested,
    EffectResolved,
    EpisodeEnded,
    Event,
    Json,
    MessageSent,
    ToolCalled,
    ToolError,
    ToolReturned,
)
from .audit import audit
from .kinds import KINDS
from .service import answer_text
from .task import Attachment, Task
from .world import USER

_SECOND = 1_000_000
_UNREADABLE = 422
"""Status of a call whose arguments could not be read: upstream sends an empty request, which most endpoints refuse."""


def trace(task: Task, events: Sequence[Event], *, trace_id: str, model: str) -> list[dict[str, Json]]:
    """The events of a trace, in upstream's order and vocabulary. `events` are a stream of an episode of `task`.

    `model` is whoever played the agent.
    """
    writer = _Writer(task, trace_id, model)
    for event in events:
        writer.take(event)
    return writer.finish(events)


def trace_text(lines: Iterable[dict[str, Json]]) -> str:
    """A trace as a file has it: one JSON object a line."""
    return "".join(to_json(line).decode() + "\n" for line in lines)


class _Use(msgspec.Struct):
    """A call in an assistant's message, and what came of it."""

    id: str
    name: str
    unreadable: str | None = None
    at: int = 0
    call: int | None = None
    """The `seq` of its `tool.called`."""
    args: Json = None
    result: dict[str, Json] | None = None


class _Writer:
    """Writes a trace while a stream goes by."""

    def __init__(self, task: Task, trace_id: str, model: str) -> None:
        self._task, self._id, self._lines = task, trace_id, [dict[str, Json]()]
        self._routes = {tool: path for service in task.services for tool, path in service.routes.items()}
        self._uses: list[_Use] = []
        """The calls of the assistant's last message."""
        self._asked: set[int] = set()
        """Requests to the agent's model."""
        self._said: str | None = None
        """What the assistant said last."""
        self._prompted = False
        self.turns = self.rounds = self.tokens_in = self.tokens_out = self.thought = self.worked = 0
        self.done = False
        self.failures: list[str] = []
        self._lines.clear()
        self._line(0, "trace_start", task_id=task.id, model=model, persona="default")

    def _line(self, at: int, kind: str, **fields: Json) -> None:
        when = (self._task.start + timedelta(microseconds=at)).astimezone(UTC).isoformat()
        self._lines.append({"type": kind, "trace_id": self._id, **fields, "timestamp": when})

    def _message(self, at: int, role: str, content: list[Json], tokens_in: int = 0, tokens_out: int = 0) -> None:
        usage = {"input_tokens": tokens_in, "output_tokens": tokens_out}
        message = {"role": role, "content": content, "reasoning_content": None}
        self._line(at, "message", message=message, usage=usage)

    # --- what happens --------------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        body = event.body
        if isinstance(body, MessageSent):
            self._heard(event.at, event.actor, body)
        elif event.actor == AGENT:
            self._acted(event, body)
        if isinstance(body, ToolReturned):
            self._returned(event.at, body)

    def _acted(self, event: Event, body: object) -> None:
        if isinstance(body, EffectRequested) and body.kind == "model":
            self._asked.add(event.seq)
        elif isinstance(body, EffectResolved) and body.effect in self._asked:
            self._decided(event.at, body)
        elif isinstance(body, ToolCalled):
            self._called(event, body)
        elif isinstance(body, ActorFinished):
            self._finished(event.at, body.summary)
        elif isinstance(body, ActorFailed):
            self.failures.append(f"{body.error}: {body.message}")

    def _heard(self, at: int, actor: str, body: MessageSent) -> None:
        if actor == AGENT:
            self._finished(at, body.text)
        elif actor == USER and not self._prompted:
            self._prompted = True
            for file in self._task.attachments:
                self._line(at, "media_load", **_loaded(file))
            self._message(at, "user", [_text(self._task.prompt), *map(_text, _documents(self._task))])
        elif actor == USER and body.text:
            self._flush(at)
            self.rounds += 1
            self._message(at, "user", [_text(f"[user_agent]\n{body.text}")])
        elif actor == USER:
            self.done = True

    def _decided(self, at: int, body: EffectResolved) -> None:
        """A model's answer; one that was refused is asked for again, and is no message."""
        self.thought += max(0, body.due - at)
        self.tokens_in += body.prompt_tokens or 0
        self.tokens_out += body.tokens or 0
        if body.refused is not None or not isinstance(body.answer, dict):
            return
        self._flush(at)
        calls = body.answer.get("calls") or []
        self._said = body.answer.get("text") or ""
        self._uses = [
            _Use(f"call_{self.turns + 1}_{index}", call["name"], call.get("error")) for index, call in enumerate(calls)
        ]
        blocks = [_used(use, call.get("args")) for use, call in zip(self._uses, calls, strict=True)]
        self._assistant(at, self._said, blocks, body.prompt_tokens or 0, body.tokens or 0)
        for use in self._uses:
            if use.unreadable is not None:
                error = ToolError("invalid_arguments", use.unreadable, status=_UNREADABLE)
                self._settle(at, use, ToolReturned(call=0, error=error, status=_UNREADABLE))

    def _assistant(self, at: int, text: str, uses: list[Json], tokens_in: int = 0, tokens_out: int = 0) -> None:
        self.turns += 1
        self._message(at, "assistant", [*([_text(text)] if text else []), *uses], tokens_in, tokens_out)

    def _called(self, event: Event, body: ToolCalled) -> None:
        use = next((use for use in self._uses if use.call is None and use.result is None), None)
        if use is None:
            self._flush(event.at)
            self._said = None
            use = _Use(f"call_{self.turns + 1}_0", body.tool)
            self._uses = [use]
            self._assistant(event.at, "", [_used(use, body.args)])
        use.call, use.name, use.args, use.at = event.seq, body.tool, body.args, event.at

    def _returned(self, at: int, body: ToolReturned) -> None:
        use = next((use for use in self._uses if use.call == body.call), None)
        if use is not None:
            self._settle(at, use, body)

    def _settle(self, at: int, use: _Use, body: ToolReturned) -> None:
        error = body.error
        took = at - use.at if use.call is not None else 0
        self.worked += took
        text = answer_text(body.result, error)
        use.result = {
            "type": "tool_result",
            "tool_use_id": use.id,
            "content": [_text(text)],
            "is_error": error is not None,
        }
        route = self._routes.get(use.name)
        self._line(
            at,
            "tool_dispatch",
            tool_use_id=use.id,
            tool_name=use.name,
            endpoint_url=f"http://localhost{route}" if route else "",
            request_body=use.args if isinstance(use.args, dict) else {},
            response_status=_status(body),
            response_body=body.result if error is None else _error_body(error, text),
            latency_ms=took / 1000,
        )

    def _finished(self, at: int, text: str) -> None:
        """Something the agent says; what its model has just said is there already."""
        if text == self._said:
            return
        self._flush(at)
        self._said = text
        self._assistant(at, text, [])

    def _flush(self, at: int) -> None:
        """The results of the last message's calls, as the message that follows it."""
        results = [use.result for use in self._uses if use.result is not None]
        self._uses = []
        if results:
            self._message(at, "user", results)

    # --- the end -------------------------------------------------------------------------------------------

    def finish(self, events: Sequence[Event]) -> list[dict[str, Json]]:
        last = events[-1] if events else None
        at = last.at if last else 0
        self._flush(at)
        if last is not None and isinstance(last.body, EpisodeEnded) and last.body.reason == "failed":
            self.failures.extend([] if self.failures else [last.body.detail])
        for name, kept in audit(self._task, events).items():
            path = next(iter(KINDS[self._kind(name)].endpoints)).path.split("/")[1]
            url = f"http://localhost/{path}/audit"
            self._line(at, "audit_snapshot", service_name=name, audit_url=url, audit_data=kept)
        persona = self._task.persona
        self._line(
            at,
            "trace_end",
            total_turns=self.turns,
            model_input_tokens=self.tokens_in,
            model_output_tokens=self.tokens_out,
            input_tokens=self.tokens_in,
            output_tokens=self.tokens_out,
            total_tokens=self.tokens_in + self.tokens_out,
            model_time_s=self.thought / _SECOND,
            tool_time_s=self.worked / _SECOND,
            other_time_s=max(0, at - self.thought - self.worked) / _SECOND,
            wall_time_s=at / _SECOND,
            failure_modes=self.failures,
            user_agent_rounds=self.rounds,
            user_agent_max_rounds=persona.rounds if persona else 0,
            user_agent_done=self.done,
        )
        return self._lines

    def _kind(self, service: str) -> str:
        return next(each.kind for each in self._task.services if each.name == service)


# --- parts of lines ----------------------------------------------------------------------------------------


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _used(use: _Use, args: Json) -> dict[str, Json]:
    return {"type": "tool_use", "id": use.id, "name": use.name, "input": args if isinstance(args, dict) else {}}


def _status(body: ToolReturned) -> int:
    if body.status is not None:
        return body.status
    return 200 if body.error is None else 500


def _error_body(error: ToolError, text: str) -> Json:
    """What upstream's dispatcher keeps of an answer that was none."""
    return error.detail if isinstance(error.detail, dict) else {"error": text.removeprefix("Error: ")}


def _documents(task: Task) -> list[str]:
    return [
        f"[attached document: {file.path.rpartition('/')[2]}]\n{file.text.strip()}"
        for file in task.attachments
        if file.text is not None
    ]


def _loaded(file: Attachment) -> dict[str, Json]:
    kind = file.mime.partition("/")[0]
    content = file.text.encode() if file.text is not None else base64.b64decode(file.base64 or "")
    status = "error" if file.problem else "loaded" if file.text is not None else "skipped"
    return {
        "modality": kind if kind in ("image", "audio", "video") else "document",
        "source_path": file.path,
        "mime_type": file.mime,
        "size_bytes": len(content),
        "sha256": sha256(content).hexdigest() if content else "",
        "status": status,
        "note": file.problem or ("" if status == "loaded" else f"agents are not shown files of type {file.mime}"),
    }
