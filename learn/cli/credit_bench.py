"""`learn credit-bench`: how near each way to assign credit comes to the truth.

Knows command lines, files and tables. Does not know how the truth is found, nor how a way is judged.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import click
import msgspec

from ...engine.cli.failures import Told
from ...engine.cli.learning import progress
from ...engine.cli.options import SEED, json_option, whole
from ...engine.cli.places import environment_files, environment_path, examples, is_manifest, manifest_of
from ...engine.cli.root import warn
from ...engine.cli.screen import print_json, say, screen
from ...engine.cli.tables import print_table
from ...engine.files import write_whole
from ...engine.printable import printable
from ...worlds.environment import Environment
from ...worlds.reading import read_environment
from ..credit_bench import SIZE, Judged, judge, planted_last
from ..credit_page import Table, by_capability, draw, figures, told, with_tables
from ..freezing import Settings, Source, freeze, synthesised
from ..frozen import BadFrozen, Frozen, Rollout, Variant, joined, read_frozen, write_frozen
from ..ways import ways

PLAYED = Settings()


def _share(text: str) -> Fraction:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is not a number such as 0.25") from None
    if not 0 < found < 1:
        raise click.BadParameter(f"{text} is not between 0 and 1")
    return found


@click.command("credit-bench", short_help="Judge ways to assign credit by the truth.")
@click.argument("paths", nargs=-1, metavar="[ENV]...")
@click.option("--synth", "made", type=whole(0, 1000), help="Synthesised ones besides (12; none beside ENV).")
@click.option("--rollouts", default=PLAYED.rollouts, type=whole(4, 100_000), help="Of each twin (128).")
@click.option("--batch", "size", default=SIZE, type=whole(2, 1000), help="Rollouts of each twin in a batch (8).")
@click.option("--twins", default=PLAYED.twins, type=whole(1, 1000), help="Of each environment, at most (4).")
@click.option("--noise", "share", default="1/4", type=_share, metavar="P", help="How probable a mistake is (1/4).")
@click.option("--mistakes", "others", default=PLAYED.others, type=whole(1, 8), help="At each step, at most (2).")
@click.option("--forks", default=PLAYED.forks, type=whole(2, 100_000), help="For the truth of large worlds (256).")
@click.option("--exact", default=PLAYED.exact, type=whole(0, 10_000_000), help="Episodes of a small world (4000).")
@click.option("--continuations", default=PLAYED.continuations, type=whole(1, 1000), help="For credit by forks (8).")
@click.option("--seed", default=0, type=SEED, help="Of mistakes, rollouts and synthesised environments.")
@click.option("--jobs", "-j", default=os.cpu_count() or 1, type=whole(1, 512), help="Processes (all cores).")
@click.option("--freeze", "out", type=click.Path(path_type=Path), metavar="FILE", help="Write the logs, too.")
@click.option("--on", "given", type=click.Path(path_type=Path), metavar="FILE", help="Judge on these frozen logs.")
@click.option("--page", type=click.Path(path_type=Path), metavar="FILE", help="Put the tables into a Markdown page.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw them, as .svg or .png.")
@json_option
def credit_bench(
    paths: tuple[str, ...],
    made: int | None,
    rollouts: int,
    size: int,
    twins: int,
    share: Fraction,
    others: int,
    forks: int,
    exact: int,
    continuations: int,
    seed: int,
    jobs: int,
    out: Path | None,
    given: Path | None,
    page: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Hold every credit, after every processing, against the true advantage of each decision.

    The episodes are those of noised oracles, whose mistakes have known probabilities, so what a decision was worth is
    enumerated, or in large worlds measured by forks. Without ENV, the environments that come with the package are
    played, and some that are synthesised. Two planted ways are wrong, and must come last; else the exit code is 1.

    \b
    coworkenv learn credit-bench
    coworkenv learn credit-bench refund set/val-iid.yaml --freeze logs.jsonl --plot credit.svg
    coworkenv learn credit-bench --on logs.jsonl --json
    """
    if given is not None and (paths or made):
        raise Told("--on names logs that are frozen: no environment is played beside them")
    if rollouts < 2 * size:
        raise Told(f"--rollouts {rollouts} are not enough for two batches of --batch {size}")
    text = None if page is None else _read(page)
    if given is not None:
        logs = _logs(given)
    else:
        settings = Settings(
            seed=seed,
            share=share,
            others=others,
            rollouts=rollouts,
            continuations=continuations,
            forks=forks,
            exact=exact,
            twins=twins,
        )
        logs = _freeze(_sources(paths, made, seed), settings, jobs, as_json)
    if out is not None:
        write_frozen(out, logs)
    found = _judge(logs, size, as_json)
    if page is not None and text is not None:
        _write_page(page, text, logs, found, size)
    if plot is not None:
        _draw(found, plot)
    _tell(logs, found, size, as_json)
    return _verdict(found)


