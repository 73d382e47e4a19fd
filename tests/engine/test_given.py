"""What an actor gives with an operation is looked at when it is given; what fails is seen by its author, and alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Answer, Call, Context, Outside, Price, Request
from coworkenv.engine import EpisodeError, Plan, play, rollout, verify
from coworkenv.engine.episode import run_episode
from coworkenv.events.codec import decode, encode
from coworkenv.events.event import ActorFailed, ActorFinished
from coworkenv.events.memory import MemoryLog

from .programs import Program, Receive, run, world

WORLD = world()
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.just(10**30), st.floats(), st.text(), st.binary(max_size=3),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(), st.integers(), max_size=2),
    st.just(Decimal("NaN")), st.just("\ud800"), st.just("ann"), st.just({1}), st.just(Call), st.builds(object),
)  # fmt: skip


async def answers(request: Request) -> Outside:
    return Outside(Answer("yes"))


async def nothing(request: Request) -> Any:
    return "yes"


async def too_many(request: Request) -> Outside:
    return Outside(Answer("yes", tokens=10**30))


class Acts:
    """An actor made of one function."""

    def __init__(self, act: Callable[[Context], Awaitable[Any]], specification: Any = None) -> None:
        self._act = act
        self.specification: Any = {"kind": "acts"} if specification is None else specification

    async def act(self, context: Context) -> Any:
        return await self._act(context)


OPERATIONS: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
    "receive": lambda context, junk: context.receive(timeout=junk),
    "receive_or_answers": lambda context, junk: context.receive_or_answers(timeout=junk),
    "sleep": lambda context, junk: context.sleep(junk),
    "to": lambda context, junk: context.send(junk, "Hello."),
    "text": lambda context, junk: context.send("ann", junk),
    "reply_to": lambda context, junk: context.send("ann", "Hello.", reply_to=junk),
    "gives": lambda context, junk: context.send("ann", "Hello.", gives=junk),
    "mark": lambda context, junk: context.send("ann", "Hello.", mark=junk),
    "call": lambda context, junk: context.call(junk),
    "tool": lambda context, junk: context.call(Call(junk)),
    "args": lambda context, junk: context.call(Call("store.boxes.find", junk)),
    "effect": lambda context, junk: context.effect(junk, answers),
    "kind": lambda context, junk: context.effect(Request(junk), answers),
    "prompt": lambda context, junk: context.effect(Request("model", junk), answers),
    "settings": lambda context, junk: context.effect(Request("model", (), junk), answers),
    "price": lambda context, junk: context.start(Request("model", price=Price(junk, 1)), answers),
    "perform": lambda context, junk: context.start(Request("model"), junk),
    "cancel": lambda context, junk: context.cancel(junk, "why"),
    "reason": lambda context, junk: context.cancel(0, junk),
    "cut": lambda context, junk: context.cut("why", junk, (1,)),
}


@given(st.sampled_from(sorted(OPERATIONS)), JUNK)
def test_whatever_is_given_the_stream_can_be_read_again_and_a_failure_says_why(name: str, junk: Any) -> None:
    async def act(context: Context) -> str:
        await OPERATIONS[name](context, junk)
        await context.sleep(1)
        return ""

    kernel = trio.run(run, WORLD, Acts(act), {"ann": Program([Receive()])})
    for event in kernel.events:
        encoded = encode(event)
        assert decode(encoded.data, {blob.digest: blob.content for blob in encoded.blobs}.__getitem__) == event
    for event in kernel.events:
        if isinstance(event.body, ActorFailed):
            assert event.body.error in ("BadOperation", "UnknownName", "NotJson")
            assert event.body.message
            assert "0x" not in event.body.message


@pytest.mark.parametrize(
    ("name", "junk", "says"),
    [
        ("receive", 1.5, "the timeout of a receive is 1.5; it must be a whole number of microseconds"),
        ("receive", True, "is True; it must be"),
        ("sleep", -1, "the duration of context.sleep() is -1; it must be a whole number of microseconds"),
        ("sleep", 10**30, "a hundred years"),
        ("to", "anne", "there is no person `anne` (did you mean `ann`?); there is ann, bob"),
        ("to", "agent", "there is no person `agent`"),
        ("text", 3, "the text of context.send() is 3; it must be a text"),
        ("reply_to", 0, "`reply_to` of context.send() is 0; it must be the `seq` of a message, or None"),
        ("call", "mail.find", "it must be a Call, such as"),
        ("tool", None, "the tool of a Call is None"),
        ("price", 0.5, "the base of a Price is 0.5"),
    ],
)
async def test_the_sentence_says_what_was_given_where_and_what_to_do(name: str, junk: Any, says: str) -> None:
    async def act(context: Context) -> str:
        await OPERATIONS[name](context, junk)
        return ""

    episode = await play(Plan(WORLD, Acts(act), {"ann": Program([Receive()])}))
    [failed] = [event.body for event in episode.events if isinstance(event.body, ActorFailed)]
    assert says in failed.message


async def test_coworkers_write_to_the_agent_and_to_each_other() -> None:
    async def act(context: Context) -> str:
        for other in ("agent", "bob"):
            await context.send(other, "Hello.")
        return ""

    kernel = await run(WORLD, Program([Receive()]), {"ann": Acts(act), "bob": Program([Receive()])})
    assert kernel.reason == "finished"


@pytest.mark.parametrize("summary", [None, 3, {"a": 1}])
async def test_a_summary_that_is_no_text_is_refused(summary: Any) -> None:
    async def act(context: Context) -> Any:
        return summary

    episode = await play(Plan(WORLD, Acts(act)))
    [failed] = [event.body for event in episode.events if isinstance(event.body, ActorFailed)]
    assert "what `act` of agent returned" in failed.message
    assert not any(isinstance(event.body, ActorFinished) for event in episode.events)


async def test_an_act_that_is_not_async_is_said_to_be_none() -> None:
    class Plain:
        specification: dict[str, Any] = {"kind": "plain"}  # noqa: RUF012 - the protocol wants a plain dictionary

        def act(self, context: Context) -> str:
            return "done"

    episode = await play(Plan(WORLD, Plain()))  # type: ignore[arg-type]
    [failed] = [event.body for event in episode.events if isinstance(event.body, ActorFailed)]
    assert "must be an `async def`" in failed.message


async def done(context: Context) -> str:
    return ""


@pytest.mark.parametrize(
    "specification", ["wild", [], {"name": "x"}, {"kind": 3}, {"kind": "a", "b": {1}}, {"kind": ""}]
)
async def test_a_specification_that_could_not_be_read_again_is_refused_before_play(specification: Any) -> None:
    for plan in (Plan(WORLD, Acts(done, specification)), Plan(WORLD, Acts(done), {"ann": Acts(done, specification)})):
        with pytest.raises(EpisodeError, match=r"the specification of (agent|ann)"):
            await play(plan)


# --- what its author sees ----------------------------------------------------------------------------------


async def divides(context: Context) -> str:
    await context.sleep(1)
    return str(1 // int(context.now - 1))


async def sleeps_for_real(context: Context) -> str:
    await trio.sleep(1)
    return ""


@pytest.mark.parametrize(("act", "says"), [(divides, "ZeroDivisionError"), (sleeps_for_real, "ForeignAwait")])
async def test_an_author_sees_where_their_agent_failed_and_the_log_s_events_do_not(act: Any, says: str) -> None:
    plan = Plan(WORLD, Acts(act))
    log = MemoryLog()
    async with log.writing():
        for _ in range(2):  # the second is the kept one
            episode = await run_episode(plan, log)
            assert episode.failure is not None
            assert says in episode.failure
            assert f"in {act.__name__}" in episode.failure
            assert __file__ in episode.failure
    assert (await play(plan)).failure is not None
    [failed] = [event for event in episode.events if isinstance(event.body, ActorFailed)]
    [seen] = log.observations(episode.id)
    assert (seen.seq, seen.name, seen.content.decode()) == (failed.seq, "traceback", episode.failure)
    assert __file__ not in str(episode.events)
    assert (await verify(log, episode.id)).verdict == "not executed"  # there is no agent `acts` to verify with


async def test_an_episode_that_goes_well_has_no_failure() -> None:
    assert (await play(Plan(WORLD, Acts(done)))).failure is None


# --- one bad agent among others ----------------------------------------------------------------------------


class Raises:
    """Fails where no actor is run yet."""

    @property
    def specification(self) -> dict[str, Any]:
        raise RuntimeError("not configured")

    async def act(self, context: Context) -> str:
        return ""


async def asks_for_nothing(context: Context) -> str:
    await context.effect(Request("model"), nothing)
    return ""


async def asks_for_too_much(context: Context) -> str:
    await context.effect(Request("model"), too_many)
    return ""


async def asks_what_breaks(context: Context) -> str:
    async def breaks(request: Request) -> Outside:
        raise KeyError("secret")

    await context.effect(Request("model"), breaks)
    return ""


async def leaves(context: Context) -> str:
    raise SystemExit(3)


async def test_one_bad_agent_takes_no_others_down() -> None:
    bad: list[Any] = [
        Raises(),
        Acts(done, {"no": "kind"}),
        Acts(asks_for_nothing, {"kind": "nothing"}),
        Acts(asks_for_too_much, {"kind": "much"}),
        Acts(asks_what_breaks, {"kind": "breaks"}),
    ]
    log = MemoryLog()
    async with log.writing():
        plans = [Plan(WORLD, agent) for agent in bad] + [
            Plan(WORLD, Acts(leaves, {"kind": "leaves"})),
            Plan(WORLD, Acts(done)),
        ]
        results = await rollout(plans, log, concurrency=2)
    assert [result.status for result in results] == ["error"] * 5 + ["ended"] * 2
    reasons = [result.reason for result in results]
    assert "not configured" in reasons[0]
    assert "kind" in reasons[1]
    assert "it must be an Outside" in reasons[2]
    assert "`tokens` of an Answer" in reasons[3]
    assert "KeyError" in reasons[4]
    assert reasons[5:] == ["failed", "finished"]
