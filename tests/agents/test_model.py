"""An agent that a chat model plays: what it is shown, what its answers do, and when it ends."""

import json
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Answer, Call, Interrupted, Message, Price
from coworkenv.agents.building import build_agent
from coworkenv.agents.model import GaveUp, ModelAgent, ModelOptions
from coworkenv.agents.persona import ASIDE, DONE
from coworkenv.agents.prompts import NAME_LIMIT, wire_name, wire_names
from coworkenv.events.event import Event, MessageReceived, MessageSent, Refused, ToolCalled, ToolError, ToolReturned
from coworkenv.worlds.world import Persona
from tests.agents.stage import MINUTE, SECOND, Stage, nobody, says, world_of

DESK = """
environment: coworkenv/1
id: desk
clock: {start: 2026-03-03T09:00, zone: Europe/Berlin}
people:
  lena: {role: lead, opens: Please order K-1., otherwise: Hm.}
  tomas: {role: finance, otherwise: Hm.}
services:
  inv:
    collections: {items: {can: [find, get, create]}}
    records: {items: [{id: K-1, price: 1.50}]}
"""


def options(**more) -> ModelOptions:
    return ModelOptions(model="m", **more)


AGENT = ModelAgent(options(), nobody)


def desk(**changes):
    return msgspec.structs.replace(world_of(DESK), **changes)


def prompt(stage: Stage, number: int = -1):
    return list(stage.requests[number].prompt)


def said(stage: Stage, number: int = -1) -> list[str]:
    """The contents of a prompt's messages after tools and instructions."""
    return [message["content"] for message in prompt(stage, number)[2:]]


# --- what it is shown --------------------------------------------------------------------------------------


def test_the_first_prompt_says_who_when_and_what():
    stage = Stage(desk(), answers=[says("", ("finish", {"summary": "ok"}))])
    assert stage.play(AGENT) == "ok"
    tools, system, request = prompt(stage)
    names = [tool["function"]["name"] for tool in tools["tools"]]
    assert names == ["send_message", "wait", "finish", "inv_items_find", "inv_items_get", "inv_items_create"]
    assert "Tuesday 2026-03-03 09:00 (Europe/Berlin)" in system["content"]
    assert "- lena: lead\n- tomas: finance" in system["content"]
    assert request["content"] == "[Tuesday 2026-03-03 09:00, message 1 from lena (lead)]\nPlease order K-1."


def test_settings_and_price_are_those_of_the_options():
    agent = ModelAgent(
        options(temperature=Decimal("0.5"), max_tokens=9, seed=3, extra={"top_k": 1}, base="1s", per_token="5ms"),
        nobody,
    )
    stage = Stage(desk(), answers=[says("", ("finish", {}))])
    stage.play(agent)
    [request] = stage.requests
    assert request.kind == "model"
    assert request.settings == {"model": "m", "temperature": Decimal("0.5"), "max_tokens": 9, "seed": 3, "top_k": 1}
    assert request.price == Price(1 * SECOND, 5_000)


def test_calls_reach_services_under_their_own_names_and_results_come_back_in_order():
    stage = Stage(
        desk(),
        answers=[
            says("Looking.", ("inv_items_get", {"id": "K-1"}), ("inv_items_get", {"id": "K-9"}), ("invented.tool", {})),
            says("", ("finish", {"summary": "done"})),
        ],
    )
    stage.play(AGENT)
    assert stage.called == [
        Call("inv.items.get", {"id": "K-1"}),
        Call("inv.items.get", {"id": "K-9"}),
        Call("invented.tool", {}),
    ]
    assistant, *results = prompt(stage)[3:]
    assert assistant["content"] == "Looking."
    assert [call["function"] for call in assistant["tool_calls"]] == [
        {"name": "inv_items_get", "arguments": '{"id":"K-1"}'},
        {"name": "inv_items_get", "arguments": '{"id":"K-9"}'},
        {"name": "invented_tool", "arguments": "{}"},
    ]
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in assistant["tool_calls"]]
    assert results[0]["content"] == '{"id":"K-1","price":1.50}'
    assert json.loads(results[1]["content"])["error"]["type"] == "not_found"
    assert "unknown_tool" in results[2]["content"]


