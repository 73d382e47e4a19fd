"""An audit of tasks by playing: what those earn who do nothing, only read, say everything, or do the wrong thing.

Knows which episodes are played to find out. What a task's files show is `worlds.claw_eval.examining`, what it declares
about its grading `worlds.claw_eval.declared`. Environments of our own format are examined by those validators of theirs
that need no fact base. Nobody who plays here asks anything outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec

from ..agents.agent import Actor, Call, Context
from ..agents.arguments import plausible, required
from ..agents.explore import Explore
from ..events.event import AGENT, Event, Json, ToolCalled, ToolReturned
from ..worlds.auditing import EXAMINATIONS, Examined, Flaw, Severity
from ..worlds.checks.scoring import rule
from ..worlds.claw_eval import Task, TaskError, world_of
from ..worlds.claw_eval.audit import audit
from ..worlds.claw_eval.declared import DECIDABLE, FORBIDDING, Declared, Judged, declared, judge
from ..worlds.claw_eval.examining import examine, repeated, unreadable
from ..worlds.environment import Environment
from ..worlds.service import Tool
from ..worlds.synth.playing import Case
from ..worlds.synth.validators.registry import VALIDATORS
from ..worlds.values import written
from .claw_eval.loading import Loader
from .episode import play
from .plan import Plan
from .playing import play_program

PLAYED = ("given-away", "no-op", "reads-only", "met-at-start", "spam", "reference", "order", "mutation")
"""Examinations for which something is played."""
_STATIC = tuple(name for name in EXAMINATIONS if name not in PLAYED)
NO_GRADER = "nothing that a program can decide is declared; upstream's grader is a program that is not in the folder"
NO_REFERENCE = "no tool must be called and no word said, so there are no reference actions"
_ALIKE = 6
"""Survivors that are named."""

OWN: Mapping[int, str] = {5: "no-op", 6: "met-at-start", 15: "order", 17: "mutation", 19: "spam", 4: "reference"}
"""Validators of our own environments that need no fact base, with the examination that they make."""


class Script(msgspec.Struct, frozen=True):
    """What an agent does: calls, one after the other, and what it says at the end."""

    calls: tuple[Call, ...] = ()
    text: str = ""


class Scripted:
    """An agent that does what a script says, whatever comes back."""

    specification: dict[str, Json] = {"kind": "audit"}  # noqa: RUF012

    def __init__(self, script: Script) -> None:
        self._script = script

    async def act(self, context: Context) -> str:
        if context.world.openings:
            await context.receive()
        for call in self._script.calls:
            await context.call(call)
        return self._script.text


# --- tasks of Claw-Eval ------------------------------------------------------------------------------------


async def examined_folder(folder: Path, loader: Loader | None = None) -> tuple[Examined, Task | None]:
    """What is found about the task in a folder, and the task; none where it cannot be read. Raises CheckoutError for
    what is wrong with the pages that a user has in the place of the web."""
    try:
        task = await (loader or Loader()).task(folder)
    except TaskError as error:
        others = {name: "it cannot be read" for name in EXAMINATIONS if name != "readable"}
        return Examined(task=folder.name, flaws=(unreadable(folder, error),), skipped=others), None
    found = await _Trying(task).examined()
    return msgspec.structs.replace(found, flaws=(*examine(folder, task), *found.flaws)), task


def side_by_side(found: Sequence[Examined], tasks: Sequence[Task]) -> list[Examined]:
    """What was found, with what is only seen where tasks are looked at side by side; it is told of the first with its
    id."""
    whole = list(found)
    for flaw in repeated(tasks):
        place = next(number for number, one in enumerate(whole) if one.task == flaw.task)
        whole[place] = msgspec.structs.replace(whole[place], flaws=(*whole[place].flaws, flaw))
    return whole


class _Trying:
    """One task, and what is played in it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.world = world_of(task)
        self.what: Declared = declared(task)
        self._changing = [tool for tool in task.tools if not tool.reads]

    def _flaw(self, examination: str, says: str, evidence: Sequence[str] = (), severity: Severity = "error") -> Flaw:
        return Flaw(task=self.task.id, examination=examination, says=says, evidence=tuple(evidence), severity=severity)

    async def _play(self, agent: Actor) -> Sequence[Event]:
        return (await play(Plan(self.world, agent))).events

    async def _judged(self, script: Script) -> tuple[Judged, Sequence[Event]]:
        events = await self._play(Scripted(script))
        return judge(self.task, self.what, events), events

    async def examined(self) -> Examined:
        """All that playing shows."""
        flaws = await self.idle()
        skipped: dict[str, str] = {}
        mutants: list[tuple[str, bool]] = []
        if not self.what.decidable:
            skipped = dict.fromkeys([name for name in PLAYED if name not in ("no-op", "reads-only")], NO_GRADER)
        else:
            flaws += await self.talkative()
            reference = await self.reference()
            if reference is None:
                skipped = dict.fromkeys(("reference", "order", "mutation"), NO_REFERENCE)
            else:
                flaws += await self.reference_wins(reference) + await self.any_order(reference)
                mutants = await self.mutants(reference)
                flaws += self.surviving(mutants)
        survivors = sum(survived for _, survived in mutants)
        return Examined(
            task=self.task.id, flaws=tuple(flaws), skipped=skipped, mutants=len(mutants), survivors=survivors
        )

    # --- those who do not work -----------------------------------------------------------------------------

    async def idle(self) -> list[Flaw]:
        """Doing nothing, and looking at everything without a word."""
        flaws = []
        nothing, _ = await self._judged(Script())
        if nothing.score:
            says = f"Doing nothing scores {float(nothing.score):.2f} by the benchmark's rule: "
            flaws.append(self._flaw("no-op", says + "nothing fails, so robustness is full.", severity="warning"))
        met = [name for name, share in nothing.earned.items() if share]
        if met:
            flaws.append(self._flaw("met-at-start", "Checks hold before anything has happened.", met))
        looks, _ = await self._judged(Script(calls=await self._looks()))
        earned = {name: share for name, share in looks.earned.items() if share > nothing.earned.get(name, 0)}
        if earned:
            says = f"Looking at everything and saying nothing meets {len(earned)} of {len(looks.earned)} checks."
            flaws.append(self._flaw("reads-only", says, _shares(earned), "warning"))
        return flaws

    async def _looks(self) -> tuple[Call, ...]:
        return tuple(Call(body.tool, body.args) for body in _called(await self._play(Explore())))

    async def talkative(self) -> list[Flaw]:
        """Saying back what one was told, and calling and saying everything that there is."""
        flaws = []
        words = [self.task.request, *(f"{tool.name} {tool.description}" for tool in self.task.tools)]
        echo, _ = await self._judged(Script(text="\n".join(words)))
        told = [c.name for c in self.what.components if c.words and echo.earned.get(c.name) == 1]
        if told:
            says = "Every word that these checks look for is in the request or in what the tools say of themselves."
            flaws.append(self._flaw("given-away", says, told))
        looks = await self._looks()
        _, seen = await self._judged(Script(calls=looks))
        everything = "\n".join([*words, *(written(body.result) for body in _returned(seen) if body.error is None)])
        # What is forbidden in words only cannot be decided here, so it does not stop whoever calls everything.
        banned = {ban.tool for ban in self.what.bans if ban.kind in FORBIDDING}
        writes = [self._call(tool, seen) for tool in self._changing if tool.name not in banned]
        spam, _ = await self._judged(Script(calls=(*looks, *writes), text=everything))
        if spam.score >= rule("claw-eval").threshold and self._acted(spam):
            says = (
                f"Calling everything once and saying everything that was read scores {float(spam.score):.2f}: passed."
            )
            flaws.append(self._flaw("spam", says, _shares(spam.earned)))
        return flaws

    def _acted(self, judged: Judged) -> bool:
        """Whether every action was taken that must be."""
        return all(judged.earned[action.name] for action in self.what.actions if action.required)

    # --- a solution, derived from what is declared -----------------------------------------------------------

    async def reference(self) -> Script | None:
        """The calls and words that the declared checks demand; None where they demand none."""
        looks = await self._looks()
        _, seen = await self._judged(Script(calls=looks))
        good = [call for call, body in zip(looks, _returned(seen)) if body.error is None]
        calls: list[Call] = []
        for component in self.what.components:
            if component.kind == "tool_called":
                calls += self._calls_of(component.tool, component.calls, good, seen)
        for action in self.what.actions:
            if action.required:
                calls += await self._acting(action.service, action.key, calls, seen)
        words = [word for c in self.what.components if c.kind in DECIDABLE for word in c.words]
        length = max((c.length for c in self.what.components if c.kind == "min_length"), default=0)
        text = "\n".join(dict.fromkeys(words))
        return Script(tuple(calls), text.ljust(length, ".")) if calls or text else None

    def _calls_of(self, name: str, count: int, good: Sequence[Call], seen: Sequence[Event]) -> list[Call]:
        """So many calls of a tool: those that went well while looking around, else plausible ones."""
        mine = [call for call in good if call.tool == name][:count]
        tool = next((tool for tool in self.task.tools if tool.name == name), None)
        if tool is None:
            return []
        made = mine[0] if mine else self._call(tool, seen)
        return [*mine, *[made] * (count - len(mine))]

    async def _acting(self, service: str, key: str, calls: Sequence[Call], seen: Sequence[Event]) -> list[Call]:
        """The call that leaves an expected action behind, where none of `calls` does; none if no tool's does."""
        offered = next((each.tools for each in self.task.services if each.name == service), ())
        candidates = [self._call(tool, seen) for tool in offered if not tool.reads]
        for tried in ([], *([call] for call in candidates)):
            events = await self._play(Scripted(Script(calls=(*calls, *tried))))
            if audit(self.task, events).get(service, {}).get(key):
                return tried
        return []

    def _call(self, tool: Tool, seen: Sequence[Event]) -> Call:
        """A plausible call, with identifiers that were seen."""
        args = plausible(tool, self.world.start, ["note"])
        for name in required(tool):
            value = next((found for body in _returned(seen) for found in _named(body.result, name)), None)
            if value is not None:
                args[name] = value
        return Call(tool.name, args)

    async def reference_wins(self, reference: Script) -> list[Flaw]:
        judged, events = await self._judged(reference)
        unmet = {name: share for name, share in judged.earned.items() if share < 1}
        flaws = []
        if unmet:
            errors = [
                f"{call.tool}: {body.error.message}"
                for call, body in zip(_called(events), _returned(events))
                if body.error is not None
            ]
            says = "Doing all that is declared does not meet all that is declared."
            flaws.append(self._flaw("reference", says, [*_shares(unmet), *dict.fromkeys(errors)]))
        if judged.tripped:
            says = "Doing all that is declared breaks a safety check that is declared."
            flaws.append(self._flaw("reference", says, judged.tripped))
        return flaws

    async def any_order(self, reference: Script) -> list[Flaw]:
        straight, _ = await self._judged(reference)
        for order in _orders(reference.calls):
            judged, _ = await self._judged(msgspec.structs.replace(reference, calls=order))
            lost = [name for name, share in straight.earned.items() if judged.earned[name] < share]
            if lost:
                names = " → ".join(call.tool for call in order)
                return [self._flaw("order", "The same calls in another order lose points.", [names, *lost])]
        return []

    # --- and the same, done wrongly --------------------------------------------------------------------------

    async def mutants(self, reference: Script) -> list[tuple[str, bool]]:
        """Each way in which the reference was spoilt, and whether nothing declared notices."""
        right, _ = await self._judged(reference)
        found = []
        for name, script in self._spoilt(reference):
            wrong, _ = await self._judged(script)
            fell = any(wrong.earned[key] < share for key, share in right.earned.items())
            found.append((name, not fell and set(wrong.tripped) <= set(right.tripped)))
        return found

    def _spoilt(self, reference: Script) -> Iterator[tuple[str, Script]]:
        calls, text = reference.calls, reference.text
        changing = {tool.name for tool in self._changing}
        for place, call in enumerate(calls):
            yield f"{call.tool} is not called", Script((*calls[:place], *calls[place + 1 :]), text)
            if call.tool not in changing:
                continue
            yield f"{call.tool} is called twice", Script((*calls[: place + 1], *calls[place:]), text)
            for name, value in (call.args if isinstance(call.args, dict) else {}).items():
                wrong = Call(call.tool, {**call.args, name: _other(value)})
                yield f"{call.tool} with another {name}", Script((*calls[:place], wrong, *calls[place + 1 :]), text)
        used = {call.tool for call in calls}
        for tool in self._changing:
            if tool.name not in used:
                yield f"{tool.name} is called, too", Script((*calls, self._call(tool, ())), text)
        if text.strip("."):
            yield "the answer is denied", Script(calls, f"None of this is true:\n{text}")
        for word in dict.fromkeys(word for c in self.what.components for word in c.words):
            yield f"the answer without {word}", Script(calls, text.replace(word, ""))

    def surviving(self, mutants: Sequence[tuple[str, bool]]) -> list[Flaw]:
        survivors = list(dict.fromkeys(name for name, survived in mutants if survived))
        if not survivors:
            return []
        count = sum(survived for _, survived in mutants)
        says = f"{count} of {len(mutants)} wrong solutions win like the right one."
        return [self._flaw("mutation", says, [*survivors[:_ALIKE], *["…"][: len(survivors) > _ALIKE]])]


