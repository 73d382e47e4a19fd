"""A training under way: a run's folder, a model that learns, and how both are kept, restored and tested.

Knows checkpoints, evaluation while training, and stopping. Does not know what is learnt: that is a function that makes
the step of a number. A checkpoint has everything: weights, optimiser, schedule, random state; what a step does follows
from them and its number. So a training that was killed goes on as if nothing had happened.

Of several processes the main one tests and writes; the others wait for it. Each keeps the rollouts that it has played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch
from accelerate import Accelerator

from ..engine.cli.interrupts import Interrupted, run_until_interrupted
from ..engine.cli.options import opened
from ..events.log import Log
from .collecting import Policy
from .evaluating import Evaluation, write_evaluation
from .models import Loaded, digest_of, load, write
from .playing import Told, Unfinished, evaluate
from .policies import Settings, Tested, policy_of
from .policy import BatchFailed
from .reproducing import tuning
from .runs import MODEL, TESTS, Run
from .splits import Split, base_of
from .together import CannotGoOn, everybodys, together
from .training import OptimiserSettings, Trainer

STATE = "trainer.pt"
FIRST = 3
"""So many steps name the weights that came of them, for whoever makes them again."""


class Testing(msgspec.Struct, frozen=True, kw_only=True):
    """How a policy is tested while it is trained, and how often it is kept."""

    every: int = 0
    """Steps from one test to the next; 0 for tests at the beginning and at the end only."""
    trials: int = 1
    seed: int = 1_000_003
    settings: Settings = Settings()
    save: int = 50
    """Steps from one checkpoint to the next."""


def begin(accelerator: Accelerator, folder: Path, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> Run:
    """The run in a folder: to be written to in the main process, to be read in the others. Raises RunError."""
    main = accelerator.is_main_process
    run = together(accelerator, lambda: Run.begin(folder, config, defaults) if main else None)
    return run or Run.open(folder)


class Session:
    """One training, in one of its processes."""

    def __init__(
        self, run: Run, loaded: Loaded, settings: OptimiserSettings, accelerator: Accelerator | None = None
    ) -> None:
        """Begins with a model, or goes on from the run's last checkpoint. Raises ModelError, RunError."""
        self.run = run
        found = run.latest()
        self.loaded = (
            load(run.path(found) / MODEL)._replace(name=loaded.name, length=loaded.length) if found else loaded
        )
        self.trainer = Trainer(self.loaded.model, settings, accelerator)
        if found:
            self.trainer.load(run.path(found) / STATE)
        state: Mapping[str, Any] = found.state if found else {}
        self.done = found.step if found else 0
        """Steps or updates that have been made."""
        self.kept = found.step if found else None
        """The step of the last checkpoint."""
        self.tested: int | None = state.get("tested")
        """The step of the last test."""
        self.sampled = int(state.get("sampled", 0))
        """Tokens that have been sampled for learning."""

    @property
    def main(self) -> bool:
        return bool(self.trainer.accelerator.is_main_process)

    @property
    def digest(self) -> str:
        """Of the weights as they are now. All processes must ask; where they share weights, only the main one knows."""
        return digest_of(self.trainer.weights())

    def alone(self, work: Callable[[], Any]) -> Any:
        """Have the main process do something while the others wait; None in those. Raises as `together` does."""
        return together(self.trainer.accelerator, work if self.main else lambda: None)

    def keep(self, score: float | None = None) -> None:
        """Make a checkpoint. Raises NotWritten."""
        weights, state = self.trainer.weights(), self.trainer.state()
        about = {"sampled": self.sampled, "weights": digest_of(weights), "tested": self.tested}
        self.alone(lambda: self.run.checkpoint(self.done, partial(self._fill, weights, state), about, score))
        self.kept = self.done

    def _fill(self, weights: Mapping[str, Any], state: Mapping[str, Any], folder: Path) -> None:
        write(self.trainer.model, self.loaded.tokenizer, folder / MODEL, dict(self.loaded.about), weights)
        torch.save(state, folder / STATE)

    def metric(self, row: Mapping[str, Any]) -> None:
        """Tell of the step that was made last. Raises NotWritten."""
        self.alone(lambda: self.run.metric({"step": self.done, **row}))

    @contextmanager
    def log(self, name: str) -> Iterator[Log]:
        """A log for rollouts, empty: what was broken off is played again whole, as lockstep needs it."""
        path = self.run.log(name)
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink()
        with opened(str(path), create=True) as log:
            yield log

    # --- tests ---------------------------------------------------------------------------------------------

    def policy(self, settings: Settings) -> Policy:
        """The model as it is now, as a player."""
        return policy_of(self.loaded._replace(model=self.trainer.model, digest=self.digest), settings)

    def test(self, split: Split, testing: Testing, finished: Told) -> float | None:
        """Test the policy on a set for tuning, keep what came of it, and give the twin score; None elsewhere than in
        the main process. Raises Interrupted, Unfinished."""
        score: float | None = self.alone(lambda: self._test(split, testing, finished))
        self.tested = self.done
        return score

    def _test(self, split: Split, testing: Testing, finished: Told) -> float:
        tested = Tested(f"step {self.done}", self.policy(testing.settings))

        async def playing(given: Split, log: Log) -> Evaluation:
            async with log.writing():
                return await evaluate(tested, [given], log, trials=testing.trials, seed=testing.seed, finished=finished)

        with self.log(f"{TESTS}{self.done:06d}") as log:
            try:
                found = run_until_interrupted(partial(playing, split, log))
            except Unfinished as failed:
                found = run_until_interrupted(partial(playing, _without(split, failed), log))
        if not found.scores:
            raise CannotGoOn(f"in every environment of {split.says} somebody else than the policy fails")
        scored = {each.environment for each in found.scores}
        found = msgspec.structs.replace(
            found,
            left_out=tuple(sorted(split.about.keys() - scored)),
            update=self.done,
            sampled=self.sampled,
            seed=int(str(self.run.config.get("seed", 0))),
        )
        write_evaluation(self.run.folder / "evaluations" / f"{self.done:06d}.json", found)
        told = tuning(found.scores)
        left = {"val/left_out": len(found.left_out)} if found.left_out else {}
        self.run.metric({"step": self.done, "sampled": self.sampled, **told, **left})
        return told["val/twin"]


