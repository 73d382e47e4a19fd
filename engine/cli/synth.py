"""`synth`: environments made from requirements on capabilities.

Knows files, progress and tables. Does not know how an environment is made (`worlds.synth`), nor how many processes
share the work (`engine.synthesis`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ...agents.naming import nearest
from ...worlds.reading import read_environment
from ...worlds.synth import receipt as receipts
from ...worlds.synth.capabilities.registry import FRAGMENTS
from ...worlds.synth.contamination import contamination, read_benchmark
from ...worlds.synth.coverage import CannotCover
from ...worlds.synth.draft import KNOBS
from ...worlds.synth.drafting import ROUNDS, Drafted
from ...worlds.synth.family import families
from ...worlds.synth.grammar import LANGUAGES, STYLES
from ...worlds.synth.manifest import RINGS, Manifest, Member, Ring, manifest, write_manifest
from ...worlds.synth.origin import Origin
from ...worlds.synth.producing import Product, wanted
from ...worlds.synth.prompts import Unreachable
from ...worlds.synth.rewriting import Rewritten
from ...worlds.synth.splits import check_splits
from ...worlds.synth.summary import Summary, summary
from ...worlds.synth.validators.leakage import rank_uniformity
from ...worlds.writing import write
from ..authoring import draft_environment, model_named, rewrite_environment
from ..printable import printable
from ..sets import Produce, split_set, tuned_set, whole_set
from ..synthesis import Workshop, determinism, figures, place
from ..validation import validate
from .failures import Told
from .interrupts import run_until_interrupted
from .options import SEED, json_option, whole
from .places import environment_files, only_one
from .root import INTERRUPTED, release, warn
from .screen import Screen, print_json, say, screen


@click.group(short_help="Make environments from capabilities.")
def synth() -> None:
    """Synthesis: environments made from requirements on capabilities, validated, repaired, and frozen with receipts."""


def _depth(value: str) -> tuple[int, int]:
    low, _, high = value.partition("-")
    if not (low.isdecimal() and (high or low).isdecimal() and 1 <= int(low) <= int(high or low) <= 8):
        raise click.BadParameter(f"{value!r} is not a number of capabilities such as 3, or 1-8")
    return int(low), int(high or low)


def _knob(value: str) -> tuple[str, int]:
    name, _, number = value.partition("=")
    if name not in KNOBS or not number.isdecimal() or int(number) > KNOBS[name].most:
        known = ", ".join(f"{knob}=0…{KNOBS[knob].most}" for knob in KNOBS)
        raise click.BadParameter(f"{value!r} is no knob; there are {known}")
    return name, int(number)


def _some(known: Callable[[], Sequence[str]], what: str, upper: bool = False) -> Callable[[str], tuple[str, ...]]:
    """A type for click: names of something, separated by commas."""

    def names(value: str) -> tuple[str, ...]:
        found = tuple(name.strip().upper() if upper else name.strip() for name in value.split(",") if name.strip())
        for name in found:
            if name not in known():
                raise click.BadParameter(
                    f"there is no {what} {name!r}{nearest(name, known())}; there are {', '.join(known())}"
                )
        return found

    return names


CAPABILITIES = _some(lambda: tuple(FRAGMENTS), "capability", upper=True)
FAMILIES = _some(lambda: tuple(families()), "family")


@synth.command("make", short_help="Make a set of environments.")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--count", "-n", default=24, type=whole(1, 1_000_000), help="How many (24).")
@click.option("--seed", default=0, type=SEED, help="Another seed, other environments (0).")
@click.option("--capabilities", default="", type=CAPABILITIES, metavar="A1,…", help="Only these; see `synth list`.")
@click.option("--families", "of", default="", type=FAMILIES, metavar="NAME,…", help="Only these; see `synth list`.")
@click.option("--languages", default="", type=_some(lambda: LANGUAGES, "language"), metavar="en,de", help="Only these.")
@click.option("--styles", default="", type=_some(lambda: STYLES, "style"), metavar="NAME,…", help="Only these.")
@click.option("--depth", default="1-8", type=_depth, metavar="N-M", help="Capabilities of one environment (1-8).")
@click.option("--knob", "knobs", multiple=True, type=_knob, metavar="NAME=N", help="Difficulty: rows, near, articles.")
@click.option("--split", type=whole(1, 100_000), help="Besides, so many for each test ring, with nothing shared.")
@click.option("--val", type=whole(1, 100_000), help="Besides, so many others of the same kind, to tune by.")
@click.option("--jobs", "-j", default=os.cpu_count() or 1, type=whole(1, 512), help="Processes (all cores).")
@click.option("--probe", default=0, type=whole(0, 10_000), help="Play so many under other hash seeds, too (none).")
@json_option
def make_(
    out: Path,
    count: int,
    seed: int,
    capabilities: tuple[str, ...],
    of: tuple[str, ...],
    languages: tuple[str, ...],
    styles: tuple[str, ...],
    depth: tuple[int, int],
    knobs: tuple[tuple[str, int], ...],
    split: int | None,
    val: int | None,
    jobs: int,
    probe: int,
    as_json: bool,
) -> int:
    """Make environments, validate them with all 26 validators, repair them, and freeze them, each with its receipt.

    A plan covers each capability alone, then all pairs, then triples. The same arguments leave the same files, in
    however many processes; what is in DIR already is not made again. What cannot be made sound is discarded, and the
    table says why. DIR/set.yaml lists the set. With --split there is one list a ring: train.yaml, val-iid.yaml,
    R0.yaml (new instances), R1 (styles), R2 (pairs), R3 (families), R4 (interfaces), R5 (deeper); with --val only the
    first two, of which the second is as the first, with other facts.

    \b
    coworkenv synth make envs/ --count 1000
    coworkenv synth make envs/ --count 200 --capabilities A1,B1,E1 --languages en --knob rows=20
    coworkenv synth make envs/ --count 600 --split 60
    """
    if split and val:
        raise Told("--split makes a set to tune by already; leave --val out")
    choice = wanted(capabilities, of, languages or LANGUAGES, styles or STYLES, depth)
    try:
        workshop = Workshop(out, release())
        with _producing(workshop, jobs, as_json) as produce:
            if val:
                made = tuned_set(count, val, seed, choice, dict(knobs), produce)
            elif split:
                made = split_set(count, split, seed, choice, dict(knobs), produce)
            else:
                made = {"set": whole_set(count, seed, choice, dict(knobs), produce)}
    except CannotCover as error:
        raise Told(f"no such set can be planned: {error}") from None
    except BrokenProcessPool:
        raise Told(
            f"a process that made environments was killed, perhaps for want of memory. What was finished is in {out}; "
            f"the same command goes on from there, with fewer --jobs if need be",
            1,
        ) from None
    except KeyboardInterrupt:
        # All that is left is to wait for processes that end by themselves, which is no time to be interrupted again.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        warn(f"stopped. What was finished is in {out}; the same command goes on from there.")
        return INTERRUPTED
    products = [product for part in made.values() for product in part]
    manifests = [_listed(out, name, part) for name, part in made.items()]
    problems = check_splits(manifests, {p.digest: p.request for p in products if p.digest}) if split else []
    problems += [found.observed for found in rank_uniformity(rank for product in products for rank in product.ranks)]
    if probe:
        problems += determinism([place(out, product.origin) for product in products if product.digest][:probe])
    _tell(out, products, manifests, problems, as_json)
    return int(bool(problems) or not any(product.digest for product in products))


@contextmanager
def _producing(workshop: Workshop, jobs: int, quiet: bool) -> Iterator[Produce]:
    console = Console(file=sys.stderr)
    columns = [BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:

        def produce(origins: Sequence[Origin]) -> list[Product]:
            task = progress.add_task("", total=len(origins))
            products: list[Product] = []
            with closing(workshop.produce(origins, jobs)) as made:
                for product in made:
                    products.append(product)
                    sound = sum(bool(each.digest) for each in products)
                    progress.update(task, advance=1, description=f"{sound} sound, {len(products) - sound} discarded")
            return products

        yield produce


def _listed(out: Path, name: str, products: Sequence[Product]) -> Manifest:
    """Write the manifest of one part of a set."""
    ring: Ring = next((ring for ring in RINGS if ring == name), "train")
    members = [
        Member(
            path=place(out, product.origin).relative_to(out).as_posix(),
            digest=product.digest,
            key=product.key,
            origin=product.origin,
        )
        for product in products
        if product.digest
    ]
    made = manifest(name, ring, members)
    write_manifest(out / f"{name}.yaml", made)
    return made


def _tell(
    out: Path, products: Sequence[Product], manifests: Sequence[Manifest], problems: Sequence[str], as_json: bool
) -> None:
    found = figures(products)
    if as_json:
        sets = {made.name: {"members": len(made.members), "digest": made.digest} for made in manifests}
        print_json({"sets": sets, "problems": problems, **msgspec.to_builtins(found)})
        return
    page = screen()
    say(page, (f"{found.made} of {found.asked}", "bold"), f" environments are sound, in {printable(str(out))}")
    say(page, f"  at once         {found.sound_at_once}  ({found.sound_at_once / found.asked:.0%})")
    say(page, f"  after repair    {found.repaired}")
    say(page, f"  with new facts  {found.made_anew}")
    for reason, number in found.discarded.items():
        say(page, f"  discarded       {number}  {printable(reason)}")
    fewest = min(found.families.items(), key=lambda entry: _share(entry[1]))
    say(page, f"  families        {len(found.families)}, the fewest in {fewest[0]}: {fewest[1]}")
    say(page, f"  pairs           {found.pairs} of capabilities")
    say(page, f"  structures      {found.keys} different")
    say(page, f"  requests        {found.near_duplicates} near-duplicates, 4-gram overlap {found.overlap}")
    for made in manifests:
        say(
            page, f"  {made.name:<15} {len(made.members)} in {printable(str(out / made.name))}.yaml  {made.digest[:16]}"
        )
    for problem in problems:
        say(page, ("  ✗ ", "bold red"), printable(problem))


def _share(text: str) -> float:
    made, _, asked = text.partition("/")
    return int(made) / int(asked)


@synth.command(short_help="What the receipts of a set say together.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def report(folder: Path, as_json: bool) -> int:
    """Say what the receipts of a set say together: mutation scores and their survivors, and how the panel is ranked.

    Exit code 1 if one of them is not sound.

    \b
    coworkenv synth report envs/
    """
    read = (receipts.read(path) for path in sorted(folder.rglob(f"*{receipts.SUFFIX}")))
    kept = [each for each in read if each is not None]
    if not kept:
        raise Told(f"there is no receipt in {folder}; `coworkenv synth make` and `env receipt --write` make them", 1)
    found = summary(kept)
    if as_json:
        print_json({**msgspec.to_builtins(found), "apart": found.apart})
    else:
        _say_summary(screen(), found)
    return int(found.sound < found.environments)


def _say_summary(page: Screen, found: Summary) -> None:
    share = found.killed / found.mutants if found.mutants else 1.0
    say(page, (f"{found.sound} of {found.environments}", "bold"), " environments are sound")
    say(page, f"  oracle          {found.oracle} at least, in every twin")
    say(page, f"  idle agents     {', '.join(f'{agent} {score}' for agent, score in found.idle.items())} at most")
    say(page, f"  traps           {found.traps}, all at most their ceilings")
    say(page, f"  mutants         {found.killed} of {found.mutants} noticed ({share:.4f}); in the worst {found.worst}")
    for operator, number in sorted(found.survivors.items()):
        say(page, f"    unnoticed     {number}  {printable(operator)}")
    say(page, f"  panel           {'  '.join(found.panel.values())}  (τ {found.kendall})")
    say(page, f"  told apart      {found.apart} of {len(found.capabilities)} capabilities")
    for name, capability in found.capabilities.items():
        mark = "" if capability.apart else "  ✗"
        scores = f"{capability.weakest} to {capability.strongest}, {capability.lacking} where only it is lacking"
        say(page, f"    {printable(name)}  {scores}, in {capability.environments} environments{mark}")
    say(page, f"  difficulty      {'  '.join(f'{tenth}: {number}' for tenth, number in found.difficulty.items())}")
    say(page, f"  on average      {', '.join(f'{printable(knob)} {mean}' for knob, mean in found.knobs.items())}")
    for validator, number in found.warnings.items():
        say(page, f"  warnings        {number}  {printable(validator)}")


@synth.command("list", short_help="The capabilities and families there are.")
@json_option
def list_(as_json: bool) -> int:
    """Say which capabilities environments can be made for, and which families of jobs there are.

    \b
    coworkenv synth list
    """
    if as_json:
        print_json(
            {
                "capabilities": {name: fragment.title for name, fragment in FRAGMENTS.items()},
                "families": {name: family.title["en"] for name, family in families().items()},
            }
        )
        return 0
    page = screen()
    say(page, ("An agent that has it …", "bold"))
    for name, fragment in FRAGMENTS.items():
        say(page, (f"  {name}  ", "bold"), fragment.title)
    say(page)
    say(page, ("Families", "bold"))
    for name, family in families().items():
        say(page, (f"  {name:<14}", "bold"), family.title["en"])
    return 0


# --- models ------------------------------------------------------------------------------------------------

_model = click.option("--model", required=True, metavar="SPEC", help="openai:MODEL")
_url = click.option("--base-url", metavar="URL", envvar="COWORKENV_BASE_URL", help="Server.  [$COWORKENV_BASE_URL]")


@synth.command(short_help="Have a model write an environment.")
@click.argument("out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--capabilities", required=True, type=CAPABILITIES, metavar="A1,…", help="What it must ask for.")
@click.option("--brief", required=True, metavar="TEXT", help="What it is about, in a few words.")
@click.option(
    "--rounds", default=ROUNDS, type=whole(1, 20), help=f"Answers to findings before it is given up ({ROUNDS})."
)
@_model
@_url
@json_option
def draft(
    out: Path, capabilities: tuple[str, ...], brief: str, rounds: int, model: str, base_url: str | None, as_json: bool
) -> int:
    """Have a model draft a whole environment; what the validators find goes back to it, then it is repaired.

    FILE is written only if it ends up sound, with its receipt beside it. What the model writes is read as data.

    \b
    coworkenv synth draft laptop.yaml --capabilities A1,B1 --brief "order a laptop" --model openai:gpt-5
    """
    if not capabilities:
        raise click.BadParameter("--capabilities names none; see `coworkenv synth list`")
    complete = model_named(model, url=base_url)
    found = run_until_interrupted(partial(draft_environment, capabilities, brief, complete, rounds=rounds))
    if found.environment is not None and found.receipt is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        receipts.path_of(out).write_bytes(receipts.encode(found.receipt))
        out.write_text(write(found.environment), encoding="utf-8")
    if as_json:
        rounds_ = [len(each.findings) for each in found.rounds]
        print_json({"file": str(out) if found.accepted else None, "findings": rounds_, "reason": found.reason})
    else:
        _say_draft(screen(), out, found)
    return int(not found.accepted)


def _say_draft(page: Screen, out: Path, found: Drafted) -> None:
    for number, each in enumerate(found.rounds, 1):
        say(page, f"  round {number}: {len(each.findings)} findings")
        for finding in each.findings[:3]:
            say(page, f"    {finding.validator}  {printable(finding.observed)[:200]}")
    if found.accepted:
        say(page, ("sound", "bold green"), f"  {printable(str(out))}")
    else:
        say(page, ("discarded", "bold red"), f"  {printable(found.reason)}")


@synth.command(short_help="Have a model reword what people say.")
@click.argument("paths", nargs=-1, required=True, metavar="ENV...")
@click.option("--articles", is_flag=True, help="Reword records that are prose, such as rules, too.")
@_model
@_url
@json_option
def rewrite(paths: tuple[str, ...], articles: bool, model: str, base_url: str | None, as_json: bool) -> int:
    """Have a model reword requests, answers and announcements, and keep each wording that says the same.

    Numbers, dates, names, ids, negations and restrictions must all be there, nothing may be added, and the validators
    that wording can hurt are asked again. Whatever is refused stays as it was. Receipts are made anew. Exit code 1 if
    nothing at all was reworded.

    \b
    coworkenv synth rewrite envs/ --model openai:gpt-5
    """
    complete = model_named(model, url=base_url)
    page = screen()
    kept = 0
    for path in list(_files(paths)):
        environment = read_environment(path)
        try:
            found = run_until_interrupted(partial(rewrite_environment, environment, complete, articles=articles))
        except Unreachable as error:
            raise Told(f"{path} was not reworded, nor what comes after it: {error}", 1) from None
        if found.accepted:
            run_until_interrupted(partial(_renewed, path, found))
        kept += found.accepted
        refused = Counter(wording.reason for wording in found.wordings if wording.reason)
        if as_json:
            print_json({"file": str(path), "accepted": found.accepted, "refused": dict(refused)})
            continue
        say(page, (printable(str(path)), "bold"), f"  {found.accepted} of {len(found.wordings)} texts reworded")
        for reason, number in refused.items():
            say(page, f"    {number} refused: {printable(reason)[:200]}")
    return int(kept == 0)


def _files(paths: Sequence[str]) -> Iterator[Path]:
    """The environments that paths name: files, and all that lie in folders."""
    for path in paths:
        yield from environment_files(Path(path)) if Path(path).is_dir() else [only_one(path)]


async def _renewed(path: Path, found: Rewritten) -> None:
    """Write a reworded environment, with a receipt of its own."""
    place_ = receipts.path_of(path)
    older = receipts.read(place_)
    fresh = await receipts.receipt(await validate(found.environment), release=release())
    place_.write_bytes(receipts.encode(receipts.with_history(fresh, older) if older else fresh))
    path.write_text(write(found.environment), encoding="utf-8")


# --- contamination -----------------------------------------------------------------------------------------


@synth.command("contamination", short_help="Compare with a benchmark's tasks.")
@click.argument("paths", nargs=-1, required=True, metavar="ENV...")
@click.option("--against", required=True, type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR")
@json_option
def contamination_(paths: tuple[str, ...], against: Path, as_json: bool) -> int:
    """Say which environments repeat a benchmark: its words, or its names and numbers, by more than 0.3.

    DIR is a folder with the benchmark's tasks, of whatever format; nothing in it is executed. Exit code 1 if any do.

    \b
    coworkenv synth contamination envs/ --against claw-eval/tasks
    """
    benchmark = read_benchmark(against)
    if not benchmark.files:
        skipped = ", ".join(f"{number} {reason}" for reason, number in benchmark.skipped.items())
        raise Told(f"there is no text in {against} to compare with{f' ({skipped} left out)' if skipped else ''}")
    found = contamination({str(path): read_environment(path) for path in _files(paths)}, benchmark)
    page = screen()
    for overlap in found:
        if as_json:
            print_json(msgspec.to_builtins(overlap))
        else:
            say(page, (printable(overlap.environment), "bold"), f"  is like {printable(overlap.file)}")
            shared = f": {', '.join(overlap.shared[:8])}" if overlap.shared else ""
            say(page, printable(f"    words {overlap.words:.2f}, names and numbers {overlap.entities:.2f}{shared}"))
    if not as_json:
        say(
            page,
            f"{len(found)} environments are like one of the {len(benchmark.files)} files in {printable(str(against))}",
        )
    return int(bool(found))


commands = [synth]
