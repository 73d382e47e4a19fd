"""From what somebody asks for, or from what a log says, to an actor.

Knows every kind of agent and coworker that comes with coworkenv, how people ask for one (`trap:NAME`, `openai:MODEL`),
and how a log does (`{"kind": …}`). Does not know what they do, nor the kinds of other packages (`registry`). A new kind
without options is one line in `_SIMPLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, TypeVar

import msgspec

from ..events.event import Json
from ..worlds.document import DocumentError, bounded_text, parse
from ..worlds.world import World
from .agent import Actor, Perform
from .coworker import ModelCoworker, RulesCoworker
from .explore import Explore, ReadOnly
from .model import ModelAgent, ModelOptions
from .naming import UnknownName
from .persona import PersonaCoworker, PersonaOptions
from .registry import AGENTS, COWORKERS, BadSpecification, built
from .sampling import Sampling
from .scripted import Noop, Oracle, Script, ScriptStep, Trapped
from .server import Server, server_url

Options: TypeAlias = Mapping[str, Json]
_NO_OPTIONS: Options = MappingProxyType({})
_ANY_SERVER = Server()
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

_SIMPLE: Mapping[str, Callable[[], Actor]] = {"oracle": Oracle, "noop": Noop, "readonly": ReadOnly, "explore": Explore}
_DETAILED: Mapping[str, str] = {"trap": "name", "script": "steps", "openai": "model"}
"""Kinds that need something behind their colon, and where that stands in a specification."""

AGENT_KINDS = (*_SIMPLE, "trap:NAME", "script:FILE", "openai:MODEL")
COWORKER_KINDS = ("rules", "model:MODEL", "persona:MODEL")


# --- agents ------------------------------------------------------------------------------------------------


class _Trap(msgspec.Struct, frozen=True):
    name: str


class _Steps(msgspec.Struct, frozen=True):
    steps: tuple[ScriptStep, ...]


def build_agent(wanted: str | Options, options: Options = _NO_OPTIONS, *, perform: Perform | None = None) -> Actor:
    """The agent that `wanted` names (`oracle`, `trap:NAME`, `script:FILE`, `openai:MODEL` …) or specifies.

    Where no kind of ours is meant, it is one that was registered, or an entry point's; what stands behind its colon is
    the `name` in its specification.

    `options` are added to its specification, except `timeout`, `attempts` and `first_wait`, which say how a model is
    reached. `perform` is asked instead of a server. Raises `UnknownName` or `BadSpecification`.
    """
    connection, more = _connection(options, perform)
    given = {**(_specification(wanted) if isinstance(wanted, str) else wanted), **more}
    kind = str(given.pop("kind", None))
    if kind in _SIMPLE:
        _refuse(kind, given)
        return _SIMPLE[kind]()
    if kind == "trap":
        return Trapped(_read(_Trap, kind, given).name)
    if kind == "script":
        return Script(_read(_Steps, kind, given).steps)
    if kind == "openai":
        chosen = _read(ModelOptions, kind, given)
        return ModelAgent(chosen, connection.to(chosen))
    agent = built(AGENTS, kind, given)
    if agent is None:
        raise UnknownName("agent", kind, AGENT_KINDS)
    return agent


def _specification(name: str) -> dict[str, Json]:
    """What a log would say of an agent that is asked for by name."""
    kind, colon, detail = name.partition(":")
    if kind in _SIMPLE:
        if colon:
            raise BadSpecification(f"the agent `{kind}` takes nothing behind its name; write `{kind}`")
        return {"kind": kind}
    if kind not in _DETAILED:  # another package's, if anybody's
        return {"kind": kind, "name": detail} if detail else {"kind": kind}
    if not detail:
        example = next(known for known in AGENT_KINDS if known.startswith(f"{kind}:"))
        raise BadSpecification(f"the agent `{kind}` needs something behind its name; write `{example}`")
    if kind == "script":
        return {"kind": kind, "steps": _script(Path(detail))}
    if detail != detail.encode("utf-8", "replace").decode():
        raise BadSpecification(f"the name behind `{kind}:` holds bytes that are no text")
    return {"kind": kind, _DETAILED[kind]: detail}


def _script(path: Path) -> Json:
    try:
        return parse(bounded_text(path))
    except OSError as error:
        raise BadSpecification(f"the script {path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, DocumentError) as error:
        raise BadSpecification(f"the script {path} cannot be read: {error}") from error


# --- coworkers ---------------------------------------------------------------------------------------------


def build_coworkers(
    world: World, wanted: str | Options = "rules", options: Options = _NO_OPTIONS, *, perform: Perform | None = None
) -> dict[str, Actor]:
    """Who plays the people of `world`, in the order of its file. Raises `UnknownName` or `BadSpecification`.

    `rules`: everybody who has something to say goes by their rules; those who have only a persona are absent.
    `model:MODEL`: the same, but a model words what the rules decide, and plays the personas. `persona:MODEL`: the model
    plays the personas only. A mapping from people to specifications, as a log has it, or to such words, names those who
    take part.
    """
    connection, more = _connection(options, perform)
    people = list(dict.fromkeys([*world.people, *world.personas]))
    chosen = _for_all(world, wanted, more) if isinstance(wanted, str) else wanted
    for name in chosen:
        if name not in people:
            raise UnknownName("person", name, people)
    return {name: _coworker(world, name, chosen[name], connection) for name in people if name in chosen}


def _for_all(world: World, wanted: str, options: Options) -> dict[str, Json]:
    """Everybody's specification, from one word for all of them."""
    kind, _, model = wanted.partition(":")
    if kind not in ("rules", "model", "persona"):
        raise UnknownName("way to play coworkers", wanted, COWORKER_KINDS)
    if (kind == "rules") == bool(model):
        raise BadSpecification(f"coworkers cannot be played by `{wanted}`; write one of {', '.join(COWORKER_KINDS)}")
    if kind == "rules":
        _refuse(kind, options)
    asked = {"model": model, **options}
    theirs = {"kind": "model", **asked} if kind == "model" else {"kind": "rules"}
    chosen: dict[str, Json] = {
        name: theirs for name, person in world.people.items() if person.replies or person.otherwise is not None
    }
    if kind != "rules":
        chosen |= {name: {"kind": "persona", **asked} for name in world.personas}
    return chosen


