"""Tasks of a checkout, made ready to be played: what its files say, and what its code makes of that.

Knows workers. Does not know how a task is played.
"""

from __future__ import annotations

import msgspec

from ...events.event import Json
from ...worlds.tau2.task import Side, Task
from ..foreign import Worker
from .host import Setup, opened

RETRIEVAL = {"retrieval_variant": "no_knowledge"}
"""How banking looks things up, unless somebody says otherwise: upstream's default needs more libraries."""


class _Described(msgspec.Struct, frozen=True):
    """What the worker says of an open environment."""

    agent: Side
    user: Side
    prompt: str
    scenario: str


async def load_task(
    asked: Worker,
    setup: Setup,
    domain: str,
    raw: dict[str, Json],
    solo: bool = False,
    digest: str | None = None,
    turns: bool = True,
) -> Task:
    """One task, its environment opened in a worker that hosts the same checkout. Raises ForeignFailed.

    `solo` and `turns` are as in `Task`. `digest` is the checkout's for the domain, where it is at hand.
    """
    options: dict[str, Json] = dict(RETRIEVAL) if domain == "banking_knowledge" else {}
    wanted: dict[str, Json] = {"domain": domain, "task": raw, "options": options, "solo": solo}
    await opened(asked, wanted)
    described = msgspec.convert(await asked.ask("describe", task=raw, solo=solo), _Described)
    return Task(
        id=raw["id"],
        domain=domain,
        digest=digest or setup.checkout.digest(domain),
        raw=raw,
        options=options,
        solo=solo,
        turns=turns,
        prompt=described.prompt,
        scenario=described.scenario,
        agent=described.agent,
        user=described.user,
    )
