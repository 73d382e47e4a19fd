"""A training under way: a run's folder, a model that learns, and how both are kept, restored and tested.

Knows checkpoints, evaluation while training, and stopping. Does not know what is learnt: that is a `Course` or a
`Learner`, one step of which is made at a time. A checkpoint has everything: weights, optimiser, schedule, random state;
what a step does follows from them and its number. So a training that was killed goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from accelerate import Accelerator

from ..engine.cli.interrupts import Interrupted, run_until_interrupted
from ..engine.cli.options import opened
from ..events.log import Log
from .collecting import Policy
from .evaluating import Evaluation, write_evaluation
from .generating import Generator
from .models import Loaded, load, weights_digest, write
from .playing import Told, evaluate
from .policies import Settings, Tested
from .policy import PolicyServer
from .runs import MODEL, Run
from .scores import twin_score
from .splits import Split
from .student import StudentOptions
from .training import NotFinite, OptimiserSettings, Trainer

STATE = "trainer.pt"


class Testing(msgspec.Struct, frozen=True, kw_only=True):
    """How a policy is tested while it is trained, and how often it is kept."""

    every: int = 0
    """Steps from one test to the next; 0 for tests at the beginning and at the end only."""
    trials: int = 1
    seed: int = 1_000_003
    settings: Settings = Settings()
    save: int = 50
    """Steps from one checkpoint to the next."""


class Session:
    """One training. `step` makes one step and gives its figures."""

    def __init__(
        self, run: Run, model: Path, settings: OptimiserSettings, accelerator: Accelerator | None = None
    ) -> None:
        """Begins with the model in a folder, or goes on from the run's last checkpoint. Raises ModelError, RunError."""
        self.run = run
        found = run.latest()
        self.loaded: Loaded = load(run.path(found) / MODEL if found else model)
        self.trainer = Trainer(self.loaded.model, settings, accelerator)
        if found:
            self.trainer.load(run.path(found) / STATE)
        self.done = found.step if found else 0
        """Steps or updates that have been made."""
        self.sampled = int(str(found.state.get("sampled", 0))) if found else 0
        """Tokens that have been sampled for learning."""

    def keep(self, score: float | None = None) -> None:
        """Make a checkpoint. Raises NotWritten."""
        self.run.checkpoint(self.done, self._fill, {"sampled": self.sampled, "weights": self.digest}, score)

    @property
    def digest(self) -> str:
        return weights_digest(self.trainer.model)

    def _fill(self, folder: Path) -> None:
        write(self.trainer.model, self.loaded.tokenizer, folder / MODEL, dict(self.loaded.about))
        self.trainer.save(folder / STATE)

    def policy(self, settings: Settings) -> Policy:
        """The model as it is now, as a player."""
        return policy_of(self.loaded, self.trainer.model, settings)

    def test(self, split: Split, testing: Testing, finished: Told) -> float:
        """Test the policy on a set for tuning, keep what came of it, and give the twin score. Raises Interrupted."""
        tested = Tested(f"step {self.done}", self.policy(testing.settings))

        async def playing(log: Log) -> Evaluation:
            async with log.writing():
                return await evaluate(tested, [split], log, trials=testing.trials, seed=testing.seed, finished=finished)

        with opened(str(self.run.log(f"val-{self.done:06d}")), create=True) as log:
            found = run_until_interrupted(partial(playing, log))
        found = msgspec.structs.replace(
            found, update=self.done, sampled=self.sampled, seed=int(str(self.run.config.get("seed", 0)))
        )
        write_evaluation(self.run.folder / "evaluations" / f"{self.done:06d}.json", found)
        scores = found.scores
        self.run.metric(
            {
                "step": self.done,
                "sampled": self.sampled,
                "val/score": float(sum(each.score for each in scores) / max(1, len(scores))),
                "val/twin": float(twin_score(scores)),
            }
        )
        return float(twin_score(scores))


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

    `make` makes the step of a number and gives its figures; it may raise Interrupted with all weights as they were.
    `stopped` is asked after each step. Raises NotFinite, with the last good weights kept.
    """
    kept = session.run.latest() is not None
    try:
        if not kept:
            score = session.test(val, testing, finished) if val else None
            session.keep(score)
        while session.done < steps:
            kept = False
            figures = make(session.done)
            session.done += 1
            session.sampled += int(figures.get("sampled", 0))
            session.run.metric({"step": session.done, **figures})
            told(figures)
            last = session.done == steps
            if val and (last or (testing.every and session.done % testing.every == 0)):
                session.keep(session.test(val, testing, finished))
                kept = True
            elif last or session.done % testing.save == 0:
                session.keep()
                kept = True
            if stopped() and not last:
                raise Interrupted
    except (Interrupted, NotFinite) as why:
        if not kept:
            session.keep()
        if isinstance(why, NotFinite):
            raise
        return False
    return True


def policy_of(loaded: Loaded, model: Any, settings: Settings) -> Policy:
    """A model as a player, its weights named by their digest as they are now."""
    options = StudentOptions(
        model=loaded.name,
        weights=weights_digest(model),
        tokenizer=loaded.rendering.digest,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        length=loaded.length,
        wording=settings.wording,
    )
    server = PolicyServer(Generator(model, loaded.rendering.template.ends), rows=settings.rows)
    return Policy(server, loaded.rendering, options, settings.rows)
