"""Claw-Eval tasks end to end: read, written to, talked about, gone on with, exported, and executed again."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.agents.persona import ASIDE, DONE
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.cli import main
from coworkenv.engine.episode import Episode, resume_episode, run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import (
    ActorFinished,
    EffectRequested,
    EffectResolved,
    MessageSent,
    ToolCalled,
)
from coworkenv.events.exchange import export_episode, import_episode
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import load_task, load_tasks, world_of
from coworkenv.worlds.claw_eval.endpoint import Mode
from coworkenv.worlds.claw_eval.kinds import KINDS
from tests.loopback import ModelServer, Reply, completion

from .claw_eval.coverage import Played, play, table, unread
from .claw_eval.folders import SUFFIX, write_conversation, write_tasks
from .claw_eval.writes import WRITES

SHARED = Path(__file__).parents[2].parent / "shared" / "claw-eval" / "tasks"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared Claw-Eval data is not beside the checkout")
modes = pytest.mark.parametrize("mode", ["sane", "upstream"])


async def played(folder: Path, mode: Mode) -> list[Played]:
    tasks, errors = load_tasks(folder, mode)
    assert errors == []
    log = MemoryLog()
    async with log.writing():
        return await play(tasks, log)


def assert_all_are_sound(many: list[Played]) -> None:
    for one in many:
        assert [(result.status, result.reason) for result in one.results] == [("ended", "finished")] * 2, one.task.id
        assert [verified.verdict for verified in one.verified] == ["identical"] * 2, one.task.id


def assert_every_writing_tool_writes_what_it_should(many: list[Played]) -> set[str]:
    """Requires the record events of each write; gives the endpoints that were written to."""
    written: set[str] = set()
    for one in many:
        called = [call for call in one.calls if call.came == "written"]
        assert [call.leaves for call in called] == [WRITES[call.path].leaves for call in called], one.task.id
        writing = {tool.name for tool in one.task.tools if not tool.reads}
        assert {call.tool for call in called} == writing, one.task.id
        assert all(call.leaves == () for call in one.calls if call.came != "written")
        written |= {call.path for call in called}
    return written


# --- tasks of our own ------------------------------------------------------------------------------------


def test_there_is_a_write_for_every_endpoint_that_writes() -> None:
    assert set(WRITES) == {end.path for kind in KINDS.values() for end in kind.endpoints if not end.reads}


@modes
async def test_every_kind_of_service_is_read_and_written_in_whole_episodes(tmp_path: Path, mode: Mode) -> None:
    many = await played(write_tasks(tmp_path), mode)
    assert_all_are_sound(many)
    assert assert_every_writing_tool_writes_what_it_should(many) == set(WRITES)
    offline = {("W_web_real_injection", "web_real_injection")} if mode == "upstream" else set()
    assert set(unread(many)) == offline
    for one in many:
        tried = {call.tool for call in one.calls}
        assert tried == {tool.name for tool in one.task.tools}, one.task.id


async def test_what_is_not_here_is_marked_in_the_log_and_in_the_result(tmp_path: Path) -> None:
    folder = write_tasks(tmp_path, "web_real", "documents", "caption")
    for file in ("W_web_real/fixtures/web/pages.json", "W_web_real/fixtures/web/search_results.json"):
        (folder / file).unlink()
    for file in ("W_documents/fixtures/docs/report.pdf.txt", "W_caption/fixtures/caption.txt"):
        (folder / file).unlink()
    many = {one.task.id: one for one in await played(folder, "sane")}
    assert {name: one.results[0].unavailable for name, one in many.items()} == {
        "W_caption": ("caption_describe",),
        "W_documents": ("documents_extract_text",),
        "W_web_real": ("web_search", "web_fetch"),
    }
    for one in many.values():
        refused = [call for call in one.calls if call.came == "refused"]
        assert refused
        assert all("not available in this environment" in call.reason for call in refused)
    assert_all_are_sound(list(many.values()))


@modes
def test_the_command_plays_a_folder_and_verifies_it(tmp_path: Path, mode: Mode, capsys: Any) -> None:
    folder = write_tasks(tmp_path / "tasks", "gmail", "web_real", "scheduler")
    log = str(tmp_path / "log.db")
    assert code(["run", str(folder), "--agent", "explore", "--mode", mode, "--log", log]) == 0
    assert "W_scheduler" in capsys.readouterr().out
    assert code(["verify", "--all", "--log", log]) == 0
    told = capsys.readouterr().out
    assert told.count("identical") == 3


def code(args: list[str]) -> int:
    try:
        result = main(args)
    except SystemExit as leaving:
        result = leaving.code
    return int(result or 0)


# --- conversations ---------------------------------------------------------------------------------------

Said = Callable[[dict[str, Any]], "Reply | dict[str, Any]"]
QUESTION, ANSWER, ADVICE = "How much have you saved?", "12,000 euros.", "Put 12,000 euros into bonds."


def is_persona(request: dict[str, Any]) -> bool:
    return request["messages"][0]["content"].startswith("You play a person")


def advising(satisfied: bool = True) -> Said:
    """A model that asks, reads the mail when it has been answered, and advises; and one that plays the user.

    What it says is a function of the request alone. A user who is not `satisfied` asks again and again.
    """

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        if is_persona(request):
            if ADVICE not in messages[1]["content"]:
                return completion(ANSWER)
            return completion("Thank you! [DONE]" if satisfied else "And what else?")
        last = messages[-1]
        if last["role"] == "tool" or last["content"] == "[user_agent]\nAnd what else?":
            return completion(ADVICE)
        if last["content"].startswith("[user_agent]\n"):
            return completion("I look into your mail.", [("gmail_messages", {"days_back": 30})])
        return completion(QUESTION)

    return answer


class Conversation:
    """One episode of the conversation's task with a model server on loopback, behind every actor."""

    def __init__(self, folder: Path, server: ModelServer, log: MemoryLog) -> None:
        world = world_of(load_task(folder / "C_invest"))
        reach = {"url": server.url, "attempts": 1}
        self.plan = Plan(
            world=world,
            agent=build_agent("openai:loopback", reach),
            coworkers=build_coworkers(world, "persona:loopback", reach),
        )
        self.log = log

    async def run(self) -> Episode:
        async with self.log.writing():
            return await run_episode(self.plan, self.log)


