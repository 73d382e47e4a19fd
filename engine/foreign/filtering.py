"""Calls of the kernel that code in a worker never needs: they are answered with an error.

Knows the numbers of calls on two kinds of machine, and the kernel's filter programs (seccomp). Closes what namespaces
and limits leave open: memory that belongs to no process (`memfd_create`, `shmget`), sockets that no network namespace
knows (`AF_VSOCK` reaches a virtual machine's host), the user's keys, and parts of the kernel that are seldom tried.
On other machines there is no filter, and the rest of the confinement stands.
"""

from __future__ import annotations

import errno
import platform
import struct

from . import linux

_FORBIDDEN: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64)
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "open_by_handle_at": (304, 265),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "syslog": (103, 116),
}
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)
_NEW_NAMESPACES = linux.NEW_ALL | 0x02000000
_FAMILIES = (1, 2, 10)
"""Local, IPv4, IPv6: what a network namespace knows."""

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000
"""On x86_64, where the numbers of another set of calls begin."""

# Words of the filter's language: load a word of the call, jump, return.
_LOAD, _IF_EQUAL, _IF_LEAST, _IF_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def install() -> None:
    """From here on, for this process and all that it starts. It must have given up its privileges."""
    known = _MACHINES.get(platform.machine())
    if known is not None:
        linux.filter_calls(_program(*known))


def _program(column: int, machine: int) -> bytes:
    steps = [_step(_LOAD, _MACHINE), _step(_IF_EQUAL, machine, yes=1), _refuse(errno.EPERM), _step(_LOAD, _NUMBER)]
    if column == 0:
        steps += _where(_IF_LEAST, _X32, _refuse(errno.EPERM))
    for numbers in _FORBIDDEN.values():
        steps += _where(_IF_EQUAL, numbers[column], _refuse(errno.EPERM))
    # Its flags are out of a filter's sight; as if the kernel did not have it, C libraries use `clone`.
    steps += _where(_IF_EQUAL, _CLONE3[column], _refuse(errno.ENOSYS))
    steps += _where(
        _IF_EQUAL,
        _CLONE[column],
        _step(_LOAD, _FIRST_ARGUMENT),
        *_where(_IF_ANY, _NEW_NAMESPACES, _refuse(errno.EPERM)),
        _step(_RETURN, _ALLOW),
    )
    families = [step for family in _FAMILIES for step in _where(_IF_EQUAL, family, _step(_RETURN, _ALLOW))]
    steps += _where(_IF_EQUAL, _SOCKET[column], _step(_LOAD, _FIRST_ARGUMENT), *families, _refuse(errno.EAFNOSUPPORT))
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _where(test: int, value: int, *steps: bytes) -> list[bytes]:
    """`steps`, done only where the test of the loaded word with `value` holds."""
    return [_step(test, value, no=len(steps)), *steps]


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERROR | number)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; `yes` and `no` say how many of those that follow are left out."""
    return struct.pack("=HBBI", code, yes, no, value)
