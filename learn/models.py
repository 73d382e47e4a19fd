"""Models: any causal language model of `transformers`, out of a folder, and into one.

Knows folders of weights, tokenizers and configurations. Does not know training or generation. A model that a stranger
made is data: nothing is downloaded, no code that lies beside it is run, and pickled weights are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import torch
import transformers
from torch import Tensor, nn
from transformers.models.auto import modeling_auto

from ..events.codec import BAD_JSON, from_json
from ..events.event import Json
from .folders import whole
from .planning import Shape
from .rendering import Rendering
from .templates import TemplateError

DType: TypeAlias = Literal["float32", "bfloat16", "float16"]

ABOUT = "coworkenv.json"
"""What is to be told of a model wherever it is named, beside its weights."""
_LENGTH = 4096
"""Tokens that a model can read where neither it nor its tokenizer says how many."""
_NUMBER = re.compile(r"\b\d+\b")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack")


class ModelError(ValueError):
    """A model that cannot be used, in a sentence: what is wrong, where, and what to do."""


class Loaded(NamedTuple):
    """A model, and how it reads."""

    model: Any
    """A `PreTrainedModel`."""
    rendering: Rendering
    name: str
    """The name of its folder."""
    digest: str
    """See `weights_digest`."""
    length: int
    """Tokens that prompt and answer may have together."""
    about: Mapping[str, Json]
    """What was said when it was saved; empty for a model from elsewhere."""

    @property
    def tokenizer(self) -> Any:
        return self.rendering.tokens.tokenizer


def load(path: Path | str, dtype: DType = "float32") -> Loaded:
    """The model in a folder. Raises ModelError."""
    folder = Path(path)
    config = read_config(folder)
    _check_weights(folder)
    rendering = read_rendering(folder)
    model = _weights(folder, config, dtype)
    ids, rows = len(rendering.tokens.tokenizer), model.get_input_embeddings().weight.shape[0]
    if ids > rows:
        raise ModelError(f"the tokenizer in {folder} knows {ids} tokens, the model only {rows}: they are not of a pair")
    length = length_of(config, rendering.tokens.tokenizer)
    return Loaded(model, rendering, folder.resolve().name, weights_digest(model), length, _about(folder))


def save(model: Any, tokenizer: Any, folder: Path, about: Mapping[str, Json] | None = None) -> None:
    """Write a model so that `load`, or anything built on `transformers`, finds all of it or what was there before.

    `about` is kept beside it. Raises folders.NotWritten.
    """
    with whole(folder) as part:
        write(model, tokenizer, part, about)


def write(
    model: Any,
    tokenizer: Any,
    folder: Path,
    about: Mapping[str, Json] | None = None,
    weights: Mapping[str, Tensor] | None = None,
) -> None:
    """The same, into a folder that somebody else sees to; with other `weights` than the model has at hand."""
    with quiet():
        model.save_pretrained(folder, state_dict=weights)
        tokenizer.save_pretrained(folder)
    if about:
        (folder / ABOUT).write_bytes(msgspec.json.format(msgspec.json.encode(about)) + b"\n")


def weights_digest(model: nn.Module) -> str:
    """SHA-256 (hexadecimal) over names, types, shapes and bytes of all weights, by name; tied ones count once."""
    return digest_of(model.state_dict())


def digest_of(weights: Mapping[str, Tensor]) -> str:
    """The same, of weights by name."""
    digest = sha256()
    seen: dict[tuple[int, torch.Size, tuple[int, ...]], str] = {}
    for name, weight in sorted(weights.items()):
        place = (weight.data_ptr(), weight.shape, weight.stride())
        if weight.numel() and seen.setdefault(place, name) != name:
            digest.update(msgspec.json.encode([name, seen[place]]))
            continue
        digest.update(msgspec.json.encode([name, str(weight.dtype), list(weight.shape)]))
        digest.update(_bytes(weight))
    return digest.hexdigest()


def _bytes(weight: Tensor) -> memoryview:
    return weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data


def pin(threads: int, seed: int) -> None:
    """Make this process compute the same bits each time: so many threads, deterministic algorithms, a seed.

    What `lockstep` needs beside it: float32, and batches that do not depend on who came first.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # Without it CUDA's products are not deterministic.
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(seed)


def shape(folder: Path) -> Shape:
    """The sizes of a model from its configuration alone: no weight is read. Raises ModelError."""
    config = read_config(folder)
    with _told(folder, "cannot be built from its configuration"), torch.device("meta"):
        return shape_of(_kind(config)[0].from_config(config, trust_remote_code=False))