def sent(episode: Episode, actor: str) -> list[MessageSent]:
    return [e.body for e in episode.events if e.actor == actor and isinstance(e.body, MessageSent)]


async def test_a_conversation_goes_in_rounds_until_the_user_is_done(tmp_path: Path) -> None:
    log = MemoryLog()
    async with ModelServer(advising()).serving() as server:
        episode = await Conversation(write_conversation(tmp_path), server, log).run()
    assert (episode.status, episode.reason) == ("ended", "finished")
    assert [(said.text, said.mark) for said in sent(episode, "agent")] == [
        (QUESTION, None),
        ("I look into your mail.", ASIDE),
        (ADVICE, None),
    ]
    # The thanks that carry `[DONE]` are dropped, as upstream, and the last answer stays the agent's.
    assert [(said.text, said.mark) for said in sent(episode, "user")] == [
        ("Where should my savings go? My bank has written.", None),
        (ANSWER, None),
        ("", DONE),
    ]
    finished = {e.actor: e.body.summary for e in episode.events if isinstance(e.body, ActorFinished)}
    assert finished["agent"] == ADVICE
    assert [e.body.tool for e in episode.events if isinstance(e.body, ToolCalled)] == ["gmail_messages"]
    assert (await verify(log, episode.id)).verdict == "identical"


