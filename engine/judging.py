"""Whom graders ask when they cannot decide by themselves: a chat model with a rubric.

Knows how a grader's question becomes a prompt, and an answer a score. Does not know graders, nor how answers are kept.
Everything that comes from a grader or from the model is untrusted: it is shown, measured and bounded, never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import TypeAlias

from ..agents.agent import Perform, Price, Request
from ..agents.answers import parse_json
from ..agents.sampling import Sampling
from ..events.event import Json

JUDGE = 1
"""Raised when the same question would be put in other words: part of a grader's digest."""

TRIES = 3
"""After so many answers without a score, there is none."""

Answering: TypeAlias = Callable[[Json], Awaitable[Json]]
"""From a grader's question (`method` and its arguments) to what it is told."""

_FREE = Price(0, 0)


class JudgeOptions(Sampling, frozen=True, kw_only=True):
    """Which model judges. Its temperature and the length of its answers are upstream's."""

    temperature: Decimal | None = Decimal(0)
    max_tokens: int | None = 8192


class BadQuestion(Exception):
    """A grader asked what no judge can be asked."""


def judge(options: JudgeOptions, perform: Perform) -> Answering:
    """A judge that asks a model, through `perform`. Raises BadQuestion, and what `perform` raises."""

    async def answer(question: Json) -> Json:
        prompt = tuple(_prompt(question))
        for _ in range(1 if question["method"] == "chat" else TRIES):
            outside = await perform(Request("judge", prompt, options.settings, _FREE))
            text = "" if outside.answer.refused is not None else str(outside.answer.value["text"])
            if question["method"] == "chat":
                return text
            if (found := verdict_in(text)) is not None:
                return found
        return None

    return answer


# --- questions ---------------------------------------------------------------------------------------------

_ANSWER = 'Answer with JSON only: {"score": <a number from 0.0 to 1.0>, "reasoning": "<one or two sentences>"}'
_INSTRUCTIONS = {
    "evaluate": (
        "You judge the work of an AI assistant. You are given its task, the conversation, a summary of what it did, "
        f"and a rubric. Score the work from 0.0 to 1.0, strictly by the rubric. {_ANSWER}"
    ),
    "evaluate_actions": (
        "You judge what an AI agent did. You are given its task, a record of its actions that the servers kept, which "
        f"the agent cannot have changed, and a rubric. Score the actions from 0.0 to 1.0, by the rubric. {_ANSWER}"
    ),
    "evaluate_visual": (
        "You are a strict judge of pictures. You are given a rubric, reference pictures where there are any, and the "
        "candidate's pictures. Compare each detail that the rubric names. A picture that looks good and shows the "
        "wrong content scores 0.0 to 0.3; above 0.5 most of what the rubric asks is there, above 0.7 nearly all of it, "
        f"above 0.9 all of it. {_ANSWER}"
    ),
}
_SECTIONS = {
    "evaluate": (
        ("Task Prompt", "task_prompt"),
        ("Conversation", "conversation"),
        ("Actions Taken", "actions_summary"),
        ("Rubric", "rubric"),
    ),
    "evaluate_actions": (
        ("Task Prompt", "task_prompt"),
        ("Agent Actions (from the servers' audit)", "artifacts"),
        ("Rubric", "rubric"),
    ),
    "evaluate_visual": (("Context", "context"), ("Rubric", "rubric")),
}


def _prompt(question: Json) -> list[Json]:
    """The messages of a request."""
    method = question.get("method") if isinstance(question, dict) else None
    if method == "chat":
        return _messages(question.get("messages"))
    if method not in _SECTIONS:
        raise BadQuestion(f"a grader asked its judge for {method!r:.80}; it may ask for {', '.join(_SECTIONS)} or chat")
    text = "\n\n".join(f"## {title}\n{_text(question, name)}" for title, name in _SECTIONS[method])
    content: Json = text
    if method == "evaluate_visual":
        content = [{"type": "text", "text": text}]
        for title, name in (("Reference", "reference_images_b64"), ("Candidate", "candidate_images_b64")):
            content += _pictures(title, question.get(name))
    return [{"role": "system", "content": _INSTRUCTIONS[method]}, {"role": "user", "content": content}]


def _text(question: dict[str, Json], name: str) -> str:
    value = question.get(name, "")
    if not isinstance(value, str):
        raise BadQuestion(f"a grader gave its judge as `{name}` a {type(value).__name__}; it must be a text")
    return value


def _pictures(title: str, pictures: Json) -> list[Json]:
    if not isinstance(pictures, list) or not all(isinstance(each, str) for each in pictures):
        raise BadQuestion("a grader gave its judge pictures that are no texts in base64")
    shown: list[Json] = [{"type": "text", "text": f"### {title} ({len(pictures)})"}] if pictures else []
    urls = [{"url": f"data:image/png;base64,{each}"} for each in pictures]
    return shown + [{"type": "image_url", "image_url": url} for url in urls]


def _messages(given: Json) -> list[Json]:
    """Messages that a grader worded itself."""
    fine = (
        isinstance(given, list)
        and given
        and all(
            isinstance(each, dict) and each.get("role") in ("system", "user", "assistant") and "content" in each
            for each in given
        )
    )
    if not fine:
        raise BadQuestion("a grader gave its judge messages that are none: each has a `role` and a `content`")
    return [{"role": each["role"], "content": each["content"]} for each in given]


# --- answers -----------------------------------------------------------------------------------------------

_OBJECT = re.compile(r"\{[^{}]*\}")
_SCORE = re.compile(r'"?score"?\s*[:=]\s*"?(\d+(?:\.\d+)?)')


def verdict_in(text: str) -> dict[str, Json] | None:
    """`score` (from 0 to 1) and `reasoning` of what a model wrote; None where there is no score in it."""
    for match in _OBJECT.finditer(text):
        try:
            found = parse_json(match[0])
        except ValueError:
            continue
        score = _number(found.get("score"))
        if score is not None:
            return {"score": score, "reasoning": str(found.get("reasoning", ""))}
    loose = _SCORE.search(text)
    return {"score": _within(Decimal(loose[1])), "reasoning": ""} if loose else None


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = Decimal(value.strip() if isinstance(value, str) else value)
    except ArithmeticError:
        return None
    return _within(number) if number.is_finite() else None


def _within(number: Decimal) -> Decimal:
    return max(Decimal(0), min(Decimal(1), number))
