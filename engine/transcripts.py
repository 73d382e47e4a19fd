"""An episode of a model as a chat with tools: what the model was shown, and what it decided.

Knows how prompts stand in a log. Does not know what an episode was worth (`demonstrations`). Nothing is worded anew:
every message is the one that was sent to the model, so a student who is trained on it has seen what it will see.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..agents.prompts import decided
from ..events.event import AGENT, ContextCut, EffectRequested, EffectResolved, Event, Json
from .effects import prompt_after
from .plan import EpisodeError

MISTAKE = "mistake"
"""Why an answer stopped that is a mistake, there to be made good."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A chat in OpenAI's format, its last message the last decision."""

    messages: tuple[dict[str, Json], ...]
    tools: tuple[dict[str, Json], ...]
    left_out: int = 0
    """Messages that the last prompt left out, since the context was full."""
    unlearnt: tuple[int, ...] = ()
    """Decisions, counted from 0, that are mistakes which are then made good: they are shown, and not to be learnt."""

    @property
    def decisions(self) -> list[dict[str, Json]]:
        """What the model wrote."""
        return [message for message in self.messages if message["role"] == "assistant"]


def transcript(events: Sequence[Event]) -> Transcript:
    """The chat of an episode whose agent was a model: its last prompt, and the decision that ended it.

    Raises EpisodeError for an episode in which no model decided anything as the agent.
    """
    prompt: list[Json] = []
    shown: list[Json] = []
    """The prompt of the last request that was answered: a later one may have been left open by the end."""
    requests: set[int] = set()
    answer: EffectResolved | None = None
    decisions = left_out = 0
    unlearnt: list[int] = []
    for event in events:
        body = event.body
        if event.actor != AGENT:
            continue
        if isinstance(body, ContextCut):
            left_out = len(body.messages)
        elif isinstance(body, EffectRequested) and body.kind == "model":
            prompt = prompt_after(prompt, body.prompt)
            requests.add(event.seq)
        elif isinstance(body, EffectResolved) and body.effect in requests and body.refused is None:
            answer, shown = body, prompt
            if answer.answer["stop"] == MISTAKE:
                unlearnt.append(decisions)
            decisions += 1
    if answer is None:
        raise EpisodeError("no model decided anything as the agent of this episode, so it is no chat")
    tools = [tool for part in shown if "tools" in part for tool in part["tools"]]
    messages = [part for part in shown if "tools" not in part]
    messages.append(decided(answer.answer["text"], answer.answer["calls"], decisions))
    return Transcript(messages=tuple(messages), tools=tuple(tools), left_out=left_out, unlearnt=tuple(unlearnt))
