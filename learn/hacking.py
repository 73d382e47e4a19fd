"""The hacking gap: how much of what a policy earns, it earns by what the training grader fails to see.

Knows players, sets, graders and messages. Does not know how a policy was trained, or torch.

The policy plays some of the twin sets that it was trained on, sampled as in training, and the *same episodes* are
graded twice: by the training grader, and by checks that no reward ever came from. The gap is the first score less the
second, paired by twin set. Then it plays environments whose coworkers speak otherwise. And since no check sees
everything, the messages that are least like any in the demonstrations are there to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec

from ..agents.prompts import SEND
from ..engine.draw import Drawer
from ..engine.files import write_whole
from ..events.codec import from_json
from ..events.coherence import events_of
from ..events.event import AGENT, Json, MessageSent
from ..events.log import Log
from ..worlds.world import World
from .bootstrap import Interval, difference, interval
from .evaluating import totals
from .lessons import Lesson
from .playing import Draft, Player, Told
from .rendering import calls_of
from .runs import RunError
from .scores import METRICS, EpisodeScore, Metric, scores_of, spoilt_sets, twin_sets, values_of
from .splits import NotForThis, Split, base_of

FILE = "hacking.json"
SETS = 32
"""Twin sets that are played, at most; which ones is drawn."""
SEED = 2_000_003
"""Of the first episode."""
FURTHEST = 20
"""Messages that are shown."""
NO_CHECKS = (
    "No held-out checks were given, so the hacking gap is not known: what the training grader fails to see, it failed "
    "to see here, too. Name some with --held-out-checks."
)
NO_LEXICON = "No set with other phrases was given, so nobody has seen whether the policy depends on those of training."
NO_LESSONS = (
    "No demonstrations were named, so nobody can say which messages are least like them. Name some with --demos."
)
NOTHING = "No episode ended, so there is nothing to tell of the policy."


class Worth(msgspec.Struct, frozen=True, kw_only=True):
    """What episodes were worth by one grader."""

    sets: int
    episodes: int
    values: dict[Metric, Interval]


class Far(msgspec.Struct, frozen=True, kw_only=True):
    """A message, and how far it is from the nearest one of a demonstration."""

    text: str
    distance: float
    """1 less the most of its shingles that are shared with one message: 0 for the same words, 1 for none in common."""
    times: int
    """How often it was sent."""
    episode: str
    """One in which it was."""
    environment: str


class Hacking(msgspec.Struct, frozen=True, kw_only=True):
    """All that an RL run ends with."""

    notes: tuple[str, ...]
    """What is not known, and why, a sentence each."""
    weights: str
    temperature: float | None
    left_out: int
    """Twin sets of which an episode did not end, or was spoilt by a coworker."""
    training: Worth | None
    """By the grader that rewards came from."""
    held_out_checks: Worth | None
    """The same episodes by checks that no reward came from."""
    gap: dict[Metric, Interval] | None
    """`training` less `held_out_checks`."""
    held_out_lexicon: Worth | None
    """Other episodes: environments with other phrases, by their own checks."""
    totals: dict[str, float]
    """Means over episodes of calls, messages and tokens, and the share that tripped a gate."""
    furthest: tuple[Far, ...]
    sets: dict[str, str]
    """Digests of all sets that were used, by path."""


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """What nothing was learnt from."""

    checks: Split | None = None
    """The training set's environments, by the same ids, with other checks."""
    lexicon: Split | None = None
    """Environments whose coworkers have other phrases."""
    lessons: tuple[Lesson, ...] = ()
    """The demonstrations that messages are compared with."""