# --- logs --------------------------------------------------------------------------------------------------


def _sources(paths: Sequence[str], made: int | None, seed: int) -> list[Source]:
    named = paths or tuple(examples())
    found = [environment for path in named for environment in _environments(path)]
    if twice := [name for name, times in Counter(each.id for each in found).items() if times > 1]:
        raise Told(f"{twice[0]} is named more than once, and would count as often; name each environment once")
    count = made if made is not None else 0 if paths else 12
    return [*found, *(synthesised(count, seed) if count else [])]


def _environments(name: str) -> list[Environment]:
    path = Path(environment_path(name))
    if path.is_dir():
        return [read_environment(file) for file in environment_files(path)]
    if is_manifest(path):
        return [read_environment(path.parent / member.path) for member in manifest_of(path).members]
    return [read_environment(path)]


def _freeze(sources: Sequence[Source], settings: Settings, jobs: int, quiet: bool) -> Frozen:
    parts: list[tuple[Variant, tuple[Rollout, ...]]] = []
    try:
        with (
            progress(len(sources), quiet, "environments") as advance,
            closing(freeze(sources, settings, min(jobs, len(sources)))) as made,
        ):
            for logs in made:
                if logs.reason:
                    warn(logs.reason)
                parts += logs.parts
                advance()
    except BrokenProcessPool:
        raise Told("a process was killed, perhaps for want of memory; try again with fewer --jobs", 1) from None
    if not parts:
        raise Told("none of these environments can be played by a noised oracle")
    return joined(settings.header(), parts)


def _logs(path: Path) -> Frozen:
    try:
        return read_frozen(path)
    except BadFrozen as error:
        raise Told(str(error)) from None
    except OSError as error:
        raise Told(f"{path}: {error.strerror}") from None


# --- judging and telling -----------------------------------------------------------------------------------


def _judge(logs: Frozen, size: int, quiet: bool) -> list[Judged]:
    known = ways()
    with progress(len(known), quiet, "ways") as advance:
        try:
            return judge(logs, known, size=size, advance=advance)
        except ValueError as error:
            raise Told(str(error)) from None


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Told(f"{page} cannot be read: {error}") from None


def _write_page(page: Path, text: str, logs: Frozen, found: Sequence[Judged], size: int) -> None:
    try:
        write_whole(page, with_tables(text, logs, found, size).encode())
    except ValueError as error:
        raise Told(f"{page}: {error}") from None


def _draw(found: Sequence[Judged], path: Path) -> None:
    try:
        draw(found, path)
    except ImportError:
        raise Told("--plot needs matplotlib: pip install 'coworkenv[learn]'") from None
    except ValueError as error:
        raise Told(f"{path} cannot be drawn: {error}") from None


def _tell(logs: Frozen, found: Sequence[Judged], size: int, as_json: bool) -> None:
    if as_json:
        for one in found:
            print_json({"type": "way", **msgspec.to_builtins(one)})
        print_json(
            {
                "type": "summary",
                "header": msgspec.to_builtins(logs.header),
                "batch": size,
                "environments": len({variant.environment for variant in logs.variants}),
                "twins": len(logs.variants),
                "enumerated": sum(variant.exact for variant in logs.variants),
                "rollouts": len(logs.rollouts),
                "planted_last": planted_last(found),
            }
        )
        return
    console = screen()
    for table in (figures(found), by_capability(found)):
        _print(table)
    say(console, printable(told(logs, size)))


def _print(table: Table) -> None:
    right = [name for name in table.columns if name not in table.left]
    print_table(screen(), table.columns, spare=("an agent that has it", "noise", "tokens"), right=right)


def _verdict(found: Sequence[Judged]) -> int:
    if planted_last(found):
        return 0
    warn("a way that is wrong on purpose is not behind all others: there are too few logs to tell ways apart")
    return 1


commands: list[click.Command] = [credit_bench]
