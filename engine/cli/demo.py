"""`demo`: what the engine does, in one minute, on a real log.

Knows a story and the order in which it is told. Everything that it says is computed while it runs; after it, the log is
there to be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.rule import Rule
from rich.text import Text

from ...agents.building import build_agent, build_coworkers
from ...events.event import Event, MessageReceived, TimelineFired
from ...events.log import Log
from ...worlds.compiling import variants
from ...worlds.environment import Environment
from ...worlds.reading import read_environment
from ..fork import fork_episode
from ..grading import Graded, grade_episode
from ..plan import Plan
from ..printable import printable
from ..replay import Verified, verify
from ..rollouts import Result, rollout
from ..show import timeline
from .checking import say_checks
from .failures import Told
from .interrupts import run_until_interrupted
from .options import opened
from .places import examples
from .results import SHORT, grade_text, print_results
from .screen import Screen, say, screen

LOG = "coworkenv-demo.db"
EXAMPLE = "late-change"
TRAPS = ("ignores-interruption", "old-approval")


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the demo tells, after it has happened."""

    results: list[Result]
    verdicts: list[Verified]
    at: int
    fork: str
    fork_events: Sequence[Event]
    fork_grade: Graded


@click.command(short_help="See what this is, in one minute.")
@click.option("--log", "log_path", metavar="FILE", default=LOG, show_default=True, type=click.Path(path_type=Path))
def demo(log_path: Path) -> None:
    """Play one environment with a good agent and two bad ones, look at what happened, verify it, and fork it.

    Needs no model and no network. The log is made anew each time.

    \b
    coworkenv demo
    """
    environment = read_environment(examples()[EXAMPLE])
    if log_path.exists() and log_path.name != LOG:
        raise Told(f"{log_path} is there already; the demo replaces only a file that is called {LOG}")
    for file in (log_path, *(Path(f"{log_path}{end}") for end in ("-wal", "-shm"))):
        file.unlink(missing_ok=True)
    out = screen()
    _begin(out, environment)
    with opened(str(log_path), create=True) as log:

        async def work() -> Happened:
            async with log.writing():
                return await _happen(log, environment)

        told = run_until_interrupted(work)
        _tell(out, log, told)
    _end(out, log_path, told)


async def _happen(log: Log, environment: Environment) -> Happened:
    """Play, verify, fork and grade."""
    plans = [
        Plan(world=world, agent=build_agent(agent), coworkers=build_coworkers(world))
        for agent in ("oracle", *(f"trap:{name}" for name in TRAPS))
        for world in variants(environment).values()
    ]
    results = await rollout(plans, log)
    first = results[0].id
    assert first is not None
    at = _before_interruption(list(log.read(first)))
    changes = {"agent": build_agent(f"trap:{TRAPS[0]}").specification}
    fork = await fork_episode(log, first, at, changes)
    graded = await grade_episode(log, fork.id)
    assert graded is not None
    verdicts = [await verify(log, row.id) for row in log.rows(kind="episode")]
    return Happened(
        results=results, verdicts=verdicts, at=at, fork=fork.id, fork_events=list(fork.events), fork_grade=graded
    )


def _before_interruption(events: Sequence[Event]) -> int:
    """The last event before the timeline first interrupts the agent."""
    fired = next(event.seq for event in events if isinstance(event.body, TimelineFired))
    read = next(event.seq for event in events[fired:] if isinstance(event.body, MessageReceived))
    return min(fired, read) - 1


# --- telling it --------------------------------------------------------------------------------------------


def _chapter(out: Screen, number: int, title: str) -> None:
    out.print()
    out.print(Rule(Text(f"{number}  {title}", "bold"), align="left", style="dim", characters="─"))


def _paragraph(out: Screen, text: str) -> None:
    out.print(Text(text), soft_wrap=False, width=min(out.width, 96))


def _begin(out: Screen, environment: Environment) -> None:
    _chapter(out, 1, environment.title)
    for name, person in environment.people.items():
        say(out, (f"  {name}", "bold"), f", {person.role}")
    twins = ", ".join(environment.twins)
    _paragraph(
        out,
        "One coworker answers late, interrupts while another is still deciding, and then changes her mind. "
        f"Each agent plays the environment and its twins ({twins}): the same request, with one hidden fact "
        "flipped. The oracle is the scripted solution; a trap is a plausible bad agent.",
    )


def _tell(out: Screen, log: Log, told: Happened) -> None:
    results = told.results
    print_results(out, results)
    _paragraph(
        out,
        "A trap may well win in a twin where its mistake does not matter: here, where nobody else comes to lunch. "
        "It must lose in one.",
    )
    first = results[0]
    assert first.id is not None
    _chapter(out, 2, "What happened, in virtual time")
    for line in timeline(list(log.read(first.id)), out.width):
        out.print(line, soft_wrap=True)
    _chapter(out, 3, "Every grade explains itself: numbers in brackets are events")
    _say_grades(out, results)
    _chapter(out, 4, "The log is the truth: each episode executed again, byte for byte")
    good = sum(found.verdict == "identical" for found in told.verdicts)
    events = sum(found.events for found in told.verdicts)
    style = "bold green" if good == len(told.verdicts) else "bold red"
    say(out, (f"{good} of {len(told.verdicts)} episodes identical", style), f", {events} events in all")
    _paragraph(
        out,
        "Whatever the outside world answered is in the log, so nothing is asked again, not even of a model. "
        "Change one byte of the file and `coworkenv verify` says which event it was.",
    )
    _chapter(out, 5, f"Another future: the oracle's episode forked at event {told.at}, another agent takes over")
    _say_fork(out, told)


def _say_grades(out: Screen, results: Sequence[Result]) -> None:
    """The grades of the base, one agent after the other."""
    seen: set[str] = set()
    for result in results:
        if result.agent in seen or result.grade is None:
            continue
        seen.add(result.agent)
        say(out, (printable(result.agent), "bold"), "  ", grade_text(result.grade.score, result.grade.passed))
        say_checks(out, result.grade.checks)


def _say_fork(out: Screen, told: Happened) -> None:
    _paragraph(
        out,
        "The past is the same; what was on its way still arrives, as Victor's answer to the old question does below. "
        "The new agent knows what the old one has read, and does not listen to the interruption.",
    )
    lines = list(timeline(told.fork_events, out.width))
    after = next(n for n, line in enumerate(lines) if "forked from" in line.plain)
    for line in [lines[0], *lines[after - 1 :]]:
        out.print(line, soft_wrap=True)
    say(out, "Its grade: ", grade_text(told.fork_grade.score, told.fork_grade.passed))
    say_checks(out, (check for check in told.fork_grade.checks if check.applies and not check.passed))


def _end(out: Screen, path: Path, told: Happened) -> None:
    first = (told.results[0].id or "")[:SHORT]
    log = "" if str(path) == LOG else f" --log {path}"
    _chapter(out, 6, "Go on from here")
    hint = "" if log else f"export COWORKENV_LOG={LOG}"
    for command, what in (
        (hint, "so that what follows looks into the demo's log"),
        (f"coworkenv show {first} --messages{log}", "what they said to each other"),
        (f"coworkenv diff {first} {told.fork[:SHORT]}{log}", "where the two futures part"),
        (f"coworkenv fork {first} --at {told.at} --message 'dana:agent:Stop.'{log}", "change something else"),
        ("coworkenv run refund --agent openai:MODEL", "let a model try; $OPENAI_BASE_URL can be any server"),
    ):
        if command:
            say(out, (f"  {printable(command):<62} ", "cyan"), (what, "dim"))
