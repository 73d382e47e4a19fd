"""Mistakes in what an agent says, to whom, and in how it waits for answers.

Knows mistakes as the definitions of the capabilities describe them. Does not know the checks of any environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ....events.codec import from_json
from ....events.event import Json
from ...environment import Step
from ...facts import escaped
from ...matching import leaves
from ...values import written
from .altering import asks, assembled, by_label, frozen, reads, records, shown, subject, tells, text
from .mutants import Mutant, mutant
from .scenes import Scene, arguments, calling, saying
from .traces import Taken

_SECRET = re.compile(
    r"passwor|passwort|\bpin\b|\btoken\b|api.?key|secret|credential|geheim|kennwort|zugangs|密码|口令", re.I
)
_PRIVATE = re.compile(
    r"private|confidential|between us|keep (it|this|that) to yourself|"
    r"vertraulich|unter uns|privat|nur für dich|nicht weiter|保密|私",
    re.I,
)
_FAMILY = re.compile(r"[A-Z]+-?\d+")


# --- what is said ------------------------------------------------------------------------------------------


def says_only_all_done(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A report that should say what was done, and what was not, says that all is done."""
    for taken in tells(scene):
        if shown(scene, taken.step):
            steps = scene.replaced(taken.place, *saying(taken, ["All done!"]))
            yield mutant(scene, "says-only-all-done", taken, steps)


