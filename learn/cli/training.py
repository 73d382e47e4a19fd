"""`learn sft` and `learn rl`: a model, what it learns from, and a folder for all that comes of it.

Knows options, and what is shown meanwhile. Does not know how a step is made, or when one is kept (`sessions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from ...engine.cli.interrupts import run_until_interrupted
from ...engine.cli.learning import progress
from ...engine.cli.options import json_option, opened, whole
from ...engine.cli.root import INTERRUPTED, warn
from ...engine.cli.screen import print_json, say, screen
from ...events.log import Log
from ..credit import CREDITS
from ..processing import PROCESSES
from ..splits import Split, check_from, for_training, for_tuning
from .evaluate import lessons_of
from .guard import stopping, told

Figures = Mapping[str, float]
SHOWN = ("loss", "score", "flat", "entropy", "kl_old")
"""Figures of the last step that are shown at the end."""


def training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that every training has."""
    for option in reversed(
        [
            click.option("--train", required=True, metavar="FILE", help="The set to learn from: a split's train.yaml."),
            click.option("--val", metavar="FILE", help="The set to tune by (val-iid.yaml): tested along the way."),
            click.option(
                "--every", default=0, type=whole(0, 1 << 30), help="Steps between tests (first and last only)."
            ),
            click.option("--trials", default=1, type=whole(1, 1000), help="Of each environment in a test (1)."),
            click.option(
                "--out", required=True, type=click.Path(path_type=Path), metavar="RUN", help="The run's folder."
            ),
            click.option("--lr", type=float, help="Learning rate."),
            click.option("--batch-tokens", default=8192, type=whole(64, 1 << 30), help="In memory at once (8192)."),
            click.option("--max-tokens", default=256, type=whole(1, 1 << 20), help="Of one answer (256)."),
            click.option("--full", is_flag=True, help="Instructions in full, as without `demos --brief`."),
            click.option("--save", default=50, type=whole(1, 1 << 30), help="Steps between checkpoints (50)."),
            click.option("--seed", default=0, type=whole(0, 1 << 31), help="Of all that is drawn (0)."),
            click.option("--threads", default=1, type=whole(1, 1024), help="Of each process (1)."),
            click.option("--plan", is_flag=True, help="Say what it takes, and stop."),
            click.option("--hours", type=float, help="Refuse what takes longer."),
            json_option,
        ]
    ):
        command = option(command)
    return command