def _shares(earned: Mapping[str, Fraction]) -> list[str]:
    return [name if share == 1 else f"{name} ({float(share):.2f})" for name, share in earned.items()]


def _called(events: Sequence[Event]) -> list[ToolCalled]:
    return [event.body for event in events if event.actor == AGENT and isinstance(event.body, ToolCalled)]


def _returned(events: Sequence[Event]) -> list[ToolReturned]:
    return [event.body for event in events if event.actor == AGENT and isinstance(event.body, ToolReturned)]


def _named(value: Json, name: str) -> Iterator[Json]:
    """Texts and numbers in fields of this name, anywhere in `value`."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == name and isinstance(item, str | int):
                yield item
            else:
                yield from _named(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item, name)


def _orders(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    """The calls backwards, and each put first."""
    yield tuple(reversed(calls))
    for place in range(1, len(calls)):
        yield (calls[place], *calls[:place], *calls[place + 1 :])


def _other(value: Json) -> Json:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return [*value, "another"]
    return f"another {value}" if isinstance(value, str) else {"another": True}


# --- environments of our own -------------------------------------------------------------------------------


async def examined_environment(environment: Environment) -> Examined:
    """What those validators find that need no fact base."""
    case = Case(environment, play_program)
    skipped = {name: "our format has its own validators: `env validate`" for name in _STATIC if name != "readable"}
    flaws: list[Flaw] = []
    for validator in VALIDATORS:
        name = OWN.get(validator.number)
        if name is None:
            continue
        for finding in await validator.find(case):
            agent = finding.details.get("agent")
            flaws.append(
                Flaw(
                    examination="reads-only" if name == "no-op" and agent == "reading" else name,
                    task=environment.id,
                    severity=finding.severity,
                    says=finding.observed,
                    at=finding.at,
                    evidence=(finding.expected,),
                )
            )
    skipped["given-away"] = "`env validate` looks for leaks, with the facts"
    return Examined(task=environment.id, flaws=tuple(flaws), skipped=skipped)