async def test_each_sees_what_upstream_lets_them_see(tmp_path: Path) -> None:
    async with ModelServer(advising()).serving() as server:
        await Conversation(write_conversation(tmp_path), server, MemoryLog()).run()
    agent = [request for request in server.requests if not is_persona(request)]
    user = [request for request in server.requests if is_persona(request)]
    assert [message["role"] for message in agent[-1]["messages"]] == [
        *("system", "user", "assistant", "user", "assistant", "tool")
    ]
    assert agent[0]["messages"][0]["content"].endswith(SUFFIX)
    assert agent[-1]["messages"][3]["content"] == f"[user_agent]\n{ANSWER}"
    assert all("12,000 euros to invest" not in str(request) for request in agent)
    assert "12,000 euros to invest" in user[0]["messages"][0]["content"]
    heard = user[-1]["messages"][1]["content"]
    assert [line for line in heard.splitlines() if line.startswith("[")] == [
        "[User]: Where should my savings go? My bank has written.",
        f"[Assistant]: {QUESTION}",
        f"[User]: {ANSWER}",
        "[Assistant]: I look into your mail.",
        f"[Assistant]: {ADVICE}",
    ]
    assert "gmail" not in str(user)


@pytest.mark.parametrize("rounds", [1, 2, 4])
async def test_after_the_last_round_the_next_answer_ends_it(tmp_path: Path, rounds: int) -> None:
    log = MemoryLog()
    async with ModelServer(advising(satisfied=False)).serving() as server:
        episode = await Conversation(write_conversation(tmp_path, rounds), server, log).run()
    assert (episode.status, episode.reason) == ("ended", "finished")
    assert sum(map(is_persona, server.requests)) == rounds
    asked = [said for said in sent(episode, "agent") if said.mark is None]
    assert len(asked) == rounds  # The last answer is not sent to anybody: it is the end.
    [finished] = [e.body for e in episode.events if e.actor == "agent" and isinstance(e.body, ActorFinished)]
    assert finished.summary == ADVICE
    assert (await verify(log, episode.id)).verdict == "identical"


async def test_the_user_keeps_to_their_rounds_whoever_asks(tmp_path: Path) -> None:
    world = world_of(load_task(write_conversation(tmp_path, rounds=2) / "C_invest"))
    log = MemoryLog()
    async with ModelServer(advising(satisfied=False)).serving() as server, log.writing():
        coworkers = build_coworkers(world, "persona:loopback", {"url": server.url})
        asking = Script([ScriptStep(ask="user", text=QUESTION)] * 3)
        episode = await run_episode(Plan(world, asking, coworkers), log)
    assert [said.mark for said in sent(episode, "user")] == [None, None, None, DONE]
    assert len(server.requests) == 2


async def test_turns_end_a_conversation_that_rounds_do_not(tmp_path: Path) -> None:
    log = MemoryLog()
    async with ModelServer(advising(satisfied=False)).serving() as server:
        episode = await Conversation(write_conversation(tmp_path, turns=4), server, log).run()
    assert (episode.status, episode.reason) == ("ended", "decisions")
    assert sum(not is_persona(request) for request in server.requests) == 4
    assert (await verify(log, episode.id)).verdict == "identical"


async def test_without_a_persona_the_first_answer_ends_it(tmp_path: Path) -> None:
    async with ModelServer(advising()).serving() as server:
        episode = await Conversation(write_conversation(tmp_path, persona=False), server, MemoryLog()).run()
        assert (episode.status, len(server.requests)) == ("ended", 1)
    assert SUFFIX not in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize("failing", range(5))
async def test_a_conversation_that_broke_off_anywhere_goes_on_to_the_same_end(tmp_path: Path, failing: int) -> None:
    folder, log, whole = write_conversation(tmp_path), MemoryLog(), MemoryLog()
    healthy = advising()
    answered = failing  # So many requests are answered before the server goes down.

    def answer(request: dict[str, Any]) -> Reply | dict[str, Any]:
        return healthy(request) if len(server.requests) <= answered else Reply(status=503)

    async with ModelServer(answer).serving() as server:
        episode = await Conversation(folder, server, log).run()
        assert episode.status == "suspended"
        assert sum(isinstance(event.body, EffectResolved) for event in log.read(episode.id)) == failing
        assert (await verify(log, episode.id)).verdict == "identical so far"
        server.requests.clear()
        answered = 1000
        async with log.writing():
            resumed = await resume_episode(log, episode.id)
        assert resumed.status == "ended"
        assert len(server.requests) == 5 - failing  # Nothing that the log answers is asked again.
        expected = await Conversation(folder, server, whole).run()
    assert sum(isinstance(event.body, EffectRequested) for event in expected.events) == 5
    assert list(log.read_raw(episode.id)) == list(whole.read_raw(expected.id))


