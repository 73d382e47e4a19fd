"""The table, as a command: `python -m tests.engine.claw_eval TASKS`."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Literal

import click
import trio

from coworkenv.events.log import Log
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import Task, TaskError, load_tasks

from .coverage import Played, Row, play, table, unread


@click.command(context_settings={"show_default": True})
@click.argument("folder", metavar="TASKS", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--mode", default="sane", type=click.Choice(["sane", "upstream"]))
def main(folder: Path, mode: Literal["sane", "upstream"]) -> None:
    """Read and write everything that the tasks in a folder offer, and say what of it worked, as Markdown."""
    try:
        tasks, errors = load_tasks(folder, mode)
    except TaskError as error:
        raise click.ClickException(str(error)) from None
    began = perf_counter()
    played = trio.run(_played, tasks, MemoryLog())
    seconds = perf_counter() - began
    for line in report(table(played)):
        click.echo(line)
    click.echo()
    for (task, service), reason in unread(played).items():
        click.echo(f"Nothing was read of {service} in {task}: {reason}")
    for error in errors:
        click.echo(f"Not played: {error}")
    ended = sum(result.status == "ended" for one in played for result in one.results)
    same = sum(verified.verdict == "identical" for one in played for verified in one.verified)
    many = 2 * len(tasks)
    click.echo(
        f"{len(tasks)} tasks, {many} episodes: {ended} ended, {same} identical when executed again; {seconds:.1f} s"
    )
    raise SystemExit(0 if ended == same == many and not errors else 1)


async def _played(tasks: list[Task], log: Log) -> list[Played]:
    async with log.writing():
        return await play(tasks, log)


def report(rows: list[Row]) -> list[str]:
    """The table in Markdown; calls that were refused are listed with the reason and how often."""
    lines = [
        "| service | tasks | with data | reads | found nothing | writes | refused, and why |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        refused = "; ".join(f"{reason} ×{count}" for reason, count in row.refused.items())
        figures = f"{row.tasks} | {row.with_data} | {row.reads} | {row.nothing} | {row.writes}"
        lines.append(f"| {row.kind} | {figures} | {refused} |")
    return lines


if __name__ == "__main__":
    main()
