"""An environment becomes a world that can be played, and a world's document becomes that world again.

Knows how an environment is resolved: the twin's patch, facts, ready definitions of services, durations, the start.
Does not know the file (`reading`) nor who plays. A world's document is the environment with all of that done, so
nothing but the document is needed to make the same world anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeAlias

import msgspec

from ..events.codec import from_json, to_json
from ..events.event import Json
from . import claw_eval, clawmark, tau2
from . import environment as form
from .dates import check_bounds, moment, placed
from .document import Path, name
from .durations import DurationError, microseconds
from .environment import FORMAT, Environment, Frozen, Part
from .facts import FactError, Resolution, unescaped
from .imported import others
from .problems import InvalidEnvironment, Problem
from .services.declared import DeclaredService, declared
from .services.ready import UnknownService, library, overlay
from .services.table import ServiceError
from .values import ValueProblem
from .world import FaultRule, Happening, Opening, World

Build: TypeAlias = Callable[[dict[str, Json]], World]


# --- data --------------------------------------------------------------------------------------------------


def plain(part: Part) -> dict[str, Json]:
    """An environment, or a part of one, as the data that a file would hold, references and all."""
    data: dict[str, Json] = from_json(to_json(part))
    return data


def patched(value: Json, patch: Json) -> Json:
    """A value after a JSON merge patch (RFC 7386): null removes, objects are merged, anything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = patched(merged.get(key), change)
    return merged


def with_twin(data: Mapping[str, Json], twin: str | None) -> dict[str, Json]:
    """The data of a twin, or of the base: without `twins`, and with an id of its own. Raises KeyError."""
    base = {key: value for key, value in data.items() if key != "twins"}
    if twin is None:
        return base
    merged: dict[str, Json] = patched(base, data.get("twins", {})[twin])
    return {**merged, "id": f"{data.get('id')}@{twin}"}


def digest(environment: Environment) -> str:
    """What `frozen.digest` says: SHA-256 of everything but `frozen`, hexadecimal."""
    return sha256(to_json(msgspec.structs.replace(environment, frozen=None))).hexdigest()


def is_stale(environment: Environment) -> bool:
    """Whether it was changed since it was frozen, so that its frame may be wrong."""
    return environment.frozen is not None and environment.frozen.digest != digest(environment)


# --- compiling ---------------------------------------------------------------------------------------------


def compile_environment(environment: Environment, twin: str | None = None) -> World:
    """The world of an environment, or of one of its twins. Raises `InvalidEnvironment`."""
    if twin is not None and twin not in environment.twins:
        known = ", ".join(environment.twins) or "none"
        raise _invalid(("twins",), f"there is no twin {twin!r}; there are {known}.")
    return build(resolved(with_twin(plain(environment), twin)))


def variants(environment: Environment) -> dict[str, World]:
    """The base world under the name "", then each twin. Raises `InvalidEnvironment`."""
    data = plain(environment)
    base = Resolution(with_twin(data, None))
    twins = {twin: Resolution(with_twin(data, twin), base) for twin in environment.twins}
    return {name: build(_complete(resolution)) for name, resolution in {"": base, **twins}.items()}


def under_frame(world: World, frozen: Frozen) -> World:
    """The world that a world would be if its environment had been frozen so; only its frame and document differ."""
    environment = msgspec.convert(from_json(world.document), Environment)
    framed = msgspec.structs.replace(environment, frozen=Frozen(digest=frozen.digest, frame=frozen.frame))
    other = msgspec.structs.replace(world, document=to_json(framed).decode(), frame=frozen.frame)
    vars(other).update(vars(world))  # what was worked out from the parts that are the same
    return other


def resolved(data: Mapping[str, Json]) -> Environment:
    """The environment that data without twins comes to: facts in place, services written out, nothing left to look up.

    Its texts mean what they say, except in the oracle, the traps and the tools of services, where references to what
    is known only during play stay as they are written. Raises `InvalidEnvironment`.
    """
    return _complete(Resolution(data))


def _complete(resolution: Resolution) -> Environment:
    try:
        complete = unescaped(resolution.whole(), ())
        environment: Environment = msgspec.convert(complete, Environment)
    except FactError as error:
        raise _invalid(error.path, error.message) from None
    except msgspec.ValidationError as error:
        raise _invalid((), f"this does not fit the format: {error}.") from None
    frozen = environment.frozen
    return msgspec.structs.replace(
        environment,
        services={name: written_out(spec, ("services", name)) for name, spec in environment.services.items()},
        frozen=Frozen(digest=frozen.digest, frame=frozen.frame) if frozen else None,
    )


def written_out(spec: form.Service, path: Path) -> form.Service:
    """A service with its ready definition in it."""
    if spec.use is None:
        return spec
    try:
        return overlay(library(spec.use), msgspec.structs.replace(spec, use=None))
    except UnknownService as error:
        raise _invalid((*path, "use"), str(error)) from None


