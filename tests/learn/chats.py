"""Chat templates of the common kinds, and tokenizers for them: what a student may be given to read.

The templates are ours, with the structure of those that they are named after; all share one byte-level BPE that has
seen demonstrations.
"""

from __future__ import annotations

from functools import cache

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from coworkenv.agents.counting import as_json
from coworkenv.learn.rendering import Rendering
from coworkenv.learn.signatures import signatures
from tests.learn.teaching import lessons

_QWEN = """
{%- if messages[0].role != 'system' %}{{ '<|im_start|>system\\nYou are helpful.<|im_end|>\\n' }}{% endif %}
{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
{{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}
{%- elif m.role == 'assistant' %}
{%- set said = m.content.split('</think>')[-1].lstrip('\\n') %}
{%- set thought = '<think>\\n\\n</think>\\n\\n' if loop.index0 > ns.last else '' %}
{{- '<|im_start|>assistant\\n' + thought + said + '<|im_end|>\\n' }}
{%- else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}{# <tool_call> #}"""

_REASONER = """
{%- for m in messages %}
{%- if m.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' + m.content.split('</think>')[-1] + '<|im_end|>\\n' }}
{%- else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"""

_LLAMA = """{{ bos_token }}
{%- set date = date_string if date_string is defined else strftime_now('%d %b %Y') %}
{%- set told = messages[0].content if messages[0].role == 'system' else '' %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + date + '\\n\\n' + told + '<|eot_id|>' }}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + (m.content | tojson) + '<|eot_id|>' }}
{%- elif m.role != 'system' %}
{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + (m.content | trim) + '<|eot_id|>' }}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
{#- {"name": "f", "parameters": {}} #}"""

_MISTRAL = """{{ bos_token }}
{%- set told = messages[0].content + '\\n\\n' if messages[0].role == 'system' else '' %}
{%- set chat = messages[1:] if told else messages %}
{%- for m in chat %}
{%- if m.role in ('user', 'assistant') and (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('roles must alternate') }}{% endif %}
{%- if m.role == 'user' %}{{ '[INST] ' + (told if loop.last else '') + m.content + ' [/INST]' }}
{%- elif m.role == 'assistant' %}{{ ' ' + m.content + eos_token }}
{%- else %}{{ raise_exception('unknown role') }}{% endif %}
{%- endfor %}{# [TOOL_CALLS] #}"""

_GEMMA = """{{ bos_token }}
{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for m in messages %}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{{- '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) }}
{{- '\\n' + m.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""

_ZEPHYR = """
{%- for m in messages %}
{%- if m.role not in ('system', 'user', 'assistant') %}{{ raise_exception('unknown role') }}{% endif %}
{{- '<|' + m.role + '|>\\n' + m.content + eos_token + '\\n' }}
{%- if loop.last and add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
{%- endfor %}"""

_PLAIN = """
{%- for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}{# <|call|> #}"""

_TAGS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
_CALL = ["<tool_call>", "</tool_call>"]
_THOUGHT = ["<think>", "</think>"]
_KINDS: dict[str, tuple[str, list[str], list[str], dict[str, str]]] = {
    "qwen": (_QWEN, _TAGS, [*_CALL, *_THOUGHT], {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}),
    "reasoner": (_REASONER, _TAGS, _THOUGHT, {"eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}),
    "llama": (
        _LLAMA,
        ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|python_tag|>"],
        [],
        {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    ),
    "mistral": (
        _MISTRAL,
        ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]"],
        [],
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "</s>"},
    ),
    "gemma": (
        _GEMMA,
        ["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"],
        ["\n\n", "\n\n\n", "  "],
        {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"},
    ),
    "zephyr": (_ZEPHYR, ["<s>", "</s>"], [], {"bos_token": "<s>", "eos_token": "</s>"}),
    "plain": (
        _PLAIN,
        ["<|system|>", "<|user|>", "<|tool|>", "<|assistant|>", "<|call|>", "<|end|>"],
        [],
        {"eos_token": "<|end|>"},
    ),
}
KINDS = tuple(_KINDS)
"""Between them: a template that drops earlier reasoning, one that begins it, no system message, no tool results, roles
that must alternate, no word on how an answer begins, a date, a default system message, role names in plain letters."""


def _trained() -> str:
    texts = [as_json(message) for lesson in lessons() for message in lesson.messages]
    texts += [signatures(lesson.tools) for lesson in lessons()]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet))
    return made.to_str()


_TRAINED = _trained()
"""Made where this is imported: demonstrations are played under a trio of their own."""


def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A new tokenizer, with the template and the special tokens of its kind."""
    template, special, added, purposes = _KINDS[kind]
    made = Tokenizer.from_str(_TRAINED)
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    made.add_tokens([AddedToken(token, special=False, normalized=False) for token in added])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, **purposes)
    fast.chat_template = template
    return fast


def with_template(template: str | None, **purposes: str | None) -> PreTrainedTokenizerFast:
    """A tokenizer of ChatML's tokens with a template of its own."""
    made = Tokenizer.from_str(_TRAINED)
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in _TAGS])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, **purposes)
    fast.chat_template = template
    return fast


@cache
def rendering(kind: str) -> Rendering:
    return Rendering(tokenizer(kind))


def specials(fast: PreTrainedTokenizerFast) -> list[str]:
    """All tokens that were added to a vocabulary, as text."""
    return [str(token) for token in fast.added_tokens_decoder.values()]