async def hacking(
    player: Player,
    train: Split,
    log: Log,
    held_out: HeldOut,
    *,
    trials: int = 1,
    seed: int = SEED,
    sets: int = SETS,
    finished: Told = lambda _: None,
) -> Hacking:
    """Have a policy play, and see what its scores are worth. `log` is being written to. Raises NotForThis."""
    graders = graders_of(held_out.checks, train) if held_out.checks is not None else None
    used = [each for each in (train, held_out.checks, held_out.lexicon) if each is not None]
    whole, failed = await _played(player, drawn(train, sets, seed), log, trials, seed, finished)
    other: list[EpisodeScore] = []
    if held_out.lexicon is not None:
        other, more = await _played(player, drawn(held_out.lexicon, sets, seed), log, trials, seed, finished)
        failed += more
    truth = scores_of(log, [each.episode for each in whole], train.about, graders) if graders and whole else []
    notes = {
        NOTHING: not whole,
        NO_CHECKS: graders is None,
        NO_LEXICON: held_out.lexicon is None,
        NO_LESSONS: not held_out.lessons,
    }
    return Hacking(
        notes=tuple(note for note, holds in notes.items() if holds),
        weights=player.weights,
        temperature=player.temperature,
        left_out=failed,
        training=worth(whole),
        held_out_checks=worth(truth),
        gap=gap(whole, truth) if truth else None,
        held_out_lexicon=worth(other),
        totals=totals(whole) if whole else {},
        furthest=furthest(sent(log, whole), said(held_out.lessons)) if held_out.lessons else (),
        sets={each.path: each.digest for each in used},
    )


def drawn(split: Split, sets: int = SETS, seed: int = SEED) -> Split:
    """A set with at most so many of its twin sets, each of them whole."""
    names = list(dict.fromkeys(base_of(world.id) for world in split.worlds))
    draw = Drawer([seed], 0, "sets of the hacking gap")
    kept = [names.pop(draw.below(len(names))) for _ in range(min(sets, len(names)))]
    return msgspec.structs.replace(split, worlds=tuple(w for w in split.worlds if base_of(w.id) in kept))


async def _played(
    player: Player, split: Split, log: Log, trials: int, seed: int, finished: Told
) -> tuple[list[EpisodeScore], int]:
    """Scores, and how many twin sets were left out, since an episode of theirs did not end, or was spoilt.

    Every episode has a seed of its own. With the same one, a policy would draw the same numbers in every environment,
    and stumble upon a hack in all twin sets or in none: they would not be independent, as the bootstrap takes them to
    be.
    """
    pairs = [(world, trial) for world in split.worlds for trial in range(trials)]
    drafts = [Draft(world, seed + number, trial) for number, (world, trial) in enumerate(pairs)]
    results = await player.play(drafts, log, finished)
    broken = {base_of(result.environment) for result in results if result.status != "ended"}
    streams = [each.id for each in results if each.id is not None and base_of(each.environment) not in broken]
    scores = scores_of(log, streams, split.about)
    broken |= spoilt_sets(log, scores)
    return [each for each in scores if each.environment not in broken], len(broken)


def worth(scores: Sequence[EpisodeScore]) -> Worth | None:
    """What episodes were worth together; None where there are none."""
    if not scores:
        return None
    found = twin_sets(scores)
    values = {metric: interval(values_of(found, metric)) for metric in METRICS}
    return Worth(sets=len(found), episodes=len(scores), values=values)


def gap(rewarded: Iterable[EpisodeScore], truth: Iterable[EpisodeScore]) -> dict[Metric, Interval]:
    """By how much the same episodes are worth more to one grader than to the other, paired by twin set.

    Raises NothingToCompare where they are not the same.
    """
    one, other = twin_sets(rewarded), twin_sets(truth)
    return {each: interval(difference(values_of(one, each), values_of(other, each))) for each in METRICS}


# --- held-out checks ---------------------------------------------------------------------------------------

_JUDGING = ("checks", "scoring", "facts", "oracle", "traps", "frozen", "title", "capabilities")
"""What may differ between an environment and the one that grades it: nothing of this does anything in an episode."""


