"""`learn offline`: learning from episodes that are in logs already.

Knows options and logs. Does not know methods (`offline`), or how a training goes on (`training`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from ...engine.cli.options import opened, real, whole
from ...engine.cli.root import warn
from ..chats import LeftOut, episodes_of, logs_of
from ..credit import CREDITS
from ..splits import Split, base_of, for_training
from .guard import MAIN, told
from .planned import Work, from_samples
from .running import Figures, common, run_training, settings_of, training_options

METHODS = ("awr", "dpo", "filtered", "weighted")


@click.command(short_help="Learn from episodes that are in logs.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--logs",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A run, a log, or a folder of logs: of rollouts, demonstrations, anybody's episodes.",
)
@click.option("--method", type=click.Choice(METHODS), default="awr", help="awr (default), dpo, filtered, weighted.")
@click.option("--credit", type=click.Choice(list(CREDITS)), default="uniform", help="Which decisions did it.")
@click.option(
    "--beta",
    default=0.5,
    type=real(1e-6, 1e6),
    help="awr: temperature of advantages; dpo: hold to the reference (0.5).",
)
@click.option("--steps", default=100, type=whole(1, 1 << 30), help="Optimiser steps (100).")
@click.option("--batch", default=16, type=whole(1, 1 << 20), help="Episodes, or pairs, of a step (16).")
@training_options
def offline(
    model: Path, logs: tuple[Path, ...], method: str, credit: str, beta: float, steps: int, batch: int, **shared: Any
) -> int:
    """Learn from logged events, without a single new rollout.

    Only episodes of environments in the training set are learnt. `awr` weighs what was decided by its advantage, `dpo`
    prefers the best episode of a twin to the worst, `filtered` imitates the best, `weighted` is REINFORCE with
    truncated importance weights, for episodes that a policy of this learner sampled.

    \b
    coworkenv learn offline runs/sft --logs runs/rl/rollouts --train set/train.yaml --out runs/awr
    coworkenv learn offline runs/sft --logs demos/demos.db --method dpo --beta 0.1 --train set/train.yaml --out runs/dpo
    """
    with told():
        from ..models import load
        from ..offline import OfflineSettings, make, units
        from ..runs import model_folder

        split = for_training(shared["train"])
        settings = OfflineSettings(
            method=method,  # type: ignore[arg-type]
            credit=credit,
            beta=beta,
            steps=steps,
            batch=batch,
            length=shared["length"],
            **common(shared),
        )
        paths = [path for word in logs for path in logs_of(word)]

        def work(loaded: Any, val: Split | None) -> Work:
            left_out: LeftOut = Counter()
            lived = [each for path in paths for each in _lived(path, loaded.rendering, split, settings, left_out)]
            for reason, count in left_out.items() if MAIN else ():
                warn(f"left out: {count} that {reason}")
            found = units(lived, settings)
            if found.left_out and MAIN:
                warn(f"{found.left_out} of {len(lived)} episodes are of no use to `{method}`")
            parts = [sample for unit in found.units for sample in unit]

            def begin(session: Any) -> Callable[[int], Figures]:
                device = session.trainer.accelerator.device
                reference = load(model_folder(model)).model.to(device) if method == "dpo" else None
                return partial(make, session.trainer, found, settings, reference)

            learnt = steps * min(batch, len(found.units)) / len(found.units)
            return from_samples(loaded, parts, learnt, settings_of(shared), val, begin, reference=method == "dpo")

        about = {"logs": [str(path) for path in paths], **msgspec.to_builtins(settings)}
        return run_training("offline", model, split, settings, about, work, shared)


def _lived(path: Path, rendering: Any, split: Any, settings: Any, left_out: LeftOut) -> list[Any]:
    """Ended episodes of a log, of environments in the set."""
    from ..experience import read_experience

    with opened(str(path)) as log:
        streams = [row.id for row in episodes_of(log, left_out) if base_of(row.environment) in split.about]
        return read_experience(log, streams, rendering, split.about, settings.earning)


commands: list[click.Command] = [offline]
