"""Reproducing a run: does each number that it told of its episodes follow from their logs?

Knows metrics, evaluations and logs. Does not know how a training is run again: that is a function it is given. A row of
metrics that tells of episodes names them under `episodes`; they are graded anew, from their events alone, and each
number must come out the same, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from ..events.log import Log
from ..events.sqlite import SqliteLog
from ..events.verify import verify_stream
from .evaluating import Evaluation, evaluations_in, read_evaluation
from .experience import Earning, Lived, figures, read_experience
from .rendering import Rendering
from .runs import METRICS, Run, RunError
from .scores import EpisodeScore, NotGraded, mean, scores_of, twin_score
from .splits import About

EPISODES = "episodes"
"""In a row of metrics: the ids of the episodes that its figures are about."""

BASELINES = "baselines"
"""Of a folder that `evaluate` made: one file for each baseline."""

_GRADED = [name for name in EpisodeScore.__struct_fields__ if name not in ("episode", "ring", "family", "capabilities")]
"""What follows from an episode's events alone."""

Told: TypeAlias = Callable[[], None]


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """A number that did not come out as it was told."""

    where: str
    name: str
    kept: Any
    found: Any

    @property
    def says(self) -> str:
        return f"{self.where}: {self.name} was {self.kept}, and is {self.found} from the log"


class Reproduced(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    rows: int
    """Rows of metrics that tell of episodes."""
    evaluations: int
    episodes: int
    """Graded anew."""
    numbers: int
    """Compared."""
    deviations: tuple[Deviation, ...] = ()

    @property
    def good(self) -> bool:
        return not self.deviations


def count(folder: Path) -> int:
    """Episodes that `regrade` will look at."""
    told = [len(row[EPISODES]) for row in _playing(_rows(folder))]
    return sum(told) + sum(len(each.scores) for each in _evaluations(folder))


def regrade(folder: Path, rendering: Rendering | None, told: Told = lambda: None) -> Reproduced:
    """Grade the episodes of a run, or of a folder of `evaluate`, anew, and compare what was told of them.

    `rendering` is how the run's model reads: metrics tell of decisions and tokens, too. `told` is called for each
    episode. Raises RunError where a log, or an episode of it, is missing or damaged.
    """
    rows, evaluations = _rows(folder), _evaluations(folder)
    playing = _playing(rows)
    compared: list[Deviation] = []
    if playing and rendering is None:
        raise RunError(f"{folder} has no checkpoint, so nobody knows how its model read its episodes")
    with closing(_Logs(_logs(folder), told)) as logs:
        for row in playing:
            compared += _row(logs, row, cast(Rendering, rendering))
        for each in evaluations:
            compared += _evaluation(logs, each, rows)
    return Reproduced(
        rows=len(playing),
        evaluations=len(evaluations),
        episodes=logs.read,
        numbers=len(compared),
        deviations=tuple(each for each in compared if each.kept != each.found),
    )


def _evaluations(folder: Path) -> list[Evaluation]:
    """All that was evaluated, the baselines of `evaluate` as well."""
    return [*evaluations_in(folder), *map(read_evaluation, sorted((folder / BASELINES).glob("*.json")))]


def _logs(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.db"), *folder.glob("rollouts/*.db")])


def _rows(folder: Path) -> list[dict[str, Any]]:
    return Run.open(folder).metrics() if (folder / METRICS).exists() else []


def _playing(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that tell of episodes by their ids. Who learns from others' logs tells only how many he took."""
    return [row for row in rows if isinstance(row.get(EPISODES), list)]


class _Logs:
    """All logs of a run, as one: episodes are found by their whole id. One file is open at a time."""

    def __init__(self, paths: Sequence[Path], told: Told) -> None:
        self._told = told
        self._open: tuple[Path, SqliteLog] | None = None
        self._paths = paths
        self._where: dict[str, Path] = {}
        for path in paths:
            self._where |= {row.id: path for row in self._log(path).rows(kind="episode")}
        self.read = 0

    def holding(self, episodes: Sequence[str]) -> Iterator[tuple[Log, str]]:
        """Each episode, found to be sound, and the log that it is in. Raises RunError."""
        for episode in episodes:
            path = self._where.get(episode)
            if path is None:
                raise RunError(f"episode {episode}, of which the run tells, is in none of its {len(self._paths)} logs")
            log = self._log(path)
            if damage := verify_stream(log, episode):
                raise RunError(f"episode {episode} in {path} is damaged: {damage[0].message}")
            yield log, episode
            self.read += 1
            self._told()

    def _log(self, path: Path) -> SqliteLog:
        if self._open is None or self._open[0] != path:
            self.close()
            self._open = path, SqliteLog(path, create=False)
        return self._open[1]

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def _row(logs: _Logs, row: Mapping[str, Any], rendering: Rendering) -> list[Deviation]:
    """Each number of a row of metrics that follows from logs, as it was told and as it is."""
    lived: list[Lived] = []
    for log, episode in logs.holding(row[EPISODES]):
        with _graded(episode):
            lived += read_experience(log, [episode], rendering, {}, Earning())
    where = next((f"{name} {row[name]}" for name in ("update", "step") if name in row), "metrics")
    found = figures(lived)
    return [
        Deviation(where=where, name=name, kept=row[name], found=found.get(name))
        for name in row
        if name in found or name.startswith("check/")
    ]


def _evaluation(logs: _Logs, evaluation: Evaluation, rows: Sequence[Mapping[str, Any]]) -> list[Deviation]:
    """Each field of each score, and the means that a row of metrics tells of them."""
    about = {each.environment: About(each.ring, each.family, each.capabilities) for each in evaluation.scores}
    where = evaluation.who if evaluation.update is None else f"evaluation after {evaluation.update}"
    compared: list[Deviation] = []
    scores: list[EpisodeScore] = []
    streams = logs.holding([each.episode for each in evaluation.scores])
    for (log, episode), kept in zip(streams, evaluation.scores, strict=True):
        with _graded(episode):
            (found,) = scores_of(log, [episode], about)
        scores.append(found)
        compared += [
            Deviation(
                where=f"{where}, episode {episode}", name=name, kept=getattr(kept, name), found=getattr(found, name)
            )
            for name in _GRADED
        ]
    means = tuning(scores)
    for row in rows:
        if evaluation.update is not None and row.get("step") == evaluation.update:
            compared += [
                Deviation(where=where, name=name, kept=row[name], found=means[name]) for name in means if name in row
            ]
    return compared


def tuning(scores: Sequence[EpisodeScore]) -> dict[str, float]:
    """What a row of metrics tells of an evaluation while a policy is trained."""
    if not scores:
        return {}
    return {"val/score": float(mean([each.score for each in scores])), "val/twin": float(twin_score(scores))}


@contextmanager
def _graded(episode: str) -> Iterator[None]:
    try:
        yield
    except NotGraded as error:
        raise RunError(f"episode {episode} cannot be graded: {error}") from error
