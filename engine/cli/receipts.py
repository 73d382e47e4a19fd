"""`env receipt`: what the validation of an environment came to, kept in a file beside it.

Knows files and how a receipt reads. Does not know what is in one (`worlds.synth.receipt`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from ...events.codec import from_json
from ...worlds.environment import Environment
from ...worlds.reading import read_environment
from ...worlds.synth import receipt as receipts
from ...worlds.synth.receipt import Measured, Receipt
from ...worlds.synth.validating import Progress
from ..printable import printable
from ..validation import validate
from .failures import Told
from .findings import count, edit_words, say_findings, validating
from .interrupts import run_until_interrupted
from .options import json_option
from .places import only_one
from .root import release
from .screen import Screen, print_json, say, screen


@click.command("receipt", short_help="Show what validation came to.")
@click.argument("name", metavar="ENV")
@click.option("--write", is_flag=True, help="Validate it, and write the receipt beside it.")
@json_option
def receipt(name: str, write: bool, as_json: bool) -> int:
    """Show the receipt of an environment: what every validator said, scores, mutants, difficulty and repairs.

    It is in the file beside it, refund.receipt.json beside refund.yaml. Exit code 1 if that is stale, since the
    environment was changed, or if it says that the environment is not sound.

    \b
    coworkenv env receipt my-task.yaml --write
    """
    path = only_one(name)
    environment = read_environment(path)
    place = receipts.path_of(path)
    known = receipts.read(place)
    if write:
        with validating(not as_json) as progress:
            found = run_until_interrupted(partial(_made, environment, known, progress))
        _write(place, found)
    elif known is None:
        raise Told(f"{path} has no receipt; --write makes {place.name}", 1)
    else:
        found = known
    stale = receipts.is_stale(found, environment)
    if as_json:
        print_json({"file": str(place), "stale": stale, **from_json(receipts.encode(found))})
    else:
        _say(screen(), place, found, stale)
    return int(stale or not found.sound)


async def _made(environment: Environment, known: Receipt | None, progress: Progress | None) -> Receipt:
    """A new receipt; what an older one of the same environment says of its origin and repairs stays true."""
    fresh = await receipts.receipt(await validate(environment, progress=progress), release=release())
    if known is None or receipts.is_stale(known, environment):
        return fresh
    return receipts.with_history(fresh, known)


def _write(place: Path, found: Receipt) -> None:
    try:
        place.write_bytes(receipts.encode(found))
    except OSError as error:
        raise Told(f"{place} cannot be written: {error.strerror}") from None


# --- shown -------------------------------------------------------------------------------------------------


def _say(out: Screen, place: Path, found: Receipt, stale: bool) -> None:
    verdict = ("sound", "bold green") if found.sound else ("not sound", "bold red")
    say(out, (printable(found.id), "bold"), "  ", verdict, (f"  {printable(str(place))}", "dim"))
    if stale:
        say(out, ("  ✗ ", "bold red"), "It is about another version of the environment; make it anew with --write.")
    say(out, f"  {count(found.validators)}; coworkenv {printable(found.release)}")
    if found.origin is not None:
        capabilities = " ".join(found.origin.capabilities)
        say(out, f"  made from {printable(found.origin.family)}, seed {found.origin.seed}: {printable(capabilities)}")
    if found.measured is not None:
        _say_measured(out, found.measured)
    for mend in found.repairs:
        say(out, ("  mended in round ", "dim"), f"{mend.round}: {edit_words(mend.edit)}")
        say(out, ("      since ", "dim"), printable(mend.observed))
    say_findings(out, [finding for outcome in found.validators for finding in outcome.findings])


def _say_measured(out: Screen, measured: Measured) -> None:
    mutants = measured.mutation
    share = f"{mutants.killed / mutants.total:.3f}" if mutants.total else "1.000"
    say(out, f"  {'mutants noticed':<18} ", (share, "bold"), f"  {mutants.killed} of {mutants.total}")
    for survivor in mutants.survivors:
        say(out, ("      survived: ", "dim"), printable(survivor))
    say(out, f"  {'difficulty':<18} ", (f"{float(measured.difficulty):.2f}", "bold"))
    _say_row(out, "scores", {agent: spread.lowest for agent, spread in measured.scores.items()})
    _say_row(out, "panel", measured.panel)
    say(out, f"  {'knobs':<18} ", ", ".join(f"{printable(name)} {number}" for name, number in measured.knobs.items()))


def _say_row(out: Screen, title: str, scores: Mapping[str, str]) -> None:
    words = ", ".join(f"{printable(agent)} {float(score):.2f}" for agent, score in scores.items())
    say(out, f"  {title:<18} ", words)