def _coworker(world: World, name: str, wanted: str | Options, connection: _Connection) -> Actor:
    if isinstance(wanted, str):
        kind, _, model = wanted.partition(":")
        wanted = {"kind": kind, "model": model} if model else {"kind": kind}
    given = dict(wanted)
    kind = str(given.pop("kind", None))
    if kind not in ("rules", "model", "persona"):
        coworker = built(COWORKERS, kind, given, name)
        if coworker is None:
            raise UnknownName("way to play coworkers", kind, COWORKER_KINDS)
        return coworker
    if kind == "persona":
        if name not in world.personas:
            raise BadSpecification(f"{name} has no persona that a model could play; let them go by their rules")
        persona = _read(PersonaOptions, kind, given)
        return PersonaCoworker(name, persona, connection.to(persona))
    if name not in world.people:
        raise BadSpecification(f"{name} has no rules; only a model can play them, as a persona")
    if kind == "rules":
        _refuse(kind, given)
        return RulesCoworker(name)
    sampling = _read(Sampling, kind, given)
    return ModelCoworker(name, sampling, connection.to(sampling))


# --- options -----------------------------------------------------------------------------------------------

REACHING = ("timeout", "attempts", "first_wait")
"""Options that say how a model is reached: they change nothing that it answers, so no specification holds them."""


class _Connection(msgspec.Struct, frozen=True):
    """The way to a model: a server, or whatever stands in for one."""

    server: Server
    perform: Perform | None

    def to(self, sampling: Sampling) -> Perform:
        return self.perform or model_at(sampling.url, self.server)


def model_at(url: str | None, server: Server = _ANY_SERVER) -> Perform:
    """Asks the models of the server at `url`, or, without one, of the server that the environment's variables name, as
    patiently as `server` says. Raises BadSpecification."""
    from .chat import chat  # Here, because HTTP takes long to import and most actors need none.

    try:
        return chat(msgspec.structs.replace(server, url=server_url(url)))
    except ValueError as error:
        raise BadSpecification(str(error)) from None


def _connection(options: Options, perform: Perform | None) -> tuple[_Connection, dict[str, Json]]:
    """The way to the model, and the options that are left."""
    reaching = {name: value for name, value in options.items() if name in REACHING}
    left = {name: value for name, value in options.items() if name not in REACHING}
    return _Connection(_read(Server, "connection", reaching), perform), left


def _refuse(kind: str, options: Options) -> None:
    if options:
        raise BadSpecification(f"`{kind}` has no options; leave out {', '.join(options)}")


@cache
def _names(type_: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(type_))


def _read(type_: type[_Struct], kind: str, options: Options) -> _Struct:
    known = _names(type_)
    for name in options:
        if name not in known:
            raise UnknownName(f"option of `{kind}`", name, [*known, *REACHING])
    try:
        return msgspec.convert(dict(options), type_, strict=False)
    except msgspec.ValidationError as error:
        raise BadSpecification(f"`{kind}` cannot be made so: {error}") from error
