"""What a chat server's response means: an answer, a refusal, or a reason to ask again or not at all.

Knows the chat completions format and its dialects. Does not know HTTP clients, retries or agents. Everything here is
untrusted: sizes are limited, nothing is assumed to have the right type, and no text of the server gets into an event
except the model's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import TypeAlias

import msgspec

from ..events.errors import NotJson
from ..events.event import Json, Refused
from ..events.normalise import normalise
from .agent import Answer, Outside
from .counting import UTF8_4, as_json, utf8_4

TEXT_LIMIT = 1_000_000
"""Characters of text that an answer may have; what is beyond is cut."""
ARGUMENTS_LIMIT = 200_000
"""Characters that one call's arguments may have."""
CALLS_LIMIT = 64
"""Calls that one answer may have; more are ignored."""

_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_TOO_LONG = (
    "context length",
    "context_length",
    "context window",
    "context size",
    "maximum context",
    "max_model_len",
    "too many tokens",
    "token count exceeds",
    "prompt is too long",
    "input is too long",
    "reduce the length",
)
_FILTERED = ("content_filter", "content filter", "content_policy", "content management policy")
_SPENT = ("insufficient_quota", "billing")


class Again(msgspec.Struct, frozen=True):
    """Worth asking again: `after` so many seconds, if the server said so."""

    reason: str
    after: float | None = None
    garbled: bool = False
    """The server answered, but nothing that can be read."""


class Hopeless(msgspec.Struct, frozen=True):
    """Asking again cannot help: something is set up wrongly."""

    reason: str


Verdict: TypeAlias = Outside | Again | Hopeless


def judge(status: int, headers: Mapping[str, str], body: bytes, prompt: str) -> Verdict:
    """What a response means. `prompt` is what was sent, to be counted if the server does not say how long it was."""
    if status == 200:
        return _answer(body, prompt)
    text = body[:20_000].decode("utf-8", "replace")
    lower = text.lower()
    if status in (400, 413, 422):
        if status == 413 or any(sign in lower for sign in _TOO_LONG):
            return refusal("context_length", "The prompt is longer than the model's context.", text)
        if any(sign in lower for sign in _FILTERED):
            return refusal("content_filter", "The server's content filter refused the request.", text)
    if status in _AGAIN or status >= 500:
        if status == 429 and any(sign in lower for sign in _SPENT):
            return Hopeless(f"the account has no quota left (HTTP 429): {_said(text)}")
        return Again(f"HTTP {status}: {_said(text)}", _retry_after(headers))
    return Hopeless(f"the server refused the request (HTTP {status}{_HINTS.get(status, '')}): {_said(text)}")


_HINTS = {
    401: "; is the key in OPENAI_API_KEY right?",
    403: "; may this key use the model?",
    404: "; are the model's name and the base URL right?",
}


def refusal(kind: str, message: str, said: str) -> Outside:
    """An answer that the agent must live with. What the server said about it is only observed."""
    return Outside(Answer(refused=Refused(type=kind, message=message)), {"response": said})


def _said(text: str) -> str:
    """The server's own words about an error, short and on one line."""
    try:
        found = json.loads(text)
        found = found.get("error", found.get("message", found.get("detail", found)))
        found = found.get("message", found) if isinstance(found, dict) else found
        text = found if isinstance(found, str) else json.dumps(found)
    except (ValueError, AttributeError, RecursionError):
        pass
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:300] or "it gave no reason"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait. A date is read against the server's own `Date`, so nobody's clock matters."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    try:
        if given.replace(".", "", 1).isdecimal():
            return float(given)
        wait = parsedate_to_datetime(given) - parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, wait.total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _reject(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


def parse_json(text: str | bytes) -> Json:
    """JSON of unknown origin as plain data. Raises ValueError, also for what is too deep or has too many digits."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_reject)
    except (RecursionError, ArithmeticError) as error:
        raise ValueError(str(error)) from error


def _answer(body: bytes, prompt: str) -> Verdict:
    try:
        response = parse_json(body)
        choice = response["choices"][0]
        message = choice["message"]
        assert isinstance(message, dict)
    except (ValueError, LookupError, TypeError, AssertionError):
        return Again("the response is not a chat completion", garbled=True)
    stop = choice.get("finish_reason")
    if stop == "content_filter":
        return refusal("content_filter", "The server's content filter stopped the answer.", _loggable_text(response))
    text = _text_of(message)
    calls = [call_of(call) for call in _items(message.get("tool_calls"))[:CALLS_LIMIT]]
    value: dict[str, Json] = {"text": text, "calls": calls, "stop": stop[:40] if isinstance(stop, str) else ""}
    if _are_ids(choice.get("token_ids")):
        value["ids"] = choice["token_ids"]
    usage = response.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    tokens, prompt_tokens = _count(usage.get("completion_tokens")), _count(usage.get("prompt_tokens"))
    counted = UTF8_4 if tokens is None or prompt_tokens is None else None
    if tokens is None:
        tokens = utf8_4(text) + sum(utf8_4(as_json(call)) for call in calls)
    if prompt_tokens is None:
        prompt_tokens = utf8_4(prompt)
    answer = Answer(value=value, tokens=tokens, prompt_tokens=prompt_tokens, counted=counted)
    return Outside(answer, _observed(response, choice))


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text_of(message: Mapping[str, Json]) -> str:
    """The model's words. Some servers give them as a list of parts; a refusal in words is words."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or not content:
        content = message.get("refusal")
    return normalise(content[:TEXT_LIMIT])[0] if isinstance(content, str) else ""


def call_of(call: Json) -> dict[str, Json]:
    """One tool call as `{"name", "args"}`; with `error` instead of arguments where they cannot be read."""
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    name, given = function.get("name"), function.get("arguments")
    plain: dict[str, Json] = {"name": normalise(name[:200])[0] if isinstance(name, str) else "", "args": None}
    if isinstance(given, str) and len(given) > ARGUMENTS_LIMIT:
        return {**plain, "error": f"The arguments have {len(given)} characters; at most {ARGUMENTS_LIMIT} are allowed."}
    try:
        parsed = (parse_json(given) if given.strip() else {}) if isinstance(given, str) else given
        # Wrapped as deep as it will stand in the event, whose depth is limited.
        plain["args"] = normalise([[[{} if parsed is None else parsed]]])[0][0][0][0]
    except (ValueError, NotJson):
        return {**plain, "error": "The arguments are not valid JSON. Call the tool again with a JSON object."}
    return plain


def _count(value: Json) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 31 else None


def _are_ids(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(_count(item) is not None for item in value)


def _observed(response: Mapping[str, Json], choice: Mapping[str, Json]) -> dict[str, Json]:
    """The raw response; log-probabilities and the prompt's token ids under names of their own, where there are any."""
    observed: dict[str, Json] = {"response": _loggable(response)}
    for name, value in (
        ("logprobs", choice.get("logprobs")),
        ("prompt_ids", response.get("prompt_token_ids", choice.get("prompt_token_ids"))),
    ):
        if value is not None:
            observed[name] = _loggable(value)
    return observed


def _loggable(value: Json) -> Json:
    """`value` as a log can hold it: as JSON where that is possible, else as text."""
    try:
        return normalise(value)[0]
    except NotJson:
        return normalise(str(value)[:TEXT_LIMIT])[0]


def _loggable_text(value: Json) -> str:
    return as_json(_loggable(value))[:TEXT_LIMIT]
