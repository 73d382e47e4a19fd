"""`learn compare`: methods beside each other, at equal sampled tokens.

Knows command lines, folders and tables. Does not know how a score, an interval or an episode comes about.
"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from ...engine.cli.failures import Told
from ...engine.cli.options import json_option, whole
from ...engine.cli.screen import Screen, print_json, say, screen
from ...engine.cli.tables import Cell, print_table
from ...engine.files import write_whole
from ...engine.printable import printable
from ..bootstrap import NothingToCompare
from ..comparing import Comparison, Method, budget_of, compare
from ..evaluating import FILE, evaluations_in, report
from ..scores import METRICS
from .evaluate import difference_of

COMPARISON = "comparison.json"


@click.command("compare", short_help="Compare methods at equal sampled tokens.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="A B [C]...")
@click.option("--tokens", type=whole(0, 1 << 50), help="Sampled tokens at which they are compared (all that all have).")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where the figures and curves go.")
@json_option
def compare_runs(folders: tuple[Path, ...], tokens: int | None, out: Path | None, as_json: bool) -> int:
    """Compare every other method with the first, twin set by twin set, at the same number of sampled tokens.

    A method is a run, an evaluation, or a folder of those: its training seeds. Intervals are over twin sets, and over
    training seeds where there are several.

    \b
    coworkenv learn compare runs/uniform runs/gae runs/forks
    coworkenv learn compare runs/uniform/ runs/gae/ --tokens 2000000 --out figures/
    """
    if len(folders) < 2:
        raise Told("name at least two folders, to compare them")
    try:
        methods = [method_of(folder) for folder in folders]
        budget = budget_of(methods) if tokens is None else tokens
        found = [compare(methods[0], other, budget) for other in methods[1:]]
        curves = [_curve(method) for method in methods]
    except NothingToCompare as error:
        raise Told(str(error)) from None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        whole_ = {"comparisons": msgspec.to_builtins(found), "curves": curves}
        write_whole(out / COMPARISON, msgspec.json.format(msgspec.json.encode(whole_)) + b"\n")
    if as_json:
        for each in found:
            print_json({"type": "comparison", **msgspec.to_builtins(each)})
        for curve in curves:
            print_json({"type": "curve", **curve})
        return 0
    for each in found:
        _print_comparison(screen(), each)
    return 0


def method_of(folder: Path) -> Method:
    """What a folder holds: one run, or several with different training seeds. Raises Told, NothingToCompare."""
    if not folder.is_dir():
        raise Told(f"{folder} is no folder; name a run, an evaluation, or a folder of them")
    own = evaluations_in(folder)
    if own:
        return Method(str(folder), (tuple(own),))
    inner = [tuple(found) for each in sorted(folder.iterdir()) if each.is_dir() and (found := evaluations_in(each))]
    if not inner:
        raise Told(
            f"{folder} holds no evaluation: neither {FILE}, nor runs that were evaluated while they were trained"
        )
    return Method(str(folder), tuple(inner))


def _curve(method: Method) -> dict[str, object]:
    """What a picture of the method's learning needs: for each run, figures by tokens sampled."""
    runs = [
        [
            {
                "sampled": each.sampled,
                "update": each.update,
                **{metric: found.estimate for metric, found in report([each]).groups[0].values[each.who].items()},
            }
            for each in run
        ]
        for run in method.runs
    ]
    return {"method": method.name, "seeds": [run[0].seed for run in method.runs], "runs": runs}


def _print_comparison(console: Screen, found: Comparison) -> None:
    seeds = len(found.sampled[1])
    over = f"{seeds} training seeds, paired" if found.by_seed else f"{len(found.sampled[0])} and {seeds} runs"
    say(
        console,
        (printable(found.other), "bold"),
        " less ",
        (printable(found.one), "bold"),
        f", at {found.budget:,} sampled tokens; {over}",
    )
    names = list(dict.fromkeys((each.kind, each.group) for each in found.differences))
    cells = {(each.kind, each.group, each.metric): each for each in found.differences}
    columns: dict[str, list[Cell]] = {
        "": [group if kind == "all" else f"{kind} {printable(group)}" for kind, group in names],
        "sets": [str(cells[kind, group, "score"].ahead.clusters) for kind, group in names],
        **{metric: [difference_of(cells[kind, group, metric].ahead) for kind, group in names] for metric in METRICS},
    }
    print_table(console, columns, spare=("pass rate",), right=["sets", *METRICS])


commands: list[click.Command] = [compare_runs]
