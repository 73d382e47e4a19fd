"""Who may use which environments for what: sets to learn from, to stop and tune by, and to test with.

Knows set manifests, and what a ring is for. Does not know how anything is trained or scored. A file without a manifest,
a folder, an example and every benchmark count as test: nobody has said that they may be learnt from. A test set is
opened by `evaluate --final` alone, and each opening is written down where the run's card finds it: who looks at a test
often enough is tuning by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import msgspec

from ..engine.cli.failures import Told
from ..engine.cli.places import find, is_manifest, manifest_of
from ..events.codec import BAD_JSON, from_json, to_json
from ..events.event import Json
from ..worlds.synth.manifest import Role
from ..worlds.world import World
from .folders import add_line
from .runs import is_run

OPENINGS = "openings.jsonl"
OTHER = "other"
"""The family of an environment of which nobody has said one."""


class NotForThis(Told):
    """A set was asked for what it is not there for."""


class About(msgspec.Struct, frozen=True):
    """What is known of an environment beside itself."""

    ring: str
    """Empty for one without a manifest."""
    family: str = OTHER
    capabilities: tuple[str, ...] = ()


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Environments, with all their twins, and what they may be used for."""

    path: str
    name: str
    ring: str
    """Empty without a manifest."""
    role: Role
    digest: str
    """Of the manifest; without one, of the worlds."""
    worlds: tuple[World, ...]
    about: Mapping[str, About]
    """By the id of an environment, without the twin."""

    @property
    def says(self) -> str:
        """The set as sentences name it."""
        return f"{self.path} ({self.ring or 'no manifest'})"


def read_split(path: str | Path) -> Split:
    """The set that a path means. Raises Told for what is not there, or not what its manifest says."""
    word = str(path)
    worlds = tuple(find([word], twins=True).worlds)
    if not is_manifest(Path(word)):
        digest = sha256("\n".join(sha256(world.document.encode()).hexdigest() for world in worlds).encode()).hexdigest()
        about = {base_of(world.id): About("") for world in worlds}
        return Split(path=word, name=Path(word).stem, ring="", role="test", digest=digest, worlds=worlds, about=about)
    made = manifest_of(Path(word))
    # `find` gives the variants of one member after the other, in their order.
    bases = [base for base, _ in groupby(world.id.partition("@")[0] for world in worlds)]
    about = {
        base: About(made.ring, member.origin.family, member.origin.capabilities) if member.origin else About(made.ring)
        for base, member in zip(bases, made.members, strict=True)
    }
    if len(about) != len(made.members):
        raise Told(f"{word}: two of its members have the same id, so their scores could not be told apart")
    return Split(
        path=word, name=made.name, ring=made.ring, role=made.role, digest=made.digest, worlds=worlds, about=about
    )


def base_of(environment: str) -> str:
    """The id of an environment without its twin's name."""
    return environment.partition("@")[0]


# --- what may be done with which ---------------------------------------------------------------------------


def for_training(path: str | Path) -> Split:
    """A set to learn from. Raises NotForThis for every other."""
    if not is_manifest(Path(path)):
        raise NotForThis(
            f"{path} has no set manifest, so it counts as test: nobody may learn from it. Name the `train.yaml` of a "
            "split; `coworkenv synth make --split` makes one"
        )
    found = read_split(path)
    if found.role != "train":
        raise NotForThis(f"{found.says} is there for {found.role}: nobody may learn from it. Name the set `train`")
    return found


def for_tuning(path: str | Path) -> Split:
    """A set to stop and tune by. Raises NotForThis for every other."""
    found = read_split(path)
    if found.role == "train":
        raise NotForThis(f"{found.says} is what is learnt from; how well it is known says nothing. Name `val-iid`")
    if found.role == "test":
        raise NotForThis(f"{found.says} is a test set: nothing may be stopped or tuned by it. Name `val-iid`")
    return found


def for_report(path: str | Path, *, final: bool) -> Split:
    """A set to report scores on: with `final` any, else one that is no test. Raises NotForThis."""
    found = read_split(path)
    if found.role == "test" and not final:
        raise NotForThis(
            f"{found.says} is a test set. Choose and tune by `val-iid`; when all is chosen, open the test with "
            "--final, which is counted in the run's card"
        )
    return found


def outside(environments: Iterable[str], split: Split) -> list[str]:
    """Those of these environments, in their order, each once, that are not in the set."""
    return list(dict.fromkeys(base for name in environments if (base := base_of(name)) not in split.about))


def check_from(environments: Iterable[str], split: Split, what: str) -> None:
    """Raises NotForThis where `what` (demonstrations say) holds environments that are not in the set."""
    strangers = outside(environments, split)
    if strangers:
        named = ", ".join(strangers[:3]) + (f" and {len(strangers) - 3} more" if len(strangers) > 3 else "")
        raise NotForThis(f"{what}: not all of it is from {split.says}: {named}")


# --- openings of test sets ---------------------------------------------------------------------------------


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A test set was looked at."""

    when: float
    """Wall clock, in seconds since 1970."""
    ring: str
    manifest: str
    """Digest of the manifest, or of the worlds where there is none."""
    command: str


def write_opening(folder: Path, split: Split, command: str, when: float) -> None:
    """Add an opening to those of a folder, before anything is played. Raises folders.NotWritten."""
    opening = Opening(when=when, ring=split.ring, manifest=split.digest, command=command)
    folder.mkdir(parents=True, exist_ok=True)
    add_line(folder / OPENINGS, to_json({**msgspec.to_builtins(opening), "when": round(when)}))


def openings(folder: Path) -> list[Opening]:
    """How often, when and by what a folder's test sets were opened. Raises Told for a line that says nothing of it."""
    path = folder / OPENINGS
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            value: Json = from_json(line)
            found.append(msgspec.convert(value, Opening, strict=False))
        except BAD_JSON as error:
            raise Told(f"{path}, line {number}: {error}") from None
    return found


def run_of(path: Path) -> Path | None:
    """The run folder that a path is, or lies in (a checkpoint of it, or its model); None if it is no run's."""
    whole = path.resolve()
    return next((each for each in (whole, *list(whole.parents)[:3]) if is_run(each)), None)
