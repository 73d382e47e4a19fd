"""Scores of made-up episodes."""

from __future__ import annotations

from fractions import Fraction

from coworkenv.learn.scores import EpisodeScore


def scored(name: str, score: str | int, *, trial: int = 0, ring: str = "R0", family: str = "f", **more) -> EpisodeScore:
    """One episode of `environment` or `environment@twin`; passed if its score is 1."""
    environment, _, twin = name.partition("@")
    fields = {
        "episode": f"{name}-{trial}",
        "environment": environment,
        "twin": twin,
        "ring": ring,
        "family": family,
        "capabilities": ("A1",),
        "trial": trial,
        "seed": trial,
        "score": Fraction(score),
        "passed": Fraction(score) == 1,
        "gated": False,
        "calls": 2,
        "messages": 1,
        "tokens": 30,
        "checks": {"done-t1": Fraction(score) > 0, "once": True},
        "reason": "finished",
    }
    return EpisodeScore(**{**fields, **more})