def _without(split: Split, failed: Unfinished) -> Split:
    """The set without the twin sets of which an episode failed. Raises Unfinished where the policy failed itself."""
    broken = {base_of(result.environment) for result in failed.results}
    left = tuple(world for world in split.worlds if base_of(world.id) not in broken)
    if not left or any(result.reason.startswith(BatchFailed.__name__) for result in failed.results):
        raise failed
    return msgspec.structs.replace(split, worlds=left)


def train(
    session: Session,
    make: Callable[[int], Mapping[str, float]],
    steps: int,
    val: Split | None,
    testing: Testing,
    *,
    stopped: Callable[[], bool],
    told: Callable[[Mapping[str, float]], None],
    finished: Told = lambda _: None,
) -> bool:
    """Make the steps that are left, testing and keeping as is wanted; False if it was stopped before the end.

    `make` makes the step of a number and gives its figures; it may raise Interrupted or CannotGoOn, in all processes,
    with all weights as they were: they are kept. `stopped` is asked after each step.
    """
    try:
        while True:
            ends = session.done in (0, steps)
            if val and session.tested != session.done and (ends or _every(testing.every, session.done)):
                session.keep(session.test(val, testing, finished))
            elif session.kept != session.done and (ends or _every(testing.save, session.done)):
                session.keep()
            if session.done >= steps:
                return True
            if any(everybodys(session.trainer.accelerator, [stopped()])):
                raise Interrupted
            figures = make(session.done)
            session.done += 1
            session.sampled += int(figures.get("sampled", 0))
            session.metric({**figures, **({"weights": session.digest} if session.done <= FIRST else {})})
            told(figures)
    except (Interrupted, CannotGoOn) as why:
        if session.kept != session.done:
            session.keep()
        if isinstance(why, CannotGoOn):
            raise
        return False


def _every(number: int, step: int) -> bool:
    return bool(number) and step % number == 0