def build(environment: Environment) -> World:
    """The world of a resolved environment. Raises `InvalidEnvironment`."""
    if environment.environment != FORMAT:
        raise _invalid(("environment",), f"the format {environment.environment!r} is not {FORMAT!r}.")
    clock, people = environment.clock, environment.people
    services = tuple(service(name, spec) for name, spec in environment.services.items())
    return World(
        id=environment.id,
        document=to_json(environment).decode(),
        start=start_of(clock),
        services=services,
        keys={collection: key for service in services for collection, key in service.keys.items()},
        people=people,
        openings=tuple(Opening(name, person.opens) for name, person in people.items() if person.opens is not None),
        timeline=tuple(_happening(entry, number) for number, entry in enumerate(environment.timeline)),
        faults=tuple(_fault(fault, number) for number, fault in enumerate(environment.faults)),
        call=_length(clock.call, ("clock", "call")),
        latencies=dict(_latencies(environment)),
        message=_length(clock.message, ("clock", "message")),
        messages={
            name: _length(person.message, ("people", name, "message"))
            for name, person in people.items()
            if person.message is not None
        },
        deadline=_length(clock.deadline, ("clock", "deadline")),
        on_text=environment.on_text,
        limits=environment.limits,
        checks=environment.checks,
        frame=environment.frozen.frame if environment.frozen else None,
        scoring=environment.scoring,
        oracle=environment.oracle,
        traps=environment.traps,
    )


def start_of(clock: form.Clock) -> datetime:
    """The moment of virtual time 0, in the clock's zone. Raises `InvalidEnvironment`."""
    try:
        local = moment(clock.start, "clock.start")
        if local.tzinfo is not None:
            raise ValueProblem("a start is a local time, without an offset; the zone is in clock.zone.")
        check_bounds(local, timedelta(microseconds=_length(clock.deadline, ("clock", "deadline"))))
        return placed(local, clock.zone)
    except ValueProblem as problem:
        raise _invalid(("clock", "zone" if "is not a time zone" in str(problem) else "start"), str(problem)) from None


def service(name: str, spec: form.Service) -> DeclaredService:
    """The service that a written-out definition declares. Raises `InvalidEnvironment`."""
    try:
        return declared(name, spec)
    except ServiceError as error:
        raise InvalidEnvironment([Problem(f"services.{error.path}", None, f"{error.message.rstrip('.')}.")]) from None


def _latencies(environment: Environment) -> Iterator[tuple[str, int]]:
    for service_name, spec in environment.services.items():
        for tool, shape in spec.tools.items():
            if shape.latency is not None:
                path = ("services", service_name, "tools", tool, "latency")
                yield f"{service_name}.{tool}", _length(shape.latency, path)


def _happening(entry: form.Entry, number: int) -> Happening:
    with _told(("timeline", number)):
        return Happening(
            name=entry.name or f"entry-{number + 1}",
            at=None if entry.at is None else microseconds(entry.at),
            when=entry.when,
            after=microseconds(entry.after),
            sender=entry.sender,
            say=entry.say,
            gives=entry.gives,
            mark=entry.mark,
            changes=entry.changes,
        )


def _fault(fault: form.Fault, number: int) -> FaultRule:
    with _told(("faults", number)):
        return FaultRule(
            name=f"fault-{number + 1}",
            tool=fault.tool,
            kind=fault.kind,
            args=fault.args,
            nth=fault.nth,
            chance=None if fault.chance is None else float(fault.chance),
            applied=fault.applied,
            retry_after=None if fault.retry_after is None else microseconds(fault.retry_after),
            delay=0 if fault.delay is None else microseconds(fault.delay),
        )


def _length(text: str, path: Path) -> int:
    with _told(path):
        return microseconds(text)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say where a bad duration stands."""
    try:
        yield
    except DurationError as error:
        raise _invalid(path, str(error)) from None


def _invalid(path: Path, message: str) -> InvalidEnvironment:
    return InvalidEnvironment([Problem(name(path), None, message)])


# --- documents ---------------------------------------------------------------------------------------------


def _from_data(data: dict[str, Json]) -> World:
    return build(msgspec.convert(data, Environment))


FORMATS: dict[str, Build] = {
    FORMAT: _from_data,
    claw_eval.FORMAT: claw_eval.world_from_document,
    clawmark.FORMAT: clawmark.world_from_document,
    tau2.FORMAT: tau2.world_from_document,
}
"""How a document of each format becomes a world."""


def _builder(format_: str) -> Build | None:
    """What makes worlds of a format: ours, or another package's importer of that name."""
    if format_ in FORMATS:
        return FORMATS[format_]
    importer = others().get(format_.partition("/")[0])
    return importer.rebuild if importer is not None else None


def rebuild(document: str) -> World:
    """The world whose `document` this is. Raises `InvalidEnvironment`."""
    try:
        data = from_json(document)
        format_ = data.get("environment") if isinstance(data, dict) else None
        build = _builder(format_) if isinstance(format_, str) else None
        if build is None:
            raise _invalid((), f"a document of the format {format_!r} is unknown to this release.")
        return build(data)
    except msgspec.MsgspecError as error:
        raise _invalid((), f"the document is not a world: {error}.") from None