async def test_an_exported_conversation_is_executed_again_elsewhere(tmp_path: Path) -> None:
    log, elsewhere, file = MemoryLog(), MemoryLog(), io.BytesIO()
    async with ModelServer(advising()).serving() as server:
        episode = await Conversation(write_conversation(tmp_path), server, log).run()
    export_episode(log, episode.id, file)
    file.seek(0)
    for leftover in sorted(tmp_path.rglob("*.*")):
        leftover.unlink(missing_ok=True)
    import_episode(elsewhere, file)
    assert list(elsewhere.read_raw(episode.id)) == list(log.read_raw(episode.id))
    assert (await verify(elsewhere, episode.id)).verdict == "identical"


# --- the shared tasks ------------------------------------------------------------------------------------

#: What the shared tasks hold and nobody can read here.
UNREADABLE = {
    "sane": {("T098_pinbench_openclaw_facts", "documents"): "not available in this environment"},
    "upstream": {
        ("T098_pinbench_openclaw_facts", "documents"): "File not found",
        ("T073_web_search_injection", "web_real_injection"): "Fetch failed: offline",
    },
}
WRITERS = {
    *("gmail", "calendar", "todo", "contacts", "crm", "finance", "helpdesk", "inventory", "kb", "notes", "rss"),
    *("scheduler", "config", "web"),
}


@shared
@modes
async def test_all_shared_tasks_are_read_written_and_identical_when_executed_again(mode: Mode) -> None:
    many = await played(SHARED, mode)
    assert len(many) == 40
    assert_all_are_sound(many)
    assert_every_writing_tool_writes_what_it_should(many)
    silent = unread(many)
    assert set(silent) == set(UNREADABLE[mode])
    assert all(UNREADABLE[mode][place] in reason for place, reason in silent.items())
    rows = {row.kind: row for row in table(many)}
    assert {kind for kind, row in rows.items() if row.writes} >= WRITERS
    assert {kind for kind, row in rows.items() if not row.reads and row.with_data} == {kind for _, kind in silent}


@shared
async def test_every_reading_tool_of_the_shared_tasks_is_tried() -> None:
    for one in await played(SHARED, "sane"):
        reading = [tool.name for tool in one.task.tools if tool.reads]
        assert {call.tool for call in one.calls} >= set(reading), one.task.id
        unavailable = [call.tool for call in one.calls if "not available" in call.reason or "sandbox" in call.reason]
        assert one.results[0].unavailable == tuple(dict.fromkeys(unavailable))


@shared
async def test_what_the_shared_tasks_cannot_have_here_says_why() -> None:
    many = await played(SHARED, "sane")
    refused = {(call.kind, call.tool) for one in many for call in one.calls if "not_available_here" in call.reason}
    assert refused == {
        ("web_real", "web_search"),
        ("web_real", "web_fetch"),
        ("documents", "documents_extract_text"),
        ("unrouted", "Bash"),
    }


@shared
async def test_a_shared_conversation_is_played_by_models(tmp_path: Path) -> None:
    """Whatever its language and its persona say: the frame is the same."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if is_persona(request):
            return completion("[DONE]" if "[Assistant]: The plan" in request["messages"][1]["content"] else "好的。")
        return completion("The plan" if "[user_agent]" in str(request["messages"]) else "问题？")

    log = MemoryLog()
    tasks = [task for task in load_tasks(SHARED)[0] if task.persona is not None]
    assert len(tasks) == 13
    async with ModelServer(answer).serving() as server, log.writing():
        for task in tasks:
            world = world_of(task)
            reach = {"url": server.url}
            coworkers = build_coworkers(world, "persona:loopback", reach)
            episode = await run_episode(Plan(world, build_agent("openai:loopback", reach), coworkers), log)
            assert (episode.status, episode.reason) == ("ended", "finished"), task.id
            assert [said.mark for said in sent(episode, "user")] == [None, None, DONE]
            assert (await verify(log, episode.id)).verdict == "identical"