def shape_of(model: Any) -> Shape:
    """The sizes of a model that is at hand."""
    config = model.config.get_text_config()
    heads = int(config.num_attention_heads)
    return Shape(
        parameters=sum(weight.numel() for weight in model.parameters()),
        layers=int(config.num_hidden_layers),
        hidden=int(config.hidden_size),
        inner=int(getattr(config, "intermediate_size", None) or 4 * config.hidden_size),
        heads=heads,
        pairs=int(getattr(config, "num_key_value_heads", None) or heads),
        head=int(getattr(config, "head_dim", None) or config.hidden_size // heads),
        vocabulary=int(config.vocab_size),
    )


def free_memory(device: torch.device) -> int | None:
    """Bytes that are free on an accelerator; None for the processor: see `planning.available`."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else None


# --- reading what a stranger wrote --------------------------------------------------------------------------


def read_config(folder: Path) -> Any:
    """The configuration of a causal language model in a folder. Raises ModelError."""
    if not folder.exists():
        raise ModelError(
            f"there is no folder {folder}; a model is named by the folder that it lies in, and never downloaded. "
            "`hf download NAME --local-dir DIR` fetches one"
        )
    if not folder.is_dir():
        raise ModelError(f"{folder} is a file; a model is named by the folder that it lies in")
    if (folder / "adapter_config.json").exists():
        raise ModelError(f"{folder} holds an adapter, not a whole model; merge it into its model first")
    if not (folder / "config.json").exists():
        raise ModelError(f"{folder} has no config.json, so it holds no model of transformers")
    with _told(folder, "has a configuration that cannot be read"):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if getattr(config, "quantization_config", None) is not None:
        raise ModelError(f"the weights in {folder} are quantised; a learner needs them in floating point")
    _kind(config)
    if getattr(config.get_text_config(), "num_hidden_layers", 1) < 1:
        raise ModelError(f"by its configuration the model in {folder} has no layers")
    return config


def _kind(config: Any) -> tuple[Any, str]:
    """The class that loads such a model. Raises ModelError for one that does not write text from left to right."""
    names = list(config.architectures or ())
    causal = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    seeing = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    for name in names or [str(causal.get(config.model_type))]:
        if name in causal.values():
            return transformers.AutoModelForCausalLM, name
        if name in seeing.values():
            return transformers.AutoModelForImageTextToText, name
    what = ", ".join(names) or config.model_type
    raise ModelError(f"the model is a {what}, not a causal language model: it cannot write answers")


def _check_weights(folder: Path) -> None:
    if any(folder.glob("*.safetensors")):
        return
    if pickled := sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern)):
        raise ModelError(
            f"the weights in {folder} are in {pickled[0]}; such a file can run code when it is opened, so only "
            "safetensors are read. Convert it where you trust it: load it, then `save_pretrained`"
        )
    raise ModelError(f"{folder} has no weights: there is no file *.safetensors in it")


def read_rendering(folder: Path) -> Rendering:
    """How the model in a folder reads; no weight is read. Raises ModelError."""
    if not any((folder / name).exists() for name in ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")):
        raise ModelError(f"{folder} has no tokenizer; put that of the model beside it (tokenizer.json)")
    with _told(folder, "has a tokenizer that cannot be used"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return Rendering(tokenizer)


def _weights(folder: Path, config: Any, dtype: DType) -> Any:
    with _told(folder, "has weights that cannot be used"):
        model, report = _kind(config)[0].from_pretrained(
            folder,
            config=config,
            dtype=getattr(torch, dtype),
            attn_implementation=_attention(config),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    if missing := sorted(report["missing_keys"]):
        raise ModelError(f"the weights in {folder} are not whole: {len(missing)} are missing, {missing[0]} first")
    if more := _of_more_layers(model, report["unexpected_keys"]):
        raise ModelError(f"{folder} has weights of more layers than its configuration says, {more} first")
    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise ModelError(f"the weights in {folder} are damaged: {name} holds numbers that are not finite")
    model.eval()
    _freeze_eyes(model)
    return model


def _of_more_layers(model: Any, unexpected: Iterable[str]) -> str | None:
    """The first weight without a place that differs only by its number from one that has a place."""
    known = {_NUMBER.sub("#", name) for name in model.state_dict()}
    return next((name for name in sorted(unexpected) if _NUMBER.sub("#", name) in known), None)


def _attention(config: Any) -> str | None:
    """Left to `transformers`, which takes torch's fused attention where a model has it. It computes the same bits each
    time, but cannot cap scores."""
    return "eager" if getattr(config.get_text_config(), "attn_logit_softcapping", None) else None


def _freeze_eyes(model: Any) -> None:
    """Leave what sees as it is, where a model does: chats are text, so no gradient would ever reach it, and several
    processes would wait for that."""
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    if model.config.get_text_config() is model.config or not isinstance(decoder, nn.Module):
        return
    for weight in model.parameters():
        weight.requires_grad_(False)
    for part in (decoder, head):
        if isinstance(part, nn.Module):
            part.requires_grad_(True)


def length_of(config: Any, tokenizer: Any) -> int:
    """Tokens that a model can read, as far as it says so."""
    said = (getattr(config.get_text_config(), "max_position_embeddings", None), tokenizer.model_max_length)
    return min((int(number) for number in said if number and number < 1 << 30), default=_LENGTH)


def _about(folder: Path) -> Mapping[str, Json]:
    """Told, never acted on; what cannot be read is not told."""
    try:
        found = from_json((folder / ABOUT).read_bytes())
    except (OSError, *BAD_JSON):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def _told(folder: Path, what: str) -> Iterator[None]:
    """Whatever a stranger's files raise becomes a sentence about them."""
    try:
        with quiet():
            yield
    except (ModelError, MemoryError):
        raise
    except TemplateError as error:
        raise ModelError(f"{folder}: {error}") from error
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        first = text.splitlines()[0].rstrip()
        said = " ".join(text.split()) if first.endswith(":") else first
        raise ModelError(f"{folder} {what}: {said[:300]}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from drawing bars and giving advice meanwhile."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