def test_an_error_says_when_to_come_back_and_what_the_service_said():
    errors = {
        1: ToolError("rate_limited", "later", retry_after=1_500_000),
        2: ToolError("http", "not found", detail={"detail": "Not Found"}),
        3: ToolError("http", "crashed", detail="Internal Server Error"),
    }
    calls = [("inv_items_find", {})] * 3
    stage = Stage(desk(), answers=[says("", *calls), says("", ("finish", {}))], errors=errors)
    stage.play(AGENT)
    assert said(stage)[-3:] == [
        '{"error":{"type":"rate_limited","message":"later","retry_after_seconds":2}}',
        '{"detail":"Not Found"}',
        "Internal Server Error",
    ]


def test_arguments_that_could_not_be_read_are_answered_with_the_error_and_reach_no_service():
    answer = says("", ("inv_items_find", None))
    answer.value["calls"][0]["error"] = "The arguments are not valid JSON."
    stage = Stage(desk(), answers=[answer, says("", ("finish", {}))])
    stage.play(AGENT)
    assert stage.called == []
    assert said(stage)[-1] == "The arguments are not valid JSON."


@given(st.lists(st.text(alphabet="ab._-é", max_size=70), unique=True, max_size=8))
def test_names_on_the_wire_are_allowed_and_mean_one_tool_each(names):
    wire = wire_names(names)
    assert list(wire.values()) == names
    for name in wire:
        assert 0 < len(name) <= NAME_LIMIT
        assert all(c.isascii() and (c.isalnum() or c in "_-") for c in name)


def test_names_that_would_be_the_same_get_a_number():
    assert wire_names(["a.b", "a_b", "a-b", "a b"]) == {"a_b": "a.b", "a_b_2": "a_b", "a-b": "a-b", "a_b_3": "a b"}
    assert wire_name("") == "unnamed"


# --- messages and waiting ----------------------------------------------------------------------------------


def test_messages_are_sent_to_people_with_what_they_answer():
    stage = Stage(
        desk(),
        answers=[
            says("", ("send_message", {"to": "tomas", "text": "May I?", "reply_to": 1})),
            says("", ("send_message", {"to": "thomas", "text": "Hi"}), ("send_message", {"to": "lena", "text": ""})),
            says("", ("send_message", "nonsense"), ("finish", {"summary": 5})),
        ],
    )
    assert stage.play(AGENT) == ""
    [sent] = stage.sent
    assert (sent.to, sent.text, sent.reply_to) == ("tomas", "May I?", 1)
    assert said(stage, 1)[-1] == f"Message {sent.seq} is sent."
    assert "must be one of lena, tomas (did you mean `tomas`?)" in said(stage, 2)[-2]
    assert "`text` must be the message" in said(stage, 2)[-1]


def test_calls_to_services_and_messages_keep_their_order():
    stage = Stage(
        desk(),
        answers=[
            says(
                "",
                ("inv_items_find", {}),
                ("send_message", {"to": "lena", "text": "One moment."}),
                ("inv_items_get", {"id": "K-1"}),
                ("finish", {"summary": "ok"}),
                ("inv_items_create", {"id": "K-2"}),
            )
        ],
    )
    assert stage.play(AGENT) == "ok"
    assert [call.tool for call in stage.called] == ["inv.items.find", "inv.items.get"]
    assert stage.sent[0].at == stage.requests[0].price.of(50) + stage.world.call


def test_waiting_ends_with_a_message_or_at_its_time_and_messages_stand_behind_the_results():
    stage = Stage(
        desk(),
        answers=[
            says("", ("wait", {"minutes": 5})),
            says("", ("wait", {}), ("inv_items_find", {})),
            says("", ("finish", {})),
        ],
    )
    stage.arrive(30 * MINUTE, Message(7, "tomas", "Here I am.", 0, reply_to=3))
    stage.play(AGENT)
    assert said(stage, 1)[-1] == "It is Tuesday 2026-03-03 09:05. No message has arrived."
    arrived, found, message = said(stage, 2)[-3:]
    assert arrived == "It is Tuesday 2026-03-03 09:30. A message has arrived."
    assert "K-1" in found
    assert message == (
        "[Tuesday 2026-03-03 09:30, message 7 from tomas (finance), in reply to your message 3]\nHere I am."
    )
    assert stage.waits[1:] == [5 * MINUTE, None]


