"""Everything that a training needs, made in a moment: a model that knows nothing, a set to learn from, demonstrations.

The task is one that noise can do now and then, so that there is something to learn from rollouts that know nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
import trio
from transformers import LlamaConfig, LlamaForCausalLM

from coworkenv.learn.models import save
from coworkenv.learn.rendering import Rendering
from coworkenv.learn.splits import read_split
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import manifest, member, write_manifest
from tests.learn.teaching import demonstration
from tests.learn.test_grammar import rendering

LEARN = "import sys; from coworkenv.engine.cli import main; sys.exit(main(['learn', *sys.argv[1:]]))"
SHARED = ("--train", "train.yaml", "--length", "1024", "--max-tokens", "8", "--save", "2", "--seed", "7", "--json")
SFT = ("sft", "model", "--demos", "demos", "--steps", "5", "--batch", "2", "--batch-tokens", "256", *SHARED)
RL = ("rl", "model", "--updates", "3", "--sets", "2", "--rollouts", "3", "--lr", "1e-3", *SHARED)

OFFICE = """\
environment: coworkenv/1
id: office.letters/{number}
title: Say something
clock: {{start: 2026-04-13T09:00, zone: Europe/Paris, deadline: 90s, call: 5s}}
facts: {{name: Ann, number: {number}}}
people:
  ann: {{role: clerk, opens: "Say something about ${{number}}.", otherwise: Thank you.}}
services: {{}}
checks:
  spoke: {{weight: 1, expect: {{said: ann, any: [a, e, i, o, n, s, t, r, x]}}}}
  counted: {{weight: 2, expect: {{said: ann, any: ["1", "2", "3", "4", "5", "6", "7"]}}}}
oracle:
  - {{as: said, say: ann, text: "a 1"}}
twins:
  other: {{facts: {{name: Bob}}}}
"""


def reading() -> Rendering:
    return rendering("hermes")


def llama(seed: int = 0) -> LlamaForCausalLM:
    """A model for the tokenizer of `reading`, with weights that mean nothing."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(reading().tokens.tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    return LlamaForCausalLM(config)


def furnish(folder: Path, count: int = 3) -> Path:
    """Put `model/`, `train.yaml`, `val.yaml` and `demos/` into a folder."""
    members = []
    for number in range(count):
        path = folder / f"letters{number}.yaml"
        path.write_text(OFFICE.format(number=number))
        members.append(member(path.name, read_environment(path)))
    for name, ring in (("train", "train"), ("val", "val-iid")):
        write_manifest(folder / f"{name}.yaml", manifest(ring, ring, members))
    (folder / "demos").mkdir()
    lessons = [trio.run(demonstration, world) for world in read_split(folder / "train.yaml").worlds]
    lines = [msgspec.json.encode(msgspec.to_builtins(each, enc_hook=str)) for each in lessons]
    (folder / "demos" / "accepted.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    save(llama(), reading().tokens.tokenizer, folder / "model")
    return folder


def learn(folder: Path, words: Sequence[str], *before: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """`coworkenv learn` in a folder, as a process of its own; `before` is what launches it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **more.pop("environment", {})}
    command = [*(before or (sys.executable,)), "-c", LEARN, *words]
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, timeout=100, **more)
