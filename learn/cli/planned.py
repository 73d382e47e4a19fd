"""`--plan` and `--hours`: what a training takes, told or refused before anything starts.

Knows how an estimate is shown. Does not know sizes and rates (`planning`), or how they are measured (`estimating`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.cli.screen import print_json, screen
from ...engine.cli.tables import print_table
from ..planning import Memory, Tokens, available, check_hours, check_memory, gib, learning
from ..playing import Draft
from ..splits import Split, base_of

if TYPE_CHECKING:
    from ..estimating import Estimate


class Work(NamedTuple):
    """What a command is about to do with its model."""

    needs: Callable[[int], Memory]
    """By `--batch-tokens`."""
    drafts: Sequence[Draft]
    """Episodes that show how long others take; none where nothing is played."""
    playing: Any
    """How they are played: `policies.Settings`."""
    takes: Callable[[Any], tuple[Tokens, Sequence[Any]]]
    """From what came of them (`estimating.Played`) to the tokens of all steps, and samples of what is learnt."""
    begin: Callable[[Any], Callable[[int], Mapping[str, Any]]]
    """From a session to what makes its steps."""


def from_samples(
    loaded: Any,
    parts: Sequence[Any],
    times: float,
    playing: Any,
    val: Split | None,
    begin: Callable[[Any], Callable[[int], Mapping[str, Any]]],
    *,
    reference: bool = False,
) -> Work:
    """Work on samples that are there already: each is learnt so many times, on average."""
    from ..estimating import needs
    from ..samples import trained

    longest = max(len(sample.ids) for sample in parts)
    read = sum(len(sample.ids) for sample in parts)
    rows, written = playing.rows if val else 0, min(1.0, trained(parts) / read)
    return Work(
        lambda tokens: needs(loaded.model, tokens, longest, rows=rows, written=written, reference=reference),
        first_drafts(val) if val else (),
        playing,
        lambda _: (Tokens(learnt=times * read), parts),
        begin,
    )


def first_drafts(split: Split, rollouts: int = 1) -> list[Draft]:
    """Every twin of the first environment of a set."""
    first = base_of(split.worlds[0].id)
    worlds = [world for world in split.worlds if base_of(world.id) == first]
    return [Draft(world, trial, trial) for world in worlds for trial in range(rollouts)]


def free() -> int:
    """Bytes that each process of this machine may take."""
    import torch

    from ..models import free_memory

    found = free_memory(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    return found if found is not None else available() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def check_model(folder: Path, memory: int) -> None:
    """Raises TooMuch for a model that could not be trained however small the batch; none of its weights are read."""
    from ..models import shape
    from ..sharding import shares

    sizes = shape(folder)
    check_memory(lambda tokens: learning(sizes, tokens, 1, written=0).shared(shares()), 1, memory)


def planned(
    loaded: Any, work: Work, steps: int, val: Split | None, testing: Any, memory: int, shared: Mapping[str, Any]
) -> None:
    """Measure how long it takes, say so if that was asked for, and refuse what takes too long."""
    from ..estimating import Estimate, learning_speed, played
    from ..policies import policy_of

    found = played(policy_of(loaded, work.playing), work.drafts)
    tokens, samples = work.takes(found)
    tests = (2 + (steps // testing.every if testing.every else 0)) if val else 0
    tested = tests * len(val.worlds) * testing.trials * found.each if val else 0.0
    speed = learning_speed(loaded.model, samples, shared["batch_tokens"]) if samples else 1.0
    estimate = Estimate(
        memory=work.needs(shared["batch_tokens"]),
        tokens=tokens._replace(written=tokens.written + tested),
        speed=Tokens(written=found.speed, learnt=speed),
    )
    if shared["plan"]:
        show(estimate, memory, shared["as_json"])
    check_hours(estimate.hours, shared["hours"])


def show(found: Estimate, memory: int, as_json: bool) -> None:
    """A table of memory, then of time."""
    if as_json:
        told = {"memory": found.memory.table(), "free": memory, "hours": found.hours}
        print_json({"type": "plan", **told, "tokens": _named(found.tokens), "speed": _named(found.speed)})
        return
    rows = [(name, gib(size)) for name, size in found.memory.table().items()]
    rows += [("free", gib(memory)), *found.rows()]
    print_table(screen(), {"what": [name for name, _ in rows], "takes": [value for _, value in rows]}, (), ("takes",))


def _named(tokens: Tokens) -> dict[str, float]:
    return {name: value for name, value in tokens._asdict().items() if value}
