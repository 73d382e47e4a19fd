"""Pictures of runs: how learning went, and what came of it in each family.

Knows matplotlib, and which figures belong together. Does not know how a figure comes about. The same figures give the
same bytes, so a picture can be compared like any other file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

from .bootstrap import Interval
from .evaluating import Evaluation, evaluations_in, report
from .runs import PLOTS, Run

BLUE, ORANGE, GREEN, RED = "#2563a8", "#c8641c", "#3b8a4c", "#b03a48"
INK, GREY, FAINT = "#222222", "#6b6b6b", "#d9d9d9"
WIDTH = 7.2
"""Inches: 691 points, so that words are readable where a page is 700 pixels wide."""
_PAD = 15
"""Points between a title and its drawing: names of lines stand there."""
_STYLE: Any = {
    "svg.hashsalt": "coworkenv",
    "svg.fonttype": "path",  # the same letters wherever it is looked at
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": GREY,
    "ytick.color": GREY,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
}


def draw(run: Run) -> list[str]:
    """Draw what there is of a run into its folder; the names of the pictures. Raises RunError, OSError."""
    rows, evaluations = run.metrics(), evaluations_in(run.folder)
    pictures: dict[str, bytes] = {}
    if any(_lines(panel, rows, "step") for panel in PANELS):
        pictures["learning.svg"] = learning_curves(rows)
    if evaluations and evaluations[-1].scores:
        pictures["families.svg"] = bars(by_family(evaluations), "Twin score by family, on the set to tune by")
    for name, picture in pictures.items():
        run.write(f"{PLOTS}/{name}", picture)
    return list(pictures)


def by_family(evaluations: Sequence[Evaluation]) -> dict[str, dict[str, Interval]]:
    """Twin scores over all and of each family: in the first and the last of a run's evaluations."""
    found: dict[str, dict[str, Interval]] = {}
    named = {"at first": evaluations[0], "at last": evaluations[-1]}
    for name, each in named.items():
        if len(evaluations) == 1 and name == "at first":
            continue
        for group in report([each]).groups:
            if group.kind in ("all", "family"):
                found.setdefault(group.name, {})[name] = group.values[each.who]["twin score"]
    return found


class Line(NamedTuple):
    """A figure over steps. What stands in few rows has marks."""

    name: str
    label: str
    colour: str
    marked: bool = False


class Panel(NamedTuple):
    """Figures that are drawn together."""

    title: str
    lines: tuple[Line, ...]
    share: bool = False
    """They are between 0 and 1."""


PANELS = (
    Panel(
        "Score",
        (
            Line("score", "sampled in training", BLUE),
            Line("val/score", "tuning set", GREEN, marked=True),
            Line("val/twin", "its twin score", ORANGE, marked=True),
        ),
        share=True,
    ),
    Panel("Loss", (Line("loss", "loss", BLUE),)),
    Panel("Entropy, nats a token", (Line("entropy", "entropy", BLUE),)),
    Panel(
        "KL divergence, nats a token",
        (Line("kl_old", "to the sampling policy", BLUE), Line("kl_reference", "to the start", ORANGE)),
    ),
    Panel(
        "Probability ratio, new to old",
        (Line("ratio_q01", "1 %", GREEN), Line("ratio_q50", "median", BLUE), Line("ratio_q99", "99 %", ORANGE)),
    ),
    Panel("Share of tokens clipped", (Line("clip_fraction", "clipped", BLUE),)),
    Panel(
        "An episode",
        (Line("decisions", "decisions", BLUE), Line("messages", "messages", ORANGE), Line("calls", "calls", GREEN)),
    ),
    Panel("Tokens written in an episode", (Line("tokens_written", "tokens", BLUE),)),
    Panel(
        "Shares that should be small",
        (
            Line("gated", "gate tripped", RED),
            Line("malformed", "malformed", ORANGE),
            Line("truncated", "cut by length", BLUE),
            Line("flat", "sets all alike", GREY),
        ),
        share=True,
    ),
)