@pytest.mark.parametrize("minutes", [0, -1, "5", True, 10**30, [1]])
def test_a_wait_of_no_sensible_length_is_an_error(minutes):
    stage = Stage(desk(), answers=[says("", ("wait", {"minutes": minutes})), says("", ("finish", {}))])
    stage.play(AGENT)
    assert "must be a number" in said(stage)[-1]


def test_what_arrives_while_it_works_is_shown_at_the_next_decision():
    stage = Stage(desk(), answers=[says("", ("inv_items_find", {})), says("", ("finish", {}))])
    stage.arrive(10 * SECOND, Message(9, "lena", "Never mind.", 0))
    stage.play(AGENT)
    assert said(stage)[-1].endswith("message 9 from lena (lead)]\nNever mind.")


# --- plain text --------------------------------------------------------------------------------------------


def test_plain_text_is_sent_to_whoever_asked_and_then_a_message_is_awaited():
    def people(sent):
        return [(MINUTE, Message(9, "lena", "K-1, please.", 0, sent.seq))]

    stage = Stage(desk(), people=people, answers=[says("Which one?"), says("", ("finish", {}))])
    stage.play(AGENT)
    assert (stage.sent[0].to, stage.sent[0].text) == ("lena", "Which one?")
    assert said(stage)[1] == "Which one?"
    assert said(stage)[2].endswith("K-1, please.")


def test_plain_text_that_nobody_answers_is_the_end_of_all_events():
    assert Stage(desk(), answers=[says("Done.")]).play(AGENT) is None


def test_plain_text_can_finish():
    stage = Stage(desk(on_text="finish", talks=False), answers=[says("All done.")])
    assert stage.play(AGENT) == "All done."
    assert stage.sent == []
    assert [message["content"] for message in prompt(stage)[2:]] == ["Please order K-1."]
    assert "send_message" not in str(prompt(stage)[0])


def test_empty_answers_are_remarked_on_and_not_for_ever():
    stage = Stage(desk(), answers=[says(), says(), says("", ("finish", {"summary": "ok"}))])
    assert stage.play(AGENT) == "ok"
    with pytest.raises(GaveUp, match="3 times in a row"):
        Stage(desk(), answering=lambda request: says()).play(AGENT)


def clinic(rounds: int, **stage) -> Stage:
    persona = Persona("secret", "en", rounds, "Ask before you answer.")
    people = {"lena": world_of(DESK).people["lena"]}
    world = desk(on_text="round", talks=False, people=people, personas={"lena": persona})
    return Stage(world, **stage)


def answers_each_text(*texts: str):
    waiting = list(texts)

    def people(sent):
        if sent.mark == ASIDE or not waiting:
            return []
        text = waiting.pop(0)
        return [(MINUTE, Message(0, "lena", text, 0, sent.seq, mark=None if text else DONE))]

    return people


def test_rounds_with_a_persona_go_on_until_they_are_done():
    stage = clinic(8, people=answers_each_text("Since Monday.", ""), answers=[says("Since when?"), says("Take tea.")])
    assert stage.play(AGENT) == "Take tea."
    assert said(stage) == ["Please order K-1.", "Since when?", "[user_agent]\nSince Monday."]
    assert prompt(stage)[1]["content"].endswith("Ask before you answer.")
    assert "secret" not in str(stage.requests)


def test_after_the_last_round_the_next_text_ends():
    stage = clinic(1, people=answers_each_text("Since Monday."), answers=[says("Since when?"), says("Take tea.")])
    assert stage.play(AGENT) == "Take tea."
    assert [sent.text for sent in stage.sent] == ["Since when?"]


def test_whoever_takes_over_has_only_the_rounds_that_are_left():
    past = [Event(2, 0, "agent", 1, MessageSent(to="lena", text="Since when?"))]
    stage = clinic(1, past=past, answers=[says("Take tea.")])
    assert stage.play(AGENT) == "Take tea."
    assert stage.sent == []


