"""The calls of the Linux kernel that Python does not have: namespaces, mounts, capabilities.

Knows numbers and C types. Does not know what they are wanted for. Every function raises OSError, naming the call.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache

NEW_ALL = 0x20000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""Mount, host name, IPC, user, process and network namespaces."""

NOSUID, NODEV, NOEXEC, BIND, RECURSIVE, PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_DETACH = 2
_MOUNT_SETATTR, _AT_RECURSIVE, _HERE = 442, 0x8000, -100
READ_ONLY = 1
_PDEATHSIG, _DUMPABLE, _BOUNDING, _SUBREAPER, _NO_NEW_PRIVILEGES = 1, 4, 24, 36, 38
_SECCOMP, _FILTER = 22, 2
_CAPABILITIES_3 = 0x20080522


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *args: object, about: str = "") -> int:
    result = getattr(_libc(), name)(*args)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", about or None)
    return int(result)


def _path(path: str | None) -> ctypes.c_char_p:
    return ctypes.c_char_p(None if path is None else os.fsencode(path))


def unshare(flags: int) -> None:
    _call("unshare", ctypes.c_int(flags))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    _call("mount", _path(source), _path(target), _path(kind), ctypes.c_ulong(flags), _path(data), about=target)


def restrict(target: str, attributes: int, *, recursive: bool) -> None:
    """Sets attributes (`READ_ONLY`, `NOSUID`, `NODEV`) of a mount, and of those below it. Linux 5.12 and newer."""
    given = struct.pack("=QQQQ", attributes, 0, 0, 0)
    _call(
        "syscall",
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_HERE),
        _path(target),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0),
        ctypes.c_char_p(given),
        ctypes.c_size_t(len(given)),
        about=target,
    )


def change_root(root: str, before: str) -> None:
    """`root` becomes `/`; what was `/` is at `before`, which lies in it."""
    _call("pivot_root", _path(root), _path(before), about=root)


def leave(target: str) -> None:
    """Takes a mount, and all below it, out of sight."""
    _call("umount2", _path(target), ctypes.c_int(_DETACH), about=target)


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _call("prctl", ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero)


def die_with_parent(signal: int) -> None:
    """With the thread that made this process, strictly speaking."""
    _prctl(_PDEATHSIG, signal)


def let_look(allowed: bool) -> None:
    """Whether others of the same user may look into this process or trace it."""
    _prctl(_DUMPABLE, int(allowed))


def adopt_orphans() -> None:
    """Descendants whose parents end become children of this process."""
    _prctl(_SUBREAPER, 1)


def give_up_privileges() -> None:
    """No capabilities, none ever again, and no program that would give any."""
    for capability in range(64):
        try:
            _prctl(_BOUNDING, capability)
        except OSError:
            break  # past the last that this kernel has
    header = struct.pack("=Ii", _CAPABILITIES_3, 0)
    _call("capset", ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))
    _prctl(_NO_NEW_PRIVILEGES, 1)


def filter_calls(program: bytes) -> None:
    """Asks `program`, instructions of eight bytes each, before every call of the kernel from here on."""
    kept = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("@HP", len(program) // 8, ctypes.addressof(kept))
    zero = ctypes.c_ulong(0)
    mode, where = ctypes.c_ulong(_FILTER), ctypes.c_char_p(given)
    _call("prctl", ctypes.c_int(_SECCOMP), mode, where, zero, zero)