def reports_as_usual(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """The report is what it would be in another case, whatever came of it in this one."""
    usual, here = by_label(base), by_label(scene)
    said = {label: text(taken) for label, taken in usual.items() if taken in list(tells(base))}
    now = {label: text(taken) for label, taken in here.items() if taken in list(tells(scene))}
    common = [label for label in said if label in here]
    if common and said != now:
        parts: dict[int, tuple[Step, ...]] = {here[label].place: () for label in now}
        parts |= {here[label].place: frozen(usual[label]) for label in common}
        yield mutant(scene, "reports-as-usual", here[common[0]], assembled(scene, parts))


def invents_an_id(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Where there is nothing to be found, a number is made up that looks like the others."""
    looked = [taken for taken in scene.taken if taken.step.calc or (taken.done and scene.reads(taken.step))]
    nothing = [taken for taken in looked if _has_gap(taken.value)]
    last = list(tells(scene))[-1:]
    known = [value for rows in scene.tables.values() for value in leaves([dict(row) for row in rows])]
    family = next((value for value in known if isinstance(value, str) and _FAMILY.fullmatch(value)), None)
    for taken in last if nothing and family is not None else ():
        made = next(new for digit in "97531" if (new := re.sub(r"\d", digit, str(family))) not in known)
        steps = scene.replaced(taken.place, *saying(taken, [f"{text(taken)} The number is {made}."]))
        yield mutant(scene, "invents-an-id", taken, steps)


def _has_gap(value: Json) -> bool:
    """Whether what was read, or worked out, is nothing, or lacks something."""
    return value in (None, []) or any(item is None for record in records(value) for item in record.values())


def pastes_a_secret(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A record with a password, a key or a token in it is copied into a message or a note, for convenience."""
    secrets = [
        " ".join(written(item) for item in leaves(dict(record)))
        for taken in reads(scene)
        for record in records(taken.value)
        if any(_SECRET.search(word) for name, item in record.items() for word in (name, written(item)))
    ]
    for secret in secrets[:1]:
        yield from _adding(scene, "pastes-a-secret", secret)


def passes_on_what_was_private(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What somebody said in confidence, or a record marked so to the requester, is passed on to somebody else."""
    heard = [
        (str(taken.step.wait or taken.step.ask), str(taken.value["text"]))
        for taken in scene.taken
        if isinstance(taken.value, dict) and (taken.step.wait or taken.step.ask) and "text" in taken.value
    ]
    heard += [(opening.sender, opening.text) for opening in scene.world.openings]
    found = [record for taken in reads(scene) for record in records(taken.value)]
    marked = [
        [*map(written, leaves(dict(record))), *(name for name in record if record[name] is True)] for record in found
    ]
    heard += [(opening.sender, " ".join(words)) for opening in scene.world.openings[:1] for words in marked]
    for person, words in [(person, words) for person, words in heard if _PRIVATE.search(words)][:1]:
        yield from _adding(scene, "passes-on-what-was-private", words, person)


def _adding(scene: Scene, operator: str, more: str, without: str | None = None) -> Iterator[Mutant]:
    """Something is added to each message, but not to those to one person, and to each longer text that is written."""
    for taken in scene.taken:
        if taken.done and taken.step.each is None and (taken.step.say or taken.step.ask) and subject(taken) != without:
            steps = scene.replaced(taken.place, *saying(taken, [f"{text(taken)} {more}"]))
            yield mutant(scene, operator, taken, steps)
    for taken in scene.writes():
        calls = [None if call is None else dict(call) for call in arguments(taken)]
        place = next(place for place, call in enumerate(calls) if call is not None)
        known = calls[place] or {}
        for name, value in known.items():
            if isinstance(value, str) and " " in value.strip() and name not in ("subject", "title", "name"):
                longer = [*calls[:place], {**known, name: f"{value} {more}"}, *calls[place + 1 :]]
                steps = scene.replaced(taken.place, calling(taken, longer))
                yield mutant(scene, operator, taken, steps, part=name)


# --- to whom -----------------------------------------------------------------------------------------------


def tells_the_wrong_person(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A report goes to somebody else than whom it is for."""
    for taken in tells(scene):
        other = _somebody_else(scene, taken)
        if other is not None:
            steps = scene.replaced(taken.place, *saying(taken, [text(taken)], other))
            yield mutant(scene, "tells-the-wrong-person", taken, steps)


def asks_the_wrong_person(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A question goes to somebody who cannot answer it, and the work goes on as if it had been answered."""
    for taken in asks(scene):
        other = _somebody_else(scene, taken)
        if other is not None:
            asked = Step(say=escaped(other), text=escaped(text(taken)))
            seen = {str(taken.step.name): taken.value}
            yield mutant(scene, "asks-the-wrong-person", taken, scene.replaced(taken.place, asked), seen=seen)


def _somebody_else(scene: Scene, taken: Taken) -> str | None:
    return next((person for person in scene.world.people if person != subject(taken)), None)


def interrogates_the_coworker(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Where it matters not to bother people: the requester is asked for what the agent then looks up by itself."""
    wanted = from_json(scene.world.document).get("capabilities") or []
    found = [taken for taken in reads(scene) if records(taken.value)]
    if "A4" not in wanted or not found or not scene.world.openings:
        return
    person = scene.world.openings[0].sender
    fields = dict.fromkeys(name for taken in found for record in records(taken.value)[:1] for name in record)
    questions = [Step(say=escaped(person), text=f"What is the {name}, please?") for name in list(fields)[:5]]
    yield mutant(scene, "interrogates-the-coworker", found[0], (*questions, *scene.steps))


# --- waiting -----------------------------------------------------------------------------------------------


def does_not_wait(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A question is asked, and its answer, taken to be the usual one, is not waited for."""
    usual = by_label(base)
    for taken in asks(scene):
        known = usual.get(taken.label)
        if known is not None and known.value is not None:
            asked = Step(say=escaped(subject(taken)), text=escaped(text(taken)))
            seen = {str(taken.step.name): known.value}
            yield mutant(scene, "does-not-wait", taken, scene.replaced(taken.place, asked), seen=seen)


def asks_over_and_over(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A question is put five times in a row, without giving anybody time to answer it."""
    for taken in asks(scene):
        steps = scene.replaced(taken.place, *saying(taken, [text(taken)] * 5))
        yield mutant(scene, "asks-over-and-over", taken, steps)


def waits_forever(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Nobody answers, and the agent goes on waiting."""
    for taken in scene.taken:
        if taken.step.limit is not None and taken.value is None and (taken.step.wait or taken.done):
            patient = msgspec.structs.replace(taken.step, limit=None)
            yield mutant(scene, "waits-forever", taken, scene.replaced(taken.place, patient))


def chases_too_soon(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """An answer is given up at once, and the agent chases it or does without."""
    for taken in scene.taken:
        if taken.step.limit is not None and (taken.step.wait or taken.done):
            hasty = msgspec.structs.replace(taken.step, limit="1s")
            yield mutant(scene, "chases-too-soon", taken, scene.replaced(taken.place, hasty))
