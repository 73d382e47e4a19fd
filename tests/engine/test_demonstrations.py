"""Demonstrations: an oracle that acts as a model would, chats that are what the model was shown, and what is kept.

The chat of an accepted demonstration must be enough to do it again: a server that answers with its assistant messages,
one after the other, plays the same episode, event for event.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from coworkenv.agents.agent import Unavailable
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine import enacting
from coworkenv.engine.demonstrations import CALLS, Curator, Demonstration, line, oracle_calls, teachers, thinned
from coworkenv.engine.enacting import Enacted
from coworkenv.engine.episode import play, run_episode
from coworkenv.engine.plan import EpisodeError, Plan
from coworkenv.engine.replay import verify
from coworkenv.engine.rollouts import result_of, rollout
from coworkenv.engine.transcripts import Transcript, transcript
from coworkenv.events.event import EffectRequested, EffectResolved, EpisodeStarted, MessageReceived
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.checks.scoring import grade
from coworkenv.worlds.compiling import variants
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.world import World
from tests.loopback import ModelServer

EXAMPLES = Path(__file__).parents[2] / "worlds" / "examples"
WORLDS = {
    world.id: world for path in sorted(EXAMPLES.glob("*.yaml")) for world in variants(read_environment(path)).values()
}
REFUND = WORLDS["finance.refund/0007"]


def plan_of(world: World, trap: str | None = None, seed: int = 0) -> Plan:
    return Plan(world, Enacted(trap), build_coworkers(world), seed)


def happened(events):
    """All that the model's requests are not: these hold its name, and what it was shown is compared by itself."""
    return [
        msgspec.to_builtins(event)
        for event in events
        if not isinstance(event.body, (EpisodeStarted, EffectRequested, EffectResolved))
    ]


# --- the oracle as a model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
async def test_the_oracle_has_the_full_score_through_the_agent_of_a_model_too(name):
    world = WORLDS[name]
    episode = await play(plan_of(world))
    assert grade(world, episode.events).score == "1"
    calls = sum(event.type == "tool.called" for event in episode.events)
    assert calls <= CALLS * (await oracle_calls(world, 0))


async def test_what_the_oracle_hears_while_it_works_is_not_waited_for_again():
    world = WORLDS["office.late-change/0001"]
    episode = await play(plan_of(world))
    heard = [event for event in episode.events if isinstance(event.body, MessageReceived) and event.actor == "agent"]
    waits = [
        c for m in transcript(episode.events).decisions for c in m["tool_calls"] if c["function"]["name"] == "wait"
    ]
    assert len(waits) < len(heard)
    assert episode.reason == "finished"


async def test_a_trap_is_enacted_with_its_fault():
    scores = {trap: grade(REFUND, (await play(plan_of(REFUND, trap))).events).score for trap in REFUND.traps}
    assert min(map(float, scores.values())) == 0
    assert scores["pays-twice"] == "0"


@pytest.mark.parametrize("decision", range(12))
async def test_an_episode_that_was_suspended_at_any_decision_goes_on_as_if_it_had_not_been(decision, monkeypatch):
    whole = await play(plan_of(REFUND))
    decide, made = enacting._Lockstep.decide, []

    def failing(self):
        made.append(self)
        if len(made) == decision + 1:
            raise Unavailable("stopped here")
        return decide(self)

    monkeypatch.setattr(enacting._Lockstep, "decide", failing)
    log = MemoryLog()
    async with log.writing():
        assert (await run_episode(plan_of(REFUND), log)).status == "suspended"
        episode = await run_episode(plan_of(REFUND), log)
        assert list(episode.events) == list(whole.events)
        assert (await verify(log, episode.id)).verdict == "identical"


# --- chats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["finance.refund/0007", "operations.reorder/0113@not-applied", "office.late-change/0001"]
)
async def test_the_decisions_of_a_chat_fed_back_by_a_server_are_the_same_episode(name):
    world = WORLDS[name]
    episode = await play(plan_of(world))
    chat = transcript(episode.events)

    def answer(request):
        shown = request["messages"]
        assert shown == list(chat.messages[: len(shown)])
        assert request["tools"] == list(chat.tools)
        message = chat.messages[len(shown)]
        return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    async with ModelServer(answer).serving() as server:
        agent = build_agent("openai:student", {"url": server.url})
        again = await play(Plan(world, agent, build_coworkers(world)))
    assert len(server.requests) == len(chat.decisions)
    assert happened(again.events) == happened(episode.events)
    assert grade(world, again.events) == grade(world, episode.events)


async def test_a_chat_is_in_the_format_that_fine_tuning_takes():
    chat = transcript((await play(plan_of(REFUND))).events)
    assert [message["role"] for message in chat.messages[:2]] == ["system", "user"]
    open_calls: list[str] = []
    for message in chat.messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert not open_calls
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            open_calls.append(call["id"])
    names = {tool["function"]["name"] for tool in chat.tools}
    assert {call["function"]["name"] for message in chat.decisions for call in message["tool_calls"]} <= names
    assert chat.decisions[-1]["tool_calls"][0]["function"]["name"] == "finish"


async def test_an_episode_without_a_model_is_no_chat():
    events = (await play(Plan(REFUND, build_agent("oracle"), build_coworkers(REFUND)))).events
    with pytest.raises(EpisodeError, match="no model decided"):
        transcript(events)


