"""Whole episodes with a model that refuses or makes no sense, and with a server that repeats the key it was sent."""

import gzip
import json

import msgspec
import pytest

from coworkenv.agents.building import BadSpecification, build_agent
from coworkenv.engine.episode import resume_episode, run_episode
from coworkenv.engine.replay import verify
from coworkenv.events.event import ActorFailed, ContextCut, EffectResolved, MessageSent, ToolCalled, ToolReturned
from coworkenv.events.exchange import export_episode
from coworkenv.events.sqlite import SqliteLog
from tests.engine.weather import DECISIONS, LENA, NAMED, Weather, bodies, plan_for, serving, stream
from tests.loopback import ModelServer, Reply, completion

KEY = "sk-never-to-be-written-down"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("COWORKENV_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


# --- refused -----------------------------------------------------------------------------------------------

REFUSED = {
    "a filter before the model": (
        [Reply({"error": {"code": "content_filter", "message": "SERVER"}}, 400)],
        "content_filter",
    ),
    "a filter behind the model": ([completion("SERVER", stop="content_filter")], "content_filter"),
    "no JSON, again and again": ([Reply(b"SERVER {")] * 3, "invalid_answer"),
    "no choices, again and again": ([Reply({"choices": [], "said": "SERVER"})] * 3, "invalid_answer"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refusal_is_an_answer_that_the_agent_lives_with_in_our_words(name):
    faults, kind = REFUSED[name]
    async with serving(Weather({2: faults})) as (server, log):
        episode = await run_episode(plan_for(server), log)
        assert episode.reason == "finished"
        [refused] = [body.refused for body in bodies(episode, EffectResolved) if body.refused is not None]
        assert refused.type == kind
        assert b"SERVER" not in b"".join(stream(log, episode))
        last = server.requests[-2]["messages"]
        assert refused.message in last[-1]["content"]
        assert (await verify(log, episode.id)).verdict == "identical"


async def test_a_prompt_that_is_too_long_for_the_server_becomes_shorter():
    def answer(request):
        if len(json.dumps(request)) > 6_000:
            return Reply({"error": {"message": "This model's maximum context length is 1234 tokens."}}, 400)
        looked = any(message["role"] == "tool" for message in request["messages"])
        return completion(calls=[("finish", {})] if looked else [("inv_items_find", {"id": "K-1"})])

    async with serving(answer) as (server, log):
        episode = await run_episode(plan_for(server), log)
        assert episode.reason == "finished"
        refused = [body.refused.type for body in bodies(episode, EffectResolved) if body.refused is not None]
        assert refused
        assert set(refused) == {"context_length"}
        assert bodies(episode, ContextCut)
        assert (await verify(log, episode.id)).verdict == "identical"


async def test_refusals_without_end_end_the_episode_and_nobody_asks_again():
    async with serving(lambda _: NAMED["no JSON"]) as (server, log):
        episode = await run_episode(plan_for(server), log)
        [failed] = bodies(episode, ActorFailed)
        assert (episode.status, episode.reason, failed.error) == ("ended", "failed", "GaveUp")
        asked = len(server.requests)
        assert await resume_episode(log, episode.id) == episode
        assert (await verify(log, episode.id)).verdict == "identical"
        assert len(server.requests) == asked


@pytest.mark.parametrize("fault", [completion("I cannot say 3.", stop="content_filter"), completion("Take 4 of K-1.")])
async def test_a_coworker_whose_model_refuses_or_says_something_else_uses_the_words_of_the_file(fault):
    async with serving(Weather({LENA: [fault]})) as (server, log):
        episode = await run_episode(plan_for(server), log)
        assert "Take 3 of K-1." in [body.text for body in bodies(episode, MessageSent)]


# --- answers that make no sense ----------------------------------------------------------------------------

SENSELESS = [
    ("inv_items_find", "{'id': K-1}", "not valid JSON"),
    ("inv_items_find", '{"id": "K-1"', "not valid JSON"),
    ("inv_items_find", '{"id": NaN}', "not valid JSON"),
    ("inv_items_find", "[1]", "error"),
    ("inv_items_find", '"K-1"', "error"),
    ("inv_items_fnid", "{}", "inv.items.find"),
    ("", "{}", "error"),
    ("wait", '{"minutes": "soon"}', "must be a number"),
    ("send_message", '{"to": "lina", "text": "Hi"}', "lena"),
    ("send_message", "7", "Nothing was sent"),
]


@pytest.mark.parametrize(("tool", "arguments", "told"), SENSELESS)
async def test_a_call_that_makes_no_sense_is_answered_and_the_model_goes_on(tool, arguments, told):
    def answer(request):
        if request["messages"][-1]["role"] == "tool":
            return completion(calls=[("finish", {})])
        return completion("", [(tool, arguments), ("inv_items_find", {"id": "K-2"})])

    async with serving(answer) as (server, log):
        episode = await run_episode(plan_for(server), log)
        assert episode.reason == "finished"
        results = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "tool"]
        assert told in results[0]
        assert len(results) == 2
        made = server.requests[-1]["messages"][-3]["tool_calls"]
        assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in made)
        assert len(bodies(episode, ToolCalled)) == len(bodies(episode, ToolReturned))
        assert (await verify(log, episode.id)).verdict == "identical"


async def test_empty_text_again_and_again_ends_the_agent():
    async with serving(lambda _: completion("  ")) as (server, log):
        episode = await run_episode(plan_for(server), log)
        assert episode.reason == "failed"
        assert len(server.requests) == 3


# --- the key -----------------------------------------------------------------------------------------------


def everything(log, path, episode):
    """All bytes that a log holds, as they are and unpacked, and those of an export."""
    file = path / "export.gz"
    with file.open("wb") as out:
        export_episode(log, episode, out)
    texts = [gzip.decompress(file.read_bytes()), *(part.read_bytes() for part in path.iterdir())]
    for row in log.rows():
        texts += [msgspec.json.encode(row), *stream(log, row)]
        texts += [msgspec.json.encode(msgspec.to_builtins(event)) for event in log.read(row.id)]
        texts += [seen.content for seen in log.observations(row.id)]
    return texts


ECHOES = {
    "passing": lambda said: [Reply({"error": {"message": said}}, 500), Reply(said.encode(), 429)],
    "lasting": lambda said: [Reply({"error": {"message": said}}, 401)],
    "refusing": lambda said: [Reply({"error": {"code": "content_filter", "message": said}}, 400)],
    "refusing under 200": lambda said: [completion(said, stop="content_filter")],
    "unreadable": lambda said: [Reply(said.encode())] * 3,
    "answering": lambda said: [{**DECISIONS[2], "debug": {"headers": {"authorization": said}}}],
    "speaking": lambda said: [completion(said, [("inv_items_find", {"id": said})])],
}


@pytest.mark.parametrize("name", ECHOES)
async def test_a_key_that_the_server_repeats_is_written_down_nowhere(name, tmp_path):
    said = f"You sent Authorization: Bearer {KEY}. " + "x" * 20_000
    log = SqliteLog(tmp_path / "log.db", create=True)
    async with ModelServer(Weather({2: ECHOES[name](said)})).serving() as server, log.writing():
        episode = await run_episode(plan_for(server), log)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
        assert all(KEY.encode() not in text for text in everything(log, tmp_path, episode.id))
        assert KEY not in log.row(episode.id).reason
    log.close()


@pytest.mark.parametrize("url", [f"http://me:{KEY}@127.0.0.1:9/v1", f"http://127.0.0.1:9/v1?key={KEY}"])
@pytest.mark.parametrize("option", [True, False])
def test_a_key_in_the_base_url_is_refused_without_repeating_it(url, option, monkeypatch):
    monkeypatch.setenv("COWORKENV_BASE_URL", "" if option else url)
    with pytest.raises(BadSpecification, match="OPENAI_API_KEY") as caught:
        build_agent("openai:m", {"url": url} if option else {})
    assert KEY not in str(caught.value)
