"""`run` and `resume`: episodes are played, results are told as they come.

Knows plans, progress and what to say when something stops. Does not know how an episode is played.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal

import click
import trio
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...agents.agent import Perform
from ...agents.building import AGENT_KINDS, REACHING, build_agent, model_at
from ...events.event import Json
from ...events.log import Log, StreamRow
from ...worlds.world import World
from ..episode import resume_episode
from ..importing import Graders, players
from ..plan import EpisodeError, Plan, agent_name, check_agent, episode_id, plan_of
from ..printable import printable
from ..rollouts import Result, graded_result, result_of, rollout, side_by_side
from .failures import Told, sentences, single
from .graders import JUDGES, grader_options, graders_of, with_graders
from .interrupts import Interrupted, run_until_interrupted
from .options import all_option, chosen, episode_options, json_option, log_option, opened, pairs, value_of, whole
from .places import find
from .results import SHORT, name_of, plain, result_line, say_summary, summary
from .root import BAD_INPUT, INTERRUPTED, warn
from .screen import Screen, print_json, say, screen

MANY = 60
"""So many episodes, and a terminal is told only of those that did not end; a pipe is told of all."""

REASONS = 8
"""So many reasons why there is no grade are told."""

_THEIRS = "coworkers."


@click.command(short_help="Play episodes and grade them.")
@click.argument("paths", nargs=-1, required=True)
@click.option("--agent", "-a", "agents", multiple=True, required=True, metavar="SPEC", help=", ".join(AGENT_KINDS))
@click.option(
    "--option",
    "-o",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the model: temperature=0.7, …",
)
@click.option("--coworkers", default="rules", metavar="SPEC", help="rules (default), model:MODEL or persona:MODEL")
@episode_options
@click.option("--mode", type=click.Choice(["sane", "upstream"]), help="Of Claw-Eval's services (sane).")
@grader_options
@click.option(
    "--durability", default="batch", type=click.Choice(["batch", "each"]), help="each: every step is on disk."
)
@log_option
@json_option
def run(
    paths: tuple[str, ...],
    agents: tuple[str, ...],
    options: tuple[str, ...],
    coworkers: str,
    base_url: str | None,
    trials: int,
    seed: int,
    twins: bool,
    only: str | None,
    concurrency: int,
    mode: Literal["sane", "upstream"] | None,
    graders: tuple[str, ...],
    judge: str | None,
    unsafe: bool,
    durability: Literal["batch", "each"],
    log_path: str,
    as_json: bool,
) -> int:
    """Play episodes of PATHS: environment files, folders of them, benchmarks' checkouts, or examples by name.

    What the log has already is not played again; what was interrupted goes on.

    \b
    coworkenv run late-change --agent oracle --twins
    coworkenv run tasks/ --agent openai:gpt-5 --trials 3 -o temperature=0.7
    """
    others = judge is None or coworkers != "rules" or any(agent.startswith("openai") for agent in agents)
    wanted, judges = parted(model_options(options, base_url if others else None), JUDGES)
    grading = graders_of(graders, judge, judges, unsafe, base_url)
    found = find(paths, twins=twins, only=only, mode=mode, unsafe=unsafe)
    plans = _fitting(
        [
            plan
            for agent in agents
            for world in found.worlds
            for plan in _plans(world, agent, coworkers, wanted, trials, seed)
        ],
        found.problems,
    )
    for sentence in (*found.problems, *found.notes):
        warn(sentence)
    with opened(log_path, create=True, durability=durability) as log:
        ended = {row.id for row in log.rows(kind="episode", status="ended")}
        order = {episode_id(plan.started()): place for place, plan in enumerate(plans)}

        async def work(finished: Callable[[Result], None]) -> None:
            await rollout(plans, log, concurrency=concurrency, finished=finished, graders=grading)

        code = perform(log, work, order, ended, as_json, "`coworkenv run` with the same words, or", graders)
    return code or int(bool(found.problems))


def _fitting(plans: Sequence[Plan], problems: list[str]) -> list[Plan]:
    """The plans whose agents the worlds have; what the others lack is added to `problems`. Raises Told if all do."""
    fitting: list[Plan] = []
    lacks: dict[tuple[str, str], str] = {}
    for plan in plans:
        try:
            check_agent(plan.world, plan.agent.specification)
            fitting.append(plan)
        except EpisodeError as error:
            # Twins lack what their base lacks: once is enough.
            lacks.setdefault((plan.world.id.partition("@")[0], agent_name(plan.agent.specification)), str(error))
    problems.extend(lacks.values())
    if plans and not fitting:
        raise Told("\n".join(problems))
    return fitting


def model_options(settings: Sequence[str], base_url: str | None) -> dict[str, Json]:
    wanted = {name: value_of(value) for name, value in pairs(settings, "an option").items()}
    return {**wanted, **({"url": base_url} if base_url else {})}


def _plans(
    world: World, agent: str, coworkers: str, options: Mapping[str, Json], trials: int, seed: int
) -> Iterator[Plan]:
    """The plans of one world's trials. Options are the models': rules and scripts have none."""
    own, theirs = shares(options, agent.startswith("openai"), coworkers != "rules")
    for trial in range(trials):
        yield Plan(
            world=world,
            agent=build_agent(agent, own),
            coworkers=players(world, coworkers, theirs),
            seed=seed + trial,
            trial=trial,
        )


def shares(options: Mapping[str, Json], agent: bool, coworkers: bool) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
    """The options of the agent's model and of the coworkers', where these have one. Raises Told for those of nobody.

    `coworkers.NAME` is the coworkers'. Any other is the agent's; everybody's, if it says where and how patiently models
    are asked; and the coworkers', if only they have models.
    """
    own, theirs = parted(options, _THEIRS)
    if own and not (agent or coworkers):
        raise Told(f"the option {next(iter(own))!r} is a model's, and no model takes part")
    if theirs and not coworkers:
        raise Told(f"the option '{_THEIRS}{next(iter(theirs))}' is a model's, and no coworker has one")
    shared = {name: value for name, value in own.items() if not agent or name in ("url", *REACHING)}
    return own if agent else {}, {**shared, **theirs} if coworkers else {}


def parted(options: Mapping[str, Json], prefix: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """The options without a prefix, and those that have it, without it."""
    theirs = {name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)}
    return {name: value for name, value in options.items() if not name.startswith(prefix)}, theirs


@click.command(short_help="Go on with suspended episodes.")
@click.argument("names", nargs=-1, metavar="[ID]...")
@all_option("suspended episodes")
@click.option("--base-url", metavar="URL", help="Ask the models of this server, not of the ones that episodes name.")
@click.option("--concurrency", default=32, type=whole(1, 4096), help="Episodes at once (32).")
@grader_options
@log_option
@json_option
def resume(
    names: tuple[str, ...],
    everything: bool,
    base_url: str | None,
    concurrency: int,
    graders: tuple[str, ...],
    judge: str | None,
    unsafe: bool,
    log_path: str,
    as_json: bool,
) -> int:
    """Go on with episodes where their log ends. Nothing that the log answers is asked again.

    Exit code 1 if one does not end, and 2 if all that they lack is a benchmark's code, which --graders names.

    \b
    coworkenv resume --all
    coworkenv resume --all --graders tau2-bench/
    """
    ask = model_at(base_url) if base_url else None
    grading = graders_of(graders, judge, {}, unsafe, base_url)
    with opened(log_path) as log:
        # One that says it is running may belong to a process that died: whoever opens it will see.
        rows = [row for row in chosen(log, names, everything, kind="episode") if names or row.status != "ended"]
        if not rows:
            say(screen(), "No episode is suspended.")
            return 0

        codeless: set[str] = set()
        results: list[Result] = []

        async def work(finished: Callable[[Result], None]) -> None:
            going = [partial(_resumed, log, row, ask, grading, codeless) for row in rows]
            results.extend(await side_by_side(going, concurrency, finished))

        order = {row.id: place for place, row in enumerate(rows)}
        code = perform(log, work, order, set(), as_json, graders=graders)
    return BAD_INPUT if code == 1 and not any(_failed(each) for each in results if each.id not in codeless) else code


async def _resumed(
    log: Log, row: StreamRow, ask: Perform | None, graders: Graders | None, codeless: set[str]
) -> Result:
    """Adds to `codeless` an episode that nobody has named the code for."""
    try:
        episode = await resume_episode(log, row.id, ask)
        if episode.codeless:
            codeless.add(row.id)
        plan = plan_of(episode.events)
        if episode.status != "ended":
            return result_of(plan, episode, None)
        return await graded_result(plan, episode, log, graders)
    except Exception as error:
        told = sentences(single(error))
        if told is None:
            raise
        return Result(
            id=row.id,
            environment=name_of(row),
            agent=row.agent,
            seed=row.seed,
            trial=row.trial,
            status="error",
            reason=told,
        )


def perform(
    log: Log,
    work: Callable[[Callable[[Result], None]], Awaitable[None]],
    order: Mapping[str, int],
    kept: set[str],
    as_json: bool,
    again: str = "",
    graders: Sequence[str] = (),
) -> int:
    """Do work that gives results into a log that is being written to; tell them as they come, and what they come to.

    `order` has the ids of all episodes in the order of the table, `kept` those that had ended before; `graders` are the
    checkouts that were named.
    """
    out, count = screen(), len(order)
    results: list[Result] = []
    unheard: list[OSError] = []
    stopped = False
    with _telling(out, count, as_json) as tell:
        playing = trio.CancelScope()

        def finished(result: Result) -> None:
            results.append(result)
            try:
                tell(result, result.id in kept)
            except OSError as error:
                # Nobody can be told any more: stop as at Ctrl-C, so that nothing that was played is lost.
                unheard.append(error)
                playing.cancel()

        async def writing() -> None:
            async with log.writing():
                with playing:
                    await work(finished)

        try:
            run_until_interrupted(writing)
        except Interrupted:
            stopped = True
    if unheard:
        raise unheard[0]
    results.sort(key=lambda result: order.get(result.id or "", count))
    if as_json:
        print_json({**summary(results, whole=not stopped), "interrupted": stopped})
    elif results:
        say_summary(out, results, whole=not stopped)
    if not as_json:
        _say_next(out, results, kept, graders)
    if stopped:
        warn(f"stopped: {_progress(log, order)}.")
        warn(f"To go on: {again} `coworkenv resume --all{with_graders(graders)}`.".replace("  ", " "))
        return INTERRUPTED
    return int(any(map(_failed, results)))


def _failed(result: Result) -> bool:
    return result.status != "ended" or bool(result.ungraded)


def _progress(log: Log, order: Mapping[str, int]) -> str:
    """How far the episodes of a run are by what the log holds of them: some that have ended may not have been told."""
    found = [row.status for row in log.rows(kind="episode") if row.id in order]
    ended = found.count("ended")
    return (
        f"{ended} of {len(order)} episodes have ended, {len(found) - ended} are suspended, "
        f"{len(order) - len(found)} were not begun"
    )


@contextmanager
def _telling(out: Screen, count: int, as_json: bool) -> Iterator[Callable[[Result, bool], None]]:
    """A function that tells one result: as JSON, as a line, or above a bar that moves."""
    if as_json:
        yield lambda result, kept: print_json(plain(result, kept))
        return
    if not out.is_terminal or count == 1:
        yield lambda result, kept: out.print(result_line(result, kept))
        return
    columns = [BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")]
    with Progress(*columns, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=out) as progress:
        task = progress.add_task("episodes", total=count, rate="")

        def tell(result: Result, kept: bool) -> None:
            if count <= MANY or result.status != "ended":
                progress.console.print(result_line(result, kept))
            done = progress.tasks[0]
            progress.update(task, advance=1, rate=f"{done.speed or 0:.1f}/s" if done.speed else "")

        yield tell


def _say_next(out: Screen, results: Sequence[Result], kept: set[str], graders: Sequence[str]) -> None:
    """What was kept, what stopped and why, and what to type next."""
    again = sum(result.id in kept for result in results)
    if again:
        say(
            out, (f"{again} of {len(results)} had ended before: they are in the log, and were not played again.", "dim")
        )
    for reason in dict.fromkeys(result.reason for result in results if result.status == "suspended"):
        many = sum(result.reason == reason for result in results)
        say(out, (f"{many} suspended: ", "bold yellow"), printable(reason))
    if any(result.status == "suspended" for result in results):
        say(out, "Go on with them: ", (f"coworkenv resume --all{with_graders(graders)}", "cyan"))
    ungraded = Counter(result.ungraded for result in results if result.ungraded)
    for why, many in list(ungraded.items())[:REASONS]:
        say(out, (f"{many} not graded: ", "bold yellow"), printable(why))
    if len(ungraded) > REASONS:
        say(out, f"… and {len(ungraded) - REASONS} more that `coworkenv grade` would tell of.")
    for result in results:
        if result.status == "error":
            say(out, (f"{(result.id or 'error')[:SHORT]}: ", "bold red"), printable(result.reason))
    shown = next((r for r in results if r.grade is not None and not r.grade.passed), results[0] if results else None)
    if shown is not None and shown.id is not None:
        say(out, "Look at one: ", (f"coworkenv show {shown.id[:SHORT]}", "cyan"))
