"""26, paraphrase: a matcher or a coworker that depends on one wording.

The oracle's messages, in six other styles (small letters, capitals, formal, without punctuation, chatty, mistyped), are
played in the base and in one twin, another one for each, and must score 1. Details: `realisation` (the style),
`failed` (checks), `missed` (people who answered otherwise than the oracle was answered).
Proposes `widen_keywords` for a rule of a person who did not understand, with the words of the question that they did
understand; and for a check that fails the same as `benign`.
"""

from __future__ import annotations

from ..findings import Finding
from ..playing import Case
from ..programs.variations import RESTYLED
from .varying import vary

NUMBER = 26


async def find(case: Case) -> list[Finding]:
    return [failure.finding(case, NUMBER, "realisation") for failure in await vary(case, RESTYLED)]
