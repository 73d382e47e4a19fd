"""Whether the same settings give the same digests under other conditions.

Knows how settings are played in processes of their own, what is compared with what, and how that is reported. Does not
know what is in an episode.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from time import perf_counter
from typing import Any

import msgspec

from .playing import Job, Played
from .settings import ROOT, Conditions, Setting

BASE = Conditions()
LONGEST = 1800
"""Seconds that one process may take."""

HARD = ("effects", "overtakings", "cancelled before the bound", "cut after the bound", "timed-out waits")
"""What a comparison must have had a lot of, to mean something."""


class Run(msgspec.Struct, frozen=True):
    """Some of the settings, by their places in the list, under one set of conditions."""

    name: str
    places: tuple[int, ...]
    conditions: Conditions
    verify: bool = False


class Outcome(msgspec.Struct, frozen=True):
    name: str
    episodes: int
    seconds: float
    same: int
    differences: tuple[str, ...] = ()
    """A sentence for each episode with another digest."""


class Report(msgspec.Struct, frozen=True):
    pairs: int
    environments: int
    modelled: int
    """Pairs of which agent and coworkers are both behind a model."""
    digests: int
    """Different digests in the base: as many as there are pairs, or a comparison would show nothing."""
    identical: int
    """Episodes of the base that `verify` found identical."""
    counts: dict[str, int]
    """What happened in the episodes of the base, in all."""
    reasons: dict[str, int]
    outcomes: tuple[Outcome, ...]

    @property
    def good(self) -> bool:
        every = all(not outcome.differences for outcome in self.outcomes)
        return every and self.digests == self.identical == self.pairs


def process(settings: Sequence[Setting], conditions: Conditions, check: bool = False) -> list[Played]:
    """Play settings in a process of their own. Raises RuntimeError with what it said if it fails."""
    job = msgspec.json.encode(Job(list(settings), conditions, check))
    command = [conditions.python, "-m", "tests.engine.determinism.playing"]
    environment = {**os.environ, "PYTHONHASHSEED": str(conditions.hash_seed)}
    done = subprocess.run(command, input=job, capture_output=True, cwd=ROOT, env=environment, timeout=LONGEST)
    if done.returncode:
        raise RuntimeError(f"playing under {conditions} failed:\n{done.stderr.decode()[-4000:]}")
    return msgspec.json.decode(done.stdout, type=list[Played])


def alone(pairs: int, pythons: Sequence[str]) -> Iterator[Run]:
    """Every pair with each condition varied alone."""
    variations: list[tuple[str, dict[str, Any]]] = [
        ("another shuffle of latencies", {}),
        ("no latency", {"latency": "none"}),
        ("uneven latencies", {"latency": "uneven"}),
        ("hash seed 1", {"hash_seed": 1}),
        ("hash seed 2", {"hash_seed": 2}),
        ("8 at once", {"concurrency": 8}),
        ("SQLite", {"log": "sqlite"}),
        ("SQLite, each commit on disk", {"log": "sqlite", "durability": "each"}),
        ("model behind HTTP", {"wire": "http"}),
        *((python, {"python": python}) for python in pythons),
    ]
    for name, changed in variations:
        yield Run(name, tuple(range(pairs)), msgspec.structs.replace(BASE, **changed))


def combined(pairs: int, pythons: Sequence[str], combinations: int, each: int, seed: int) -> Iterator[Run]:
    """Random combinations of all conditions, each for `each` random pairs. `seed` draws them."""
    draw = random.Random(seed)
    for number in range(combinations):
        conditions = Conditions(
            latency=draw.choice(["random", "none", "uneven"]),
            concurrency=draw.choice([1, 8]),
            log=draw.choice(["memory", "sqlite"]),
            durability=draw.choice(["batch", "each"]),
            wire=draw.choice(["inside", "http"]),
            hash_seed=draw.choice([0, 1, 2]),
            python=draw.choice([BASE.python, *pythons]),
        )
        places = tuple(draw.sample(range(pairs), min(each, pairs)))
        yield Run(f"combination {number + 1}", places, conditions)


def compare(
    settings: Sequence[Setting], runs: Sequence[Run], jobs: int, tell: Callable[[Outcome], None] = lambda outcome: None
) -> Report:
    """Play the base, then every run, `jobs` processes at a time, and compare digests. `tell` hears of each run."""
    started = perf_counter()
    base = process(settings, BASE, check=True)
    first = Outcome("base", len(base), perf_counter() - started, len(base))
    tell(first)

    def outcome(run: Run) -> Outcome:
        begun = perf_counter()
        got = process([settings[place] for place in run.places], run.conditions)
        differences = tuple(_differences(settings, base, run, got))
        found = Outcome(run.name, len(got), perf_counter() - begun, len(got) - len(differences), differences)
        tell(found)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(outcome, runs))
    return Report(
        pairs=len(settings),
        environments=len({setting.environment for setting in settings}),
        modelled=sum(setting.modelled for setting in settings),
        digests=len({played.digest for played in base}),
        identical=sum(played.verdict == "identical" for played in base),
        counts=dict(sum((Counter(played.counts) for played in base), Counter())),
        reasons=dict(Counter(f"{played.status}: {played.reason}" for played in base)),
        outcomes=(first, *outcomes),
    )


def _differences(settings: Sequence[Setting], base: Sequence[Played], run: Run, got: Sequence[Played]) -> Iterator[str]:
    for place, played in zip(run.places, got, strict=True):
        expected = base[place]
        if played.digest != expected.digest:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(played.links, expected.links))
            event = sum(1 for _ in same) // 4
            yield f"{settings[place]} under {run.conditions}: event {event} is the first that differs"
