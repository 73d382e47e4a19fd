"""A client for any server that speaks OpenAI's chat completions: asks, retries, and gives up with a reason.

Knows HTTP, retries and how long to wait. Does not know agents, prompts or what an answer is used
for; what a response means is `answers`. Runs under trio. The key is sent to the server and appears nowhere else.

Retries draw real randomness and wait real time. Nothing in a log depends on either: what is written down is the answer,
and whatever was tried before it is only observed.
"""

from __future__ import annotations

import os
import random  # noqa: TID251 - spreads retries of many episodes; no event depends on it
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeAlias
from urllib.parse import urlsplit

import httpx
import msgspec
import trio

from ..events.event import Json
from .agent import Outside, Perform, Request, Unavailable
from .answers import Again, Hopeless, Verdict, judge, refusal
from .counting import as_json
from .server import Server

KEY_VARIABLE = "OPENAI_API_KEY"

GARBLED_TRIES = 3
"""After so many responses that cannot be read, the agent must live with that."""
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more is given up for now."""
BODY_LIMIT = 64 << 20
"""Bytes of a response that are read."""
KEY_LENGTH = 8
"""Characters that a key has at least: what is shorter stands in for one, and may well be part of an answer."""


def chat(server: Server, *, key: str | None = None, fraction: Callable[[], float] = random.random) -> Perform:
    """A function that asks `server`. The key is `OPENAI_API_KEY`'s value unless given.

    It raises Unavailable, with the reason and what to do, if there is no answer to be had now.
    """
    return partial(_perform, server, key, fraction)


async def _perform(server: Server, key: str | None, fraction: Callable[[], float], request: Request) -> Outside:
    body, prompt = _body(request)
    return await persist(server, "chat/completions", body, partial(judge, prompt=prompt), key=key, fraction=fraction)


Judge: TypeAlias = Callable[[int, httpx.Headers, bytes], Verdict]
"""From status, headers and body of a response to what it means."""


async def persist(
    server: Server,
    path: str,
    body: bytes,
    judge: Judge,
    *,
    key: str | None = None,
    fraction: Callable[[], float] = random.random,
) -> Outside:
    """Post `body` to a path of a server until there is an answer. Raises Unavailable, as a `chat` does."""
    secret = os.environ.get(KEY_VARIABLE, "") if key is None else key
    started = trio.current_time()
    failures: list[str] = []
    garbled = 0
    while True:
        verdict = await _attempt(server, path, secret, body, judge)
        if isinstance(verdict, Outside):
            seconds = round(trio.current_time() - started, 3)
            value = without(secret, verdict.answer.value)
            observed = {**without(secret, verdict.observed), "failures": failures, "seconds": seconds}
            return Outside(msgspec.structs.replace(verdict.answer, value=value), observed)
        reason = without(secret, verdict.reason)
        if isinstance(verdict, Hopeless):
            raise Unavailable(f"{server.url}: {reason}")
        failures.append(reason)
        garbled += verdict.garbled
        if garbled >= GARBLED_TRIES:
            return refusal("invalid_answer", f"The server gave {garbled} answers that could not be read.", reason)
        wait = pause(server, len(failures), verdict.after, fraction())
        if len(failures) >= server.attempts or wait > LONGEST_WAIT:
            asks = f"; it asks to wait {wait:.0f} s" if wait > LONGEST_WAIT else ""
            raise Unavailable(
                f"{server.url} gave no answer in {len(failures)} attempts{asks}. The last failure: {reason}."
            )
        await trio.sleep(wait)


def _body(request: Request) -> tuple[bytes, str]:
    """The request's body, and the part of it that counts as the prompt."""
    messages = [part for part in request.prompt if "tools" not in part]
    tools = [tool for part in request.prompt if "tools" in part for tool in part["tools"]]
    prompt: dict[str, Json] = {"messages": messages, "tools": tools} if tools else {"messages": messages}
    return as_json({**request.settings, **prompt}).encode(), as_json(prompt)


