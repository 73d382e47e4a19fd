"""What every training does, whatever it learns: its options, its folder, and what is shown meanwhile.

Knows how a run is begun, planned, stopped and told of. Does not know what is learnt (`training`, `offline`), how a step
is made, or when one is kept (`sessions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from ...engine.cli.failures import Told
from ...engine.cli.interrupts import Interrupted
from ...engine.cli.learning import progress
from ...engine.cli.options import json_option, real, whole
from ...engine.cli.root import INTERRUPTED, warn
from ...engine.cli.screen import print_json, say, screen
from ..planning import check_memory
from ..runs import WORDS
from ..splits import Split, for_tuning
from .guard import MAIN, stopping
from .planned import Work, check_model, free, planned

Figures = Mapping[str, Any]
SHOWN = ("loss", "score", "flat", "entropy", "kl_old")
"""Figures of the last step that are shown at the end."""


def pattern(value: str) -> str:
    """A type for click: a regular expression."""
    try:
        re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"`{value}` is no regular expression: {error}") from None
    return value


pattern.__name__ = "regex"


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
            click.option("--lr", type=real(0, 1e38), help="Learning rate."),
            click.option(
                "--only",
                default="",
                type=pattern,
                help="Learn only weights with this in their names, such as norm (all).",
            ),
            click.option("--batch-tokens", default=8192, type=whole(64, 1 << 30), help="In memory at once (8192)."),
            click.option("--length", default=4096, type=whole(16, 1 << 24), help="Of an episode, in tokens (4096)."),
            click.option("--max-tokens", default=256, type=whole(1, 1 << 20), help="Of one answer (256)."),
            click.option("--decisions", default=32, type=whole(1, 1 << 20), help="Of one episode (32)."),
            click.option("--full", is_flag=True, help="Instructions in full, as without `demos --brief`."),
            click.option("--save", default=50, type=whole(1, 1 << 30), help="Steps between checkpoints (50)."),
            click.option("--seed", default=0, type=whole(0, 1 << 31), help="Of all that is drawn (0)."),
            click.option("--threads", default=1, type=whole(1, 1024), help="Of each process (1)."),
            click.option("--stop", type=whole(1, 1 << 30), metavar="STEP", help="Stop after this one, to go on later."),
            click.option("--plan", is_flag=True, help="Say what it takes, and stop."),
            click.option("--hours", type=real(0, 1e6), help="Refuse what takes longer."),
            json_option,
        ]
    ):
        command = option(command)
    return command


def common(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that every training has."""
    lr = {"lr": shared["lr"]} if shared["lr"] is not None else {}
    return {**{name: shared[name] for name in ("batch_tokens", "seed", "only")}, **lr}


def settings_of(shared: Mapping[str, Any], temperature: Decimal = Decimal(0)) -> Any:
    """How a policy is asked while it is trained or tested: `policies.Settings`."""
    from ..policies import Settings

    return Settings(
        temperature=temperature,
        max_tokens=shared["max_tokens"],
        decisions=shared["decisions"],
        wording=None if shared["full"] else "brief",
    )


def run_training(
    command: str,
    model: Path,
    split: Split,
    settings: Any,
    about: Mapping[str, Any],
    given: Callable[[Any, Split | None], Work],
    shared: Mapping[str, Any],
    end: Callable[[Any], None] | None = None,
) -> int:
    """Train in a run's folder, once what `given` says of the work was found to fit; then `end` it. The exit code."""
    from ..models import load, pin
    from ..runs import model_folder
    from ..sessions import Session, Testing, begin
    from ..together import leave, processes, together

    accelerator = processes()
    pin(shared["threads"], shared["seed"])
    val = for_tuning(shared["val"]) if shared["val"] else None
    folder, memory = model_folder(model), free()
    check_model(folder, memory)
    _check_playing(accelerator, bool(val) or command == "rl")
    loaded = load(folder)
    loaded = loaded._replace(length=min(loaded.length, shared["length"]))
    work = _shared(given(loaded, val))
    check_memory(work.needs, shared["batch_tokens"], memory)
    testing = Testing(every=shared["every"], trials=shared["trials"], save=shared["save"], settings=settings_of(shared))
    if shared["plan"] or shared["hours"] is not None:
        _place(loaded.model, accelerator)
        plan = partial(planned, loaded, work, settings.steps, val, testing, memory, shared)
        together(accelerator, plan if MAIN else lambda: None)
    if shared["plan"]:
        return 0
    config = {**_config(command, model, loaded, split, val, testing, accelerator, shared), **about}
    defaults = msgspec.to_builtins({"testing": Testing(), **msgspec.structs.asdict(type(settings)())}, enc_hook=str)
    with begin(accelerator, shared["out"], config, defaults) as run:
        done = _trained(Session(run, loaded, settings, accelerator), work, settings.steps, val, testing, shared, end)
    leave()
    if not done:
        if MAIN:
            warn("stopped. The same command goes on where this one was.")
        return INTERRUPTED
    return 0


