"""What a coworker decides: which replies a message gets, when, and what is kept back."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.coworker import Decision, Mind, Planned, due, hear, next_due, rulebook, wake
from coworkenv.worlds.environment import Person, Reply, Words

MINUTE = 60_000_000


class Talk:
    """A conversation with one person."""

    def __init__(self, *replies: Reply, otherwise: str | None = None, reached: Sequence[str] = ()) -> None:
        self.book = rulebook(Person(replies=replies, otherwise=otherwise, after="30s"))
        self.mind = Mind()
        self.reached = list(reached)
        self.seq = 0

    def hears(self, text: str, at: int = 0) -> Decision:
        self.seq += 1
        self.mind, decision = hear(self.book, self.mind, text, "agent", self.seq, at, self.reached.__contains__)
        return decision

    def passes(self, until: int = 10**12) -> tuple[Planned, ...]:
        self.mind, sent = due(self.mind, until)
        self.reached += [reply.mark for reply in sent if reply.mark is not None]
        return sent

    def answer(self, text: str) -> str:
        """What is said in the end, if nothing else comes between."""
        self.hears(text)
        return " | ".join(reply.text for reply in self.passes())


ORDER = Reply(name="order", any=("which", "order"), say="It is O-1.", gives={"order": "O-1"}, after="4m")
RMA = Reply(name="rma", any=("rma", "return"), say="RMA-7.", gives={"rma": "RMA-7"}, after="3m")
APPROVAL = Reply(name="yes", all=("O-1", 165), say="Approved.", gives={"ok": True}, mark="approved", after="55m")


def test_a_rule_needs_one_word_of_any_and_all_of_all():
    talk = Talk(Reply(any=("may", "can"), all=("O-1", 165), say="Yes."), otherwise="Which, and how much?")
    assert talk.answer("May I refund €165.00 on o-1?") == "Yes."
    assert talk.answer("May I refund O-1?") == "Which, and how much?"
    assert talk.answer("Refund €165.00 on O-1?") == "Which, and how much?"
    assert talk.answer("May I refund 165 on O-11?") == "Which, and how much?"


def test_all_rules_that_match_give_one_reply_after_the_slowest():
    talk = Talk(RMA, ORDER)
    decision = talk.hears("Which order, and which RMA?", at=MINUTE)
    assert [(reply.text, reply.due, reply.reply_to, reply.to) for reply in decision.replies] == [
        ("RMA-7. It is O-1.", 5 * MINUTE, 1, "agent")
    ]
    assert decision.replies[0].gives == {"rma": "RMA-7", "order": "O-1"}
    assert talk.passes(5 * MINUTE - 1) == ()
    assert talk.passes(5 * MINUTE) == decision.replies
    assert talk.passes() == ()


def test_others_can_be_answered_while_a_slow_reply_is_on_its_way():
    talk = Talk(APPROVAL, Reply(any=("lunch",), say="At noon.", after="1m"))
    talk.hears("O-1 for 165?")
    talk.hears("When is lunch?")
    assert next_due(talk.mind) == MINUTE
    assert [reply.text for reply in talk.passes(MINUTE)] == ["At noon."]
    assert [reply.mark for reply in talk.passes(55 * MINUTE)] == ["approved"]


def test_only_a_rule_that_cancels_withdraws_a_reply():
    stop = Reply(any=("stop",), say="Fine, I drop it.", cancels=("yes",))
    talk = Talk(APPROVAL, stop)
    waiting = talk.hears("O-1 for 165?").replies[0]
    assert talk.hears("hello").withdrawn == ()
    decision = talk.hears("Please stop")
    assert decision.withdrawn == (waiting.id,)
    assert [reply.text for reply in talk.passes()] == ["Fine, I drop it."]


def test_of_a_joined_reply_only_the_named_part_is_withdrawn():
    talk = Talk(ORDER, RMA, Reply(any=("forget",), cancels=("order",)))
    first = talk.hears("Which order? And the RMA?").replies[0]
    decision = talk.hears("Forget that", at=MINUTE)
    assert decision.withdrawn == (first.id,)
    (left,) = talk.passes()
    assert (left.text, left.gives, left.due, left.reply_to) == ("RMA-7.", {"rma": "RMA-7"}, first.due, 1)
    assert decision.replies == (left,)
    assert left.id != first.id


def test_a_message_has_room_for_one_milestone():
    """Two milestones are two messages, so that none is lost."""
    talk = Talk(APPROVAL, Reply(any=("O-1",), say="Noted.", mark="noted", after="1m"))
    decision = talk.hears("O-1 for 165")
    assert [(reply.text, reply.mark, reply.due) for reply in decision.replies] == [
        ("Approved.", "approved", 55 * MINUTE),
        ("Noted.", "noted", 55 * MINUTE),
    ]


def test_fishing_opens_no_fact_that_needs_a_specific_question():
    secret = Reply(any=("code",), say="It is 77.", gives={"code": 77}, tells="on_specific_ask")
    talk = Talk(secret, ORDER, RMA, otherwise="Pardon?")
    assert talk.answer("The code?") == "It is 77."
    assert talk.answer("The code and the order?") == "It is 77. It is O-1."
    assert talk.answer("Code, order, return?") == "It is O-1. RMA-7."


def test_what_is_never_told_is_declined_without_slots():
    talk = Talk(Reply(any=("salary",), say="I will not say.", gives={"salary": 5}, mark="told", tells="never"))
    (reply,) = talk.hears("What salary?").replies
    assert (reply.text, reply.gives, reply.mark) == ("I will not say.", {}, None)


def test_the_absent_stay_silent_even_where_there_is_an_otherwise():
    talk = Talk(Reply(any=("budget",), tells="absent"), ORDER, otherwise="Thanks!")
    assert talk.hears("The budget?") == Decision()
    assert talk.answer("The budget of the order?") == "It is O-1."
    assert talk.answer("Hello") == "Thanks!"


def test_otherwise_comes_after_its_own_time():
    talk = Talk(ORDER, otherwise="Thanks!")
    assert [(reply.text, reply.due) for reply in talk.hears("Hello", at=5).replies] == [("Thanks!", 30_000_005)]
    assert Talk(ORDER).hears("Hello") == Decision()


def test_a_wrong_first_version_holds_until_it_is_doubted():
    room = Reply(
        any=("room",),
        say="Sorry, room 5.",
        gives={"room": 5},
        tells="wrong_until_challenged",
        first=Words(say="Room 4.", gives={"room": 4}),
        challenge=("sure", "calendar"),
    )
    talk = Talk(room, otherwise="Hm?")
    assert talk.answer("Are you sure?") == "Hm?"
    assert talk.answer("Which room? Sure?") == "Room 4."
    assert talk.answer("Which room was that again?") == "Room 4."
    assert talk.answer("The calendar says otherwise.") == "Sorry, room 5."
    (reply,) = talk.hears("So which room?").replies
    assert reply.gives == {"room": 5}


def test_a_doubt_is_answered_although_the_wrong_version_was_to_be_said_once():
    room = Reply(
        any=("room",), say="5.", tells="wrong_until_challenged", first=Words(say="4."), challenge=("sure",), once=True
    )
    talk = Talk(room, otherwise="Hm?")
    assert [talk.answer(text) for text in ("Which room?", "Which room?", "Sure?", "Sure?")] == [
        "4.",
        "Hm?",
        "5.",
        "Hm?",
    ]


def test_nobody_doubts_what_they_have_not_heard_yet():
    room = Reply(
        any=("room",),
        say="5.",
        tells="wrong_until_challenged",
        first=Words(say="4."),
        challenge=("sure",),
        after="5m",
    )
    talk = Talk(room)
    talk.hears("Which room?")
    assert talk.hears("Sure?") == Decision()
    assert [reply.text for reply in talk.passes()] == ["4."]


def test_what_needs_a_milestone_waits_for_it():
    talk = Talk(APPROVAL, Reply(any=("pay",), say="Do it.", needs="approved"), otherwise="Not yet.")
    assert talk.answer("Shall I pay?") == "Not yet."
    assert talk.answer("O-1, 165") == "Approved."
    assert talk.answer("Shall I pay?") == "Do it."


def test_once_is_once_also_while_the_reply_is_on_its_way():
    talk = Talk(Reply(any=("order",), say="O-1.", once=True, after="5m"), otherwise="Thanks!")
    talk.hears("Which order?")
    talk.hears("Which order?")
    assert [reply.text for reply in talk.passes()] == ["Thanks!", "O-1."]
    assert talk.answer("Which order?") == "Thanks!"


def test_once_does_not_count_what_was_withdrawn():
    once = Reply(name="o", any=("order",), say="O-1.", once=True, after="5m")
    talk = Talk(once, Reply(any=("wait",), cancels=("o",)))
    talk.hears("Which order?")
    talk.hears("wait")
    assert talk.answer("Which order?") == "O-1."


def test_volunteers_speak_unasked_and_a_rule_without_words_answers_nothing():
    news = Reply(say="The lift is out.", gives={"lift": False}, tells="volunteers", after="10m")
    talk = Talk(news, otherwise="Thanks!")
    talk.mind, decision = wake(talk.book, talk.mind, 0)
    assert [(reply.text, reply.due, reply.reply_to) for reply in decision.replies] == [
        ("The lift is out.", 10 * MINUTE, None)
    ]
    assert talk.hears("Hello").replies[0].text == "Thanks!"
    assert [reply.text for reply in talk.passes()] == ["Thanks!", "The lift is out."]


RULES = (
    ORDER,
    RMA,
    APPROVAL,
    Reply(name="s", any=("stop",), say="Dropped.", cancels=("order", "yes")),
    Reply(any=("code",), say="77", tells="on_specific_ask", once=True),
    Reply(
        any=("room",), say="5", tells="wrong_until_challenged", first=Words(say="4"), challenge=("sure",), after="1m"
    ),
    Reply(any=("budget",), tells="absent"),
)
words = st.lists(
    st.sampled_from(["order", "return", "O-1 165", "stop", "code", "room", "sure", "budget", "hello"]), max_size=5
)


@given(st.lists(st.tuples(words, st.integers(0, 90)), max_size=12))
def test_every_reply_is_sent_or_withdrawn_and_never_both(messages):
    talk = Talk(*RULES, otherwise="Thanks!")
    planned: dict[int, Planned] = {}
    withdrawn: set[int] = set()
    sent: list[Planned] = []
    now = 0
    for said, minutes in messages:
        now += minutes * MINUTE
        sent += talk.passes(now)
        decision = talk.hears(" ".join(said), now)
        planned |= {reply.id: reply for reply in decision.replies}
        withdrawn |= set(decision.withdrawn)
    sent += talk.passes()
    assert sorted([*withdrawn, *(reply.id for reply in sent)]) == sorted(planned)
    assert all(planned[reply.id] == reply for reply in sent)
    assert [reply.due for reply in sent] == sorted(reply.due for reply in sent)
    assert talk.mind.waiting == ()
    assert next_due(talk.mind) is None
