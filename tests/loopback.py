"""A chat server of our own on loopback: what a model answers is a function of the request.

Real HTTP (h11) over real sockets (trio), so that clients, timeouts and broken connections are tested as they happen. It
can answer late, wrongly or not at all, and it keeps every request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Literal

import h11
import trio


@dataclass(frozen=True)
class Reply:
    """What the server does with one request. `body` is sent as JSON unless it is bytes."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds of real time before the response begins."""
    drop: Literal["", "before", "within"] = ""
    """Close the connection before the response, or in the middle of its body."""


Answering = Callable[[dict[str, Any]], "Reply | dict[str, Any]"]


def completion(
    text: str = "",
    calls: Sequence[tuple[str, Any]] = (),
    *,
    tokens: int | None = 20,
    prompt_tokens: int | None = 100,
    stop: str | None = None,
    **choice: Any,
) -> dict[str, Any]:
    """The body of a chat completion. Arguments of `calls` that are texts are sent as they are, others as JSON."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
            }
            for index, (name, args) in enumerate(calls)
        ]
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "loopback",
        "choices": [
            {"index": 0, "message": message, "finish_reason": stop or ("tool_calls" if calls else "stop"), **choice}
        ],
    }
    if tokens is not None or prompt_tokens is not None:
        body["usage"] = {"completion_tokens": tokens, "prompt_tokens": prompt_tokens}
    return body


def in_turn(*replies: Reply | dict[str, Any]) -> Answering:
    """Answers the first request with the first reply, and so on; the last one again and again."""
    waiting = list(replies)

    def answer(_: dict[str, Any]) -> Reply | dict[str, Any]:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


class ModelServer:
    """Serves `POST …/chat/completions` while `serving()` is open. `latency` gives each response's delay in seconds."""

    def __init__(self, answer: Answering, latency: Callable[[], float] | None = None) -> None:
        self._answer = answer
        self._latency = latency
        self.url = ""
        """The base URL, once it serves."""
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests so far."""
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.under_way = 0
        self.most_under_way = 0
        """Requests that were being answered at the same time."""

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[ModelServer]:
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            [listener] = await trio.open_tcp_listeners(port, host="127.0.0.1", backlog=2048)
            self.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/v1"
            nursery.start_soon(trio.serve_listeners, self._serve, [listener])
            try:
                yield self
            except Exception as error:
                failure = error  # Raised behind the nursery, which would make a group of it.
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        connection = h11.Connection(h11.SERVER)
        try:
            while await self._exchange(stream, connection):
                connection.start_next_cycle()
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError):
            pass  # The client has gone.
        finally:
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)

    async def _exchange(self, stream: trio.SocketStream, connection: h11.Connection) -> bool:
        """One request and its response; whether the connection stays open."""
        body = bytearray()
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(1 << 16))
            elif isinstance(event, h11.Request):
                self.headers.append({name.decode(): value.decode() for name, value in event.headers})
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
        request = json.loads(body)
        self.requests.append(request)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._respond(stream, connection, request)
        finally:
            self.under_way -= 1

    async def _respond(self, stream: trio.SocketStream, connection: h11.Connection, request: dict[str, Any]) -> bool:
        answer = self._answer(request)
        reply = answer if isinstance(answer, Reply) else Reply(answer)
        await trio.sleep(reply.delay + (self._latency() if self._latency is not None else 0.0))
        if reply.drop == "before":
            return False
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(content)), **reply.headers}
        sent = connection.send(h11.Response(status_code=reply.status, headers=list(headers.items()))) or b""
        if reply.drop == "within":
            await stream.send_all(sent + content[: len(content) // 2])
            return False
        sent += connection.send(h11.Data(data=content)) or b""
        await stream.send_all(sent + (connection.send(h11.EndOfMessage()) or b""))
        return connection.our_state is h11.DONE and connection.their_state is h11.DONE


@contextmanager
def served(answer: Answering) -> Iterator[ModelServer]:
    """A server in a thread of its own, beside what runs a loop of its own, as commands do."""
    server, ready, stop = ModelServer(answer), Event(), trio.Event()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def serve() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        async with server.serving():
            ready.set()
            await stop.wait()

    thread = Thread(target=trio.run, args=(serve,), daemon=True)
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        if tokens:
            tokens[0].run_sync_soon(stop.set)
        thread.join(10)
