"""`learn export`: episodes into a file for other trainers.

Knows options, and what may be learnt from. Does not know formats (`exporting`), or where chats are found (`chats`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ...engine.cli.failures import Told
from ...engine.cli.options import json_option, opened
from ...engine.cli.root import warn
from ...engine.cli.screen import print_json, say, screen
from ...engine.files import writing_whole
from ...engine.printable import printable
from ..chats import Found, LeftOut, chats, episodes_of, files_of, logs_of
from ..experience import Earning, Lived, read_experience
from ..exporting import Row, line, preference, sft, trajectories
from ..lessons import BadLesson
from ..runs import is_run
from ..scores import NotGraded
from ..splits import About, Split, base_of, check_from, for_training
from .guard import told

FORMATS = ("sft", "preference", "trajectories")


@click.command("export", short_help="Write episodes for other trainers.")
@click.argument("source", type=click.Path(path_type=Path), metavar="RUN_OR_LOG_OR_DEMOS")
@click.option("--format", "format_", type=click.Choice(FORMATS), required=True, help="What a line is; see above.")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A file of JSON lines.")
@click.option("--train", metavar="FILE", help="The set that all episodes must be from: a split's train.yaml.")
@click.option("--all", "everything", is_flag=True, help="Of any environment, also of tests: not to be learnt from.")
@click.option(
    "--model", type=click.Path(path_type=Path), metavar="DIR", help="Whose tokenizer trajectories have; a run has one."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
def export(
    source: Path,
    format_: str,
    out: Path,
    train: str | None,
    everything: bool,
    model: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Write episodes of a run, a log, a folder of logs, or of demonstrations into a file, a row a line.

    `sft` has `messages` and `tools`, and `preference` has `prompt`, `chosen`, `rejected` and `tools`, as TRL takes
    them. `trajectories` are token-exact: ids, which of them the policy wrote, the probabilities with which it sampled
    them, and the reward of each decision. What is of no use to a format is left out, and counted.

    \b
    coworkenv learn export demos/ --train set/train.yaml --format sft --out sft.jsonl
    coworkenv learn export runs/rl --train set/train.yaml --format trajectories --out rl.jsonl
    """
    split = _split(train, everything)
    if out.exists() and not force:
        raise Told(f"{out} is there already; --force replaces it")
    left_out: LeftOut = Counter()
    try:
        made = (
            _trajectories(source, model, split, left_out)
            if format_ == "trajectories"
            else _chats(source, format_, split, left_out)
        )
        with writing_whole(out) as file:
            count = sum(1 for row in made if file.write(line(row)))
            if not count:
                raise Told(f"there is nothing in {source} that `{format_}` could be made of{_because(left_out)}")
    except (BadLesson, NotGraded) as error:
        raise Told(str(error)) from None
    _tell(out, count, left_out, as_json)
    return 0


def _split(train: str | None, everything: bool) -> Split | None:
    """The set that may be learnt from; None if somebody has said that it does not matter."""
    if train and everything:
        raise Told("give either --train or --all, not both")
    if not train and not everything:
        raise Told(
            "say which set the episodes are from: --train and the `train.yaml` of a split. What is exported will be "
            "learnt from, and who has learnt from a test cannot be tested with it any more; an episode does not say "
            "whether it is one. --all exports any, for whoever wants to look at them"
        )
    return for_training(train) if train else None


def _chats(source: Path, format_: str, split: Split | None, left_out: LeftOut) -> Iterator[Row]:
    found = _checked(chats(files_of(source), _about(split), left_out), split, source)
    return sft(found, left_out) if format_ == "sft" else preference(found, left_out)


def _checked(found: Iterator[Found], split: Split | None, source: Path) -> Iterator[Found]:
    for each in found:
        if split:
            check_from([each.environment], split, str(source))
        yield each


def _trajectories(source: Path, model: Path | None, split: Split | None, left_out: LeftOut) -> Iterator[Row]:
    """Rows of token-exact trajectories; needs a tokenizer, and so torch."""
    logs = logs_of(source)
    if model is None and not is_run(source):
        raise Told("say whose tokenizer it is: --model and the folder of the model or run that played")
    with told():
        from ..models import read_rendering
        from ..runs import model_folder

        rendering = read_rendering(model_folder(model or source))
    return trajectories(each for log in logs for each in _lived(log, rendering, split, source, left_out))


def _lived(path: Path, rendering: Any, split: Split | None, source: Path, left_out: LeftOut) -> Iterator[Lived]:
    with opened(str(path)) as log:
        for row in episodes_of(log, left_out):
            if split:
                check_from([base_of(row.environment)], split, str(source))
            _check_tokenizer(next(log.read(row.id)).body, rendering, path)
            yield from read_experience(log, [row.id], rendering, _about(split), Earning())


def _check_tokenizer(started: Any, rendering: Any, path: Path) -> None:
    """Raises Told for episodes that a policy of another tokenizer has played: their ids would mean nothing."""
    said = started.agent.get("tokenizer")
    if said and said != rendering.digest:
        raise Told(
            f"{path}: its episodes were played with another tokenizer or chat template ({said[:12]}, not "
            f"{rendering.digest[:12]}); name the model that played with --model"
        )


def _about(split: Split | None) -> Mapping[str, About]:
    return split.about if split else {}


def _because(left_out: LeftOut) -> str:
    return "".join(f"; {count} {reason}" for reason, count in left_out.items() if count)


def _tell(out: Path, count: int, left_out: LeftOut, as_json: bool) -> None:
    reasons = {reason: number for reason, number in left_out.items() if number}
    if as_json:
        print_json({"type": "export", "file": str(out), "rows": count, "left_out": reasons})
        return
    for reason, number in reasons.items():
        warn(f"left out: {number} that {reason}")
    say(screen(), f"{count} rows in ", (printable(str(out)), "cyan"))


commands: Sequence[click.Command] = [export]
