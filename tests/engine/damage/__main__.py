"""Damage at length, as a command: `python -m tests.engine.damage --flips 10000`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec

from .campaign import Report, every_byte, everywhere, in_exports, in_file
from .recording import record


@click.command(context_settings={"show_default": True})
@click.option("--flips", default=10_000, help="Random changes of one byte of stored values, over all other streams.")
@click.option("--file-flips", default=3_000, help="Random changes of one byte of the database file.")
@click.option("--exports", default=1, help="Change every n-th byte of an export.")
@click.option("--seed", default=0, help="Draws the places.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the report here, too.")
def main(flips: int, file_flips: int, exports: int, seed: int, file: Path | None) -> None:
    """Change one byte at a time of a log with ten streams, and count what `verify` does not see."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        streams = record(path)
        reports = {
            "each byte of the first episode": every_byte(path, streams[0], seed),
            "random bytes of the others": everywhere(path, streams[1:], flips, seed),
            "random bytes of the file": in_file(path, file_flips, seed),
            "bytes of an export": in_exports(path, streams[0], exports, seed),
        }
    for name, report in reports.items():
        _show(name, report)
    if file is not None:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(reports)))
    raise SystemExit(0 if all(not report.missed for report in reports.values()) else 1)


def _show(name: str, report: Report) -> None:
    click.echo(f"\n{name}: {report.tried} changed, {report.found} found, {len(report.missed)} missed")
    for kind, count in sorted(report.kinds.items()):
        click.echo(f"  {count:8} found in {kind}")
    for kind, count in sorted(report.meaningless.items()):
        click.echo(f"  {count:8} mean nothing: {kind}")
    for kind, count in sorted(Counter(report.missed).items()):
        click.echo(f"  {count:8} MISSED in {kind}")
    if report.impossible:
        click.echo(f"  {report.impossible:8} that SQLite does not take")


if __name__ == "__main__":
    main()
