"""Playing variations of the oracle that must all score 1, and saying what failed.

Knows which variants a variation is played in. Does not know the variations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ....events.event import AGENT, MessageReceived, MessageSent
from ..findings import Edit, Finding, pointer
from ..playing import Case, Run
from ..programs.scenes import Scene, scene
from ..programs.variations import Variation
from .places import told, written_at


class Failure(msgspec.Struct, frozen=True):
    """A variation that lost something."""

    name: str
    scene: Scene
    run: Run

    @property
    def missed(self) -> list[str]:
        """People who told less, or something else, than they told the oracle."""
        before, now = _heard(self.scene.run), _heard(self.run)
        return [person for person, said in before.items() if now.get(person) != said]

    def finding(self, case: Case, number: int, word: str) -> Finding:
        """What to say of it; `word` is what the details call the variation."""
        failed = self.run.failed
        known = [name for name in failed if name in self.scene.world.checks]
        return Finding(
            validator=number,
            at=written_at(case, self.run.variant, "checks", known[0]) if known else "/oracle",
            twin=self.run.variant,
            observed=f"The oracle, varied by {self.name}, scores {float(self.run.score):.2f} {told(self.run.variant)}.",
            expected="What makes no difference scores 1.",
            details={word: self.name, "failed": list(failed), "missed": self.missed},
            candidates=(*self._listening(case), *self._matching(case, known)),
        )

    def _listening(self, case: Case) -> Iterator[Edit]:
        """More words for the rules of those who did not understand."""
        for person in self.missed:
            for number, reply in enumerate(self.scene.world.people[person].replies):
                asked = [taken.acts[0] for taken in self.scene.taken if taken.step.ask is not None and taken.done]
                texts = [act.text for act in asked if act is not None and act.subject == person]
                words = list(dict.fromkeys(word for text in texts for word in _words(text)))[:3]
                if reply.any and words:
                    path = written_at(case, self.run.variant, "people", person, "replies", number, "any")
                    yield Edit("widen_keywords", path, list(words))

    def _matching(self, case: Case, failed: list[str]) -> Iterator[Edit]:
        """Less to ask of a message."""
        for name in failed:
            check = self.scene.world.checks[name]
            claim = check.claim or check.never
            if claim is None:
                continue
            kind = "expect" if check.claim is not None else "never"
            path = ("checks", name, kind)
            for part in ("before", "after"):
                if getattr(claim, part) is not None:
                    yield Edit("relax_before", written_at(case, self.run.variant, *path, part), cost=2)
            if check.claim is not None and claim.any:
                bodies = (event.body for event in self.run.events if event.actor == AGENT)
                said = [body.text for body in bodies if isinstance(body, MessageSent)]
                yield Edit("declare_equivalence", written_at(case, self.run.variant, *path, "any"), said[-1:], 2)
            for number in range(len(claim.mentions)):
                raw = case.environment.checks[name].claim if name in case.environment.checks else None
                if check.claim is not None and raw is not None and len(raw.mentions) > 1:
                    rest = [value for place, value in enumerate(raw.mentions) if place != number]
                    yield Edit("loosen_matcher", pointer(*path, "mentions"), rest, 3)


async def vary(case: Case, variations: Mapping[str, Variation]) -> list[Failure]:
    """All variations that lose something, in the base or in a twin; each is played in the base and in one twin."""
    twins = [variant for variant in case.worlds if variant]
    scenes = {variant: await scene(case, variant) for variant in case.worlds}
    found: list[Failure] = []
    for number, (name, variation) in enumerate(variations.items()):
        for variant in ("", *([twins[number % len(twins)]] if twins else ())):
            known = scenes[variant]
            program = variation(known) if known.run.score == 1 else None
            if program is None:
                continue
            run = await case.run(program, variant)
            if run.score < 1:
                found.append(Failure(name, known, run))
                break
    return found


def _heard(run: Run) -> dict[str, list[object]]:
    """What each person has told the agent, in order."""
    sent = {event.seq: (event.actor, event.body) for event in run.events if isinstance(event.body, MessageSent)}
    heard: dict[str, list[object]] = {}
    for event in run.events:
        if event.actor == AGENT and isinstance(event.body, MessageReceived):
            person, message = sent[event.body.message]
            if message.gives:
                heard.setdefault(person, []).append(message.gives)
    return heard


def _words(text: str) -> list[str]:
    """Words of a question that could be what it is about."""
    return [
        word for word in text.lower().replace("?", " ").replace(".", " ").split() if word.isalpha() and len(word) > 4
    ]