def test_what_is_said_beside_calls_is_heard_by_the_persona_and_not_answered():
    stage = clinic(
        2,
        people=answers_each_text("Since Monday.", ""),
        answers=[says("Let me look.", ("inv_items_find", {})), says("Since when?"), says("Take tea.")],
    )
    assert stage.play(AGENT) == "Take tea."
    assert [(sent.text, sent.mark) for sent in stage.sent] == [
        ("Let me look.", ASIDE),
        ("Since when?", None),
        ("Take tea.", None),
    ]


def test_without_anybody_to_answer_a_round_is_the_end():
    stage = Stage(desk(on_text="round", people={}), answers=[says("Hello?")])
    assert stage.play(AGENT) == "Hello?"


# --- interruptions and refusals ----------------------------------------------------------------------------


def test_an_interrupted_thought_is_thought_again_with_the_message_in_view():
    agent = ModelAgent(options(interruptible=True), nobody)
    stage = Stage(desk(), answers=[Interrupted(), says("", ("finish", {}))])
    stage.arrive(SECOND, Message(9, "lena", "Stop!", 0))
    original = stage.effect

    async def effect(request, perform, *, interruptible=False):
        assert interruptible
        stage.now += SECOND
        return await original(request, perform, interruptible=interruptible)

    stage.effect = effect  # type: ignore[method-assign]
    stage.play(agent)
    assert len(stage.requests) == 2
    assert said(stage)[-1].endswith("Stop!")


def test_a_thought_that_was_cut_is_shown_as_far_as_it_got_and_does_nothing():
    cut = says("I think that", ("inv_items_create", {"id": "K-2"}), stop="interrupted", paid=3)
    stage = Stage(desk(), answers=[cut, says("", ("finish", {}))])
    stage.play(AGENT)
    assert stage.called == []
    assert prompt(stage)[3] == {"role": "assistant", "content": "I think that"}
    assert "interrupted" in said(stage)[-1]


def refused(kind: str) -> Answer:
    return Answer(refused=Refused(kind, "It was refused."))


def test_a_prompt_that_is_too_long_is_made_shorter_and_the_cut_is_in_the_log():
    agent = ModelAgent(options(context=50_000, result=50_000), nobody)
    world = desk()
    long = says("", ("inv_items_create", {"id": "K-2", "price": "x" * 100_000}), ("inv_items_find", {}))
    stage = Stage(world, answers=[long, refused("context_length"), refused("context_length"), says("", ("finish", {}))])
    stage.play(agent)
    sizes = [len(str(request.prompt)) for request in stage.requests[1:]]
    assert sizes[0] > sizes[1] > sizes[2]
    assert stage.cuts
    assert all(messages or shortened for messages, shortened in stage.cuts)


def test_a_prompt_that_is_always_too_long_ends_politely():
    with pytest.raises(GaveUp, match="too long for the model"):
        Stage(desk(), answering=lambda request: refused("context_length")).play(AGENT)


def test_a_refusal_is_told_to_the_model_and_ends_after_three_in_a_row():
    stage = Stage(desk(), answers=[refused("content_filter"), says("", ("finish", {}))])
    stage.play(AGENT)
    assert "It was refused." in said(stage)[-1]
    with pytest.raises(GaveUp, match="It was refused"):
        Stage(desk(), answering=lambda request: refused("invalid_answer")).play(AGENT)


def test_a_result_of_870_kb_is_survived_and_the_cut_reported_once():
    huge = says("", ("inv_items_create", {"id": "K-2", "price": 1, "note": "x"}), ("inv_items_find", {}))
    stage = Stage(desk(), answers=[huge, says("", ("wait", {"minutes": 1})), says("", ("finish", {}))])
    original = stage._outcome

    def outcome(call):
        found = original(call)
        return msgspec.structs.replace(found, result="漢" * 290_000) if call.tool == "inv.items.find" else found

    stage._outcome = outcome  # type: ignore[method-assign]
    stage.play(AGENT)
    assert len(stage.cuts) == 1
    assert len(said(stage, 1)[-1].encode()) < 45_000


