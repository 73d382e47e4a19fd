"""An episode of a Claw-Eval task as the trace that upstream's readers and graders take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coworkenv.agents.building import build_agent
from coworkenv.engine.claw_eval.grading import episode_trace
from coworkenv.engine.claw_eval.scoring import Setup
from coworkenv.engine.episode import Episode, play
from coworkenv.engine.plan import Plan
from coworkenv.events.event import Event
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import load_tasks, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.surface.claw_eval.models.trace import ToolDispatch, TraceMessage
from coworkenv.worlds.claw_eval.surface.claw_eval.trace.reader import load_trace
from coworkenv.worlds.claw_eval.trace import trace
from tests.loopback import ModelServer

from .claw_eval.grading import ANSWERED, CLUMSY, GOOD, SHARED, TASKS, Graders
from .test_claw_eval import ADVICE, ANSWER, QUESTION, Conversation, advising, write_conversation


def read(text: str, folder: Path) -> tuple[list[TraceMessage], list[ToolDispatch], dict[str, Any], list[Any]]:
    """What upstream's reader would give, and all lines."""
    path = folder / "trace.jsonl"
    path.write_text(text, encoding="utf-8")
    _, messages, dispatches, _, _, audit = load_trace(path)
    return messages, dispatches, audit, [json.loads(line) for line in text.split("\n") if line]


async def traced(log: MemoryLog, episode: Episode) -> str:
    return episode_trace(log.row(episode.id), list(log.read(episode.id)))


def shape(messages: Sequence[TraceMessage]) -> list[tuple[str, list[str]]]:
    return [(each.message.role, [block.type for block in each.message.content]) for each in messages]


async def test_a_conversation_of_models_is_traced_as_upstream_writes_it(tmp_path: Path) -> None:
    log = MemoryLog()
    async with ModelServer(advising()).serving() as server:
        episode = await Conversation(write_conversation(tmp_path), server, log).run()
    messages, dispatches, audit, lines = read(await traced(log, episode), tmp_path)
    assert shape(messages) == [
        ("user", ["text"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
        ("assistant", ["text", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]
    texts = [each.message.text for each in messages]
    assert texts[1:3] == [QUESTION, f"[user_agent]\n{ANSWER}"]
    assert texts[5] == ADVICE
    [dispatch] = dispatches
    assert (dispatch.tool_name, dispatch.response_status) == ("gmail_messages", 200)
    assert dispatch.endpoint_url == "http://localhost/gmail/messages"
    assert dispatch.tool_use_id == messages[3].message.content[1].id == messages[4].message.content[0].tool_use_id
    assert [call["endpoint"] for call in audit["gmail"]["calls"]] == ["/gmail/messages"]
    assert [line["type"] for line in lines][-2:] == ["audit_snapshot", "trace_end"]
    end = lines[-1]
    assert (end["total_turns"], end["user_agent_rounds"], end["user_agent_done"]) == (3, 1, True)
    assert end["total_tokens"] == end["input_tokens"] + end["output_tokens"] > 0
    assert lines[0]["model"] == "openai:loopback"


async def test_an_agent_without_a_model_has_a_message_for_each_call(tmp_path: Path) -> None:
    graders = Graders(Setup(checkout=find_checkout(TASKS)))
    messages, dispatches, audit, lines = read(await traced(graders.log, await graders.play(ANSWERED, CLUMSY)), tmp_path)
    assert shape(messages) == [
        ("user", ["text", "text"]),
        *[("assistant", ["tool_use"]), ("user", ["tool_result"])] * 2,
        ("assistant", []),
    ]
    assert messages[0].message.text.endswith('[attached document: house-rules.md]\nSign with "Kestrel Bikes".')
    assert [(each.response_status, each.request_body) for each in dispatches] == [
        (200, {"message_id": "m1"}),
        (422, {"to": "ines"}),
    ]
    assert messages[4].message.content[0].is_error
    assert [call["endpoint"] for call in audit["gmail"]["calls"]] == ["/gmail/messages/get"]
    [loaded] = [line for line in lines if line["type"] == "media_load"]
    assert (loaded["modality"], loaded["status"], loaded["size_bytes"]) == ("document", "loaded", 27)


async def test_an_episode_has_one_trace(tmp_path: Path) -> None:
    one, other = (Graders(Setup(checkout=find_checkout(TASKS))) for _ in range(2))
    assert await traced(one.log, await one.play(ANSWERED, GOOD)) == await traced(
        other.log, await other.play(ANSWERED, GOOD)
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared Claw-Eval data is not beside the checkout")
async def test_every_shared_task_has_a_trace_that_can_be_read(tmp_path: Path) -> None:
    tasks, _ = load_tasks(SHARED)
    assert len(tasks) == 40
    for task in tasks:
        for agent in (build_agent("noop"), build_agent("explore")):
            events: Sequence[Event] = (await play(Plan(world_of(task), agent))).events
            lines = trace(task, events, trace_id="0" * 16, model="m")
            text = "".join(json.dumps(msgspec.to_builtins(line), default=float) + "\n" for line in lines)
            messages, dispatches, audit, _ = read(text, tmp_path)
            assert messages[0].message.text == task.request
            assert set(audit) == {service.name for service in task.services if service.name != "unrouted"}
            uses = [block.id for each in messages for block in each.message.content if block.type == "tool_use"]
            assert uses == [each.tool_use_id for each in dispatches]
            assert messages[-1].message.role == "assistant"