@click.command(short_help="Learn from demonstrations.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--demos", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Of `learn demos`.")
@click.option("--steps", default=200, type=whole(1, 1 << 30), help="Optimiser steps (200).")
@click.option("--batch", default=16, type=whole(1, 1 << 20), help="Demonstrations of a step (16).")
@training_options
def sft(model: Path, demos: Path, steps: int, batch: int, **shared: Any) -> int:
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
        settings = SftSettings(steps=steps, batch=batch, **common(shared))
        about = {"demos": str(demos), "lessons": len(lessons), **msgspec.to_builtins(settings)}

        def begin(session: Any) -> Callable[[int], Figures]:
            given = course(lessons, session.loaded.rendering, min(settings.length, session.loaded.length))
            if given.left_out:
                warn(f"{given.left_out} of {len(lessons)} demonstrations are longer than the model reads; left out")
            return partial(make, session.trainer, given, settings)

        return run_training("sft", model, split, settings, steps, about, begin, shared)


@click.command(short_help="Learn from the policy's own rollouts.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--updates", default=20, type=whole(1, 1 << 30), help="Updates (20).")
@click.option("--sets", default=8, type=whole(1, 1 << 20), help="Twin sets of an update; all twins are played (8).")
@click.option("--rollouts", default=4, type=whole(2, 1 << 20), help="Of each twin (4).")
@click.option(
    "--reward", type=click.Choice(["dense", "terminal"]), default="dense", help="dense (default) or terminal."
)
@click.option("--processing", type=click.Choice(list(PROCESSES)), default="batch-scaled", help="Of scores.")
@click.option("--credit", type=click.Choice([*CREDITS, "forks"]), default="uniform", help="Which decisions did it.")
@click.option(
    "--forks", default=4, type=whole(1, 1 << 16), help="Continuations of a decision, with --credit forks (4)."
)
@click.option("--loss", type=click.Choice(["ppo", "grpo", "reinforce"]), default="ppo", help="ppo (default), …")
@click.option("--epochs", default=1, type=whole(1, 1000), help="How often an update's rollouts are learnt (1).")
@click.option("--beta", default=0.0, help="Weight of the KL divergence to the model at the start (0).")
@click.option("--temperature", default=Decimal(1), type=Decimal, help="Of sampling (1).")
@click.option("--truncated", type=click.Choice(["keep", "mask"]), default="keep", help="Answers cut by length.")
@training_options
def rl(model: Path, updates: int, beta: float, **given: Any) -> int:
    """Let a policy try, and learn from what its rollouts earned.

    The twins of a set are always sampled together, and a rollout is compared with those of its own twin. RUN gets
    checkpoints, logs of all rollouts, figures, tests, plots and a card; the same command goes on with a run that was
    stopped.

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

        def begin(session: Any) -> Callable[[int], Figures]:
            reference = load(model_folder(model)).model if beta else None
            playing = _settings(given, settings.temperature)
            learner = Learner(session.trainer, session.policy(playing), split, settings, reference)
            return partial(_updated, session, learner, bool(given["as_json"]))

        about: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
        return run_training("rl", model, split, settings, updates, about, begin, given)


def _updated(session: Any, learner: Any, quiet: bool, number: int) -> Figures:
    """Make an update. What is left of one that was broken off goes first: it is done again from its beginning."""
    path = session.run.log(f"{number:06d}-{session.trainer.accelerator.process_index}")
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()

    async def living(log: Log) -> Any:
        async with log.writing():
            with progress(len(learner.drafts(number)), quiet) as advance:
                return await learner.live(number, log, lambda _: advance())

    with opened(str(path), create=True) as log:
        experience = run_until_interrupted(partial(living, log))
    figures: Figures = learner.learn(experience)
    return figures


# --- common ------------------------------------------------------------------------------------------------


def common(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that every training has."""
    lr = {"lr": shared["lr"]} if shared["lr"] is not None else {}
    return {"batch_tokens": shared["batch_tokens"], "seed": shared["seed"], **lr}


def _settings(shared: Mapping[str, Any], temperature: Decimal = Decimal(0)) -> Any:
    from ..policies import Settings

    return Settings(
        temperature=temperature, max_tokens=shared["max_tokens"], wording=None if shared["full"] else "brief"
    )


def run_training(
    command: str,
    model: Path,
    split: Split,
    settings: Any,
    steps: int,
    about: Mapping[str, Any],
    begin: Callable[[Any], Callable[[int], Figures]],
    shared: Mapping[str, Any],
) -> int:
    """Train in a run's folder: what `begin` gives makes a step. The exit code."""
    from ..models import load, pin
    from ..runs import Run, model_folder
    from ..sessions import Session, Testing, train

    pin(shared["threads"], shared["seed"])
    val = for_tuning(shared["val"]) if shared["val"] else None
    folder = model_folder(model)
    testing = Testing(every=shared["every"], trials=shared["trials"], save=shared["save"], settings=_settings(shared))
    config = {
        "command": command,
        "model": str(model),
        "weights": load(folder).digest,
        "train": {"path": split.path, "digest": split.digest},
        "val": {"path": val.path, "digest": val.digest} if val else None,
        "threads": shared["threads"],
        "mode": "lockstep",
        "testing": msgspec.to_builtins(testing, enc_hook=str),
        **about,
    }
    quiet = shared["as_json"]
    with Run.begin(shared["out"], config) as run, stopping() as stop:
        session = Session(run, folder, settings)
        make = begin(session)
        with progress(steps - session.done, quiet or command == "rl", "steps") as advance:

            def tell(figures: Figures) -> None:
                advance()
                if quiet:
                    print_json({"type": "step", "step": session.done, **figures})

            done = train(session, make, steps, val, testing, stopped=lambda: stop.asked, told=tell)
        _finish(run, session, quiet)
    if not done:
        warn("stopped. The same command goes on where this one was.")
        return INTERRUPTED
    return 0


def _finish(run: Any, session: Any, quiet: bool) -> None:
    rows = run.metrics()
    last = {name: value for row in rows for name, value in row.items()}
    tests = [row["val/twin"] for row in rows if "val/twin" in row]
    if quiet:
        print_json({"type": "summary", "steps": session.done, "weights": session.digest, "tests": tests, **last})
        return
    shown = [f"{name} {last[name]:.3f}" for name in SHOWN if isinstance(last.get(name), float)]
    out = screen()
    say(out, f"{session.done} steps: ", ", ".join(shown))
    if tests:
        say(out, f"twin score on the set to tune by: {tests[0]:.3f} at first, ", (f"{tests[-1]:.3f}", "bold"), " now")
    say(out, "weights ", (session.digest[:16], "cyan"), f" in {run.folder}")


commands: list[click.Command] = [sft, rl]
"""What this module adds to `learn`."""
