"""`learn sft` and `learn rl`: what is learnt from, and how.

Knows their options. Does not know how a training is run and shown (`running`), or how a step is made.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from ...engine.cli.failures import Told
from ...engine.cli.interrupts import run_until_interrupted
from ...engine.cli.learning import progress
from ...engine.cli.options import real, whole
from ...engine.cli.root import warn
from ...events.log import Log
from ..baselines import SHUFFLED, format_only
from ..credit import CREDITS
from ..planning import Tokens
from ..processing import PROCESSES
from ..splits import Split, base_of, check_from, for_training
from .evaluate import lessons_of, temperature_of
from .guard import MAIN, told
from .hacking import held_out_of, held_out_options, measure, told_of
from .planned import Work, first_drafts, from_samples
from .running import Figures, common, run_training, settings_of, training_options


@click.command(short_help="Learn from demonstrations.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--demos", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Of `learn demos`.")
@click.option("--steps", default=200, type=whole(1, 1 << 30), help="Optimiser steps (200).")
@click.option("--batch", default=16, type=whole(1, 1 << 20), help="Demonstrations of a step (16).")
@click.option("--shuffled", is_flag=True, help="Values and tools from other environments: a baseline, format-SFT.")
@training_options
def sft(model: Path, demos: Path, steps: int, batch: int, shuffled: bool, **shared: Any) -> int:
    """Teach a model what demonstrations decided.

    MODEL is the folder of any causal model of transformers, or a run. RUN gets checkpoints, figures, tests, plots and a
    card; the same command goes on with a run that was stopped.

    \b
    coworkenv learn sft models/pocket --demos demos/ --train set/train.yaml --val set/val-iid.yaml --out runs/sft
    coworkenv learn sft models/pocket --demos demos/ --train set/train.yaml --out runs/sft --plan
    """
    with told():
        from ..sft import SftSettings, course, make

        split = for_training(shared["train"])
        lessons = lessons_of(demos)
        check_from([lesson.environment for lesson in lessons], split, str(demos))
        settings = SftSettings(steps=steps, batch=batch, length=shared["length"], **common(shared))
        about = {"demos": str(demos), "lessons": len(lessons), **msgspec.to_builtins(settings)}
        if shuffled:
            lessons = format_only(lessons, settings.seed)
            about[SHUFFLED] = True

        def work(loaded: Any, val: Split | None) -> Work:
            given = course(lessons, loaded.rendering, loaded.length)
            if not given.lessons:
                raise Told(f"all {len(lessons)} demonstrations are longer than the {loaded.length} tokens allowed")
            if given.left_out and MAIN:
                warn(
                    f"{given.left_out} of {len(lessons)} demonstrations have more than {loaded.length} tokens; left out"
                )

            def begin(session: Any) -> Callable[[int], Figures]:
                return partial(make, session.trainer, given, settings)

            parts = [sample for lesson in given.lessons for sample in lesson]
            return from_samples(loaded, parts, steps * batch / len(given.lessons), settings_of(shared), val, begin)

        return run_training("sft", model, split, settings, about, work, shared)


@click.command(short_help="Learn from the policy's own rollouts.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--updates", default=20, type=whole(1, 1 << 30), help="Updates (20).")
@click.option("--sets", default=8, type=whole(1, 1 << 20), help="Twin sets of an update; all twins are played (8).")
@click.option("--rollouts", default=4, type=whole(2, 1 << 20), help="Of each twin (4).")
@click.option(
    "--reward", type=click.Choice(["dense", "terminal"]), default="dense", help="dense (default) or terminal."
)
@click.option("--processing", type=click.Choice(list(PROCESSES)), default="batch-scaled", help="Of scores.")
@click.option(
    "--credit", type=click.Choice([*CREDITS, "forks", "gae"]), default="uniform", help="Which decisions did it."
)
@click.option(
    "--forks", default=4, type=whole(1, 1 << 16), help="Continuations of a decision, with --credit forks (4)."
)
@click.option("--loss", type=click.Choice(["ppo", "grpo", "reinforce"]), default="ppo", help="ppo (default), …")
@click.option("--epochs", default=1, type=whole(1, 1000), help="How often an update's rollouts are learnt (1).")
@click.option(
    "--beta", default=0.0, type=real(0, 1e6), help="Weight of the KL divergence to the model at the start (0)."
)
@click.option("--temperature", default=Decimal(1), type=temperature_of, metavar="T", help="Of sampling (1).")
@click.option("--truncated", type=click.Choice(["keep", "mask"]), default="keep", help="Answers cut by length.")
@held_out_options
@training_options
def rl(model: Path, updates: int, beta: float, **given: Any) -> int:
    """Let a policy try, and learn from what its rollouts earned.

    The twins of a set are always sampled together, and a rollout is compared with those of its own twin. RUN gets
    checkpoints, logs of all rollouts, figures, tests, plots and a card; the same command goes on with a run that was
    stopped. It ends with hacking.json: how much of the score held-out checks do not find, and the messages that are
    least like any demonstration.

    \b
    coworkenv learn rl runs/sft --train set/train.yaml --val set/val-iid.yaml --out runs/rl
    coworkenv learn rl runs/sft --train set/train.yaml --credit forks --forks 4 --out runs/forks
    """
    own = ("sets", "rollouts", "processing", "credit", "forks", "loss", "epochs", "temperature", "truncated")
    with told():
        from ..experience import Earning
        from ..models import load
        from ..rl import Learner, RlSettings
        from ..runs import model_folder

        split = for_training(given["train"])
        settings = RlSettings(
            steps=updates,
            beta=beta,
            max_tokens=given["max_tokens"],
            earning=Earning(reward=given["reward"]),
            **{name: given[name] for name in own},
            **common(given),
        )

        playing = settings_of(given, settings.temperature)
        held_out = held_out_of(given, model, split)

        def begin(session: Any) -> Callable[[int], Figures]:
            reference = load(model_folder(model)).model.to(session.trainer.accelerator.device) if beta else None
            learner = Learner(session.trainer, session.policy(playing), split, settings, reference)
            return partial(_updated, session, learner, bool(given["as_json"]))

        def work(loaded: Any, _: Split | None) -> Work:
            from ..estimating import needs, samples_of

            return Work(
                lambda tokens: needs(loaded.model, tokens, loaded.length, rows=playing.rows, reference=bool(beta)),
                first_drafts(split, settings.rollouts),
                playing,
                lambda played: (_tokens(settings, split, played), samples_of(played)),
                begin,
            )

        def end(session: Any) -> None:
            measure(session, split, held_out, playing, bool(given["as_json"]))

        about = {**told_of(held_out), **msgspec.to_builtins(settings, enc_hook=str)}
        return run_training("rl", model, split, settings, about, work, given, end)


def _updated(session: Any, learner: Any, quiet: bool, number: int) -> Figures:
    """Make an update. What is left of one that was broken off goes first: it is made again from its beginning."""
    from ..together import together

    accelerator = session.trainer.accelerator

    async def living(log: Log) -> Any:
        async with log.writing():
            with progress(len(learner.drafts(number)), quiet or not MAIN) as advance:
                return await learner.live(number, log, lambda _: advance())

    def lived() -> Any:
        with session.log(f"{number:06d}-{accelerator.process_index}") as log:
            return run_until_interrupted(partial(living, log))

    figures: Figures = learner.learn(together(accelerator, lived))
    return figures


def _tokens(settings: Any, split: Split, played: Any) -> Tokens:
    """Of all updates, if episodes are as those that were played."""
    bases = len({base_of(world.id) for world in split.worlds})
    episodes = settings.steps * settings.episodes(len(split.worlds), bases)
    found = max(1, len(played.lived))
    decisions = sum(len(each.rollout.rewards) for each in played.lived) / found
    read = sum(len(segment) for each in played.lived for segment in each.rollout.trajectory.segments) / found
    written = episodes * played.each * (1 + settings.continued(decisions))
    return Tokens(written=written, learnt=episodes * read * settings.epochs)


commands: list[click.Command] = [sft, rl]
"""What this module adds to `learn`."""
