"""The whole comparison, as a command: `python -m tests.engine.determinism --pairs 200 --combinations 100`."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from .comparing import HARD, Outcome, Report, alone, combined, compare
from .settings import settings


@click.command(context_settings={"show_default": True})
@click.option("--pairs", default=200, help="Environments with a seed.")
@click.option("--combinations", default=100, help="Random combinations of all conditions.")
@click.option("--each", default=8, help="Pairs that each combination is played with.")
@click.option("--python", "pythons", multiple=True, help="Another Python that has the package; may be repeated.")
@click.option("--seed", default=0, help="Draws the combinations.")
@click.option("--jobs", default=max(1, (os.cpu_count() or 2) - 1), help="Processes at a time.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the report here, too.")
def main(
    pairs: int, combinations: int, each: int, pythons: tuple[str, ...], seed: int, jobs: int, file: Path | None
) -> None:
    """Play episodes under conditions that must not matter, and compare their digests."""
    runs = [*alone(pairs, pythons), *combined(pairs, pythons, combinations, each, seed)]
    report = compare(settings(pairs), runs, jobs, _tell)
    _show(report)
    if file is not None:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    raise SystemExit(0 if report.good else 1)


def _tell(outcome: Outcome) -> None:
    click.echo(f"{outcome.name:32} {outcome.same:5} of {outcome.episodes:5} the same  {outcome.seconds:7.1f} s")
    for difference in outcome.differences:
        click.echo(f"  {difference}")


def _show(report: Report) -> None:
    click.echo()
    rows = {
        "pairs (environment, seed)": report.pairs,
        "environments": report.environments,
        "agent and coworkers by a model": report.modelled,
        "different digests": report.digests,
        "identical when executed again": report.identical,
        "episodes compared": sum(outcome.episodes for outcome in report.outcomes[1:]),
        "of them the same": sum(outcome.same for outcome in report.outcomes[1:]),
        **{name: report.counts.get(name, 0) for name in [*HARD, *sorted(set(report.counts) - set(HARD))]},
        **report.reasons,
    }
    for name, number in rows.items():
        click.echo(f"{name:32} {number:7}")


if __name__ == "__main__":
    main()