# --- taking over, and being rebuilt ------------------------------------------------------------------------


def test_whoever_takes_over_is_told_what_was_done():
    past = [
        Event(2, 0, "agent", 1, MessageReceived(message=1)),
        Event(3, 0, "agent", 2, ToolCalled(tool="inv.items.get", args={"id": "K-1"})),
        Event(4, 1, "agent", 3, ToolReturned(call=3, result={"id": "K-1"})),
        Event(5, 1, "agent", 4, MessageSent(to="tomas", text="May I?" + "x" * 9000)),
    ]
    stage = Stage(desk(), past=past, answers=[says("", ("finish", {}))])
    stage.play(AGENT)
    handed_over = said(stage)[-1]
    assert (
        'Called inv_items_get with {"id":"K-1"}\nIt returned {"id":"K-1"}\nWrote message 5 to tomas: May I?'
        in handed_over
    )
    assert len(handed_over) < 3000


@given(
    temperature=st.none() | st.decimals(0, 2, places=2),
    seed=st.none() | st.integers(0, 99),
    interruptible=st.booleans(),
    context=st.integers(1000, 10**6),
    extra=st.dictionaries(st.sampled_from(["top_k", "stop"]), st.integers()),
)
def test_its_specification_rebuilds_it(**chosen):
    agent = build_agent("openai:m", {name: value for name, value in chosen.items() if value is not None})
    logged = msgspec.json.Encoder(decimal_format="number").encode(agent.specification)
    again = build_agent(msgspec.json.Decoder(float_hook=Decimal).decode(logged))
    assert again.specification == agent.specification
    assert not any(isinstance(value, float) for value in agent.specification.values())


# --- in brief --------------------------------------------------------------------------------------------------


def brief(world=None, **more) -> Stage:
    """A stage on which an agent with short wording waits, is written to twice, and ends."""
    replies = [(90 * SECOND, Message(7, "lena", "Take 3.", 90 * SECOND, reply_to=4))]
    replies.append((3000 * MINUTE, Message(9, "tomas", "Late.", 3000 * MINUTE)))
    answers = [says("", ("send_message", {"to": "lena", "text": "How many?"})), says("", ("wait", {}))]
    answers += [says("", ("wait", {})), says("", ("finish", {"summary": "ok"}))]
    stage = Stage(world or desk(), answers=answers, people=lambda sent: replies)
    stage.play(ModelAgent(options(wording="brief", **more), nobody))
    return stage


def test_in_brief_it_is_told_who_when_and_what_and_nothing_else():
    tools, system, request = prompt(brief(), 0)
    now = "It is Tuesday 2026-03-03 09:00 (Europe/Berlin)."
    assert system["content"] == f"You are a coworker. {now}\nPeople: lena (lead); tomas (finance)"
    assert request["content"].startswith("[09:00 #")
    assert request["content"].endswith(" lena]\nPlease order K-1.")
    assert [tool["function"]["name"] for tool in tools["tools"]][:3] == ["send_message", "wait", "finish"]


def test_in_brief_the_day_is_told_once_it_is_another():
    heard = [message["content"] for message in prompt(brief()) if message.get("role") == "user"]
    assert "[09:01 #7 lena re #4]\nTake 3." in heard
    assert "[Thursday 2026-03-05 11:00 #9 tomas]\nLate." in heard
    waited = [message["content"] for message in prompt(brief()) if message.get("role") == "tool"]
    assert "It is 09:01. A message has arrived." in waited
    assert "It is Thursday 2026-03-05 11:00. A message has arrived." in waited


def test_brief_wording_stands_in_the_specification_and_long_wording_is_none():
    """So that the digests of logs from before it are what they were."""
    specification = ModelAgent(options(wording="brief"), nobody).specification
    assert specification["wording"] == "brief"
    assert build_agent(specification).specification == specification
    assert "wording" not in AGENT.specification


def test_another_wording_is_refused():
    with pytest.raises(msgspec.ValidationError, match="wording"):
        msgspec.convert({"model": "m", "wording": "loud"}, ModelOptions)