def graders_of(checks: Split, train: Split) -> dict[str, World]:
    """By id, the worlds whose checks grade those of training. Raises NotForThis where one is missing, or another."""
    found = {world.id: world for world in checks.worlds}
    for world in train.worlds:
        other = found.get(world.id)
        if other is None or other.scoring is None:
            raise NotForThis(f"{checks.path} has no checks for {world.id}, which {train.path} has: all or none")
        if _acted(other) != _acted(world):
            raise NotForThis(
                f"{checks.path}: {world.id} differs from that of {train.path} in more than its checks, so its checks "
                "would grade what did not happen there"
            )
    return {world.id: found[world.id] for world in train.worlds}


def _acted(world: World) -> dict[str, Json]:
    """What an episode depends on."""
    return {name: value for name, value in from_json(world.document).items() if name not in _JUDGING}


# --- messages ----------------------------------------------------------------------------------------------


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the policy wrote to a person."""

    text: str
    episode: str
    environment: str


def sent(log: Log, scores: Iterable[EpisodeScore]) -> list[Message]:
    """The messages of episodes, in their order."""
    return [
        Message(text=event.body.text, episode=each.episode, environment=f"{each.environment}@{each.twin}".rstrip("@"))
        for each in scores
        for event in events_of(log, each.episode)
        if event.actor == AGENT and isinstance(event.body, MessageSent)
    ]


def said(lessons: Iterable[Lesson]) -> list[str]:
    """The messages of demonstrations, each text once."""
    calls = (call for lesson in lessons for message in lesson.messages for call in calls_of(message))
    given = (call["args"] for call in calls if call["name"] == SEND)
    return list(dict.fromkeys(str(args.get("text", "")) for args in given if isinstance(args, dict)))


def furthest(messages: Iterable[Message], known: Iterable[str], count: int = FURTHEST) -> tuple[Far, ...]:
    """The messages with the least in common with the nearest known one, the furthest first, each text once.

    Of two texts, that is 1 less the Jaccard similarity of their shingles (Broder 1997): their runs of one to three
    words, whatever their case. Of equals, the one that was sent first comes first.
    """
    texts: dict[str, list[Message]] = {}
    for each in messages:
        texts.setdefault(each.text, []).append(each)
    distance = _Distance(known)
    far = {text: distance(text) for text in texts}
    return tuple(
        Far(
            text=text,
            distance=round(float(far[text]), 4),
            times=len(texts[text]),
            episode=texts[text][0].episode,
            environment=texts[text][0].environment,
        )
        for text in sorted(texts, key=lambda text: -far[text])[:count]
    )


class _Distance:
    """How far a text is from the nearest known one. Known texts are found by the shingles that they have."""

    def __init__(self, known: Iterable[str]) -> None:
        self._sizes: list[int] = []
        self._having: dict[str, list[int]] = {}
        for number, text in enumerate(known):
            found = shingles(text)
            self._sizes.append(len(found))
            for shingle in found:
                self._having.setdefault(shingle, []).append(number)

    def __call__(self, text: str) -> Fraction:
        mine = shingles(text)
        shared = Counter(number for shingle in mine for number in self._having.get(shingle, ()))
        near = [Fraction(both, len(mine) + self._sizes[number] - both) for number, both in shared.items()]
        return 1 - max(near, default=Fraction(0))


def shingles(text: str) -> frozenset[str]:
    """Runs of one to three words, signs among them."""
    words = _WORD.findall(text.casefold())
    return frozenset(
        " ".join(words[start : start + size]) for size in (1, 2, 3) for start in range(len(words) - size + 1)
    )


_WORD = re.compile(r"\w+|[^\w\s]")


# --- files -------------------------------------------------------------------------------------------------


def write_hacking(folder: Path, found: Hacking) -> None:
    """Write `hacking.json` into a run's folder, whole or not at all. Raises OSError."""
    write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(found)) + b"\n")


def read_hacking(folder: Path) -> Hacking | None:
    """What a run ended with; None if it has not come to that. Raises OSError, RunError."""
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Hacking) if path.exists() else None
    except (msgspec.MsgspecError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}. Remove it, and the same command measures it anew") from None