def pause(server: Server, failures: int, after: float | None, chance: float) -> float:
    """Seconds before the next attempt: what the server asked for, else twice as long each time, shortened by chance."""
    if after is not None:
        return after
    return float(min(30.0, server.first_wait * 2.0 ** (failures - 1)) * (0.5 + chance / 2))


def without(secret: str, value: Json) -> Json:
    """`value` with the key left out wherever a server repeats it."""
    if len(secret) < KEY_LENGTH:
        return value
    if isinstance(value, str):
        return value.replace(secret, "…")
    if isinstance(value, list):
        return [without(secret, item) for item in value]
    if isinstance(value, dict):
        return {without(secret, name): without(secret, item) for name, item in value.items()}
    return value


async def _attempt(server: Server, path: str, secret: str, body: bytes, judge: Judge) -> Verdict:
    """One request. Never raises for what a server or a network can do."""
    try:
        with trio.move_on_after(server.timeout) as scope:
            status, headers, received = await _exchange(server.url, path, secret, body)
    except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError) as error:
        # Not the error's own words: they can hold the key.
        return Hopeless(f"the base URL or the key in {KEY_VARIABLE} cannot be used ({type(error).__name__})")
    except (httpx.RequestError, httpx.StreamError) as error:
        return Again(f"{type(error).__name__}: {error}".rstrip(": "))
    if scope.cancelled_caught:
        return Again(f"no answer within {server.timeout:g} s")
    if received is None:
        return Again(f"the response has more than {BODY_LIMIT >> 20} MiB", garbled=True)
    return judge(status, headers, received)


async def _exchange(url: str, path: str, secret: str, body: bytes) -> tuple[int, httpx.Headers, bytes | None]:
    """Status, headers and body of the response; no body if it is too large."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    if secret:
        headers["authorization"] = f"Bearer {secret}"
    received = bytearray()
    with _client(url) as client:
        async with client.stream("POST", f"{url}/{path}", content=body, headers=headers) as response:
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > BODY_LIMIT:
                    return response.status_code, response.headers, None
            return response.status_code, response.headers, bytes(received)


# --- connections -------------------------------------------------------------------------------------------


class _Clients:
    """The HTTP clients of one run of trio. All episodes share them; they are closed when the run ends.

    Each request that is under way has a client, and so a connection, to itself. One client for all would look through
    all of its connections for each request: with 200 episodes that takes ten times as long as the request.
    """

    def __init__(self) -> None:
        self._all: list[httpx.AsyncClient] = []
        self._idle: dict[tuple[str, str, int | None], list[httpx.AsyncClient]] = {}
        self._certificates: ssl.SSLContext | None = None
        self._none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        """For connections without TLS; trusts nobody."""

    @contextmanager
    def borrow(self, url: str) -> Iterator[httpx.AsyncClient]:
        parts = urlsplit(url)
        idle = self._idle.setdefault((parts.scheme, parts.hostname or "", parts.port), [])
        client = idle.pop() if idle else self._new(parts.scheme == "https", parts.hostname or "")
        try:
            yield client
        finally:
            idle.append(client)

    def _new(self, secure: bool, host: str) -> httpx.AsyncClient:
        if secure and self._certificates is None:
            self._certificates = httpx.create_ssl_context()  # Takes tens of milliseconds, so once for all.
        client = httpx.AsyncClient(
            timeout=None,  # `Server.timeout` covers an attempt as a whole.
            verify=self._certificates if secure and self._certificates else self._none,
            trust_env=host not in ("localhost", "127.0.0.1", "::1"),  # No proxy between a machine and itself.
        )
        self._all.append(client)
        return client

    async def close_at_end(self) -> None:
        """Runs beside everything else, until trio ends it."""
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                for client in self._all:
                    await client.aclose()


_clients: trio.lowlevel.RunVar[_Clients] = trio.lowlevel.RunVar("chat clients")


def _client(url: str) -> AbstractContextManager[httpx.AsyncClient]:
    """A client for one request to `url`."""
    try:
        clients = _clients.get()
    except LookupError:
        clients = _Clients()
        _clients.set(clients)
        trio.lowlevel.spawn_system_task(clients.close_at_end)
    return clients.borrow(url)
