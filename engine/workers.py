"""Worker processes: a pool that does not outlive whoever asked for it.

Knows processes and signals. Does not know what the work is.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes. Where their user is stopped, by Ctrl-C say, they end at once."""
    others = active_children()
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_serve)
    try:
        yield pool
    except BaseException:
        # Nobody waits for what they would still finish, and no file is theirs.
        for worker in active_children():
            if worker not in others:
                worker.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _serve() -> None:
    """Ctrl-C is for the process that has the files; and without that one there is nobody to work for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
