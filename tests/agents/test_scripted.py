"""Agents that follow steps: the oracle, traps and scripts."""

import msgspec
import pytest

from coworkenv.agents.agent import ActorError, Call, Message
from coworkenv.agents.building import build_agent
from coworkenv.agents.naming import UnknownName
from coworkenv.agents.scripted import Noop, Oracle, Script, ScriptStep, Trapped
from coworkenv.agents.steps import StepFailed
from coworkenv.events.event import ToolError
from coworkenv.worlds.document import parse
from tests.agents.stage import MINUTE, SECOND, Stage, world_of

DESK = """
environment: coworkenv/1
id: desk
clock: {start: 2026-03-03T09:00, zone: Europe/Berlin}
people:
  lena: {role: lead, opens: Please order what is low., otherwise: Hm.}
  tomas: {role: finance}
services:
  inv:
    collections: {items: {can: [find, get]}}
    records:
      items:
        - {id: K-1, low: true, price: 1.50, qty: 3}
        - {id: K-2, low: false, price: 2.00, qty: 4}
        - {id: K-3, low: true, price: 4.25, qty: 5}
  po:
    collections: {orders: {can: [find, create], fields: {id: {type: text, new: "PO-{n}"}, sku: {type: text}}}}
"""


def desk(oracle: str = "[]", traps: str = "{}"):
    return world_of(f"{DESK}\noracle: {oracle}\ntraps: {traps}\n")


def played(oracle: str, **stage) -> Stage:
    play = Stage(desk(oracle), **stage)
    assert play.play(Oracle()) is not None
    return play


def answering(**by_text: tuple[int, str, dict]):
    """People who answer a message that has this word, after so long."""

    def answer(sent):
        return [
            (after, Message(0, sent.to, text, 0, sent.seq, gives))
            for word, (after, text, gives) in by_text.items()
            if word in sent.text
        ]

    return answer


def test_values_flow_from_results_into_calls_and_texts():
    stage = played("""
      - {as: low, call: inv.items.find, args: {low: true}}
      - {call: po.orders.create, args: {sku: "@low[0].id"}}
      - {say: lena, text: "@{low[0].id} at @{low[0].price} comes to @{=@low[0].price * @low[0].qty}."}
    """)
    assert stage.called[1] == Call("po.orders.create", {"sku": "K-1"}, normal=True)
    assert stage.sent[0].text == "K-1 at 1.50 comes to 4.50."


def test_an_answer_is_the_reply_to_the_question_and_other_messages_wait_for_their_step():
    def answer(sent):
        other = Message(0, "tomas", "by the way", 0, None, {"note": 1})
        stray = Message(0, "lena", "not to that", 0, 99)
        reply = Message(0, "lena", "K-1", 0, sent.seq, {"sku": "K-1"})
        return [(1, other), (2, stray), (3, reply)]

    stage = played(
        """
      - {as: which, ask: lena, text: Which?}
      - {as: note, wait: tomas}
      - {as: late, wait: lena}
      - {say: tomas, text: "@{which.sku} @{which.text} @{note.note} @{late.text}"}
    """,
        people=answer,
    )
    assert stage.sent[-1].text == "K-1 K-1 1 not to that"


def test_the_request_is_no_answer_to_a_wait():
    stage = Stage(desk('[{as: m, wait: lena}, {say: lena, text: "@m.text"}]'))
    stage.arrive(5 * MINUTE, Message(7, "lena", "something new", 0))
    assert stage.play(Oracle()) is not None
    assert stage.sent[0].text == "something new"
    assert stage.sent[0].at == 5 * MINUTE


def test_waiting_ends_at_its_limit_with_null():
    stage = played("""
      - {as: reply, ask: tomas, text: Are you there?, limit: 30m}
      - {say: lena, text: Nobody answers., if: "@reply == null"}
      - {say: tomas, text: "@{reply.text}", if: "@reply.text"}
    """)
    assert [(sent.to, sent.at) for sent in stage.sent] == [("tomas", 0), ("lena", 30 * MINUTE)]


