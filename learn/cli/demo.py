"""`learn demo`: the whole way from environments to a trained policy, in commands that can be typed again.

Knows the order of commands. Does not know what they do: each is run as if a person had typed it, and printed first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from ...engine import wall
from ...engine.cli.failures import Told
from ...engine.cli.options import whole
from ...engine.cli.root import main
from ...engine.cli.screen import say, screen
from ...engine.files import write_whole
from ...engine.printable import printable
from .guard import told

FILE = "demo.txt"
"""Of a demo's folder: its options."""
FAMILIES = "loans,rooms,samples"
CAPABILITIES = "A1,A4,B2"
APART = 1000
"""From the seed of what is demonstrated to that of what is practised in."""


PRACTICE = ["--credit", "turn-groups", "--truncated", "mask", "--only", "^model.norm", "--lr", "0.05"]
"""A thousand rollouts can teach a few hundred weights; about a million they say next to nothing."""


class Scale(NamedTuple):
    """How much of everything."""

    train: int
    """Environments that are demonstrated."""
    val: int
    practice: int
    """Environments of its own practice, which nobody has shown it."""
    warmup: int
    steps: int
    updates: int
    sets: int
    answer: int
    """Tokens of one answer."""
    decisions: int
    """Of one episode."""

    @property
    def limits(self) -> list[str]:
        return ["--max-tokens", str(self.answer), "--decisions", str(self.decisions)]


FULL = Scale(train=900, val=40, practice=120, warmup=400, steps=350, updates=10, sets=8, answer=56, decisions=12)
QUICK = Scale(train=8, val=3, practice=2, warmup=4, steps=3, updates=1, sets=1, answer=8, decisions=3)


def commands_of(folder: Path, seed: int, scale: Scale) -> Iterator[tuple[str, list[str]]]:
    """What is done, and the words of the command that does it."""
    sets, others, demos, model = (folder / name for name in ("set", "practice", "demos", "pocket"))
    train, val = str(sets / "train.yaml"), str(sets / "val-iid.yaml")
    kinds = ["--families", FAMILIES, "--capabilities", CAPABILITIES, "--languages", "en"]
    kinds += ["--depth", "1-2", "--knob", "rows=3"]
    count = ["--count", str(scale.train), "--val", str(scale.val), "--seed", str(seed)]
    yield "Environments, each with its twins", ["synth", "make", str(sets), *count, *kinds]
    # In environments that were demonstrated it is surer than anywhere else, and practice would tell nothing of that.
    more = ["--count", str(scale.practice), "--val", "1", "--seed", str(seed + APART)]
    yield "Others, to practise in", ["synth", "make", str(others), *more, *kinds]
    yield "Demonstrations by the oracle", ["learn", "demos", train, "--twins", "--brief", "--out", str(demos)]
    if not model.exists():
        warm = ["--steps", str(scale.warmup), "--seed", str(seed), "--threads", "2"]
        yield (
            "A model from nothing, warmed up on copying",
            ["learn", "pocket", str(model), "--demos", str(demos), *warm],
        )
    shared = ["--val", val, "--seed", str(seed), "--threads", "2", *scale.limits]
    sft, rl = str(folder / "sft"), str(folder / "rl")
    learning = ["--demos", str(demos), "--steps", str(scale.steps), "--lr", "2e-3", "--train", train]
    yield "It learns from demonstrations", ["learn", "sft", str(model), *learning, *shared, "--out", sft]
    practice = ["--updates", str(scale.updates), "--sets", str(scale.sets), *PRACTICE]
    practice += ["--train", str(others / "train.yaml")]
    yield "It practises, and learns from what that earned", ["learn", "rl", sft, *practice, *shared, "--out", rl]
    # Not the run, which stands for its best checkpoint: what all the practice has led to is asked.
    practised = str(folder / "rl" / "checkpoints" / f"step-{scale.updates:06d}")
    test = ["learn", "evaluate", practised, "--set", val, "--demos", str(demos), *scale.limits]
    tried = ["--temperature", "1", "--baseline", sft, "--out", str(folder / "sampled")]
    yield "It is tested as it practised, beside itself before", [*test, *tried]
    beside = [word for name in ("noop", "explore", "memoriser") for word in ("--baseline", name)]
    yield "It is tested at its best, beside baselines", [*test, *beside, "--out", str(folder / "evaluation")]


@click.command("demo", short_help="From environments to a trained policy, in minutes.")
@click.option("--out", default="learn-demo", type=click.Path(path_type=Path), metavar="DIR", help="(learn-demo)")
@click.option("--seed", default=0, type=whole(0, 1 << 30), help="Of all that is drawn (0).")
@click.option("--quick", is_flag=True, help="Only a little of everything: to see that it works.")
def demo(out: Path, seed: int, quick: bool) -> int:
    """Make environments and demonstrations, train a small model by imitation and then by practice, and test it.

    Every step is a command of its own, which is shown: type it again to change something. Fifteen to twenty minutes
    on two cores; what was stopped goes on with the same command.

    \b
    coworkenv learn demo
    coworkenv learn demo --seed 3 --out learn-demo-3
    """
    page = screen()
    with told():
        pass  # Without torch that is said now, and not after minutes of work.
    _claim(out, f"--seed {seed}" + (" --quick" if quick else ""))
    start = wall.monotonic()
    for number, (what, words) in enumerate(commands_of(out, seed, QUICK if quick else FULL), 1):
        say(page, (f"{number}. {what}", "bold"))
        say(page, ("   coworkenv " + " ".join(words), "cyan"))
        code = main(words)
        if code:
            return code
        say(page, (f"   {wall.monotonic() - start:.0f} s", "dim"))
    say(page, f"Figures, plots and cards are in {out}/sft and {out}/rl.")
    return 0


def _claim(folder: Path, options: str) -> None:
    """Write down what a folder is for. Raises Told where it is for another demo, whose sets would be replaced."""
    path = folder / FILE
    found = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else options
    if found != options:
        raise Told(
            f"{folder} holds the demo of {printable(found)}, not that of {options}; give the same, or another --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{options}\n".encode())


commands: list[click.Command] = [demo]
