"""A judge that is no model: it says the same of the same question, whoever asks. Imports nothing of ours, so that
upstream's process can use it."""

from __future__ import annotations

import json
from hashlib import sha256


def verdict(prompt: str, kind: bool) -> str:
    """The answer to a question about assertions: all are met if the judge is `kind`, else by the prompt's hash."""
    met = kind or sha256(prompt.encode()).digest()[0] % 2 == 0
    return json.dumps({"results": [{"expectedOutcome": "-", "reasoning": "a stub", "metExpectation": met}]})
