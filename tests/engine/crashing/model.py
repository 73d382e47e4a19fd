"""What the model of the crash tests answers: a function of the request and of a salt.

With the same salt for every request it is a pure function: server A. With another salt each time it is server B, whose
answers differ in text and length whenever it is asked again. Knows the wire format; knows nothing of episodes.
"""

from __future__ import annotations

import json
from hashlib import sha256
from random import Random
from typing import Any

from ...loopback import completion

_TEXTS = (
    "Which parts do you need?",
    "May I buy P-17? Please approve.",
    "What is the budget?",
    "Please stop, it has been settled.",
    "Done so far.",
)


def answer(request: dict[str, Any], salt: str = "") -> dict[str, Any]:
    """The body of a chat completion."""
    seen = json.dumps([request["messages"], request.get("seed"), salt]).encode()
    draw = Random(int.from_bytes(sha256(seen).digest()[:8], "big"))
    if "tools" in request:
        return _decision(request, draw)
    words = request["messages"][-1]["content"]
    return completion(draw.choice(["", "Hello! ", "Well: "]) + words, tokens=draw.randrange(5, 200))


def _decision(request: dict[str, Any], draw: Random) -> dict[str, Any]:
    tokens = draw.randrange(1, 350)
    more = {"token_ids": list(range(tokens)), "logprobs": {"content": [{"logprob": -draw.random()}]}}
    made = sum(message["role"] == "assistant" for message in request["messages"])
    if made >= 12 + draw.randrange(6):
        return completion(calls=[("finish", {"summary": f"{made} decisions"})], tokens=tokens, **more)
    if draw.random() < 0.1:
        return completion(draw.choice(_TEXTS), tokens=tokens, **more)
    calls = [_call(draw) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
    return completion("Let me see." * draw.randrange(3), calls, tokens=tokens, **more)


def _call(draw: Random) -> tuple[str, Any]:
    part = draw.choice(["P-17", "P-20", "P-99"])
    return draw.choice(
        [
            ("stock_parts_find", {}),
            ("stock_parts_get", {"id": part}),
            ("stock_parts_update", {"id": part, "on_hand": draw.randrange(90)}),
            ("stock_parts_update", {"id": part, "note": draw.choice("abc") * draw.choice([5, 20_000])}),
            ("stock_parts_delete", {"id": part}),
            ("stock_parts_create", '{"id": broken'),
            ("send_message", {"to": "lena", "text": draw.choice(_TEXTS)}),
            ("send_message", {"to": "tomas", "text": draw.choice(_TEXTS)}),
            ("send_message", {"to": "tomas", "text": draw.choice(_TEXTS)}),
            ("wait", {"minutes": draw.choice([0.05, 0.2, 0.5])}),
        ]
    )