def test_a_late_reply_is_still_there_for_a_later_wait():
    stage = played(
        """
      - {as: reply, ask: tomas, text: Slow?, limit: 10m}
      - {as: late, wait: tomas}
      - {say: lena, text: "@{late.text}"}
    """,
        people=answering(Slow=(60 * MINUTE, "Here I am.", {})),
    )
    assert stage.sent[-1].text == "Here I am."


def test_a_step_for_each_item_has_a_list_as_its_value():
    stage = played("""
      - {as: items, call: inv.items.find, args: {}}
      - {as: made, call: po.orders.create, args: {sku: "=it.id"}, each: "@items", if: it.low}
      - {say: lena, text: "Ordered @{=join(each(where(@made as o, o != null) as o, o.sku), ' and ')}."}
    """)
    assert [call.args for call in stage.called[1:]] == [{"sku": "K-1"}, {"sku": "K-3"}]
    assert stage.sent[0].text == "Ordered K-1 and K-3."


def test_a_step_that_is_skipped_has_the_value_null_and_so_have_its_fields():
    stage = played("""
      - {as: a, call: inv.items.get, args: {id: K-1}, if: 1 > 2}
      - {as: b, calc: "@a.price == null and @a == null"}
      - {as: c, calc: it.id, each: "@a"}
      - {say: lena, text: "@{b} @{=len(@c)}"}
    """)
    assert stage.called == []
    assert stage.sent[0].text == "true 0"


def test_a_failed_call_has_the_value_null_and_the_next_step_decides():
    stage = played(
        """
      - {as: first, call: po.orders.create, args: {sku: K-1}}
      - {as: there, call: po.orders.find, args: {sku: K-1}, if: not @first}
      - {as: again, call: po.orders.create, args: {sku: K-1}, if: not @first and len(@there) == 0}
    """,
        errors={1: ToolError("server_error", "it failed")},
    )
    assert [call.tool for call in stage.called] == ["po.orders.create", "po.orders.find", "po.orders.create"]


def test_a_call_that_shall_come_back_later_is_made_again_then_and_not_for_ever():
    limited = ToolError("rate_limited", "later", retry_after=40 * SECOND)
    stage = played("[{as: x, call: inv.items.find}]", errors={1: limited, 2: limited})
    assert len(stage.called) == 3
    assert stage.now == 3 * stage.world.call + 80 * SECOND
    stage = played("[{as: x, call: inv.items.find}]", errors=dict.fromkeys(range(1, 99), limited))
    assert len(stage.called) == 5


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        ("[{as: a, calc: \"1 < 'x'\"}]", "step a"),
        ('[{calc: "1"}, {as: a, say: "@b.person", text: Hi}]', "no person `null`"),
        ("[{say: lina, text: Hi}]", "step number 1: there is no person `lina`"),
        ('[{as: a, calc: "it", each: "3"}]', "must give a list"),
        ('[{as: a, call: inv.items.get, args: {id: "=nothing"}}]', "nothing"),
    ],
)
def test_a_step_that_cannot_be_evaluated_ends_the_agent_and_says_which(oracle, message):
    world = msgspec.structs.replace(desk(), oracle=steps(oracle))
    with pytest.raises(StepFailed, match=message):
        Stage(world).play(Oracle())


def steps(text: str) -> tuple[ScriptStep, ...]:
    return msgspec.convert(parse(text), tuple[ScriptStep, ...])


# --- traps -------------------------------------------------------------------------------------------------

ORACLE = """
  - {as: low, call: inv.items.find, args: {low: true}}
  - {as: ok, ask: tomas, text: May I?}
  - {as: made, call: po.orders.create, args: {sku: "@low[0].id"}, if: "@ok.yes"}
  - {say: lena, text: "Ordered @{made.sku}, approved @{ok.yes}."}
"""


def trapped(trap: str) -> Stage:
    stage = Stage(desk(ORACLE, f"{{t: {{ceiling: 0, {trap}}}}}"), people=answering(May=(MINUTE, "Yes", {"yes": True})))
    stage.play(Trapped("t"))
    return stage