# --- what is kept ------------------------------------------------------------------------------------------


async def judged(*plans: Plan):
    log, curator = MemoryLog(), Curator()
    async with log.writing():
        results = await rollout(plans, log)
        return [
            (await curator.judge(plan, result, list(log.read(result.id))))[0]
            for plan, result in zip(plans, results, strict=True)
        ]


async def test_of_the_same_decisions_in_the_same_environment_one_is_kept():
    twin = WORLDS["finance.refund/0007@refused"]
    first, again, other = await judged(plan_of(REFUND), plan_of(REFUND, seed=1), plan_of(twin))
    assert (first.reasons, again.reasons, other.reasons) == ((), ("duplicate",), ())
    assert (other.environment, other.variant) == ("finance.refund/0007", "refused")


async def test_what_is_rejected_says_why_and_which_checks_failed():
    [found] = await judged(plan_of(REFUND, "pays-twice"))
    assert found.reasons == ("trap", "score", "gate")
    assert "only-one" in found.failed


async def test_a_trap_is_no_example_even_where_its_guess_is_right():
    [found] = await judged(plan_of(WORLDS["finance.refund/0007@other-return"], "asks-for-all"))
    assert found.score == "1"
    assert found.reasons == ("trap",)


async def test_whoever_calls_far_more_often_than_the_oracle_is_no_example():
    plan = plan_of(REFUND)
    episode = await play(plan)
    limit = CALLS * (await oracle_calls(REFUND, 0))
    log = MemoryLog()
    async with log.writing():
        [result] = await rollout([plan], log)
    for calls, reasons in ((limit, ()), (limit + 1, ("calls",))):
        found, _ = await Curator().judge(plan, msgspec.structs.replace(result, calls=calls), episode.events)
        assert found.reasons == reasons


async def test_where_nobody_grades_nothing_is_an_example():
    plan = plan_of(REFUND)
    episode = await play(plan)
    found, _ = await Curator().judge(plan, result_of(plan, episode, None), episode.events)
    assert found.reasons == ("not graded",)


def test_only_those_through_whom_a_model_speaks_can_teach():
    assert [actor.name for actor in teachers("traps", {}, REFUND)] == [f"trap:{name}" for name in REFUND.traps]
    with pytest.raises(EpisodeError, match="no teacher"):
        teachers("noop", {}, REFUND)
    with pytest.raises(EpisodeError, match="did you mean `pays-twice`"):
        teachers("trap:pays-twise", {}, REFUND)


# --- demonstrations that teach -----------------------------------------------------------------------------


async def test_what_is_computed_is_said_before_it_is_used_and_only_from_what_was_seen():
    world = next(world for name, world in WORLDS.items() if "quote" in name)
    chat = transcript((await play(plan_of(world))).events)
    said = [(place, m["content"]) for place, m in enumerate(chat.messages) if m["role"] == "assistant" and m["content"]]
    assert said, "the quote has a sum"
    for place, text in said:
        sum_, _, result = text.rstrip(".").rpartition(" = ")
        before = json.dumps([m["content"] for m in chat.messages[:place]])
        for number in re.findall(r"\d+\.\d\d", sum_):
            assert number in before
        assert result in json.dumps(chat.messages[place]["tool_calls"] + list(chat.messages[place + 1 :]))


async def test_a_fork_makes_the_mistake_first_and_is_accepted_if_all_is_well_in_the_end():
    kept = []
    for world in WORLDS.values():
        curator = Curator()
        for fork in teachers("forks", {}, world):
            plan = Plan(world, fork, build_coworkers(world))
            log = MemoryLog()
            async with log.writing():
                [result] = await rollout([plan], log)
                demonstration, chat = await curator.judge(plan, result, list(log.read(result.id)))
            assert demonstration.teacher.startswith("fork:")
            mistake = list(chat.unlearnt)  # one step, which may take several decisions
            assert mistake == list(range(mistake[0], mistake[-1] + 1)) if mistake else True
            assert demonstration.accepted == (demonstration.score == "1" and not demonstration.reasons)
            if demonstration.accepted and chat.unlearnt:
                kept.append((demonstration, chat))
    assert kept
    for demonstration, chat in kept:
        line_ = json.loads(line(demonstration, chat))
        assert line_["unlearnt"] == list(chat.unlearnt)
        assert 0 <= chat.unlearnt[-1] < len(chat.decisions) - 1, "something comes after the mistake"


def test_at_most_one_demonstration_in_five_begins_with_a_mistake():
    def one(number: int, *unlearnt: int) -> tuple[Demonstration, Transcript]:
        shown = Demonstration(
            environment=f"e{number}",
            variant="",
            episode="",
            teacher="",
            seed=0,
            trial=0,
            score="1",
            calls=1,
            oracle_calls=1,
        )
        return shown, Transcript(messages=(), tools=(), unlearnt=unlearnt)

    given = [one(n) for n in range(8)] + [one(n, 0) for n in range(8, 20)]
    kept = thinned(given)
    assert [each.environment for each, _ in kept] == [each.environment for each, _ in given]
    accepted = [chat for each, chat in kept if each.accepted]
    assert sum(bool(chat.unlearnt) for chat in accepted) == 2
    assert len(accepted) == 10
    assert {reason for each, _ in kept for reason in each.reasons} == {"share"}
    assert thinned(given[:10]) == given[:10]
