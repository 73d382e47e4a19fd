"""The grammar of calls: whatever is drawn under it can be read, and every call that can be made can be drawn."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from coworkenv.agents.answers import parse_json
from coworkenv.agents.counting import as_json
from coworkenv.learn.dialects import DIALECTS
from coworkenv.learn.grammar import Constraint, Grammar, Vocabulary
from coworkenv.learn.rendering import Rendering
from tests.learn.teaching import lessons

CHAT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
TEMPLATE = CHAT + "{% if add_generation_prompt %}<|assistant|>{% endif %}"


@cache
def rendering(dialect: str) -> Rendering:
    """A byte-level BPE that has seen demonstrations, with a template that teaches one format of calls."""
    sign = next(each.signs[0] for each in DIALECTS if each.name == dialect)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|call|>", "<tool_call>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([as_json(message) for each in lessons() for message in each.messages], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    fast.chat_template = "{# " + sign + " #}" + TEMPLATE
    return Rendering(fast)


@cache
def vocabulary(dialect: str) -> Vocabulary:
    return Vocabulary(rendering(dialect))


def constraint(dialect: str, tools) -> Constraint:
    return Constraint(vocabulary(dialect), Grammar(rendering(dialect).dialect, tools))


def drawn(dialect: str, tools, seed: int) -> list[int]:
    """An answer by a policy that knows nothing; after a while it closes whatever is open."""
    random, allowed, texts = Random(seed), constraint(dialect, tools), vocabulary(dialect).texts
    ids: list[int] = []
    while True:
        found = allowed(ids)
        assert found, "a dead end"
        if len(ids) > 25:
            closing = [i for i in found if texts.get(i, "") in ('"', "}", "]", '"}', "1", ":", '":')]
            found = closing or found
        ids.append(random.choice(found))
        if ids[-1] == vocabulary(dialect).end:
            return ids
        assert len(ids) < 400


@pytest.mark.parametrize("dialect", [each.name for each in DIALECTS])
def test_whatever_is_drawn_is_one_call_that_can_be_read(dialect):
    for seed in range(40):
        tools = lessons()[seed % len(lessons())].tools
        known = {t["function"]["name"]: t["function"]["parameters"].get("properties", {}) for t in tools}
        ids = drawn(dialect, tools, seed)
        text, calls = rendering(dialect).read(ids)
        assert (text, len(calls)) == ("", 1)
        assert "error" not in calls[0]
        assert calls[0]["args"].keys() <= known[calls[0]["name"]].keys()


@pytest.mark.parametrize("dialect", [each.name for each in DIALECTS])
def test_every_call_of_a_demonstration_can_be_drawn(dialect):
    checked = 0
    for lesson in lessons():
        for message in lesson.messages:
            for call in message.get("tool_calls", ())[:1]:
                args = parse_json(call["function"]["arguments"])
                ids = rendering(dialect).answer("", [{"name": call["function"]["name"], "args": args}])
                allowed = constraint(dialect, lesson.tools)
                for place, number in enumerate(ids):
                    assert number in allowed(ids[:place])
                checked += 1
    assert checked > 20


def test_no_special_token_is_ever_part_of_a_value():
    view = rendering("plain")
    tools = lessons()[0].tools
    allowed = constraint("plain", tools)
    name = tools[0]["function"]["name"]
    ids = view.tokens.trusted(f'<|call|>{name} {{"text":"Hello')
    assert not view.tokens.special & set(allowed(ids))
    assert len(allowed(ids)) > 700


@pytest.mark.parametrize(
    "text", ["<|call|>nothing", "Hello", '<|call|>finish {"nonsense":1}', '<|call|>finish {"summary":01']
)
def test_what_does_not_keep_to_it_is_refused(text):
    allowed = constraint("plain", lessons()[0].tools)
    with pytest.raises(ValueError, match="has not kept to the grammar"):
        allowed(rendering("plain").tokens.trusted(text))
