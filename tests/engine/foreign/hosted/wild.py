"""Code that does what no grader should, to be hosted."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def protocol() -> int:
    """The descriptor on which the parent listens."""
    for descriptor in range(3, 64):
        try:
            socket.socket(fileno=os.dup(descriptor)).close()
        except OSError:
            continue
        return descriptor
    raise LookupError


class Wild:
    def well(self) -> str:
        return "well"

    # --- it raises

    def raises(self) -> None:
        raise ValueError("no such order: 17")

    def raises_mutely(self) -> None:
        raise Mute

    def exits(self) -> None:
        sys.exit(3)

    def interrupts(self) -> None:
        raise KeyboardInterrupt

    def recurses(self) -> None:
        self.recurses()

    def raises_at_length(self) -> None:
        raise ValueError("\x1b[2J\ud800" + "x" * 10_000_000)

    # --- it answers nonsense

    def answers(self, what: str) -> Any:
        deep: Any = []
        for _ in range(300):
            deep = [deep]
        loop: list[Any] = []
        loop.append(loop)
        return {
            "nan": float("nan"),
            "set": {1, 2},
            "object": object(),
            "deep": deep,
            "loop": loop,
            "large": "x" * (17 << 20),
            "keys": {1: 2},
            "bytes": b"bytes",
        }[what]

    def says(self, what: str) -> None:
        """Writes to the protocol itself."""
        data = {
            "junk": b"junk" * 10,
            "huge": b"\xff\xff\xff\xff",
            "early": frame(b'["answer",7,1]'),
            "words": frame(b'"hello"'),
            "nan": frame(b'["answer",1,NaN]'),
            "deep": frame(b"[" * 100_000),
            "exponent": frame(b'["answer",1,1e999999999]'),
            "strange": frame(b'["failed",1,"well","",3]'),
            "refused": frame(b'["refused",{}]'),
        }[what]
        os.write(protocol(), data)
        time.sleep(60)

    def hangs_up(self) -> None:
        os.close(protocol())
        time.sleep(60)

    # --- it takes too much

    def loops(self) -> None:
        while True:
            try:
                while True:
                    pass
            except BaseException:
                continue

    def sleeps(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)

    def allocates(self) -> int:
        return len(bytearray(8 << 30))

    def allocates_in_children(self, each: int) -> None:
        for _ in range(8):
            if os.fork() == 0:
                held = bytearray(b"x") * each
                time.sleep(60)
                os._exit(len(held) % 2)
        time.sleep(60)

    def forks(self) -> None:
        while True:
            try:
                os.fork()
            except OSError:
                time.sleep(0.01)

    def prints(self, megabytes: int) -> str:
        print("the first line")
        for _ in range(megabytes):
            sys.stdout.write("x" * 999_999 + "\n")
        print("the last line")
        return "printed"

    def prints_for_ever(self) -> None:
        while True:
            os.write(1, b"y" * 65536)

    def fills(self) -> int:
        """Files until there is no more room; how many bytes there were."""
        written = 0
        for number in range(10_000):
            try:
                with open(f"file{number}", "wb", buffering=0) as file:
                    while True:
                        written += file.write(b"x" * 65536)
            except OSError as error:
                if error.errno == 28:  # no space left
                    return written
        return -1

    # --- it looks around

    def opens(self, path: str) -> str:
        return Path(path).read_text(errors="replace")[:100]

    def walks(self) -> list[str]:
        """All files that it can see, apart from Python, its packages and the system."""
        found = []
        for folder, folders, files in os.walk("/"):
            folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/usr", "/nix", "/gnu")]
            found += [os.path.join(folder, name) for name in files]
        return found

    def writes(self, path: str) -> None:
        Path(path).write_text("was here")

    def connects(self, host: str, port: int) -> None:
        socket.create_connection((host, port), timeout=5).close()

    def listens(self) -> None:
        socket.create_server(("127.0.0.1", 0)).close()
        address = socket.create_server(("127.0.0.1", 0)).getsockname()
        socket.create_connection(address, timeout=1)

    def hides_memory(self) -> list[str]:
        """Where it could keep memory that belongs to no process."""
        libc = ctypes.CDLL(None, use_errno=True)
        found = []
        if libc.shmget(0, 1 << 20, 0o1600) >= 0:
            found.append("shared memory of System V")
        try:
            os.close(os.memfd_create("hidden"))
            found.append("a file in memory")
        except OSError:
            pass
        return found

    def opens_sockets(self) -> list[str]:
        """The families of sockets that it could open, of those that no network namespace knows."""
        found = []
        for name in ("AF_VSOCK", "AF_ALG", "AF_NETLINK"):
            try:
                kind = socket.SOCK_SEQPACKET if name == "AF_ALG" else socket.SOCK_STREAM
                socket.socket(getattr(socket, name), kind).close()
                found.append(name)
            except OSError:
                pass
        return found

    def runs_programs(self) -> str:
        """What ordinary code does: processes, threads, pools, pairs of sockets, an event loop."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        from multiprocessing import get_context

        async def talk() -> str:
            process = await asyncio.create_subprocess_exec("echo", "hello", stdout=subprocess.PIPE)
            return (await process.communicate())[0].decode().strip()

        with ThreadPoolExecutor(2) as threads, get_context("fork").Pool(2) as pool:
            numbers = [*threads.map(abs, [-1]), *pool.map(abs, [-2])]
        return (
            f"{asyncio.run(talk())} {numbers} {subprocess.check_output(['sh', '-c', 'echo well'], text=True).strip()}"
        )

    def becomes_root(self) -> list[str]:
        """What it was allowed of what it should not be."""
        libc = ctypes.CDLL(None, use_errno=True)
        allowed = []
        if libc.unshare(0x10000000) == 0:
            allowed.append("a user namespace")
        if libc.unshare(0x00020000) == 0:
            allowed.append("a mount namespace")
        if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
            allowed.append("a mount")
        if libc.umount2(b"/tmp", 2) == 0:
            allowed.append("an unmount")
        if libc.mount(None, b"/usr", None, 32 | 4096, None) == 0:
            allowed.append("a remount")
        if libc.chroot(b"/tmp") == 0:
            allowed.append("a change of root")
        if libc.setuid(0) == 0:
            allowed.append("another user")
        return allowed

    # --- it goes for others

    def leaves(self) -> None:
        os._exit(7)

    def aborts(self) -> None:
        os.abort()

    def kills_its_parent(self) -> str:
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getppid(), signal.SIGTERM)
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(0.2)
        return "both live"

    def kills_everybody(self) -> str:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass  # there is nobody else
        return "still here"

    def leaves_a_child_behind(self, marker: str) -> str:
        """A grandchild that holds all descriptors open, and ignores what it can."""
        code = (
            "import os, signal, time\n"
            "for number in range(1, 32):\n"
            "    try: signal.signal(number, signal.SIG_IGN)\n"
            "    except (OSError, ValueError): pass\n"
            f"marker = {marker!r}\n"
            "time.sleep(600)\n"
        )
        subprocess.Popen([sys.executable, "-S", "-c", code], close_fds=False, start_new_session=True)
        return "left"

    def answers_twice(self) -> int:
        """Both a process and its fork come back from here."""
        return os.fork() and 1

    def swallows(self) -> str:
        for error in (SystemExit, KeyboardInterrupt):
            try:
                raise error
            except BaseException:
                pass
        return "swallowed"


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class Slow:
    def __init__(self) -> None:
        time.sleep(60)


class Dead:
    def __init__(self) -> None:
        os._exit(5)
