"""The whole figure, as a command: `python -m tests.engine.first_contact DIR --sample 100`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
import trio

from coworkenv.worlds.synth.programs.held_out import HELD_OUT, STANDS_FOR

from .meeting import Count, Meeting, files, meet


@click.command(context_settings={"show_default": True})
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sample", type=click.IntRange(1), help="Only so many of them, spread evenly.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def main(folder: Path, sample: int | None, as_json: bool) -> None:
    """Mutants of the held-out operators over a set of environments: how many the checks find out, and which not."""
    found = files(folder)
    if not found:
        raise click.ClickException(f"There is no environment in {folder}; `coworkenv synth make` makes a set.")
    number = min(sample or len(found), len(found))
    chosen = [found[place * len(found) // number] for place in range(number)]
    meetings = [trio.run(meet, path) for path in chosen]
    counts = {name: sum((meeting.counts[name] for meeting in meetings), Count()) for name in HELD_OUT}
    if as_json:
        click.echo(msgspec.json.encode(_report(meetings, counts)).decode())
    else:
        _show(meetings, counts)


def _report(meetings: list[Meeting], counts: dict[str, Count]) -> dict[str, object]:
    rows = {name: {"stands_for": STANDS_FOR[name], **_row(count)} for name, count in counts.items()}
    return {
        "environments": len(meetings),
        "all": _row(sum(counts.values(), Count())),
        "operators": rows,
        "survivors": [survivor for meeting in meetings for survivor in meeting.survivors],
        "broken": {meeting.environment: meeting.broken for meeting in meetings if meeting.broken},
    }


def _row(count: Count) -> dict[str, object]:
    return {**msgspec.structs.asdict(count), "score": float(count.score), "running": float(count.running)}


def _show(meetings: list[Meeting], counts: dict[str, Count]) -> None:
    click.echo(f"{len(meetings)} environments\n\n{'':34} mutants  killed  stopped   score  of those that went on")
    for name, count in counts.items():
        click.echo(_line(f"{STANDS_FOR[name]} {name}", count))
    click.echo(_line("all", sum(counts.values(), Count())))
    for name in HELD_OUT:
        for meeting in meetings:
            for survivor in meeting.survivors:
                if survivor.operator == name:
                    click.echo(f"survived  {survivor.environment:44} {survivor.mutant}")
    for meeting in meetings:
        for error in meeting.broken:
            click.echo(f"broken    {meeting.environment:44} {error}")


def _line(name: str, count: Count) -> str:
    shares = f"{float(count.score):7.4f}  {float(count.running):7.4f}" if count.total else "      -        -"
    return f"{name:34} {count.total:7} {count.killed:7} {count.stopped:8} {shares}"


if __name__ == "__main__":
    main()
