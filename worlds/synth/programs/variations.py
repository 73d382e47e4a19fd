"""The oracle with something about it that should make no difference.

Knows what a good agent may do as well: look more often, greet, thank, write numbers in another way, say a thing in
several messages, take longer. Each variation is a function from a `Scene` to a program, or None where it would change
nothing, or where somebody forbids it. Does not know scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import msgspec

from ....events.event import Json
from ...durations import DurationError, microseconds
from ...environment import Claim, Condition, Step
from ...facts import escaped
from ...matching import leaves
from ..playing import Program
from .rewording import FORMS, STYLES, Rewording, mistyped, sentences, words
from .scenes import Scene, arguments, saying
from .traces import Taken

Variation: TypeAlias = Callable[[Scene], Program | None]

_PAUSE = "40s"
_LOOKS = 3
_LONG = 40
"""Characters of a text that is no name of anything."""


# --- what is allowed ---------------------------------------------------------------------------------------


def _claims(scene: Scene) -> Iterator[tuple[Claim, bool]]:
    """Each claim of a check, and whether it must never hold."""
    for check in scene.world.checks.values():
        if check.claim is not None:
            yield check.claim, False
        if check.never is not None:
            yield check.never, True


def _conditions(scene: Scene) -> Iterator[Condition]:
    """Each moment that a check or the timeline goes by."""
    for claim, _ in _claims(scene):
        yield from (moment for moment in (claim.before, claim.after) if moment is not None)
    yield from (entry.when for entry in scene.world.timeline if entry.when is not None)


def is_free(scene: Scene, person: str) -> bool:
    """Whether the agent may write to someone as often as it likes, whenever it likes."""
    people = (person, "anyone")
    counted = any(
        claim.said in people and (never or claim.count is not None or claim.at_most is not None)
        for claim, never in _claims(scene)
    )
    return not counted and not any(condition.said in people for condition in _conditions(scene))


def _is_awaited(scene: Scene, person: str, place: int = 0) -> bool:
    """Whether some step from here on waits for any message of theirs: an answer too many would be taken for it."""
    known = (scene.steps[other].wait for other in range(place, len(scene.steps)))
    return any(wait == person or (wait is not None and wait.startswith(("@", "="))) for wait in known)


def _looks(scene: Scene) -> list[Step]:
    """Calls that only read, and that nobody counts, waits for or lets fail."""
    tools = [tool for tool in scene.world.routes.tools if tool.reads and not tool.schema.get("required")]
    counted = {c.called for c, never in _claims(scene) if never or c.count is not None or c.at_most is not None}
    timed = {condition.called for condition in _conditions(scene)}
    faulty = {fault.tool for fault in scene.world.faults}
    watched = counted | timed | faulty
    return [Step(call=tool.name) for tool in tools if tool.name not in watched][:_LOOKS]


def _requesters(scene: Scene) -> list[str]:
    return list(dict.fromkeys(opening.sender for opening in scene.world.openings))


# --- doing more --------------------------------------------------------------------------------------------


def looks_first(scene: Scene) -> Program | None:
    looks = _looks(scene)
    return scene.program("benign:looks-first", (*looks, *scene.steps)) if looks else None


def looks_between(scene: Scene) -> Program | None:
    looks, middle = _looks(scene), len(scene.steps) // 2
    steps = (*scene.steps[:middle], *looks, *scene.steps[middle:])
    return scene.program("benign:looks-between", steps) if looks else None


def looks_last(scene: Scene) -> Program | None:
    looks = _looks(scene)
    return scene.program("benign:looks-last", (*scene.steps, *looks)) if looks else None


def greets(scene: Scene) -> Program | None:
    people = [name for name in _requesters(scene) if is_free(scene, name) and not _is_awaited(scene, name)]
    said = [Step(say=escaped(name), text="Good morning!") for name in people]
    return scene.program("benign:greets", (*said, *scene.steps)) if said else None


def thanks(scene: Scene) -> Program | None:
    """Everyone who was written to is thanked at the end."""
    written = dict.fromkeys(act.subject for taken in _messages(scene) for act in taken.acts if act is not None)
    said = [Step(say=escaped(name), text="Thanks a lot!") for name in written if is_free(scene, name)]
    return scene.program("benign:thanks", (*scene.steps, *said)) if said else None


def asks_twice(scene: Scene) -> Program | None:
    """The first question that anyone may be asked again is asked again at once."""
    for taken in _messages(scene):
        step = taken.step
        if step.ask is None or step.each is not None or step.limit is not None:
            continue
        [act] = taken.acts
        if act is not None and is_free(scene, act.subject) and not _is_stateful(scene, act.subject):
            again = msgspec.structs.replace(step, name=None)
            if not _is_timed(scene, act.subject):
                return scene.program("benign:asks-twice", scene.replaced(taken.place, again, step))
    return None


def _is_stateful(scene: Scene, person: str) -> bool:
    replies = scene.world.people[person].replies
    return any(reply.once or reply.cancels or reply.tells == "wrong_until_challenged" for reply in replies)


def _is_timed(scene: Scene, person: str) -> bool:
    """Whether something waits for what they say, so that hearing it twice costs time that may be short."""
    marks = {reply.mark for reply in scene.world.people[person].replies}
    return any(
        (condition.gave or "").startswith(f"{person}.") or (condition.mark is not None and condition.mark in marks)
        for condition in (entry.when for entry in scene.world.timeline if entry.when is not None)
    )


# --- taking longer -----------------------------------------------------------------------------------------


def patient(scene: Scene) -> Program | None:
    """All waits may take twice as long."""
    steps = [_doubled(step) for step in scene.steps]
    return scene.program("benign:patient", steps) if tuple(steps) != scene.steps else None


def _doubled(step: Step) -> Step:
    try:
        length = None if step.limit is None else microseconds(step.limit)
    except DurationError:
        return step  # it is read somewhere, so it is no matter of taste
    return step if length is None else msgspec.structs.replace(step, limit=f"{max(1, 2 * length // 1_000_000)}s")


def pauses(scene: Scene) -> Program | None:
    """A short pause before each step that does something: a wait for someone who has nothing to say."""
    quiet = next((name for name in scene.world.people if not _is_awaited(scene, name)), None)
    if quiet is None or not scene.steps:
        return None
    pause = Step(wait=escaped(quiet), limit=_PAUSE)
    steps = [each for step in scene.steps for each in ((step,) if step.calc is not None else (pause, step))]
    return scene.program("benign:pauses", steps)


# --- saying it otherwise -----------------------------------------------------------------------------------


def _messages(scene: Scene) -> Iterator[Taken]:
    """The steps that said something."""
    return (taken for taken in scene.taken if taken.done and taken.step.call is None)


def splits(scene: Scene) -> Program | None:
    """Each message that awaits no answer is sent sentence by sentence."""
    steps: dict[int, tuple[Step, ...]] = {place: (step,) for place, step in enumerate(scene.steps)}
    for taken in _messages(scene):
        if taken.step.say is None or taken.step.each is not None:
            continue
        [act] = taken.acts
        if act is not None and is_free(scene, act.subject) and not _is_awaited(scene, act.subject, taken.place):
            parts = sentences(act.text)
            steps[taken.place] = tuple(saying(taken, parts if len(parts) > 1 else halves(act.text)))
    found = tuple(step for place in range(len(scene.steps)) for step in steps[place])
    return scene.program("benign:splits", found) if len(found) > len(scene.steps) else None


def halves(text: str) -> list[str]:
    """A sentence in two messages, parted at its comma nearest to the middle; in one if it has none."""
    commas = [place for place in range(1, len(text) - 1) if text[place] in ",;:" and text[place + 1] == " "]
    if not commas:
        return [text]
    middle = min(commas, key=lambda place: abs(place - len(text) // 2))
    return [text[: middle + 1], text[middle + 2 :]]


def merges(scene: Scene) -> Program | None:
    """Messages that await no answer and follow one another to the same person are one."""
    steps = list(scene.steps)
    merged: set[int] = set()
    for first, second in _neighbours(scene):
        if first.place not in merged:
            [one], [two] = first.acts, second.acts
            assert one is not None
            assert two is not None
            steps[second.place] = next(saying(second, [f"{one.text} {two.text}"]))
            merged.add(first.place)
            merged.add(second.place)
            steps[first.place] = Step(calc="null")
    return scene.program("benign:merges", steps) if merged else None


def _neighbours(scene: Scene) -> Iterator[tuple[Taken, Taken]]:
    said = [taken for taken in _messages(scene) if taken.step.say is not None and taken.step.each is None]
    for first, second in pairwise(said):
        between = [taken for taken in scene.taken[first.place + 1 : second.place] if taken.step.calc is None]
        [one], [two] = first.acts, second.acts
        same = one is not None and two is not None and one.subject == two.subject
        if same and not any(taken.done or taken.step.wait is not None for taken in between):
            used = any(first.label in scene.depends[label] for label in scene.places)
            if not used:
                yield first, second


def reworded(scene: Scene, name: str, rewording: Rewording) -> Program | None:
    """The oracle with all its messages, and the texts that it composed for others to read, put otherwise."""
    steps = list(scene.steps)
    for taken in scene.taken:
        if not taken.done or taken.step.each is not None or scene.reads(taken.step):
            continue
        [act] = taken.acts
        assert act is not None
        if taken.step.call is None:
            text = rewording(act.text)
            if text != act.text:
                steps[taken.place] = next(saying(taken, [text]))
        else:
            steps[taken.place] = _composed(taken, rewording)
    return scene.program(name, steps) if tuple(steps) != scene.steps else None


def _composed(taken: Taken, rewording: Rewording) -> Step:
    """A call whose texts that were put together of several parts are reworded."""
    [known] = arguments(taken)
    prose = [name for name, value in taken.step.args.items() if _is_prose(value)]
    changed = {name: escaped(rewording(str((known or {})[name]))) for name in prose if name in (known or {})}
    step = taken.step
    return msgspec.structs.replace(step, args={**step.args, **changed}) if changed else step


def _is_prose(value: Json) -> bool:
    return isinstance(value, str) and "@{" in value and len(value.split()) > 2


def mistypes(scene: Scene) -> Program | None:
    kept = {word for value in looked_for(scene) for word in words(value)}
    return reworded(scene, "style:mistyped", lambda text: mistyped(text, kept))


def looked_for(scene: Scene) -> Iterator[str]:
    """Texts whose words somebody may look for: what people listen to, what checks want, what records hold, names."""
    for person in scene.world.people.values():
        for reply in person.replies:
            yield from (str(value) for value in leaves([*reply.any, *reply.all, *reply.challenge]))
    for claim, _ in _claims(scene):
        yield from (str(value) for value in leaves([*claim.mentions, *claim.any, claim.where, claim.args]))
    for rows in scene.tables.values():
        yield from (value for row in rows for value in leaves(dict(row)) if isinstance(value, str))
    yield from scene.world.people
    for taken in scene.taken:
        yield from (value for value in leaves(_told(taken)) if isinstance(value, str) and len(value) < _LONG)


def _told(taken: Taken) -> Json:
    """What a step came to see, apart from wording."""
    message = isinstance(taken.value, dict) and taken.step.call is None
    return {name: value for name, value in taken.value.items() if name != "text"} if message else taken.value


def _reword(name: str, rewording: Rewording) -> Variation:
    return partial(reworded, name=name, rewording=rewording)


VARIATIONS: Mapping[str, Variation] = {
    "looks-first": looks_first,
    "looks-between": looks_between,
    "looks-last": looks_last,
    "greets": greets,
    "thanks": thanks,
    "asks-twice": asks_twice,
    "patient": patient,
    "pauses": pauses,
    "splits": splits,
    "merges": merges,
    **{name: _reword(f"benign:{name}", form) for name, form in FORMS.items()},
}
"""What should make no difference, by name."""

RESTYLED: Mapping[str, Variation] = {
    **{name: _reword(f"style:{name}", style) for name, style in STYLES.items()},
    "mistyped": mistypes,
}
"""The oracle's messages in other styles, by name."""
