"""`learn pocket`: a small model made from nothing, for whoever wants to see a training go by.

Knows command lines. Does not know how such a model is made (`pocket`); torch is imported when the command needs it.
"""

from __future__ import annotations

from pathlib import Path

import click

from ...engine.cli.learning import progress
from ...engine.cli.options import json_option, whole
from ...engine.cli.screen import print_json, say, screen
from .evaluate import lessons_of
from .guard import check_new, told


@click.command("pocket", short_help="Make a small model from nothing.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--demos", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Of `learn demos`.")
@click.option("--steps", default=400, type=whole(1, 1 << 20), help="Of the warm-up on synthetic copying (400).")
@click.option("--seed", default=0, type=whole(0, 1 << 31), help="Of weights and warm-up (0).")
@click.option("--threads", default=1, type=whole(1, 1024), help="(1)")
@json_option
def pocket(folder: Path, demos: Path, steps: int, seed: int, threads: int, as_json: bool) -> int:
    """Make a model of about a million parameters: a tokenizer of the demonstrations' words, random weights, and a
    warm-up on copying random tokens. It has not seen a demonstration's decisions yet.

    \b
    coworkenv learn pocket models/pocket --demos demos/
    """
    check_new(folder)
    with told():
        from ..lexing import lesson_texts, train_tokenizer
        from ..models import pin
        from ..pocket import build, keep, warmup

        pin(threads, seed)
        tokenizer = train_tokenizer(lesson_texts(lessons_of(demos)))
        model = build(seed, tokenizer)
        with progress(steps, as_json, "warm-up") as advance:
            warmed = warmup(model, tokenizer, steps, seed, told=lambda *_: advance())
        keep(model, tokenizer, folder, seed, warmed)
    size = sum(weight.numel() for weight in model.parameters())
    if as_json:
        print_json({"folder": str(folder), "parameters": size, "vocabulary": len(tokenizer), **warmed._asdict()})
        return 0
    say(
        screen(),
        (f"{size / 1e6:.1f} million", "bold"),
        f" parameters, {len(tokenizer)} tokens; finds {warmed.accuracy:.0%} of what can be copied; in {folder}",
    )
    return 0


commands: list[click.Command] = [pocket]
