"""What another model says of the same tokens: the reference that a policy is held near, or its own past.

Knows samples and models. Does not know what the numbers are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from .batches import collate, forward_logprobs
from .samples import Sample, Span, microbatches


def with_reference(given: Sequence[Sample], model: Any, tokens: int, temperature: float = 1.0) -> list[Sample]:
    """The samples, with the log-probabilities of what is trained on under `model`; in the order given."""
    known: dict[int, Sample] = {}
    places = {id(sample): place for place, sample in enumerate(given)}
    device = next(model.parameters()).device
    for batch in microbatches(given, tokens):
        with torch.no_grad():
            logprobs = forward_logprobs(model, collate(batch).to(device), temperature).logprobs.tolist()
        at = 0
        for sample in batch:
            spans: list[Span] = []
            for span in sample.spans:
                count = span.stop - span.start if span.weight else 0
                reference = tuple(logprobs[at : at + count]) if count else None
                spans.append(msgspec.structs.replace(span, reference=reference))
                at += count
            known[places[id(sample)]] = msgspec.structs.replace(sample, spans=tuple(spans))
    return [known[place] for place in range(len(given))]
