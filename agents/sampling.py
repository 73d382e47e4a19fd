"""Which model is asked, how it samples, and what its answers cost in virtual time.

Knows the options that every actor with a model has. Does not know prompts or servers.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from ..events.event import Json
from ..worlds.durations import microseconds
from .agent import Price
from .server import plain_url

_OWN = ("model", "messages", "tools", "stream", "n", "temperature", "max_tokens", "seed")


class Sampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of an actor with a model. All of them may change what it does, so all are in its specification."""

    model: str
    url: str | None = None
    """The server's base URL, where it is not left to the environment's variables."""
    temperature: Decimal | None = None
    max_tokens: int | None = None
    """Tokens that one answer may have."""
    seed: int | None = None
    extra: dict[str, Any] = {}
    """Further fields of the request, as the server knows them."""
    base: str = "2s"
    """Virtual time that an answer takes at least."""
    per_token: str = "20ms"
    """Virtual time that each of its tokens takes."""

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("`model` is empty; name a model that the server has")
        taken = [name for name in self.extra if name in _OWN]
        if taken:
            raise ValueError(
                f"`extra` may not hold {', '.join(taken)}: there is an option for that, or it is ours to set"
            )
        if self.url is not None:
            plain_url(self.url)
        _ = self.price

    @property
    def price(self) -> Price:
        return Price(microseconds(self.base), microseconds(self.per_token))

    @property
    def settings(self) -> dict[str, Json]:
        """The request's fields beside its messages and tools."""
        given = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
        return {"model": self.model, **{k: v for k, v in given.items() if v is not None}, **self.extra}

    def plain(self) -> dict[str, Json]:
        """All options that say something, as plain data: defaults too, since another release may have others."""
        return {
            name: value for name, value in msgspec.structs.asdict(self).items() if value is not None and value != {}
        }
