"""The run card: what a run was, in one page, so that somebody else can believe it, repeat it, or say where it fails.

Knows a run's folder. Does not know torch: what needs a model at hand (how it reads, which accelerators there were) is
given. A card is made anew from the folder whenever it is wanted: nothing stands in it that is not there.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from ..events.event import Json
from ..events.sqlite import SqliteLog
from .baselines import SHUFFLED
from .bootstrap import Interval
from .evaluating import Evaluation, evaluations_in, report
from .hacking import Hacking, read_hacking
from .planning import gib, spoken
from .runs import CONFIG, Run
from .scores import METRICS, Metric
from .splits import openings

FILES = "card.md", "card.json"
PACKAGES = ("coworkenv", "torch", "transformers", "accelerate", "tokenizers", "safetensors", "trio", "msgspec")
PROMISES = {
    "lockstep": "On the same machine, with the same versions and the same number of threads, the same command gives "
    "the same tokens and the same weights, bit for bit, also after it was killed and went on. Elsewhere the last bits "
    "of floating-point sums may differ, and so, in the end, tokens.",
    "throughput": "Which episodes shared a batch depended on which came first, so the same command may give other "
    "tokens and other weights. Scores do follow from the logs, exactly: `coworkenv learn reproduce` grades them anew.",
}
BASELINE = (
    "A baseline: in the demonstrations that it learnt from, tools and the values they are given were shuffled between "
    "environments, so that only the format was there to be learnt."
)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of a run."""

    name: str
    command: str
    mode: str
    promise: str
    steps: int
    sampled: int
    """Tokens that were sampled for learning."""
    seconds: float
    seed: int | None
    threads: int | None
    digests: dict[str, str]
    """SHA-256 of what went in and what came out, by name."""
    logs: dict[str, dict[str, Json]]
    """Of each log of rollouts: episodes, environments, and a digest over the last digests of all episodes."""
    versions: dict[str, str]
    hardware: tuple[str, ...]
    openings: dict[str, int]
    """How often each test set was opened, by ring."""
    scores: dict[str, dict[str, Interval]]
    """Of the last evaluation while it was trained, by ring and family, then by metric."""
    before: dict[str, Interval]
    """Of the first one, over all."""
    hacking: dict[str, dict[Metric, Interval]]
    """Of the hacking gap, by what the same policy was graded by, then by metric; empty where it was not measured."""
    unknown: tuple[str, ...]
    """What is not known of it, and why."""
    notes: tuple[str, ...]
    config: dict[str, Json]


def card(
    run: Run,
    *,
    tokenizer: str = "",
    notes: Sequence[str] = (),
    accelerators: Sequence[str] = (),
) -> Card:
    """The card of a run. `tokenizer` is its digest, `notes` are `Template.notes` and what else is to be told of the
    model, `accelerators` the names of those that were used. Raises RunError."""
    rows, config, kept = run.metrics(), run.config, run.checkpoints()
    evaluations = evaluations_in(run.folder)
    mode = str(config.get("mode", "throughput"))
    found: dict[str, int] = {}
    for opening in openings(run.folder):
        found[opening.ring or "no ring"] = found.get(opening.ring or "no ring", 0) + 1
    logs = {path.stem: _log(path) for path in run.logs()}
    hacking = read_hacking(run.folder)
    return Card(
        name=run.folder.resolve().name,
        command=str(config.get("command", "")),
        mode=mode,
        promise=PROMISES.get(mode, ""),
        steps=max((int(row["step"]) for row in rows if "step" in row), default=0),
        sampled=int(str(kept[-1].state.get("sampled", 0))) if kept else 0,
        seconds=max((float(row["seconds"]) for row in rows), default=0.0),
        seed=_whole(config.get("seed")),
        threads=_whole(config.get("threads")),
        digests=_digests(run, tokenizer),
        logs=logs,
        versions=versions(),
        hardware=(*hardware(), *accelerators),
        openings=found,
        scores=_scores(evaluations[-1:]),
        before=_scores(evaluations[:1]).get("all", {}),
        hacking=_hacking(hacking) if hacking else {},
        unknown=hacking.notes if hacking else (),
        notes=(*notes, *([BASELINE] if config.get(SHUFFLED) else [])),
        config=config,
    )


def write_card(run: Run, made: Card) -> None:
    """Write card.md and card.json into the run's folder. Raises OSError."""
    page, data = FILES
    run.write(page, markdown(made).encode())
    run.write(data, msgspec.json.format(msgspec.json.encode(made)) + b"\n")


