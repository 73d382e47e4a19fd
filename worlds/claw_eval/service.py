"""One service of a Claw-Eval task: its kind's endpoints over its own records, behind the tools that lead to it.

Knows how a tool call becomes a request and an answer an outcome, which HTTP errors there are, how errors are injected,
and what text of an outcome a model is shown. Does not know any endpoint. Never raises, and an error changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from decimal import Decimal
from math import isfinite

import msgspec

from ...events.event import Json, RecordCreated, ToolError
from ..service import Draw, Instant, Outcome, Records, Tool
from .endpoint import Mode, Refusal, Request, key
from .kinds import KINDS, UNROUTED
from .validation import Invalid, as_json, validate

#: What a handler raises where upstream's would: HTTP 500.
_CRASHES = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)


class ClawEvalService(msgspec.Struct, frozen=True, kw_only=True):
    """A service as a task configures it. Implements `worlds.service.Service`."""

    name: str
    """`services[].name` of the task; upstream's audit goes by it."""
    kind: str
    mode: Mode = "sane"
    tools: tuple[Tool, ...] = ()
    routes: dict[str, str] = {}
    """Path of each tool that leads here."""
    records: dict[str, list[dict[str, Json]]] = {}
    """What it starts with: collections of upstream's names, their rows in order."""
    options: dict[str, Json] = {}
    error_rate: Decimal = Decimal(0)
    """Probability of an injected error at each call, from 0 to 1."""

    def initial(self) -> list[RecordCreated]:
        return [
            RecordCreated(self.name, collection, key(number), row)
            for collection, rows in self.records.items()
            for number, row in enumerate(rows, 1)
        ]

    def call(self, tool: str, args: Json, records: Records, now: Instant, draw: Draw) -> Outcome:
        if tool not in self.routes:
            return _failed(_unknown_tool(tool, self.mode))
        if self.error_rate and (injected := _injected_error(self.error_rate, draw)):
            return _failed(injected)
        endpoint = KINDS.get(self.kind, UNROUTED).at(self.routes[tool])
        if endpoint is None:
            message = f"The service {self.name!r} has no {self.routes[tool]}."
            return _failed(ToolError("not_found", message, status=404, detail={"detail": "Not Found"}))
        try:
            body = as_json(validate(endpoint.fields, _doubles(args) if self.mode == "upstream" else args))
            when = now.date().astimezone(UTC)
            answer = endpoint.handle(Request(body, records, when, draw, self.mode, self.name, self.options))
        except Invalid as invalid:
            message = f"The arguments do not fit: {invalid}."
            return _failed(ToolError("invalid_arguments", message, status=422, detail={"detail": invalid.detail}))
        except Refusal as refusal:
            return _failed(refusal.error)
        except _CRASHES:
            message = f"The service {self.name!r} failed to answer."
            return _failed(ToolError("server_error", message, status=500, detail="Internal Server Error"))
        return Outcome(result=answer.body, changes=answer.changes, status=200)


def _failed(error: ToolError) -> Outcome:
    return Outcome(error=error, status=error.status)


def _unknown_tool(tool: str, mode: Mode) -> ToolError:
    if mode == "sane":
        message = f"The tool {tool!r} needs a sandbox, which this environment does not have."
        return ToolError("not_available_here", message, status=404)
    message = f"unknown tool '{tool}'"
    return ToolError("unknown_tool", message, status=404, detail={"error": message})


def _injected_error(rate: Decimal, draw: Draw) -> ToolError | None:
    """Upstream's middleware. Its third kind is only slow: how long a call takes is not a service's to say."""
    if draw.fraction() >= rate:
        return None
    kind = draw.below(100)
    if kind < 35:
        message = "Too many requests. Please retry after a short delay."
        detail: Json = {"error": "rate_limit_exceeded", "message": message, "retry_after_seconds": 2}
        return ToolError("rate_limited", message, status=429, detail=detail, retry_after=2_000_000)
    if kind < 70:
        message = "An unexpected error occurred. Please try again."
        detail = {"error": "internal_server_error", "message": message}
        return ToolError("server_error", message, status=500, detail=detail)
    return None


def answer_text(result: Json, error: ToolError | None = None) -> str:
    """The text of an outcome that a model is shown, as upstream's loop writes it."""
    if error is None:
        return dumps(result)
    if isinstance(error.detail, dict) and error.type != "unknown_tool":
        return dumps(error.detail)
    if error.detail == "Internal Server Error":
        # The loop expects JSON even then, and shows the model what its parser says.
        return "Error: Expecting value: line 1 column 1 (char 0)"
    return f"Error: {error.message}"


def _doubles(value: Json) -> Json:
    """The value after upstream has read it: `7.50` comes back as `7.5` where an error quotes it."""
    if isinstance(value, dict):
        return {name: _doubles(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_doubles(item) for item in value]
    if isinstance(value, Decimal) and isfinite(number := float(value)):
        return Decimal(repr(number))
    return value


def dumps(value: Json) -> str:
    """`json.dumps(value, ensure_ascii=False)` of a value whose numbers may be decimals, which keep their digits."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{dumps(name)}: {dumps(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return _number(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _number(value: Decimal) -> str:
    """Its own digits; those of a double as Python writes a double: `1e-07`, where a decimal would be `1E-7`."""
    as_double = repr(float(value))
    return as_double if value.is_finite() and Decimal(as_double).as_tuple() == value.as_tuple() else str(value)
