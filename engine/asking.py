"""The requests of one episode to the outside world: asked, answered, given up.

Knows which requests are pending, which of them the journal answers, and that a request leaves only once it is durable.
Does not know virtual time: when an answer is wanted, and when its actor learns it, is the kernel's matter.
"""

from __future__ import annotations

from ..agents.agent import Answer, Outside, Perform
from ..events.event import EffectResolved
from ..events.normalise import normalise
from ..worlds.foreign import HostedCall
from . import given
from .effects import Effects, Journal
from .hosting import Host
from .recording import Exhausted
from .seats import Pending


class Asking:
    """Requests that their actors have not learnt the answer of, by `seq`, in order."""

    def __init__(self, effects: Effects | None, journal: Journal, host: Host | None = None) -> None:
        """Without `effects` the real world cannot be asked, and without `host` no foreign service: each answer must be
        in the journal."""
        self._effects = effects
        self._host = host
        self._unasked: list[tuple[Pending, Perform]] = []
        self.journal = journal
        self.pending: dict[int, Pending] = {}

    @property
    def waiting(self) -> bool:
        """Whether some have not been asked yet."""
        return bool(self._unasked)

    def add(self, pending: Pending, perform: Perform) -> None:
        """A new request, to be asked when its step is durable."""
        self.pending[pending.seq] = pending
        self._unasked.append((pending, perform))

    def begin(self) -> None:
        """Ask what has not been asked, as far as the journal does not answer it."""
        for pending, perform in self._unasked:
            wanted = pending.seq in self.pending and not self.journal.settles(pending.seq)
            if wanted and self._effects is not None:
                self._effects.begin(pending.seq, pending.request, perform)
        self.forget()

    def forget(self) -> None:
        """Nobody wants to know any more what has not been asked yet."""
        self._unasked.clear()

    def give_up(self, effect: int) -> Pending | None:
        """Forget a request whose answer its actor does not want any more; None if there is none such."""
        pending = self.pending.pop(effect, None)
        if pending is not None and self._effects is not None:
            self._effects.cancel(effect)
        return pending

    def cancel(self) -> None:
        """Give up whatever is really under way."""
        if self._effects is not None:
            for effect in self.pending:
                self._effects.cancel(effect)

    async def answer(self, pending: Pending) -> tuple[EffectResolved, Outside | None]:
        """What the journal or the real world answers. The only place where an episode waits in real time.

        Raises Exhausted if neither can answer, Unavailable if the real world does not, BadOperation for
        an answer that is none.
        """
        logged = self.journal.resolved.get(pending.seq)
        if logged is not None:
            return logged, None
        if self._effects is None:
            raise Exhausted(f"the log has no answer to effect {pending.seq}")
        outside = given.outside(await self._effects.outcome(pending.seq))
        answer = outside.answer
        resolved = EffectResolved(
            effect=pending.seq,
            due=max(pending.bound, pending.start + pending.request.price.of(answer.tokens or 0)),
            answer=normalise(answer.value)[0],
            refused=answer.refused,
            tokens=answer.tokens,
            prompt_tokens=answer.prompt_tokens,
            counted=answer.counted,
        )
        return resolved, outside

    async def hosted(self, seq: int, call: HostedCall, at: int) -> EffectResolved:
        """What a foreign service answers: the log, where it has an answer to effect `seq`; else its host, which first
        brings its code to where the log is. Raises Exhausted if neither can, and what the host raises."""
        logged = self.journal.resolved.get(seq)
        if logged is not None:
            if self._host is not None:
                self._host.know(call, logged.answer)
            return logged
        if self._host is None:
            raise Exhausted(f"the log has no answer to effect {seq}")
        return EffectResolved(effect=seq, due=at, answer=await self._host.answer(call))


def answer_of(resolved: EffectResolved) -> Answer:
    """What an actor learns of what the log says."""
    return Answer(
        value=resolved.answer,
        refused=resolved.refused,
        tokens=resolved.tokens,
        prompt_tokens=resolved.prompt_tokens,
        counted=resolved.counted,
    )