# --- what is found ------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """Of Python, and of the packages that what is computed depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def hardware(root: Path = Path("/")) -> tuple[str, ...]:
    """This machine, in words."""
    model = platform.processor() or platform.machine()
    try:
        lines = (root / "proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = os.cpu_count() or 1
    return f"{cores} x {model}", f"{gib(memory)} of memory", f"{platform.system()} on {platform.machine()}"


def _digests(run: Run, tokenizer: str) -> dict[str, str]:
    found = {"configuration": sha256((run.folder / CONFIG).read_bytes()).hexdigest()}
    if run.config.get("weights"):
        found["weights before"] = str(run.config["weights"])
    for name, checkpoint in (("weights after", run.latest()), ("weights of the best", run.best())):
        if checkpoint is not None and checkpoint.state.get("weights"):
            found[name] = str(checkpoint.state["weights"])
    if tokenizer:
        found["tokenizer and chat template"] = tokenizer
    for name, value in run.config.items():
        if isinstance(value, dict) and isinstance(value.get("digest"), str):
            found[f"{name}: {value.get('path', '')}".rstrip(": ")] = value["digest"]
    return found


def _log(path: Path) -> dict[str, Json]:
    with closing(SqliteLog(path, create=False)) as log:
        rows = sorted(log.rows(kind="episode"), key=lambda row: row.id)
    digest = sha256("".join(f"{row.id} {row.digest}\n" for row in rows).encode()).hexdigest()
    environments = len({(row.environment, row.twin) for row in rows})
    return {"episodes": len(rows), "environments": environments, "digest": digest}


def _scores(evaluations: Sequence[Evaluation]) -> dict[str, dict[str, Interval]]:
    if not evaluations or not evaluations[0].scores:
        return {}
    who = evaluations[0].who
    groups = [group for group in report(evaluations).groups if group.kind != "capability"]
    return {
        group.name if group.kind == "all" else f"{group.kind} {group.name}": {
            metric: group.values[who][metric] for metric in METRICS
        }
        for group in groups
    }


def _hacking(found: Hacking) -> dict[str, dict[Metric, Interval]]:
    worth = {
        "training grader": found.training,
        "held-out checks": found.held_out_checks,
        "other phrases": found.held_out_lexicon,
    }
    told = {name: each.values for name, each in worth.items() if each}
    return told if found.gap is None else {**told, "hacking gap": found.gap}


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) else None


# --- as a page ----------------------------------------------------------------------------------------------


def markdown(made: Card) -> str:
    """The card, for people."""
    parts = [
        f"# Run `{made.name}`",
        f"{made.command or 'training'}: {made.steps} steps, {made.sampled:,} sampled tokens, "
        f"{spoken(made.seconds / 3600)}; seed {_or(made.seed)}, {_or(made.threads)} threads.",
        f"Mode **{made.mode}**. {made.promise}",
        "## Scores",
        _score_table(made),
        *(["## Hacking gap", _hacking_table(made)] if made.hacking else []),
        "## Test sets",
        _openings(made.openings),
        *(["## Notes", *(f"* {note}" for note in made.notes)] if made.notes else []),
        "## Digests",
        _table(("of", "SHA-256"), [(name, f"`{digest}`") for name, digest in made.digests.items()]),
        *(["## Logs", _log_table(made.logs)] if made.logs else []),
        "## Machine and versions",
        "\n".join(f"* {words}" for words in made.hardware),
        ", ".join(f"{name} {number}" for name, number in made.versions.items()),
        "## Options",
        _table(("option", "value"), [(name, f"`{_short(value)}`") for name, value in made.config.items()]),
    ]
    return "\n\n".join(parts) + "\n"


def _score_table(made: Card) -> str:
    if not made.scores:
        return "It was not evaluated while it was trained."
    rows = [(name, *(_interval(found[metric]) for metric in METRICS)) for name, found in made.scores.items()]
    before = [("before training", *(_interval(made.before[metric]) for metric in METRICS))] if made.before else []
    return (
        "On the set that it was tuned by, so not a claim about anything unseen; with 95 % intervals over twin sets.\n\n"
        + _table(("", *METRICS), [*before, *rows])
    )


def _hacking_table(made: Card) -> str:
    rows = [(name, *(_interval(found[metric]) for metric in METRICS)) for name, found in made.hacking.items()]
    return (
        "Twin sets that it was trained on, sampled as in training; the same episodes graded by what rewards came from "
        "and by what they did not, and how much more the former found.\n\n"
        + "\n\n".join([_table(("graded by", *METRICS), rows), *(f"* {note}" for note in made.unknown)])
    )


def _openings(found: Mapping[str, int]) -> str:
    if not found:
        return "No test set was opened."
    times = ", ".join(f"{ring} {count} {'time' if count == 1 else 'times'}" for ring, count in found.items())
    return f"Opened: {times}. Whoever looks at a test often enough is tuning by it."


def _log_table(logs: Mapping[str, Mapping[str, Json]]) -> str:
    rows = [
        (name, str(found["episodes"]), str(found["environments"]), f"`{found['digest']}`")
        for name, found in logs.items()
    ]
    return _table(("log", "episodes", "environments", "SHA-256 over its episodes"), rows)


def _interval(found: Interval) -> str:
    bounds = "" if found.low is None or found.high is None else f" ({found.low:.3f} to {found.high:.3f})"
    return f"{found.estimate:.3f}{bounds}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode().replace("`", "'")
    return text if len(text) <= 120 else text[:119] + "…"


def _or(number: int | None) -> str:
    return "unknown" if number is None else str(number)
