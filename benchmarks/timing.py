"""Ways to do the same work, measured beside each other: on one thread, in turn, by the processor's seconds.

Nothing here waits for anything else, and on a shared machine the wall's seconds would tell what the neighbours do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Have torch use one thread, and as many as before afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def in_turn(ways: Sequence[Callable[[], None]], work: int, rounds: int) -> list[list[float]]:
    """How much of `work` each way does in a second: a row for each round, in which all have their turn."""
    return [[work / _seconds(way) for way in ways] for _ in range(rounds)]


def _seconds(way: Callable[[], None]) -> float:
    start = time.process_time()
    way()
    return time.process_time() - start
