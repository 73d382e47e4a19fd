"""What a training will take, told before it starts: memory, tokens, hours; and a refusal where that is too much.

Knows sizes and rates. Does not know torch: what is free, and how fast a machine is, comes as an argument.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..engine import wall

GIB = 1 << 30
_SLACK = 1.15
"""What allocators, buffers of libraries and layers of other designs take beside what is counted here."""


class TooMuch(ValueError):
    """A plan that does not fit into the memory that is free, or the hours that were given; says both numbers."""


class Shape(NamedTuple):
    """The sizes of a transformer that memory depends on."""

    parameters: int
    layers: int
    hidden: int
    inner: int
    """Of the feed-forward layer."""
    heads: int
    pairs: int
    """Key and value heads."""
    head: int
    """The size of each head."""
    vocabulary: int


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes at the worst moment, by what they are for."""

    weights: int
    reference: int = 0
    gradients: int = 0
    optimiser: int = 0
    activations: int = 0
    logits: int = 0
    cache: int = 0

    @property
    def lasting(self) -> int:
        return self.weights + self.reference + self.gradients + self.optimiser

    @property
    def total(self) -> int:
        """Learning and generating take turns: activations and logits are gone while the cache is there."""
        return int(_SLACK * (self.lasting + max(self.activations + self.logits, self.cache)))

    def shared(self, processes: int) -> Memory:
        """What each of so many processes needs that share weights, gradients and moments."""
        names = ("weights", "gradients", "optimiser")
        return msgspec.structs.replace(self, **{name: -(-getattr(self, name) // processes) for name in names})

    def table(self) -> dict[str, int]:
        """For a plan or a card: bytes by name, without what is nothing."""
        named = {name: getattr(self, name) for name in self.__struct_fields__}
        return {**{name: size for name, size in named.items() if size}, "total": self.total}


def learning(
    shape: Shape,
    batch_tokens: int,
    length: int,
    *,
    written: float = 1.0,
    width: int = 4,
    flash: bool = False,
    again: bool = False,
    reference: bool = False,
) -> Memory:
    """What an update with AdamW takes: micro-batches of `batch_tokens` padded tokens, sequences of up to `length`.

    `written` is the share of tokens that are learnt: only those need logits. Weights, gradients and both moments are
    float32; activations have `width` bytes a number. For each token a layer of the
    Llama family keeps for its backward pass 6 x hidden (norms, inputs of projections), 4 x inner (gate, its
    activation, up, product), 4 x heads x head (queries, keys, values, mixed) and, unless attention is fused (`flash`),
    heads x length probabilities; backward works on three more of the latter, one layer at a time. Where layers are
    computed `again` going back, each keeps hidden, and only one of them the rest. Logits are float32:
    themselves, their log-softmax and their gradient. (Counted from what autograd saves; with the logic of Korthikanti
    et al. 2022, §4.)
    """
    tokens = max(batch_tokens, length)  # a sequence that is longer than a batch is a batch of its own
    attention = 0 if flash else shape.heads * length
    kept = 6 * shape.hidden + 4 * shape.inner + 4 * shape.heads * shape.head + attention
    layers = shape.layers * shape.hidden + kept if again else shape.layers * kept
    return Memory(
        weights=4 * shape.parameters,
        reference=4 * shape.parameters if reference else 0,
        gradients=4 * shape.parameters,
        optimiser=8 * shape.parameters,
        activations=width * tokens * (layers + 3 * attention),
        logits=int(3 * 4 * tokens * written) * shape.vocabulary,
    )


def generating(shape: Shape, rows: int, length: int, *, width: int = 4) -> Memory:
    """What rollouts take: `rows` episodes at once, each up to `length` tokens long.

    Keys and values of every layer are there twice: as each episode keeps them, and packed into a batch.
    """
    pair = 2 * shape.layers * shape.pairs * shape.head * width
    return Memory(weights=width * shape.parameters, cache=2 * rows * length * pair)


def together(learn: Memory, generate: Memory) -> Memory:
    """One model that does both, in turns."""
    return msgspec.structs.replace(learn, cache=generate.cache)


def check_memory(needs: Callable[[int], Memory], batch_tokens: int, free: int) -> Memory:
    """What a plan needs at this `--batch-tokens`. Raises TooMuch if it is more than is free, with what would fit."""
    memory = needs(batch_tokens)
    if memory.total <= free:
        return memory
    says = f"this needs {gib(memory.total)}, and {gib(free)} are free"
    fewer = batch_tokens // 2
    while fewer >= 64:
        if needs(fewer).total <= free:
            raise TooMuch(f"{says}; with --batch-tokens {fewer} it would fit ({gib(needs(fewer).total)})")
        fewer //= 2
    if int(_SLACK * memory.lasting) > free:
        raise TooMuch(
            f"{says}; weights, gradients and optimiser alone are {gib(int(_SLACK * memory.lasting))}, so no batch is "
            "small enough: take a smaller model, or a machine with more memory"
        )
    raise TooMuch(f"{says}; no --batch-tokens is small enough: let fewer episodes share a batch, or be shorter")


def gib(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / GIB:.1f} GiB" if size >= GIB / 10 else f"{size / (1 << 20):.1f} MiB"


# --- what is free -------------------------------------------------------------------------------------------


def available(root: Path = Path("/")) -> int:
    """Bytes of memory that this process may still take: what the machine has free, or its control group if that is
    less. `root` is where the file system of the machine begins."""
    limits = [_machine(root), *_groups(root)]
    return max(0, min(limits))


def _machine(root: Path) -> int:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    # No Linux: what is free right now is not told, so half of all there is.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _groups(root: Path) -> list[int]:
    """What is left of the limits of control groups, version 2 and 1. Caches of files are given back when needed."""
    left: list[int] = []
    for folder, limit, usage, cached in (
        ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            group = root / folder
            most = int((group / limit).read_text())  # "max" where there is none
            used = int((group / usage).read_text())
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            left.append(most - used + int(stat.get(cached, 0)))
        except (OSError, ValueError):
            continue
    return left


# --- hours --------------------------------------------------------------------------------------------------


class Tokens(NamedTuple):
    """Tokens of a plan; or, measured, tokens a second."""

    read: float = 0
    """Prompts, in rollouts."""
    written: float = 0
    """Sampled, in rollouts."""
    learnt: float = 0
    """Forward and backward."""

    def hours(self, speed: Tokens) -> float:
        """How long this takes at a speed; what there is none of takes no time."""
        seconds = sum(count / rate for count, rate in zip(self, speed, strict=True) if count)
        return seconds / 3600


def measured(work: Callable[[], int], seconds: float = 1.0, clock: Callable[[], float] = wall.monotonic) -> float:
    """Tokens a second of `work`, which says how many it did: called once to warm up, then until `seconds` are over."""
    work()
    start = clock()
    tokens = 0
    while (taken := clock() - start) < seconds or not tokens:
        tokens += work()
    return tokens / max(taken, 1e-9)


def check_hours(hours: float, limit: float | None) -> None:
    """Raises TooMuch for a plan that takes longer than it may."""
    if limit is not None and hours > limit:
        raise TooMuch(
            f"this takes about {spoken(hours)}, and --hours says {limit:g}; plan fewer steps, or give more hours"
        )


def spoken(hours: float) -> str:
    """A duration as people say it."""
    if hours < 1 / 60:
        return f"{hours * 3600:.0f} s"
    return f"{hours * 60:.0f} min" if hours < 2 else f"{hours:.1f} h"
