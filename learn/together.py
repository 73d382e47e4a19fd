"""Several processes as one: what one of them meets, all of them meet, at the same place.

Knows accelerate's processes. Does not know what they do. A process that went on alone would wait for ever for the
others; so whatever may stop one of them is done here, and they stop together. The main process alone writes the run and
speaks.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.utils import gather_object

from ..engine.cli.interrupts import Interrupted

T = TypeVar("T")

PATIENCE = timedelta(days=7)
"""How long processes wait for one that tests, or whose rollouts take longer."""


class CannotGoOn(Exception):
    """A training that has to stop, for the reason that is said. Its weights are whole."""


class Elsewhere(Exception):
    """Something went wrong in another process, which says what."""


_KINDS = (Interrupted, CannotGoOn, Elsewhere)
"""What others raise for what one process met: the worst, which is the last, where several met something."""


def processes() -> Accelerator:
    """Those that `accelerate launch` or `torchrun` has started; one, if nobody has."""
    return Accelerator(cpu=not torch.cuda.is_available(), kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)])


def leave() -> None:
    """Part from the other processes, after the last use of what was prepared for them.

    Gloo's threads take the interpreter's lock as they end, and what torch wraps a model in waits for them with that
    lock held, if it is the last that refers to the group. So all that does has to go before.
    """
    if torch.distributed.is_initialized():
        gc.collect()
        torch.distributed.destroy_process_group()


def everybodys(accelerator: Accelerator, part: list[T]) -> list[T]:
    """What all processes have, in their order."""
    if accelerator.num_processes == 1:
        return part
    found: list[T] = gather_object(part)
    return found


def together(accelerator: Accelerator, work: Callable[[], T]) -> T:
    """What `work` gives in this process, once it is done in all. Nothing in it may wait for other processes.

    Raises what it raises here, or, where that was worse in another process, Interrupted, CannotGoOn or Elsewhere.
    """
    if accelerator.num_processes == 1:
        return work()
    failure: Exception | None = None
    try:
        result = work()
    except Exception as error:
        failure = error
    met = everybodys(accelerator, [None if failure is None else (_kind(failure), str(failure))])
    worst = max((each for each in met if each is not None), key=lambda each: each[0], default=None)
    if worst is None:
        return result
    if failure is not None and _kind(failure) == worst[0]:
        raise failure
    raise _KINDS[worst[0]](worst[1])


def _kind(failure: Exception) -> int:
    return next((place for place, kind in enumerate(_KINDS) if isinstance(failure, kind)), len(_KINDS) - 1)
