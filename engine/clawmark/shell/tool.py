"""The small shell as a tool of an agent.

Knows its argument and its answer. Does not know what the shell does.
"""

from __future__ import annotations

from ....events.event import Json
from ....worlds.clawmark.tree import Tree
from ....worlds.service import Instant
from .running import Shell

_MOST = 60_000
"""Characters of each stream that are shown."""


def commanded(args: Json, tree: Tree, now: Instant) -> dict[str, Json]:
    """What a command line comes to, as JSON of a `HostedAnswer` without changes: those are in the tree."""
    command = args.get("command") if isinstance(args, dict) else None
    if not isinstance(command, str):
        return {"error": {"type": "invalid_arguments", "message": "`command` must be a text."}}
    done = Shell(tree, now).run(command)
    errors: dict[str, Json] = {"stderr": _shown(done.stderr)} if done.stderr else {}
    return {"result": {"code": done.code, "stdout": _shown(done.stdout), **errors}}


def _shown(data: bytes) -> str:
    text = data.decode(errors="replace")
    left = len(text) - _MOST
    return text if left <= 0 else f"{text[:_MOST]}\n[{left:,} more characters]"
