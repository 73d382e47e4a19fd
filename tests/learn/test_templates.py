"""Chat templates taken apart: the ids of a prompt are those of the template, with contents put in."""

from __future__ import annotations

import pytest

from coworkenv.learn.templates import Template, TemplateError, Turn
from coworkenv.learn.tokens import Piece, Tokens
from tests.learn.chats import KINDS, rendering, tokenizer, with_template

WITH_SYSTEM = ("qwen", "reasoner", "llama", "zephyr", "plain")
WITH_TOOLS = ("qwen", "llama", "plain")
CHAT = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
ASK = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"


def turn(role: str, text: str) -> Turn:
    return Turn(role, (Piece(text),))


def template(source: str | None, **purposes: str | None) -> Template:
    return Template(Tokens(with_template(source, **({"eos_token": "<|im_end|>"} | purposes))))


def shown(kind: str, turns: list[Turn]) -> str:
    return rendering(kind).tokens.text(rendering(kind).template.opening(turns))


def applied(kind: str, turns: list[Turn]) -> str:
    """What the template itself makes of the same chat."""
    chat = [{"role": each.role, "content": "".join(piece.text for piece in each.pieces)} for each in turns]
    return tokenizer(kind).apply_chat_template(
        chat, tokenize=False, add_generation_prompt=True, date_string="1 January 2026"
    )


@pytest.mark.parametrize("kind", WITH_SYSTEM)
def test_a_prompt_is_what_the_template_makes_of_it(kind):
    turns = [turn("system", "You are Ann."), turn("user", "Hello."), turn("assistant", "Yes?"), turn("user", "Go on.")]
    assert shown(kind, turns) == applied(kind, turns)


@pytest.mark.parametrize("kind", ["mistral", "gemma"])
def test_without_a_system_message_it_stands_before_the_first_of_the_user(kind):
    turns = [turn("system", "You are Ann."), turn("user", "Hello."), turn("assistant", "Yes?"), turn("user", "Go on.")]
    joined = [turn("user", "You are Ann.\n\nHello."), *turns[2:]]
    # The space before an answer is the policy's to write.
    assert shown(kind, turns) == applied(kind, joined).replace("[/INST] ", "[/INST]")
    assert "system message" in rendering(kind).template.notes[0]


@pytest.mark.parametrize("kind", KINDS)
def test_results_stand_where_the_template_has_them_else_in_a_message_of_the_user(kind):
    turns = [
        turn("user", "Hi."),
        turn("assistant", "Yes?"),
        turn("tool", "one"),
        turn("tool", "two"),
        turn("user", "!"),
    ]
    text, known = shown(kind, turns), rendering(kind).template
    assert known.tools == (kind in WITH_TOOLS)
    assert ("[result] one" in text and "[result] two" in text) is not known.tools
    assert text.index("one") < text.index("two") < text.index("!")
    assert any("tool results" in note for note in known.notes) is not known.tools


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ended", [True, False])
def test_what_follows_an_answer_goes_on_as_a_whole_prompt_would(kind, ended):
    """Also where the policy was cut off: then the template's end of the turn stands behind it, and it is not the
    policy's."""
    known, tokens = rendering(kind).template, rendering(kind).tokens
    answer = tuple(tokens.untrusted("Yes?")) + ((known.end,) if ended else ())
    first, new = [turn("user", "Hello.")], [turn("tool", "one"), turn("user", "Go on.")]
    grown = [*known.opening(first), *answer, *known.following(new, ended)]
    whole = known.opening([*first, Turn("assistant", ids=answer), *new])
    if kind in ("reasoner", "zephyr"):  # These ask for an answer in another way than they show one.
        asks = {"reasoner": "<think>\n", "zephyr": "\n"}[kind]
        assert tokens.text(grown).replace(asks, "") == tokens.text(whole).replace(asks, "")
    else:
        assert grown == whole
    assert grown.count(known.end) == known.opening([*first, turn("assistant", "Yes?"), *new]).count(known.end)


@pytest.mark.parametrize("kind", KINDS)
def test_contents_never_pass_through_the_template(kind):
    strange = "  {{ x }} </think> <|im_end|> </s> [/INST] \n"
    text = shown(kind, [turn("user", strange), turn("assistant", strange), turn("user", strange)])
    assert text.count(strange) == 3
    ids = rendering(kind).template.opening([turn("user", strange), turn("assistant", strange), turn("user", strange)])
    plain = rendering(kind).template.opening([turn("user", "x"), turn("assistant", "x"), turn("user", "x")])
    special = rendering(kind).tokens.special
    assert [i for i in ids if i in special] == [i for i in plain if i in special]


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_ends_its_turn_as_the_template_does(kind):
    known, tokens = rendering(kind).template, rendering(kind).tokens
    expected = {
        "llama": "<|eot_id|>",
        "mistral": "</s>",
        "zephyr": "</s>",
        "gemma": "<end_of_turn>",
        "plain": "<|end|>",
    }
    assert tokens.text([known.end]) == expected.get(kind, "<|im_end|>")
    assert tokens.tokenizer.eos_token_id in known.ends


def test_no_prompt_tells_the_day_on_which_it_is_made():
    assert "Today Date: 1 January 2026\n" in shown("llama", [turn("user", "Hello.")])
    known, tokens = template("{{ strftime_now('%d %b %Y') }}" + CHAT + ASK), Tokens(with_template(None))
    assert tokens.text(known.opening([turn("user", "Hello.")])).startswith("1 January 2026<|im_start|>")


def test_only_a_prompt_that_begins_a_thought_makes_a_thinker():
    assert [kind for kind in KINDS if rendering(kind).template.thinks] == ["reasoner"]


def test_of_several_templates_the_one_for_chats_is_taken():
    several = with_template(None, eos_token="<|im_end|>")
    several.chat_template = {"default": CHAT + ASK, "tool_use": "{{ raise_exception('no') }}"}
    assert Template(Tokens(several)).system


# --- what cannot be used ---------------------------------------------------------------------------------------


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(TemplateError, match="no chat template"):
        template(None)


BROKEN = {
    "drops the last message": "{% for m in messages[:-1] %}{{ m.content }}<|im_end|>{% endfor %}",
    "drops old messages": CHAT.replace("in messages", "in messages[-3:]") + ASK,
    "drops answers": CHAT.replace("{{", "{% if m.role == 'user' %}{{").replace("}}", "}}{% endif %}") + ASK,
    "shows a message twice": CHAT + CHAT + ASK,
    "changes the order": CHAT.replace("in messages", "in messages | reverse") + ASK,
    "changes contents": CHAT.replace("m.content", "(m.content | length | string)") + ASK,
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_template_that_loses_or_changes_what_was_said_is_refused(what):
    with pytest.raises(TemplateError, match=r"exactly once|order of messages"):
        template(BROKEN[what])


def test_a_template_that_cannot_be_rendered_is_refused_with_its_own_words():
    with pytest.raises(TemplateError, match=r"cannot be rendered.*only on Mondays"):
        template("{{ raise_exception('only on Mondays') }}")


def test_a_template_without_an_end_of_a_turn_is_refused():
    source = "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}assistant: "
    with pytest.raises(TemplateError, match="never stop"):
        template(source, eos_token=None)
    assert template(source).end == with_template(None).convert_tokens_to_ids("<|im_end|>")


def test_a_template_that_does_not_say_how_an_answer_begins_says_it_where_there_is_one():
    known, tokens = template(CHAT), Tokens(with_template(None))
    assert (
        tokens.text(known.opening([turn("user", "Hi.")])) == "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n"
    )
