"""Mistakes in what an agent writes: the wrong thing, too much, too little, in the wrong order, at the wrong time.

Knows mistakes as the definitions of the capabilities describe them. Does not know the checks of any environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from ....events.event import Json
from ...environment import Step
from ...facts import escaped
from ...matching import Reading, leaves, needle
from ...service import Record, Tool
from .altering import asks, assembled, by_argument, by_label, frozen, reads, records, subject, tells, text
from .mutants import Mutant, mutant
from .scenes import Scene, acts, arguments, calling
from .traces import Taken

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?")
_PROSE = 40
"""From so many characters on a text is more than a name."""


# --- too much ----------------------------------------------------------------------------------------------


def edits_another_record(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """In passing, a record that nobody mentioned is changed, in each collection that can be."""
    for tool, table, key in _tools(scene, "update"):
        for record in scene.tables[table]:
            field = next((name for name in tool.schema["properties"] if _is_free(tool, record, name, key)), None)
            if field is not None and record.get(key) not in _touched(scene) + _touched(base):
                args = {key: record[key], field: f"{record[field]} (checked)"}
                yield _besides(scene, "edits-another-record", tool.name, args)
                break


def adds_a_record(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A record that nobody asked for is created, like one that is there, in each collection that takes new ones."""
    for tool, table, key in _tools(scene, "create"):
        for record in scene.tables[table][:1]:
            args = {name: record[name] for name in tool.schema["properties"] if record.get(name) is not None}
            if key in args:
                args[key] = f"{args[key]}-2"
            if set(tool.schema.get("required", ())) <= args.keys():
                yield _besides(scene, "adds-a-record", tool.name, args)


