"""A model that is made in a moment: a random Llama, and a byte-level tokenizer with a chat template."""

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tokenizer(template: str | None = TEMPLATE) -> Any:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({character: number for number, character in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|im_end|>")
    fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    fast.chat_template = template
    return fast


def config(**changes: Any) -> LlamaConfig:
    plain = {
        "vocab_size": 258,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "attn_implementation": "eager",
    }
    return LlamaConfig(**{**plain, **changes})


def llama(seed: int = 0, **changes: Any) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(config(**changes))


_QWEN3: dict[str, Any] = {
    "vocab_size": 258,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 16384,
}


def qwen3(seed: int = 0) -> Qwen3ForCausalLM:
    """Of the class of Qwen3-8B."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(Qwen3Config(**_QWEN3))


def qwen3_vl(seed: int = 0) -> Qwen3VLForConditionalGeneration:
    """Of the class of Qwen3-VL-8B: it reads, writes and sees."""
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1], "mrope_interleaved": True}
    eyes = {
        "depth": 2,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_heads": 2,
        "out_hidden_size": 32,
        "deepstack_visual_indexes": [0],
        "num_position_embeddings": 16,
        "patch_size": 4,
    }
    ids = {"image_token_id": 252, "video_token_id": 253, "vision_start_token_id": 254, "vision_end_token_id": 255}
    torch.manual_seed(seed)
    return Qwen3VLForConditionalGeneration(
        Qwen3VLConfig(text_config={**_QWEN3, "rope_parameters": rope}, vision_config=eyes, **ids)
    )
