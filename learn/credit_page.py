"""What `credit-bench` found, as tables of text and as a picture.

Knows columns, how numbers are written, and pages with a place for the tables. Does not know how anything was judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ..worlds.synth.capabilities.registry import FRAGMENTS
from .credit_bench import Judged
from .frozen import Frozen
from .ways import OWN

START, END = "<!-- credit-bench -->", "<!-- end -->"
_PLACE = re.compile(f"{re.escape(START)}\n.*?{re.escape(END)}", re.DOTALL)
SHOWN = "centred"
"""The processing whose ways are shown by capability, beside those with a baseline of their own."""


class Table(msgspec.Struct, frozen=True):
    """Cells by column, from left to right."""

    columns: Mapping[str, Sequence[str]]
    left: Sequence[str]
    """Columns of words; all others are numbers."""


def figures(found: Sequence[Judged]) -> Table:
    """Every way, the best first."""
    numbers: dict[str, Callable[[Judged], float | None]] = {
        "correlation": lambda one: one.measures.correlation,
        "sign": lambda one: one.measures.sign,
        "bias": lambda one: one.measures.bias,
        "noise": lambda one: one.measures.noise,
        "necessary": lambda one: one.measures.necessary,
    }
    columns: dict[str, Sequence[str]] = {
        "credit": [f"{one.credit} (wrong)" if one.planted else one.credit for one in found],
        "processing": [one.processing for one in found],
    }
    for name, number in numbers.items():
        columns[name] = [_number(number(one)) for one in found]
    columns["tokens"] = [f"{one.tokens:,.0f}" for one in found]
    return Table(columns, ("credit", "processing"))


def by_capability(found: Sequence[Judged]) -> Table:
    """The correlation of the right ways, one row for each capability, and one for all environments."""
    shown = [one for one in found if one.processing in (SHOWN, OWN) and not one.planted]
    capabilities = list(shown[0].capabilities) if shown else []
    columns: dict[str, Sequence[str]] = {
        "capability": [*capabilities, "all"],
        "an agent that has it": [*(_title(name) for name in capabilities), ""],
    }
    for one in shown:
        own = [one.capabilities[name] for name in capabilities]
        columns[one.credit] = [*map(_number, own), _number(one.measures.correlation)]
    return Table(columns, ("capability", "an agent that has it"))


def _title(capability: str) -> str:
    return FRAGMENTS[capability].title if capability in FRAGMENTS else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}".replace("-0.00", "0.00")


def told(logs: Frozen, size: int) -> str:
    """What the logs are, in a sentence."""
    environments = len({variant.environment for variant in logs.variants})
    exact = sum(variant.exact for variant in logs.variants)
    count, decisions = len(logs.rollouts), sum(len(rollout.decisions) for rollout in logs.rollouts)
    header = logs.header
    return (
        f"{count:,} rollouts of {len(logs.variants)} twins of {environments} environments, {decisions:,} decisions, at "
        f"each of which something is done wrong with probability {header.share:g}; {exact} twins enumerated, the "
        f"others by {header.forks} forks of each state; batches of {size} rollouts a twin; seed {header.seed}."
    )


def markdown(table: Table) -> str:
    """A table as Markdown has it."""
    names = list(table.columns)
    rules = ["---" if name in table.left else "---:" for name in names]
    rows = [names, rules, *map(list, zip(*table.columns.values()))]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def with_tables(page: str, logs: Frozen, found: Sequence[Judged], size: int) -> str:
    """A page with the tables in their place. Raises ValueError where it has none."""
    if not _PLACE.search(page):
        raise ValueError(f"the page has no place for the tables: lines with {START} and {END}")
    made = f"{told(logs, size)}\n\n{markdown(figures(found))}\n{markdown(by_capability(found))}"
    return _PLACE.sub(lambda _: f"{START}\n{made}{END}", page)


def draw(found: Sequence[Judged], path: Path) -> None:
    """A picture of all ways: how well each goes along with the truth, and what of its error is bias and what noise.

    Raises ImportError without matplotlib, ValueError for a kind of file that it cannot write, OSError.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "coworkenv"
    shown = list(reversed(found))
    places = range(len(shown))
    figure = Figure(figsize=(9, 1 + 0.24 * len(shown)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    colours = ["tab:red" if one.planted else "tab:blue" for one in shown]
    left.barh(places, [one.measures.correlation for one in shown], color=colours)
    left.set_yticks(places, [one.name for one in shown], fontsize=8)
    left.set_xlabel("correlation with the true advantage")
    right.barh(places, [one.measures.bias for one in shown], color="tab:orange", label="bias")
    right.plot([one.measures.noise for one in shown], places, "k.", label="noise")
    right.set_xlabel("error, over the size of the truth")
    right.legend(loc="lower right", fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
