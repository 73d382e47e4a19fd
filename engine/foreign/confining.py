"""How a worker process shuts itself in, before it loads anything foreign.

Knows namespaces, mounts and limits. Does not know what will run. Three processes come of one:

* the *guard*, which the parent started. It is outside, waits for the others, and ends as they end.
* the *first* process of the process namespace (on Linux). Where it ends, the kernel ends all others in there.
* the one that goes on: `confine` returns only in it.

Without a sandbox (`unsafe`) there is no first process, and limits are all that there is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from . import filtering, linux
from .limiting import limit
from .showing import show
from .watching import children

USER = 1000
"""Who the code is, inside. Outside it is whoever runs us, without their privileges."""

_LINUX = sys.platform == "linux"
_WAITED = (signal.SIGTERM, signal.SIGCHLD)
_FILES = 256


def confine(order: dict[str, Any]) -> None:
    """Returns in the process that may run foreign code. Raises OSError, in some process, where that cannot be."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED)
    if order["unsafe"]:
        _begin_unconfined(order)
    elif not _LINUX:
        raise OSError(errno.ENOSYS, f"{sys.platform} has no namespaces")
    else:
        _begin_confined(order)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED)
    os.chdir(order["scratch"])
    os.umask(0o022)
    _limit(order)


def _begin_unconfined(order: dict[str, Any]) -> None:
    if _LINUX:
        linux.die_with_parent(signal.SIGKILL)
        linux.adopt_orphans()
    child = os.fork()
    if child:
        _guard(child, order["line"])
    os.setpgid(0, 0)
    if _LINUX:
        linux.die_with_parent(signal.SIGKILL)


def _begin_confined(order: dict[str, Any]) -> None:
    outside = os.geteuid(), os.getegid()
    linux.unshare(linux.NEW_ALL)
    # Entering a user namespace takes back what was asked of the kernel before.
    linux.die_with_parent(signal.SIGKILL)
    if os.getppid() != order["parent"]:
        os._exit(1)
    _become(*outside)
    alive, held = os.pipe()
    first = os.fork()
    if first:
        os.close(alive)
        _guard(first, order["line"])
    os.close(held)
    linux.die_with_parent(signal.SIGKILL)
    _end_if_closed(alive)
    _no_more_namespaces(order["processes"])
    socket.sethostname("worker")
    show(order["reads"], order["scratch"], order["written"])
    linux.give_up_privileges()
    linux.let_look(False)
    child = os.fork()
    if child:
        os.close(order["line"])
        _first(child)
    linux.let_look(True)
    linux.die_with_parent(signal.SIGKILL)
    filtering.install()


def _become(user: int, group: int) -> None:
    """The one user and group that exist in the new user namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{USER} {user} 1"), ("gid_map", f"{USER} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _end_if_closed(alive: int) -> None:
    """Ends this process if its guard ended before it could be bound to it."""
    os.set_blocking(alive, False)
    with contextlib.suppress(BlockingIOError):
        if os.read(alive, 1) == b"":
            os._exit(1)
    os.close(alive)


def _no_more_namespaces(processes: int) -> None:
    """A second and third fence where the kernel has them: in a namespace of its own code would get capabilities back,
    and for the superuser the limit of processes does not count."""
    fences = [(f"user/max_{kind}_namespaces", 0) for kind in ("user", "mnt", "net", "pid", "ipc", "uts")]
    for name, value in (*fences, ("kernel/pid_max", max(301, processes + 8))):
        with contextlib.suppress(OSError), open(f"/proc/sys/{name}", "w") as file:
            file.write(str(value))


def _limit(order: dict[str, Any]) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_FSIZE: order["written"],
        resource.RLIMIT_AS: order["memory"],
    }
    if not order["unsafe"]:
        # In a user namespace the kernel counts its processes alone, and two of them are ours. Outside of one it would
        # count all that the user runs.
        limits[resource.RLIMIT_NPROC] = order["processes"] + 2
    limit(limits)


def _first(child: int) -> NoReturn:
    """Buries whoever dies in the namespace, until the one that answers does. Deaf to what that one may send."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(_code(status))


def _guard(child: int, line: int) -> NoReturn:
    """Waits for `child`, or for the word to end it. Nothing that it started is left when it ends itself."""
    os.close(line)
    while True:
        if signal.sigwait(_WAITED) == signal.SIGTERM:
            _kill((child,))
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _kill_orphans()
            os._exit(_code(status))


def _kill_orphans() -> None:
    """Without a sandbox, children of the child can be left. Those of the sandbox are gone with its first process."""
    with contextlib.suppress(OSError):
        while left := children(os.getpid()):
            _kill(left)
            for _ in left:
                os.wait()


def _kill(processes: Sequence[int]) -> None:
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _code(status: int) -> int:
    """As shells say it: 128 and the number of the signal."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code
