"""Why everything in an environment is there: whose it is, and who would get away without it.

Knows checks, facts, twins, traps and steps, the rule of naming that says which capability brought them, and what comes
of the traps and of the oracle without one step. Does not know how an explanation is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ...events.event import Json
from ..checks.scoring import decimal_text
from ..environment import Check, Claim, Step
from ..expressions import references
from .playing import Case, Program, Run
from .programs.mutants import OPERATORS, mutants
from .programs.scenes import scene
from .validators.dataflow import labels
from .validators.programs import traps, without
from .validators.references import expressions

CORE = "core"
"""What belongs to no capability: the deed itself."""

_OWNER = re.compile(r"([a-h][1-4])(?![a-z0-9])")


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why one thing is there."""

    name: str
    owner: str
    """The capability that brought it, such as `A1`; or `core`."""
    what: str
    """What it is, in a few words."""
    why: str = ""
    """What its author says."""
    needed: tuple[str, ...] = ()
    """Who shows that it is needed, or what would go unnoticed without it. Empty where nothing does."""
    mutants: tuple[str, ...] = ()
    """Spoilt versions of the oracle that show it, too."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    checks: tuple[Reason, ...]
    """Needed because these bad agents fail it."""
    facts: tuple[Reason, ...]
    """Needed at these places; twins in which they differ are among `what`."""
    twins: tuple[Reason, ...]
    """Needed because only there these bad agents fall short."""
    traps: tuple[Reason, ...]
    """Needed for these checks, which it fails where it scores lowest."""
    steps: tuple[Reason, ...]
    """Needed for these checks, which fail in some variant without it."""


def owner(name: str) -> str:
    """The capability that a name begins with: `a1-asked` and `a1_answer` are of A1."""
    found = _OWNER.match(name)
    return found[1].upper() if found else CORE


async def explain(case: Case) -> Explanation:
    """Why everything is there. Plays the traps and the oracle without each step in all variants."""
    falls = await _falls(case)
    return Explanation(
        checks=tuple(_checks(case, falls)),
        facts=tuple(_facts(case)),
        twins=tuple(_twins(case, falls)),
        traps=tuple(_traps(case, falls)),
        steps=tuple(_steps(case, falls)),
    )


# --- who falls where ---------------------------------------------------------------------------------------

_Falls = Mapping[str, Mapping[str, Run]]
"""By bad agent (`trap NAME`, `without STEP`, `mutant NAME`), its run in each variant that has it."""
_MUTANT = "mutant "


async def _falls(case: Case) -> _Falls:
    found: dict[str, dict[str, Run]] = {}
    for variant in case.worlds:
        for agent, program in (*_bad_agents(case, variant), *await _mutants(case, variant)):
            found.setdefault(agent, {})[variant] = await case.run(program, variant)
    return found


async def _mutants(case: Case, variant: str) -> list[tuple[str, Program]]:
    found = mutants(await scene(case, variant), await scene(case), OPERATORS)
    return [(f"{_MUTANT}{mutant.name}", mutant.program) for mutant in found]


def _bad_agents(case: Case, variant: str) -> Iterator[tuple[str, Program]]:
    for program in traps(case, variant):
        yield f"trap {program.name.removeprefix('trap:').partition('@')[0]}", program
    steps = case.worlds[variant].oracle
    for label, step in zip(labels(steps), steps, strict=True):
        program_ = without(case, label, variant) if step.calc is None else None
        if program_ is not None:
            yield f"without {label}", program_


def _lowest(runs: Mapping[str, Run]) -> Run:
    return min(runs.values(), key=lambda run: run.score)


# --- checks, traps, steps, twins ---------------------------------------------------------------------------


def _checks(case: Case, falls: _Falls) -> Iterator[Reason]:
    checks: dict[str, Check] = {}
    for world in case.worlds.values():
        checks = {**world.checks, **checks}
    for name, check in checks.items():
        agents = [agent for agent, runs in falls.items() if any(_fails(run, name) for run in runs.values())]
        kind = "gate" if check.gate else f"weight {check.weight}"
        yield _shown(agents, name=name, what=f"{kind}: {_looks_for(check)}", why=check.why)


def _fails(run: Run, check: str) -> bool:
    return run.score < 1 and check in run.failed


def _shown(agents: Sequence[str], *, name: str, what: str, why: str = "") -> Reason:
    """A reason that bad agents give."""
    return Reason(
        name=name,
        owner=owner(name),
        what=what,
        why=why,
        needed=tuple(agent for agent in agents if not agent.startswith(_MUTANT)),
        mutants=tuple(agent.removeprefix(_MUTANT) for agent in agents if agent.startswith(_MUTANT)),
    )


def _looks_for(check: Check) -> str:
    if check.only is not None:
        return f"only these {check.only.by} in {check.only.record}"
    if check.distinct is not None:
        return f"different {check.distinct.by} in {check.distinct.record}"
    claim = check.claim or check.never
    if claim is None:
        return ""
    return f"{'expect' if check.claim else 'never'} {_claim(claim)}"


def _claim(claim: Claim) -> str:
    kinds = ("record", "called", "said", "gave", "mark", "fired")
    kind = next((kind for kind in kinds if getattr(claim, kind) is not None), "")
    return f"{kind} {getattr(claim, kind, '')}".strip()


def _traps(case: Case, falls: _Falls) -> Iterator[Reason]:
    for name, trap in case.environment.traps.items():
        runs = falls.get(f"trap {name}")
        if not runs:
            yield Reason(name=name, owner=owner(name), what="does not fit the oracle", why=trap.why)
            continue
        low = _lowest(runs)
        where = low.variant or "the base"
        what = f"at most {trap.ceiling}, gets {_short(low)} in {where}"
        yield Reason(name=name, owner=owner(name), what=what, why=trap.why, needed=low.failed)


def _steps(case: Case, falls: _Falls) -> Iterator[Reason]:
    known: dict[str, Step] = {}
    for world in case.worlds.values():
        for label, step in zip(labels(world.oracle), world.oracle, strict=True):
            known.setdefault(label, step)
    for label, step in known.items():
        runs = falls.get(f"without {label}", {})
        failed = tuple(dict.fromkeys(check for run in runs.values() if run.score < 1 for check in run.failed))
        yield Reason(name=label, owner=owner(label), what=_does(step), needed=failed)


def _does(step: Step) -> str:
    for key in ("call", "ask", "say", "wait"):
        value = getattr(step, key)
        if value is not None:
            return f"{key} {value}"
    return f"calc {step.calc}"


def _twins(case: Case, falls: _Falls) -> Iterator[Reason]:
    for name, patch in case.environment.twins.items():
        alone = [agent for agent, runs in falls.items() if _falls_only(name, runs)]
        flips = dict.fromkeys(".".join(path) for path in _leaves(patch))
        yield _shown(alone, name=name, what=", ".join(flips))


def _falls_only(twin: str, runs: Mapping[str, Run]) -> bool:
    """Whether it is in this twin alone that an agent gets least."""
    if twin not in runs or runs[twin].score == 1:
        return False
    return all(run.score > runs[twin].score for variant, run in runs.items() if variant != twin)


def _short(run: Run) -> str:
    return f"{float(decimal_text(run.score)):.2f}"


def _leaves(patch: Json, way: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of a twin's patch, as deep as a name helps."""
    if isinstance(patch, Mapping) and patch and len(way) < (3 if way[:1] == ("facts",) else 2):
        for key, value in patch.items():
            yield from _leaves(value, (*way, key))
    else:
        yield way


# --- facts -------------------------------------------------------------------------------------------------


def _facts(case: Case) -> Iterator[Reason]:
    data = case.data
    used: dict[str, dict[str, None]] = {}
    for path, node in expressions({key: part for key, part in data.items() if key not in ("twins", "frozen")}):
        for reference in references(node):
            if reference.name.startswith("$"):
                used.setdefault(reference.name[1:], {})[_place(path, data)] = None
    for name in data.get("facts", {}):
        twins = [twin for twin, patch in case.environment.twins.items() if name in (patch.get("facts") or {})]
        what = f"differs in {', '.join(twins)}" if twins else "the same in all twins"
        yield Reason(name=name, owner=owner(name), what=what, needed=tuple(used.get(name, {})))


def _place(path: Sequence[str | int], data: Mapping[str, Json]) -> str:
    """The part of an environment that a path leads into: `people.lena`, `checks.asked`, `oracle.paid`."""
    outer, *rest = path
    if outer in ("oracle", "timeline") and rest:
        entry = data[outer][rest[0]]
        return f"{outer}.{entry.get('as') or entry.get('name') or int(rest[0]) + 1}"
    return ".".join(str(part) for part in path[:2])
