"""Demonstrations as a learner takes them: chats with tools, from a file of `learn demos` or from anybody's.

Knows the lines of `accepted.jsonl`. Does not know models. A chat is tokenised once, decision by decision, exactly as a
policy of the same tokenizer would have met it; so what is learnt is what will be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..agents.answers import parse_json
from ..events.event import Json
from .decisions import Decision, Trajectory
from .rendering import Reader, Rendering, calls_of


class BadLesson(ValueError):
    """A file that holds no demonstrations, or a line that is none: the sentence says where, and what was expected."""


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a chat in OpenAI's format, and where it is from."""

    messages: tuple[dict[str, Json], ...]
    tools: tuple[dict[str, Json], ...] = ()
    environment: str = ""
    """Without the twin's name."""
    variant: str = ""
    episode: str = ""
    teacher: str = ""
    seed: int = 0
    trial: int = 0
    unlearnt: tuple[int, ...] = ()
    """Decisions, counted from 0, that are shown and not to be learnt: a mistake that is then made good."""


def read_lessons(path: Path) -> list[Lesson]:
    """All lines of a file. Raises BadLesson."""
    try:
        return list(_lines(path))
    except OSError as error:
        raise BadLesson(f"{path}: it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadLesson(f"{path}: it is not UTF-8 (byte {error.start})") from None


def _lines(path: Path) -> Iterator[Lesson]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                lesson = msgspec.convert(parse_json(line), Lesson)
            except (ValueError, msgspec.ValidationError) as error:
                raise BadLesson(f"{path}, line {number}: it is not a demonstration: {error}") from None
            problem = _problem(lesson)
            if problem:
                raise BadLesson(f"{path}, line {number}: {problem}")
            yield lesson


def _problem(lesson: Lesson) -> str:
    roles = [message.get("role") for message in lesson.messages]
    if "assistant" not in roles[1:]:
        return "the chat has no answer of an assistant that could be learnt"
    if strange := [role for role in roles if role not in ("system", "user", "assistant", "tool")]:
        return f"the chat has a message of the role {strange[0]!r}"
    return ""


def lesson_trajectory(lesson: Lesson, rendering: Rendering) -> Trajectory:
    """A chat as a trajectory. `seq` and `resolved` of its decisions are the places of its answers in the chat."""
    reader = Reader(rendering)
    offered: list[Json] = [{"tools": list(lesson.tools)}] if lesson.tools else []
    decisions: list[Decision] = []
    for place, message in enumerate(lesson.messages):
        if message["role"] != "assistant" or place == 0:
            continue
        reader.prompt([*offered, *lesson.messages[:place]])
        text, calls = message.get("content") or "", calls_of(message)
        segment, start, stop = reader.answered(rendering.answer(text, calls), {"text": text, "calls": calls})
        decisions.append(Decision(seq=place, resolved=place, segment=segment, start=start, stop=stop))
    return Trajectory(
        episode=lesson.episode,
        environment=lesson.environment,
        twin=lesson.variant,
        seed=lesson.seed,
        trial=lesson.trial,
        segments=tuple(tuple(segment) for segment in reader.segments),
        decisions=tuple(decisions),
        tokenised=True,
    )
