"""The ready definitions of services that come with the package, and how an environment writes over one.

Knows the folder `library/`, one file a service, and nothing of what is in the files. A definition is looked for
nowhere else, so that an environment means the same on every machine.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from ..document import parse
from ..environment import Collection, Service
from ..spelling import nearest

_SUFFIX = ".yaml"


class UnknownService(LookupError):
    """No ready definition has this name."""


def _folder() -> Traversable:
    return files(__package__) / "library"


@cache
def names() -> tuple[str, ...]:
    """The names of all ready definitions, sorted."""
    return tuple(sorted(file.name[: -len(_SUFFIX)] for file in _folder().iterdir() if file.name.endswith(_SUFFIX)))


@cache
def library(name: str) -> Service:
    """The ready definition of this name. Raises UnknownService, naming the nearest."""
    if name not in names():
        close = nearest(name, names())
        meant = f'did you mean "{close}"?' if close else f"there are {', '.join(names())}."
        raise UnknownService(f'There is no ready service "{name}"; {meant}')
    text = (_folder() / (name + _SUFFIX)).read_text(encoding="utf-8")
    return read_service(text)


def read_service(text: str) -> Service:
    """A definition written as YAML or JSON. Raises what `document` and msgspec raise for a malformed one."""
    return msgspec.convert(parse(text), Service)


def overlay(base: Service, spec: Service) -> Service:
    """`base` with what `spec` says over it: fields and tools by name, everything else where `spec` has any."""
    collections = {
        name: _overlay_collection(base.collections.get(name), spec.collections.get(name))
        for name in {**base.collections, **spec.collections}
    }
    return Service(
        about=spec.about or base.about,
        collections=collections,
        tools={**base.tools, **spec.tools},
        records={**base.records, **spec.records},
    )


def _overlay_collection(base: Collection | None, spec: Collection | None) -> Collection:
    if base is None or spec is None:
        return base or spec or Collection()
    return Collection(
        key=spec.key or base.key,
        fields={**base.fields, **spec.fields},
        can=spec.can or base.can,
        pages=spec.pages if spec.pages is not None else base.pages,
        free=spec.free or base.free,
    )
