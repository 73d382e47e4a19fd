"""Runs: a training as a folder, which survives a full disk, a kill at any moment, and whoever looks at it later.

Knows files and their order. Does not know torch, or what is trained: whoever makes a checkpoint fills its folder.

    config.json       every option, resolved
    metrics.jsonl     one object for each step or update, and for each evaluation
    checkpoints/      step-000010/ and so on: the last few and the best
    rollouts/         logs of the episodes that were played, *.db
    evaluations/      one file for each evaluation while it was trained
    openings.jsonl    when which test set was opened
    plots/, card.md, card.json
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..engine import wall
from ..engine.files import write_whole
from ..events.event import Json
from .folders import add_line, cleared, whole

CONFIG, METRICS, CHECKPOINTS, ROLLOUTS, PLOTS = "config.json", "metrics.jsonl", "checkpoints", "rollouts", "plots"
MODEL = "model"
"""Of a checkpoint: the folder of weights and tokenizer."""
STATE = "checkpoint.json"
TESTS, HACKING = "val-", "hacking"
"""Of logs that nobody learns from: how the names of tests begin, and the one in which the hacking gap was measured."""
WORDS = "words"
"""In the configuration: the command that began the run."""
_LOCK = ".lock"
_NAME = re.compile(r"step-(\d{6,})")

Which = Literal["last", "best"]


class RunError(ValueError):
    """A folder that is no run, one that somebody else is writing to, or one whose files are damaged; in a sentence."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a training needs to go on from a step."""

    step: int
    metrics: int
    """Bytes of metrics.jsonl by then."""
    seconds: float
    """What the training had taken by then."""
    score: float | None = None
    """By which the best one is told: a twin score on val-iid, say."""
    state: dict[str, Json] = {}
    """What else is to be known: the position of samplers, the heads of logs."""
    files: dict[str, str] = {}
    """SHA-256 of each file, by its path in the folder."""