def _trained(
    session: Any,
    work: Work,
    steps: int,
    val: Split | None,
    testing: Any,
    shared: Mapping[str, Any],
    end: Callable[[Any], None] | None,
) -> bool:
    """Train, and write the run's card and plots. Whether all steps are made, and ended: nobody stopped it.

    What has an end shows the progress of each step itself.
    """
    from ..sessions import train

    as_json = shared["as_json"]
    with stopping() as stop:
        make = work.begin(session)
        with progress(steps - session.done, as_json or not MAIN or end is not None, "steps") as advance:

            def tell(figures: Figures) -> None:
                advance()
                if as_json and MAIN:
                    print_json({"type": "step", "step": session.done, **figures})

            def stopped() -> bool:
                return stop.asked or (shared["stop"] is not None and session.done >= shared["stop"])

            done = train(session, make, steps, val, testing, stopped=stopped, told=tell)
        if done and end:
            try:
                end(session)  # Before the card, which counts the openings.
            except Interrupted:
                done = False
        weights = session.digest
        if MAIN:
            _finish(session, weights, as_json)
    return done


def _config(
    command: str,
    model: Path,
    loaded: Any,
    split: Split,
    val: Split | None,
    testing: Any,
    accelerator: Any,
    shared: Mapping[str, Any],
) -> dict[str, Any]:
    """What a run says of itself, whatever it learns."""
    return {
        "command": command,
        WORDS: words_of(click.get_current_context()),
        "model": str(model),
        "weights": loaded.digest,
        "train": {"path": split.path, "digest": split.digest},
        "val": {"path": val.path, "digest": val.digest} if val else None,
        "threads": shared["threads"],
        "length": loaded.length,
        "mode": "lockstep",
        "testing": msgspec.to_builtins(testing, enc_hook=str),
        "processes": accelerator.num_processes,
        "precision": accelerator.mixed_precision,
    }


def words_of(context: click.Context) -> list[str]:
    """The words of a training's command, but for where it goes and how much of it is made or told."""
    words = ["learn", str(context.info_name)]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if parameter.name in ("out", "stop", "plan", "hours", "as_json") or value in (None, False, parameter.default):
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
            continue
        for each in value if isinstance(value, (tuple, list)) else [value]:
            words += [parameter.opts[0]] if each is True else [parameter.opts[0], str(each)]
    return words


def _check_playing(accelerator: Any, plays: bool) -> None:
    """Raises Told for a training that plays with a model of which no process has the whole."""
    from ..sharding import sharded

    if plays and sharded(accelerator):
        raise Told(
            "no process has the whole of a sharded model, so none can play with it: test its checkpoints with `learn "
            "evaluate`, without --val here; let an inference server play, and learn with `learn offline`"
        )


def _place(model: Any, accelerator: Any) -> None:
    """Put a model where it will learn, before its speed is measured: elsewhere it has another. One that processes share
    stays where it is, since none of them has room for the whole of it."""
    from ..sharding import sharded

    if not sharded(accelerator):
        model.to(accelerator.device)


def _shared(work: Work) -> Work:
    """What each process needs, where they share a model."""
    from ..sharding import shares

    return work._replace(needs=lambda tokens: work.needs(tokens).shared(shares()))


def _finish(session: Any, weights: str, quiet: bool) -> None:
    """Write the run's card and plots, and say what came of it."""
    from ..card import card, write_card
    from ..plots import draw

    run = session.run
    rows = run.metrics()
    rendering = session.loaded.rendering
    write_card(run, card(run, tokenizer=rendering.digest, notes=rendering.template.notes))
    pictures = draw(run)
    last = {name: value for row in rows for name, value in row.items()}
    tests = [row["val/twin"] for row in rows if "val/twin" in row]
    if quiet:
        print_json({"type": "summary", "steps": session.done, "weights": weights, "tests": tests, **last})
        return
    shown = [f"{name} {last[name]:.3f}" for name in SHOWN if isinstance(last.get(name), float)]
    out = screen()
    say(out, f"{session.done} steps: ", ", ".join(shown))
    if tests:
        say(out, f"twin score on the set to tune by: {tests[0]:.3f} at first, ", (f"{tests[-1]:.3f}", "bold"), " now")
    say(
        out,
        "weights ",
        (weights[:16], "cyan"),
        f" in {run.folder}, with {', '.join(['card.md', *(f'plots/{name}' for name in pictures)])}",
    )
