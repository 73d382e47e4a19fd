"""Set manifests: which environments make a split, and that they are still those.

Knows the file, a member's digest and structural key, and a manifest's own digest. Does not know how splits are chosen,
nor what may be done with which.

A manifest is a YAML or JSON file beside the environments it lists. It is no part of them: the same environment has the
same digest in whatever set it is. The manifest's digest covers name, ring, role and members, so nobody makes a test set
a training set unnoticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

import msgspec

from ...events.codec import from_json, to_json
from ...events.event import Json
from ..compiling import digest
from ..document import DocumentError, bounded_text, parse
from ..environment import Environment
from ..problems import InvalidEnvironment
from ..reading import read_file
from ..writing import write
from .origin import Origin
from .structure import structural_key

FORMAT = "coworkenv-set/1"

Ring: TypeAlias = Literal["train", "val-iid", "R0", "R1", "R2", "R3", "R4", "R5"]
Role: TypeAlias = Literal["train", "validation", "test"]

RINGS: tuple[Ring, ...] = ("train", "val-iid", "R0", "R1", "R2", "R3", "R4", "R5")


class BadManifest(ValueError):
    """A file that is not a manifest, or cannot be: the sentence says what is wrong, and where."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Anything a manifest consists of."""


class Member(Part, frozen=True):
    """One environment, with its twins."""

    path: str
    """Of its file, from the manifest's folder on, with `/`."""
    digest: str
    """As in `frozen.digest`: of everything but `frozen`."""
    key: str
    """Its structural key."""
    origin: Origin | None = None
    """Where it comes from, if it was synthesised."""


class Manifest(Part, frozen=True):
    manifest: str
    """The format: `coworkenv-set/1`."""
    name: str
    ring: Ring
    role: Role
    members: tuple[Member, ...]
    """Sorted by path."""
    digest: str


def role_of(ring: Ring) -> Role:
    """What a ring is for: `train` trains, `val-iid` validates, all others test."""
    match ring:
        case "train":
            return "train"
        case "val-iid":
            return "validation"
    return "test"


def member(path: str, environment: Environment, origin: Origin | None = None) -> Member:
    """The entry of an environment whose file is at this path, relative to the manifest. Raises `InvalidEnvironment`."""
    return Member(path=path, digest=digest(environment), key=structural_key(environment), origin=origin)


def manifest(name: str, ring: Ring, members: Sequence[Member]) -> Manifest:
    """The manifest of these members, in the order of their paths. Raises `BadManifest` where two are the same."""
    ordered = tuple(sorted(members, key=lambda each: each.path))
    for what in ("path", "digest"):
        _all_different([getattr(each, what) for each in ordered], what)
    role = role_of(ring)
    own = _digest(name, ring, role, ordered)
    return Manifest(manifest=FORMAT, name=name, ring=ring, role=role, members=ordered, digest=own)


def _all_different(values: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise BadManifest(f"two members have the {what} {value}; a set holds each environment once.")
        seen.add(value)


def _digest(name: str, ring: Ring, role: Role, members: tuple[Member, ...]) -> str:
    return sha256(to_json([name, ring, role, members])).hexdigest()


# --- files -------------------------------------------------------------------------------------------------


def read_manifest(path: Path) -> Manifest:
    """The manifest of a file. Raises `BadManifest`, also where its members are not those that its digest is of."""
    try:
        data = parse(bounded_text(path))
    except OSError as error:
        raise BadManifest(f"{path}: it cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise BadManifest(f"{path}: it is not UTF-8 (byte {error.start}).") from None
    except DocumentError as error:
        raise BadManifest(f"{path}: {error}") from None
    try:
        return _checked(data)
    except BadManifest as error:
        raise BadManifest(f"{path}: {error}") from None


def _checked(data: Json) -> Manifest:
    if isinstance(data, Mapping) and data.get("manifest") != FORMAT:
        raise BadManifest(f"it does not say `manifest: {FORMAT}`, so it is not a set manifest of this release.")
    try:
        found = msgspec.convert(data, Manifest)
    except msgspec.ValidationError as error:
        raise BadManifest(f"{error}.") from None
    for each in found.members:
        way = PurePosixPath(each.path)
        if way.is_absolute() or ".." in way.parts or not way.parts:
            raise BadManifest(f"the member {each.path!r} does not lie below the manifest's folder.")
    made = manifest(found.name, found.ring, found.members)
    if found.role != made.role:
        raise BadManifest(f"the ring {found.ring} is for {made.role}, not for {found.role}.")
    if found.digest != made.digest:
        raise BadManifest(
            f"its digest is {made.digest}, but it says {found.digest}: it was changed after it was made. Make it anew."
        )
    return made


def write_manifest(path: Path, made: Manifest) -> None:
    """Write a manifest as YAML; read again it is the same. Raises OSError."""
    path.write_text(write(from_json(to_json(made))), encoding="utf-8")


# --- verifying ---------------------------------------------------------------------------------------------


def verify(made: Manifest, folder: Path) -> list[str]:
    """What is not as the manifest says, a sentence each: members that are missing, unreadable, or changed since.

    `folder` is where the manifest lies. Members are read, not validated: the same digest is the same environment.
    """
    return [problem for each in made.members if (problem := _differs(each, folder)) is not None]


def _differs(expected: Member, folder: Path) -> str | None:
    path = folder / expected.path
    if not path.is_file():
        return f"{expected.path} is missing."
    try:
        environment = msgspec.convert(parse(read_file(path)), Environment)
    except (InvalidEnvironment, DocumentError, msgspec.ValidationError) as error:
        return f"{expected.path} is no environment any more: {error}"
    found = digest(environment)
    if found != expected.digest:
        return f"{expected.path} was changed: its digest is {found}, in the manifest {expected.digest}."
    key = structural_key(environment)
    if key != expected.key:
        return f"{expected.path} has the structural key {key}, in the manifest {expected.key}; make the manifest anew."
    return None
