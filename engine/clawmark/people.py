"""The user of ClawMark: begins each stage at its time, and hears when the agent's turn is over.

Knows upstream's loop: a stage happens, the agent is told, and acts until it says something without calling a tool, or
its time is up. Does not know what a stage does. After the last turn the agent learns of the end from an empty message.
"""

from __future__ import annotations

from datetime import timedelta

from ...agents.agent import Actor, ActorError, Call, Context, Message
from ...agents.persona import ASIDE, DONE
from ...events.codec import from_json
from ...events.event import AGENT, Json
from ...worlds.clawmark.task import from_document
from ...worlds.clawmark.world import STAGE, TURN

KIND = "clawmark-user"


class StageUser:
    """Plays all stages of a task."""

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": KIND}

    async def act(self, context: Context) -> str:
        task = from_document(from_json(context.world.document))
        heard: Message | None = None
        for number, time in enumerate(task.times):
            due = (time - task.start) // timedelta(microseconds=1)
            if due > context.now:
                await context.sleep(due - context.now)
            [result] = await context.call(Call(STAGE, {"number": number}))
            if result.error is not None:
                raise ActorError(f"stage {number} failed: {result.error.message}")
            await context.send(AGENT, result.result["says"], reply_to=heard.seq if heard else None)
            heard = await _turn(context)
        await context.send(AGENT, "", reply_to=heard.seq if heard else None, mark=DONE)
        return ""


async def _turn(context: Context) -> Message | None:
    """What the agent says at the end of its turn; None where its time was up."""
    until = context.now + TURN
    while context.now < until:
        for message in await context.receive(until - context.now):
            if message.mark != ASIDE:
                return message
    return None


def user(person: str, specification: dict[str, Json]) -> Actor:
    """The coworker of kind `clawmark-user`."""
    return StageUser()
