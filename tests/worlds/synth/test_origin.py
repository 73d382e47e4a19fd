"""An origin determines its environment, wherever it comes from: made here, sent to a process, or read from a file."""

import pickle
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from coworkenv.worlds.synth.making import identity, make
from coworkenv.worlds.synth.manifest import Member, manifest, read_manifest, write_manifest
from coworkenv.worlds.synth.origin import Origin

ORIGIN = Origin(seed=3, family="refunds", capabilities=("A1",))
WAYS: dict[str, Callable[[Origin], Origin]] = {
    "sent": lambda origin: pickle.loads(pickle.dumps(origin)),
    "read": lambda origin: msgspec.json.decode(msgspec.json.encode(origin), type=Origin),
    "built": lambda origin: msgspec.convert(msgspec.to_builtins(origin), Origin),
    "said": lambda origin: Origin(**{**msgspec.structs.asdict(origin), "half": "".join(["fir", "st"])}),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_origin_that_came_some_way_makes_the_same_environment(way: str) -> None:
    other = WAYS[way](ORIGIN)
    assert other == ORIGIN
    assert identity(other) == identity(ORIGIN)
    assert other.draw("anything").below(1 << 60) == ORIGIN.draw("anything").below(1 << 60)
    assert make(other) == make(ORIGIN)


@pytest.mark.parametrize("way", WAYS)
def test_a_manifest_of_such_an_origin_can_be_read_again(way: str, tmp_path: Path) -> None:
    made = manifest("train", "train", [Member(path="a.yaml", digest="1", key="2", origin=WAYS[way](ORIGIN))])
    write_manifest(tmp_path / "set.yaml", made)
    assert read_manifest(tmp_path / "set.yaml") == made