def test_without_a_trap_all_is_well():
    stage = trapped("drop: []")
    assert [call.args for call in stage.called] == [{"low": True}, {"sku": "K-1"}]
    assert stage.sent[-1].text == "Ordered K-1, approved true."


def test_a_dropped_step_is_not_done_and_its_value_is_null():
    stage = trapped("drop: [ok]")
    assert len(stage.called) == 1
    assert stage.sent[-1].text == "Ordered null, approved null."


def test_what_a_dropped_step_would_have_given_can_be_bound():
    stage = trapped("drop: [ok], bind: {ok.yes: true}")
    assert len(stage.called) == 2
    assert [sent.to for sent in stage.sent] == ["lena"]


def test_parts_of_steps_can_be_changed_or_removed():
    stage = trapped('drop: [ok], change: {made.if: null, made.args.sku: "=@low[1].id"}')
    assert stage.called[1].args == {"sku": "K-3"}


def test_a_step_can_be_repeated_and_steps_added_at_the_end():
    stage = trapped('repeat: [made], add: [{say: tomas, text: "Done: @{made.sku}"}]')
    assert [call.tool for call in stage.called[1:]] == ["po.orders.create"] * 2
    assert stage.sent[-1].text == "Done: K-1"


@pytest.mark.parametrize(
    ("trap", "message"),
    [
        ("drop: [okay]", "no step `okay`"),
        ("repeat: [nothing]", "no step `nothing`"),
        ("change: {maid.if: null}", "no step `maid`"),
        ("change: {made: null}", "whole step"),
        ("change: {made.args: 5}", "cannot be changed"),
        ("change: {made.arg: {}}", "cannot be changed"),
    ],
)
def test_a_trap_that_does_not_fit_its_oracle_is_refused(trap, message):
    with pytest.raises(ActorError, match=message):
        trapped(trap)


def test_a_trap_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(UnknownName, match=r"no trap `t-1`.*did you mean `t1`"):
        Stage(desk(ORACLE, "{t1: {ceiling: 0}}")).play(Trapped("t-1"))


# --- scripts -----------------------------------------------------------------------------------------------


def test_a_script_does_its_steps_and_finishes_with_its_own_words():
    script = Script(
        steps("""
      - {as: low, call: inv.items.find, args: {low: true}}
      - {say: lena, text: "Found @{low[1].id}."}
      - {finish: "Found @{=len(@low)} items."}
      - {say: lena, text: never said}
    """)
    )
    stage = Stage(desk())
    assert stage.play(script) == "Found 2 items."
    assert [sent.text for sent in stage.sent] == ["Found K-3."]


def test_a_script_is_rebuilt_from_its_specification_without_its_file(tmp_path):
    file = tmp_path / "script.yaml"
    file.write_text("[{as: x, call: inv.items.find, args: {price: 1.50}}, {wait: lena, limit: 5m}, {finish: done}]")
    script = build_agent(f"script:{file}")
    file.unlink()
    again = build_agent(msgspec.json.decode(msgspec.json.encode(script.specification)))
    for agent in (script, again):
        stage = Stage(desk())
        assert stage.play(agent) == "done"
        assert stage.now == stage.world.call + 5 * MINUTE
    assert again.specification["steps"][1] == {"wait": "lena", "limit": "5m"}


def test_doing_nothing_does_nothing():
    stage = Stage(desk())
    assert stage.play(Noop()) == ""
    assert (stage.called, stage.sent, stage.now) == ([], [], 0)


def test_calls_for_each_item_are_one_decision_and_those_left_out_are_null():
    stage = played("""
      - {as: low, call: inv.items.find, args: {low: true}}
      - {as: made, each: "[1, 2, 3]", if: it != 2, call: po.orders.create, args: {qty: =it}}
      - {say: lena, text: "@{=len(@made)} and @{=@made[1] == null}."}
    """)
    assert [call.args for call in stage.called[1:]] == [{"qty": 1}, {"qty": 3}]
    assert stage.sent[0].text == "3 and true."