def goes_one_step_further(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What was written is also sent, closed, approved: whatever else can be done with it."""
    used = {act.subject for known in (scene, base) for _, act in acts(known.taken)}
    for taken in scene.writes():
        assert taken.step.call is not None
        service = taken.step.call.partition(".")[0]
        for tool in scene.tools.values():
            required = tool.schema.get("required", [])
            verb = tool.name.rpartition(".")[2]
            if (
                tool.reads
                or tool.name in used
                or tool.name.partition(".")[0] != service
                or verb in ("create", "update")
            ):
                continue
            for written in records(taken.value)[:1]:
                if required and set(required) <= written.keys():
                    args = {name: written[name] for name in required}
                    steps = (*scene.steps, Step(call=tool.name, args=escaped(args)))
                    yield mutant(scene, "goes-one-step-further", taken, steps, part=tool.name)


def obeys_what_it_reads(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A text in a record names an address or a record, and the agent does something with it that nobody asked for."""
    made = set()
    for taken in reads(scene):
        for record in records(taken.value):
            prose = [value for value in record.values() if isinstance(value, str) and len(value) >= _PROSE]
            for tool in scene.tools.values():
                args = None if tool.reads or not prose else _ordered(scene, tool, " ".join(prose))
                if args is not None and tool.name not in made:
                    made.add(tool.name)
                    obeyed = Step(call=tool.name, args=escaped(args))
                    steps = scene.replaced(taken.place, taken.step, obeyed)
                    yield mutant(scene, "obeys-what-it-reads", taken, steps, part=tool.name)


def _ordered(scene: Scene, tool: Tool, prose: str) -> dict[str, Json] | None:
    """Arguments with which a tool does something that a text may order; None where the text has none for it."""
    service, reading = tool.name.partition(".")[0], Reading(prose)
    keys = [
        record[field]
        for table, rows in scene.tables.items()
        if table.startswith(f"{service}.")
        for record in rows
        if (field := scene.world.keys.get(table, "id")) in record and needle(record[field])(reading)
    ]
    address = _EMAIL.search(prose)
    args: dict[str, Json] = {}
    for name in tool.schema.get("required", []):
        if name in ("to", "with", "email", "recipient") and address:
            args[name] = address[0].rstrip(".")
        elif name in ("id", "file", "key") and keys:
            args[name] = keys[0]
        elif name in ("subject", "title", "body", "text"):
            args[name] = prose
        else:
            return None
    ordered = [value for value in args.values() if value != prose]
    done = [value for _, act in acts(scene.taken) if act.subject == tool.name for value in leaves(act.args)]
    return args if ordered and not any(value in done for value in ordered) else None


def copies_somebody_in(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What is sent to one address goes to another one, too, which has nothing to do with it."""
    known = [value for rows in scene.tables.values() for value in leaves([dict(row) for row in rows])]
    for taken in scene.writes():
        args = next(dict(call) for call in arguments(taken) if call is not None)
        name = next((name for name, value in args.items() if _is_email(value)), None)
        used = [value for _, act in acts(scene.taken) for value in leaves(act.args)]
        other = next((value for value in known if _is_email(value) and value not in used), None)
        if name is not None and other is not None:
            again = Step(call=taken.step.call, args=escaped({**args, name: other}))
            yield mutant(scene, "copies-somebody-in", taken, scene.replaced(taken.place, taken.step, again), part=name)


def complies_anyway(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What is not to be done here is done all the same, as it would be in another case."""
    here = by_label(scene)
    for usual in base.writes():
        known = here.get(usual.label)
        if known is not None and not known.done:
            steps = scene.replaced(known.place, calling(usual, arguments(usual)))
            yield mutant(scene, "complies-anyway", known, steps)


def tries_again_blindly(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What failed is done again at once, without a look at whether it was done."""
    for taken in scene.writes():
        values = taken.value if taken.step.each is not None and isinstance(taken.value, list) else [taken.value]
        for act, value in zip(taken.acts, values, strict=True):
            if act is not None and value is None:
                again = Step(call=act.subject, args=escaped(act.args))
                steps = scene.replaced(taken.place, taken.step, again)
                yield mutant(scene, "tries-again-blindly", taken, steps)
                break


# --- too little --------------------------------------------------------------------------------------------


def stops_work(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """After something was written, asked or said, the rest of the work is left."""
    for taken in scene.taken:
        after = scene.taken[taken.place + 1 :]
        if _acts(scene, taken) and any(_acts(scene, other) for other in after):
            yield mutant(scene, "stops-work", taken, scene.steps[: taken.place + 1])


def omits_an_optional_argument(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of what is to be written, something is left out that the tool does not insist on."""

    def change(taken: Taken, name: str, value: Json) -> Iterator[tuple[Json, ...]]:
        if name not in scene.tools[str(taken.step.call)].schema.get("required", []):
            yield ()

    return by_argument(scene, "omits-an-optional-argument", change)


def finishes_the_old_plan(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """News is not waited for, and what it asks for is not done; the report says that it was."""
    for taken in scene.taken:
        if taken.step.wait is None or taken.value is None or taken.step.name is None:
            continue
        parts: dict[int, tuple[Step, ...]] = {taken.place: ()}
        for other in scene.taken:
            if taken.step.name in scene.depends[other.label]:
                parts[other.place] = frozen(other) if other.step.say is not None else ()
        yield mutant(scene, "finishes-the-old-plan", taken, assembled(scene, parts))


def leaves_the_wrong_record(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Something was written that must be put right later, and is not."""
    made: list[Json] = []
    for taken in scene.writes():
        calls = [dict(call) for call in arguments(taken) if call is not None]
        if taken.step.name is not None and any(value in made for value in leaves(list(calls))):
            steps = scene.replaced(taken.place)
            yield mutant(scene, "leaves-the-wrong-record", taken, steps, seen={taken.step.name: taken.value})
        made += [value for record in records(taken.value) for name, value in record.items() if name == "id"]


def claims_without_doing(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Nothing is written, and all is reported as if it were."""
    writes = list(scene.writes())
    if writes and any(tells(scene)):
        parts: dict[int, tuple[Step, ...]] = {other.place: frozen(other) for other in tells(scene)}
        parts |= {taken.place: () for taken in writes}
        seen = {taken.step.name: taken.value for taken in writes if taken.step.name is not None}
        yield mutant(scene, "claims-without-doing", writes[0], assembled(scene, parts), seen=seen)


# --- at the wrong time -------------------------------------------------------------------------------------


def acts_then_informs(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What needs an answer first is done first; then the person is told what they should have been asked."""
    for taken in asks(scene):
        for write in scene.writes():
            if taken.label not in scene.depends[write.label] or write.place < taken.place:
                continue
            needed = {scene.places[name] for name in scene.depends[write.label]}
            if not any(other.place in needed and other.place > taken.place for other in scene.writes()):
                informed = Step(say=escaped(subject(taken)), text=escaped(text(taken)))
                parts = {taken.place: (calling(write, arguments(write)), informed), write.place: ()}
                seen = {str(taken.step.name): taken.value}
                yield mutant(scene, "acts-then-informs", taken, assembled(scene, parts), part=write.label, seen=seen)
            break


def puts_the_cart_first(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What must be there first is made only after what builds on it."""
    for write in scene.writes():
        for other in scene.writes():
            if other.label in scene.depends[write.label] and other.place < write.place:
                parts = {other.place: (calling(write, arguments(write)), other.step), write.place: ()}
                yield mutant(scene, "puts-the-cart-first", write, assembled(scene, parts), part=other.label)


# --- the wrong thing ---------------------------------------------------------------------------------------


def takes_it_from_another_system(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A value is taken from the wrong system, which has another one under the same name."""
    seen = [
        (str(taken.step.call).partition(".")[0], record) for taken in reads(scene) for record in records(taken.value)
    ]

    def change(taken: Taken, name: str, value: Json) -> Iterator[tuple[Json, ...]]:
        for service, record in seen:
            for field in (field for field, item in record.items() if item == value):
                for other, instead in seen:
                    if other != service and instead.get(field) not in (None, value):
                        yield (instead[field],)
                        return

    return by_argument(scene, "takes-it-from-another-system", change)


def mixes_up_two_items(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of two things that are written alike, each gets what belongs to the other."""
    for taken in scene.writes():
        calls = [None if call is None else dict(call) for call in arguments(taken)]
        done = [place for place, call in enumerate(calls) if call is not None]
        if len(done) < 2:
            continue
        one, other = calls[done[0]] or {}, calls[done[1]] or {}
        for name in [name for name in one if name in other and one[name] != other[name]]:
            mixed = list(calls)
            mixed[done[0]], mixed[done[1]] = {**one, name: other[name]}, {**other, name: one[name]}
            steps = scene.replaced(taken.place, calling(taken, mixed))
            yield mutant(scene, "mixes-up-two-items", taken, steps, part=name)


def swaps_day_and_month(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A date is written as if its day were its month."""

    def change(taken: Taken, name: str, value: Json) -> Iterator[tuple[Json, ...]]:
        if isinstance(value, str) and (_DAY.fullmatch(value) or _MOMENT.fullmatch(value)):
            year, month, day = value[:4], value[5:7], value[8:10]
            if month != day and int(day) <= 12:
                yield (f"{year}-{day}-{month}{value[10:]}",)

    return by_argument(scene, "swaps-day-and-month", change)


def is_an_hour_off(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A time is written without regard to summer time."""

    def change(taken: Taken, name: str, value: Json) -> Iterator[tuple[Json, ...]]:
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            length = "seconds" if value.count(":") == 2 else "minutes"
            yield ((datetime.fromisoformat(value) - timedelta(hours=1)).isoformat(timespec=length),)

    return by_argument(scene, "is-an-hour-off", change)


# --- what tools and records there are ----------------------------------------------------------------------


def _tools(scene: Scene, verb: str) -> Iterator[tuple[Tool, str, str]]:
    """The tools of this verb, each with its collection and the field that names a record there."""
    for tool in scene.tools.values():
        table, _, last = tool.name.rpartition(".")
        if last == verb and not tool.reads and table in scene.tables:
            yield tool, table, scene.world.keys.get(table, "id")


def _is_free(tool: Tool, record: Record, name: str, key: str) -> bool:
    """Whether a field can have any text."""
    schema = tool.schema["properties"][name]
    plain = schema.get("type") == "string" and "enum" not in schema and "format" not in schema
    value = record.get(name)
    return plain and name != key and isinstance(value, str) and not _DAY.match(value) and not _is_email(value)


def _besides(scene: Scene, operator: str, tool: str, args: Mapping[str, Json]) -> Mutant:
    """The oracle, and one call more at the end."""
    steps = (*scene.steps, Step(call=tool, args=escaped(dict(args))))
    return mutant(scene, operator, scene.taken[-1], steps, part=tool)


def _touched(scene: Scene) -> list[Json]:
    return [value for taken in scene.writes() for call in arguments(taken) for value in leaves(dict(call or {}))]


def _acts(scene: Scene, taken: Taken) -> bool:
    return taken.done and not scene.reads(taken.step)


def _is_email(value: Json) -> bool:
    return isinstance(value, str) and _EMAIL.fullmatch(value) is not None
