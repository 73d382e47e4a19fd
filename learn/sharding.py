"""Weights and moments that several processes share: put together where they are kept, and parted where they are read.

Knows accelerate's FSDP2, and that a checkpoint is the same however many processes made it. Does not know what is in a
run. Everything here is done by all processes together, or they wait for each other for ever.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from torch import Tensor
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import MixedPrecisionPolicy

_MODEL = "model."
"""How the names of a scorer's weights begin that are the model's."""
_WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)


def sharded(accelerator: Accelerator) -> bool:
    """Whether each process holds only its share of every weight."""
    return bool(accelerator.distributed_type == DistributedType.FSDP)


def shares() -> int:
    """Among how many processes weights will be shared, by what `accelerate launch` was told."""
    return int(os.environ.get("WORLD_SIZE", "1")) if _said("ACCELERATE_USE_FSDP") else 1


def again() -> bool:
    """Whether layers will be computed again going back, rather than kept (gradient checkpointing)."""
    return _said("ACCELERATE_USE_FSDP") and _said("FSDP_ACTIVATION_CHECKPOINTING")


def _said(name: str) -> bool:
    return os.environ.get(name, "").lower() == "true"


def widen(accelerator: Accelerator) -> None:
    """Have gradients added up, and whatever a scorer says, in 32 bits, however narrow layers are to compute.

    accelerate would make all of it narrow: log-probabilities of bfloat16 are 1/32 apart, too far for ratios of them.
    """
    plugin = accelerator.state.fsdp_plugin if sharded(accelerator) else None
    if plugin is not None and plugin.mixed_precision_policy is not None:
        narrow = plugin.mixed_precision_policy.param_dtype
        plugin.mixed_precision_policy = MixedPrecisionPolicy(param_dtype=narrow, reduce_dtype=torch.float32)


def whole_weights(accelerator: Accelerator, scorer: Any) -> dict[str, Tensor]:
    """The weights of the model in a scorer, by name, in the memory of the main process; nothing in the others."""
    found: Mapping[str, Tensor] = accelerator.get_state_dict(scorer)
    whole = {name.removeprefix(_MODEL): weight for name, weight in found.items() if name.startswith(_MODEL)}
    names: dict[int, str] = {}
    for name, weight in accelerator.unwrap_model(scorer).model.named_parameters(remove_duplicate=False):
        if name in whole:  # Those that are one weight are one again.
            whole[name] = whole[names.setdefault(id(weight), name)]
    return whole


def whole_moments(scorer: Any, optimiser: Any) -> dict[str, Any]:
    """The state of the optimiser, in the memory of the main process; nothing in the others.

    Nothing before its first step, either: torch would make that step, with gradients of 0, to have something to tell,
    and all steps after it would be corrected as if they were one later.
    """
    if not optimiser.optimizer.state:
        return {}
    return get_optimizer_state_dict(scorer, optimiser.optimizer, options=_WHOLE)


def take_moments(scorer: Any, optimiser: Any, state: Mapping[str, Any]) -> None:
    """Take this process's share of what `whole_moments` gave, which every process has read."""
    if state:
        set_optimizer_state_dict(scorer, optimiser.optimizer, dict(state), options=_WHOLE)