def learning_curves(rows: Sequence[Mapping[str, Any]], *, along: str = "step", kind: str = "svg") -> bytes:
    """The figures of a run's metrics, panel by panel; those that it does not have are left out.

    `along` names what is on the horizontal axis. Raises ValueError where there is nothing to draw.
    """
    panels = [(panel, lines) for panel in PANELS if (lines := _lines(panel, rows, along))]
    if not panels:
        raise ValueError("no figure of these rows can be drawn")
    columns = 1 if len(panels) == 1 else 2
    deep = -(-len(panels) // columns)
    with _style():
        figure = _figure(WIDTH, 0.35 + 2.05 * deep)
        grid = figure.subplots(deep, columns, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(panels):
                axes.set_visible(False)
                continue
            panel, lines = panels[place]
            _draw(axes, panel, lines)
            if place >= len(panels) - columns:
                axes.set_xlabel({"step": "step", "sampled": "tokens sampled"}.get(along, along))
        return _written(figure, kind)


_Points = list[tuple[float, float]]


def _lines(panel: Panel, rows: Sequence[Mapping[str, Any]], along: str) -> list[tuple[Line, _Points]]:
    found = []
    for line in panel.lines:
        points = [
            (float(row[along]), float(row[line.name]))
            for row in rows
            if isinstance(row.get(line.name), int | float) and isinstance(row.get(along), int | float)
        ]
        if points:
            found.append((line, points))
    return found


def _draw(axes: Any, panel: Panel, lines: Sequence[tuple[Line, _Points]]) -> None:
    axes.set_title(panel.title, pad=_PAD)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    for line, points in lines:
        xs, ys = zip(*points, strict=True)
        marked = line.marked or len(points) == 1
        axes.plot(xs, ys, color=line.colour, marker="o" if marked else "", markersize=3.5)
    if panel.share:
        top = max(y for _, points in lines for _, y in points)
        axes.set_ylim(-0.02, 1.02 if top > 0.5 else max(0.1, 1.25 * top))
    axes.margins(x=0.02)
    if len(lines) > 1:
        _labels(axes, lines)


def _labels(axes: Any, lines: Sequence[tuple[Line, _Points]]) -> None:
    """Names in the colours of their lines, above the drawing and under the title, where no line can be hidden."""
    from matplotlib.offsetbox import AnchoredOffsetbox, HPacker, TextArea

    words: list[Any] = [TextArea(line.label, textprops={"color": line.colour, "fontsize": 7.5}) for line, _ in lines]
    packed = HPacker(children=words, align="baseline", pad=0, sep=9)
    where = {"bbox_to_anchor": (0, 1.0), "bbox_transform": axes.transAxes}
    box = AnchoredOffsetbox("lower left", child=packed, pad=0, borderpad=0, frameon=False, **where)
    box.set_in_layout(False)
    axes.add_artist(box)


# --- by family ----------------------------------------------------------------------------------------------


def bars(
    groups: Mapping[str, Mapping[str, Interval]], title: str, *, noted: Sequence[str] = (), kind: str = "svg"
) -> bytes:
    """A bar with its interval for each who was tested, in each group: `groups[group][who]`. `noted` groups are marked
    as not trained on. Raises ValueError where there is nothing to draw.
    """
    who = list(dict.fromkeys(name for found in groups.values() for name in found))
    if not who:
        raise ValueError("there is nothing to draw")
    colours = [BLUE, ORANGE, GREEN, RED, GREY]
    thick = 0.8 / len(who)
    with _style():
        figure = _figure(WIDTH, 0.9 + len(groups) * max(0.24, 0.17 * len(who)))
        axes = figure.subplots()
        for number, name in enumerate(who):
            colour = colours[number % len(colours)]
            for place, found in enumerate(groups.values()):
                if name not in found:
                    continue
                one, y = found[name], place + thick * (number - (len(who) - 1) / 2)
                axes.barh(y, one.estimate, 0.9 * thick, color=colour, alpha=0.85)
                if one.low is not None and one.high is not None:
                    axes.plot([one.low, one.high], [y, y], color=INK, linewidth=1)
                axes.text(
                    1.015, y, f"{one.estimate:.2f}", va="center", fontsize=7, color=colours[number % len(colours)]
                )
        labels = [f"{name} (not trained on)" if name in noted else name for name in groups]
        axes.set_yticks(range(len(groups)), labels, color=INK)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 1)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.set_title(title, pad=_PAD)
        axes.set_ylim(len(groups) - 0.45, -0.55)
        shown = [(Line(name, name, colours[number % len(colours)]), [(0.0, 0.0)]) for number, name in enumerate(who)]
        if len(who) > 1:
            _labels(axes, shown)
        return _written(figure, kind)


# --- files --------------------------------------------------------------------------------------------------


def _style() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _written(figure: Any, kind: str) -> bytes:
    """The picture's bytes: they say neither when nor by which release they were made."""
    file = BytesIO()
    nothing = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(file, format=kind, dpi=100, metadata=nothing)
    return file.getvalue()