class Run:
    """A training's folder. Opened to be read, or, by `create`, `resume` and `begin`, to be written to as well."""

    def __init__(self, folder: Path, lock: int | None = None) -> None:
        self.folder = folder
        self.config: dict[str, Json] = _config(folder)
        self._lock = lock
        self._spent = 0.0
        self._since = wall.monotonic()

    @classmethod
    def open(cls, folder: Path) -> Run:
        """A run to be read. Raises RunError if the folder is none."""
        return cls(folder)

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any]) -> Run:
        """A new run. Raises RunError if there is something in the folder already, OSError."""
        _check_free(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with _locking(folder) as lock:
            _check_free(folder)  # Somebody may have been faster.
            for name in (CHECKPOINTS, ROLLOUTS):
                (folder / name).mkdir(exist_ok=True)
            (folder / METRICS).touch()
            write_whole(folder / CONFIG, msgspec.json.format(msgspec.json.encode(_plain(config))) + b"\n")
            return cls(folder, lock)

    @classmethod
    def resume(cls, folder: Path) -> Run:
        """A run to go on with, as it was at its last checkpoint: what was told after it is cut off.

        Raises RunError if it is none, if its metrics are not what was written, or if another process is writing to it.
        """
        cls(folder)
        with _locking(folder) as lock:
            run = cls(folder, lock)
            run._restore()
            return run

    @classmethod
    def begin(cls, folder: Path, config: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> Run:
        """A new run, or the one in the folder if it was begun with the same options. Raises RunError.

        `defaults` are what names mean that a run does not have, since it was begun before there were such options.
        """
        if not (folder / CONFIG).exists():
            return cls.create(folder, config)
        kept, given = _filled(cls(folder).config, _plain(defaults or {})), _plain(config)
        # The words say what other names say, too, but are long, and not everybody sees where they differ.
        for name, was, now in sorted(_changes(kept, given), key=lambda each: each[0] == WORDS):
            raise RunError(
                f"{folder} was begun with other options: {name} was {_shown(was)}, and is now {_shown(now)}; give the "
                "same, or another folder"
            )
        return cls.resume(folder)

    def close(self) -> None:
        """Let others write to it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- metrics -------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """What the training has taken, over all its resumptions, up to now if it is being written to."""
        if self._lock is not None:
            return self._spent + wall.monotonic() - self._since
        return max((float(row.get("seconds", 0)) for row in self.metrics()), default=0.0)

    def metric(self, row: Mapping[str, Any]) -> None:
        """Add a row, and flush it. A number that is not finite is kept as null. Raises folders.NotWritten."""
        told = {**row, "seconds": round(self.seconds, 3)}
        add_line(self.folder / METRICS, msgspec.json.encode(told, enc_hook=str))

    def metrics(self) -> list[dict[str, Any]]:
        """All rows; not the half one that a crash may have left. Raises RunError for one that is damaged."""
        path = self.folder / METRICS
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(lines, 1):
            try:
                rows.append(msgspec.json.decode(line, type=dict[str, Any]))
            except (msgspec.MsgspecError, ValueError) as error:
                raise RunError(f"{path}, line {number}, is damaged: {error}. Put back what was written") from None
        return rows

    # --- checkpoints ---------------------------------------------------------------------------------------

    def checkpoint(
        self,
        step: int,
        fill: Callable[[Path], None],
        state: Mapping[str, Any] | None = None,
        score: float | None = None,
        keep: int = 2,
    ) -> Checkpoint:
        """Keep what `fill` writes into a folder: all of it, or nothing. Of all, the last `keep` and the best stay.

        Raises folders.NotWritten, with all that was there before still there.
        """
        made = Checkpoint(
            step=step,
            metrics=(self.folder / METRICS).stat().st_size,
            seconds=round(self.seconds, 3),
            score=score,
            state=_plain(state or {}),
        )
        with whole(self.path(made)) as part:
            fill(part)
            made = msgspec.structs.replace(made, files=_digests(part))
            (part / STATE).write_bytes(msgspec.json.format(msgspec.json.encode(made)) + b"\n")
        found = self.checkpoints()
        wanted = {each.step for each in [*found[-keep:], *_best(found)]}
        for each in found:
            if each.step not in wanted:
                shutil.rmtree(self.path(each), ignore_errors=True)
        return made

    def path(self, checkpoint: Checkpoint) -> Path:
        return self.folder / CHECKPOINTS / f"step-{checkpoint.step:06d}"

    def checkpoints(self) -> list[Checkpoint]:
        """Those that are there, by step. Raises RunError for one that cannot be read."""
        folder = self.folder / CHECKPOINTS
        names = [path for path in folder.glob("step-*") if _NAME.fullmatch(path.name)] if folder.is_dir() else []
        return sorted(map(_checkpoint, names), key=lambda each: each.step)

    def latest(self) -> Checkpoint | None:
        """The one to go on from; None if there is none yet. Raises RunError if it is not what was written."""
        found = self.checkpoints()
        return self.checked(found[-1]) if found else None

    def best(self) -> Checkpoint | None:
        """The one with the highest score, the first of equals; without any score, the last. Raises RunError."""
        found = self.checkpoints()
        return self.checked((_best(found) or found[-1:])[0]) if found else None

    def checked(self, checkpoint: Checkpoint) -> Checkpoint:
        """The same, its files found to be those that were written. Raises RunError."""
        path = self.path(checkpoint)
        found = _digests(path)
        for name, digest in checkpoint.files.items():
            if found.get(name) != digest:
                what = "is missing" if name not in found else "is not what was written"
                raise RunError(f"{path} is damaged: {name} {what}. Remove it, to go on from the one before")
        return checkpoint

    # --- other files ---------------------------------------------------------------------------------------

    def log(self, name: str) -> Path:
        """Where a log of rollouts is."""
        return self.folder / ROLLOUTS / f"{name}.db"

    def logs(self) -> list[Path]:
        return sorted((self.folder / ROLLOUTS).glob("*.db"))

    def write(self, name: str, content: bytes) -> None:
        """A file of the run, whole or not at all. Raises OSError."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)

    def _restore(self) -> None:
        cleared(self.folder / CHECKPOINTS)
        (self.folder / ROLLOUTS).mkdir(exist_ok=True)
        found = self.latest()
        self._spent = found.seconds if found else 0.0
        path = self.folder / METRICS
        size = found.metrics if found else 0
        if size > (path.stat().st_size if path.exists() else 0):
            raise RunError(
                f"{path} is shorter than it was at step {found.step if found else 0}: somebody has changed it. Put it "
                "back, or begin again in another folder"
            )
        with path.open("ab") as file:
            file.truncate(size)
        self.metrics()


def is_run(path: Path) -> bool:
    """Whether a folder is a run's. Models have a config.json, too, but no checkpoints and no metrics."""
    return (path / CONFIG).is_file() and ((path / CHECKPOINTS).is_dir() or (path / METRICS).exists())


def taught_by(log: Path) -> bool:
    """Whether a log of a run is one that it has learnt from: of rollouts, not of tests or of the hacking gap."""
    return not log.stem.startswith(TESTS) and log.stem != HACKING


def model_folder(path: Path, which: Which = "best") -> Path:
    """The folder of a model, that of a checkpoint, or that of a run: where weights and tokenizer are.

    Raises RunError for a run without a checkpoint.
    """
    if (path / STATE).is_file():
        return path / MODEL
    if not is_run(path):
        return path
    run = Run.open(path)
    found = run.best() if which == "best" else run.latest()
    if found is None:
        raise RunError(f"{path} has no checkpoint yet, so there is no model in it")
    return run.path(found) / MODEL


@contextmanager
def _locking(folder: Path) -> Iterator[int]:
    """The lock on a run's folder, for whoever keeps it; nobody does where it fails. Raises RunError."""
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"another process is writing to {folder}; wait for it, or stop it") from None
        yield handle
    except BaseException:
        os.close(handle)
        raise


def _check_free(folder: Path) -> None:
    """Raises RunError for a folder in which there is more than a run that was killed while it began."""
    if not folder.exists():
        return
    left = {_LOCK, CHECKPOINTS, ROLLOUTS, METRICS, f"{CONFIG}.part"}
    if not folder.is_dir() or any(path.name not in left or _holds(path) for path in folder.iterdir()):
        raise RunError(f"there is something in {folder} already; a run begins with a folder of its own")


def _holds(path: Path) -> bool:
    """Whether there is something in a folder or file; half a configuration is nothing."""
    return any(path.iterdir()) if path.is_dir() else path.name != f"{CONFIG}.part" and path.stat().st_size > 0


def _filled(kept: Mapping[str, Json], defaults: Mapping[str, Json]) -> dict[str, Json]:
    """What was kept, and the defaults of what was not, also of names within names."""
    found: dict[str, Json] = {**defaults, **kept}
    return {
        name: _filled(value, default)
        if isinstance(value, dict) and isinstance(default := defaults.get(name), dict)
        else value
        for name, value in found.items()
    }


def _changes(kept: Mapping[str, Json], given: Mapping[str, Json]) -> Iterator[tuple[str, Json, Json]]:
    """Name, before and now of each value that is another; of a name within a name, both."""
    for name in dict.fromkeys([*given, *kept]):
        was, now = kept.get(name), given.get(name)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from ((f"{name}.{inner}", *values) for inner, *values in _changes(was, now))
        elif was != now:
            yield name, was, now


def _best(found: list[Checkpoint]) -> list[Checkpoint]:
    scored = [each for each in found if each.score is not None]
    return [max(scored, key=lambda each: each.score or 0.0)] if scored else []


def _config(folder: Path) -> dict[str, Json]:
    if not is_run(folder):
        raise RunError(f"{folder} is no run: a run's folder holds {CONFIG}, {METRICS} and {CHECKPOINTS}/")
    try:
        return msgspec.json.decode((folder / CONFIG).read_bytes(), type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError) as error:
        raise RunError(f"{folder / CONFIG} is damaged: {error}") from None


def _checkpoint(path: Path) -> Checkpoint:
    try:
        return msgspec.json.decode((path / STATE).read_bytes(), type=Checkpoint)
    except FileNotFoundError:
        raise RunError(f"{path} is damaged: {STATE} is missing. Remove it, to go on from the one before") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise RunError(
            f"{path / STATE} is damaged: {error}. Remove {path.name}, to go on from the one before"
        ) from None


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file, by path, but of the one that says so."""
    return {path.relative_to(folder).as_posix(): _digest(path) for path in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != STATE)


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _plain(values: Mapping[str, Any]) -> dict[str, Json]:
    """Values as they are read back: structs as objects; paths, decimals and fractions as texts."""
    return msgspec.json.decode(msgspec.json.encode(dict(values), enc_hook=str), type=dict[str, Any])


def _shown(value: Json) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else text[:59] + "…"
