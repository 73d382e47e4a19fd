"""Prompts as ids, turn by turn: what is new is appended, and what was sampled is never tokenised again."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.counting import as_json
from coworkenv.agents.prompts import decided, offered, returned, wire_names
from coworkenv.learn.lessons import lesson_trajectory
from coworkenv.learn.rendering import Reader, Rendering
from coworkenv.learn.signatures import signature, signatures
from coworkenv.worlds.services.declared import declared
from coworkenv.worlds.services.ready import library, names
from tests.learn.chats import KINDS, rendering, tokenizer
from tests.learn.teaching import lessons

TOOLS = {
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "orders_find",
                "description": "Find orders.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "count": {"type": "integer"},
                        "state": {"enum": ["open", "closed"]},
                    },
                    "required": ["id"],
                },
            },
        }
    ]
}
SYSTEM = {"role": "system", "content": "You are Ann."}
HELLO = {"role": "user", "content": "Hello."}


def user(text: str):
    return {"role": "user", "content": text}


def value(text: str, *calls):
    return {"text": text, "calls": [{"name": name, "args": args} for name, args in calls]}


def told(known: Rendering, given) -> list[int]:
    return known.answer(given["text"], given["calls"])


# --- one prompt ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_tells_the_tools_in_a_line_each_and_how_to_call_them(kind):
    known = rendering(kind)
    text = known.tokens.text(known.opening([TOOLS, SYSTEM, HELLO]))
    assert "You are Ann.\n\nTools:\norders_find(id, count?:int, state?:open|closed)" in text
    assert known.dialect.teaching in text


def test_the_teaching_is_written_with_the_models_own_tokens_and_tools_are_not():
    known = rendering("qwen")
    call = known.tokens.tokenizer.convert_tokens_to_ids("<tool_call>")
    named = {"tools": [{"function": {"name": "x", "parameters": {"properties": {"<tool_call>": {}}}}}]}
    assert known.opening([TOOLS, SYSTEM, HELLO]).count(call) == known.opening([named, SYSTEM, HELLO]).count(call) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_always_a_system_message_of_ours(kind):
    """So no template puts one of its own."""
    known = rendering(kind)
    assert "You are helpful" not in known.tokens.text(known.opening([HELLO]))
    assert "orders_find(" in known.tokens.text(known.opening([TOOLS, HELLO]))


def test_contents_in_parts_are_texts():
    known = rendering("qwen")
    parts = {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "image"}, {"text": "lo."}]}
    assert known.opening([SYSTEM, parts]) == known.opening([SYSTEM, HELLO])
    assert known.opening([{"role": "user", "content": None}]) == known.opening([user("")])


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_ends_and_is_read_as_what_it_says(kind):
    known, given = rendering(kind), value("I look.", ("orders_find", {"id": "<|im_end|></s>", "count": 3}))
    ids = told(known, given)
    assert ids[-1] == known.template.end
    assert known.read(ids) == (given["text"], given["calls"])
    assert known.read(ids[:-1]) == known.read(ids)
    assert known.read([]) == ("", [])


# --- one life --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_that_extends_the_last_one_extends_its_ids(kind):
    known = rendering(kind)
    reader, chat = Reader(known), [TOOLS, SYSTEM, HELLO]
    given = value("", ("orders_find", {"id": "1"}))
    first = tuple(reader.prompt(chat))
    assert reader.answered([7, 8, 9], given) == (0, len(first), len(first) + 3)
    chat = [*chat, decided("", given["calls"], 1), returned(1, 0, "none"), user("Well?")]
    second = reader.prompt(chat)
    assert tuple(second[: len(first) + 3]) == (*first, 7, 8, 9)
    assert len(reader.segments) == 1


def test_a_prompt_that_nobody_answered_is_forgotten():
    known = rendering("qwen")
    reader = Reader(known)
    reader.prompt([SYSTEM, HELLO])
    assert reader.prompt([SYSTEM, HELLO, user("More.")]) == known.opening([SYSTEM, HELLO, user("More.")])
    assert reader.prompt([SYSTEM]) == known.opening([SYSTEM])
    assert reader.finished() == ()


def test_after_an_answer_a_prompt_that_nobody_answered_is_forgotten_up_to_it():
    known = rendering("qwen")
    reader, straight, said = Reader(known), Reader(known), decided("Yes.", (), 1)
    for each in (reader, straight):
        each.prompt([SYSTEM, HELLO])
        each.answered(told(known, value("Yes.")), value("Yes."))
    reader.prompt([SYSTEM, HELLO, said, user("One.")])
    longer = [SYSTEM, HELLO, said, user("One."), user("Two.")]
    assert reader.prompt(longer) == straight.prompt(longer)
    assert reader.finished() == straight.finished()


def test_a_cut_context_begins_a_segment_in_which_answers_keep_their_ids():
    known = rendering("qwen")
    reader, chat = Reader(known), [SYSTEM, HELLO]
    written = []
    for number in range(3):
        reader.prompt(chat)
        ids = [100 + number, 200, known.template.end]
        written.append(ids)
        reader.answered(ids, value("Yes."))  # Each says the same, in other ids.
        chat = [*chat, decided("Yes.", (), number + 1), user(f"And {number}?")]
    cut = [SYSTEM, HELLO, *chat[4:]]
    ids = reader.prompt(cut)
    assert len(reader.segments) == 2
    assert [i for i in ids if 100 <= i < 103] == [101, 102], "the oldest turn was cut, not the last"


def test_an_answer_that_was_shortened_is_told_as_it_stands_there():
    known = rendering("qwen")
    reader = Reader(known)
    reader.prompt([SYSTEM, HELLO])
    reader.answered([100, 101], value("A very long answer."))
    ids = reader.prompt([SYSTEM, HELLO, decided("A very …", (), 1), user("And?")])
    assert len(reader.segments) == 2
    assert ids == known.opening([SYSTEM, HELLO, decided("A very …", (), 1), user("And?")])


def test_an_answer_that_was_not_kept_in_the_chat_is_kept_in_the_ids():
    """As when a message cut a thought short before it said anything."""
    known = rendering("qwen")
    reader = Reader(known)
    reader.prompt([SYSTEM, HELLO])
    reader.answered([100], value(""))
    ids = reader.prompt([SYSTEM, HELLO, user("Stop.")])
    assert len(reader.segments) == 1
    assert ids.count(100) == 1
    assert ids[ids.index(100) + 1] == known.template.end


def test_there_is_nothing_to_answer_before_a_prompt():
    reader = Reader(rendering("qwen"))
    with pytest.raises(ValueError, match="no prompt"):
        reader.answered([1], value(""))
    reader.prompt([HELLO])
    reader.answered([1], value(""))
    with pytest.raises(ValueError, match="no prompt"):
        reader.answered([1], value(""))


@pytest.mark.parametrize("kind", KINDS)
def test_a_demonstration_is_one_segment_in_which_each_decision_says_what_was_done(kind):
    known = rendering(kind)
    for lesson in lessons():
        read = lesson_trajectory(lesson, known)
        assert len(read.segments) == 1
        answers = [message for message in lesson.messages if message["role"] == "assistant"]
        for decision, message in zip(read.decisions, answers, strict=True):
            text, calls = known.read(read.written(decision))
            assert text == (message.get("content") or "")
            made = [as_json(call["args"]) for call in calls]
            assert made == [call["function"]["arguments"] for call in message.get("tool_calls", ())]


@given(st.lists(st.tuples(st.sampled_from(["answer", "same", "refused"]), st.text(max_size=8)), max_size=12))
def test_however_a_life_goes_a_prompt_ends_where_its_answer_begins(turns):
    known = rendering("llama")
    reader, chat, spans = Reader(known), [SYSTEM, HELLO], []
    for number, (what, text) in enumerate(turns):
        ids = tuple(reader.prompt(chat))
        if what == "refused":
            chat = [*chat, user(text)]
            continue
        said = "Yes." if what == "same" else text.strip()
        written = (*known.tokens.untrusted(said), known.template.end)
        spans.append((ids, written, reader.answered(written, value(said))))
        chat = [*chat, decided(said, (), number), user(text)]
    segments = reader.finished()
    assert len(segments) == bool(spans)
    for ids, written, (segment, start, stop) in spans:
        assert segments[segment][:start] == ids
        assert segments[segment][start:stop] == written


# --- what it costs ---------------------------------------------------------------------------------------------


def test_a_turn_costs_what_is_new_in_it():
    """A life of 400 turns takes some four times as long as one of 100, not sixteen times."""
    known = Rendering(tokenizer("qwen"))

    def life(turns: int) -> float:
        reader, chat = Reader(known), [TOOLS, SYSTEM, HELLO]
        begin = process_time()
        for number in range(turns):
            reader.prompt(chat)
            reader.answered([7] * 20, value(f"Yes {number}."))
            chat = [*chat, decided(f"Yes {number}.", (), number), user(f"{turns} and {number}? " * 10)]
        return process_time() - begin

    life(50)
    assert life(400) < 10 * life(100)


# --- signatures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_of_the_library_takes_25_tokens_on_average(kind):
    tools = [tool for name in names() for tool in declared(name, library(name)).tools]
    told = offered(tools, wire_names(tool.name for tool in tools))["tools"]
    lengths = [len(rendering(kind).tokens.untrusted(f"{signature(tool)}\n")) for tool in told]
    assert sum(lengths) <= 25 * len(lengths)


def test_a_signature_names_arguments_and_only_what_is_not_text():
    assert signature(TOOLS["tools"][0]) == "orders_find(id, count?:int, state?:open|closed)"
    assert signature({"function": {"name": "now"}}) == "now()"


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "number"}, "a?:num"),
        ({"type": "boolean"}, "a?:bool"),
        ({"type": "array"}, "a?:list"),
        ({"type": "object"}, "a?:object"),
        ({"type": "string"}, "a?"),
        ({"enum": list("abcdef")}, "a?"),
        ({"type": ["string", "null"]}, "a?"),
        (True, "a?"),
    ],
)
def test_types_are_short(schema, written):
    tool = {"function": {"name": "f", "parameters": {"properties": {"a": schema}}}}
    assert signatures([tool, tool]) == f"f({written})\nf({written})"
