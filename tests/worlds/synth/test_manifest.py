"""Set manifests: read as written, their digest over all that matters, and members that were changed are found."""

from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.compiling import digest
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import (
    RINGS,
    BadManifest,
    Manifest,
    Member,
    manifest,
    member,
    read_manifest,
    role_of,
    verify,
    write_manifest,
)
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.structure import structural_key
from coworkenv.worlds.writing import write

FOLDER = files("coworkenv.worlds") / "examples"
EXAMPLES = ("refund.yaml", "reorder.yaml", "tickets.yaml")
ORIGIN = Origin(seed=7, family="refunds", capabilities=("A1", "B1"), half="second", knobs={"rows": 12})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three environments and, as `set.yaml`, their manifest."""
    (tmp_path / "train").mkdir()
    members = []
    for name in EXAMPLES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        (tmp_path / "train" / name).write_text(text, encoding="utf-8")
        members.append(member(f"train/{name}", read_environment(text), ORIGIN if name == "refund.yaml" else None))
    write_manifest(tmp_path / "set.yaml", manifest("first", "train", members))
    return tmp_path


def test_a_manifest_says_what_is_in_the_set(folder: Path) -> None:
    made = read_manifest(folder / "set.yaml")
    refund = read_environment((FOLDER / "refund.yaml").read_text(encoding="utf-8"))
    assert (made.name, made.ring, made.role) == ("first", "train", "train")
    assert [each.path for each in made.members] == [f"train/{name}" for name in sorted(EXAMPLES)]
    first = made.members[0]
    assert first == Member(path=first.path, digest=digest(refund), key=structural_key(refund), origin=ORIGIN)
    assert verify(made, folder) == []


def test_json_is_as_good_as_yaml(folder: Path) -> None:
    made = read_manifest(folder / "set.yaml")
    (folder / "set.json").write_bytes(msgspec.json.encode(made))
    assert read_manifest(folder / "set.json") == made


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10).filter(
    lambda text: text.strip("./") == text and ".." not in text
)
MEMBERS = st.builds(
    Member, path=TEXTS, digest=TEXTS, key=TEXTS, origin=st.none() | st.just(ORIGIN)
)  # fmt: skip
MANIFESTS = st.builds(
    manifest,
    TEXTS,
    st.sampled_from(RINGS),
    st.lists(MEMBERS, max_size=5, unique_by=(lambda each: each.path, lambda each: each.digest)),
)


@given(made=MANIFESTS)
def test_what_is_written_is_read_again(made: Manifest, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "again.yaml"
    write_manifest(path, made)
    assert read_manifest(path) == made


@given(made=MANIFESTS, data=st.data())
def test_a_manifest_that_was_edited_by_hand_is_refused(
    made: Manifest, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = data.draw(MANIFESTS.filter(lambda other: other.digest != made.digest))
    path = tmp_path_factory.getbasetemp() / "edited.yaml"
    path.write_text(write(msgspec.to_builtins(msgspec.structs.replace(other, digest=made.digest))), encoding="utf-8")
    with pytest.raises(BadManifest, match="changed after it was made"):
        read_manifest(path)


def test_the_digest_does_not_depend_on_the_order_but_on_all_else() -> None:
    a, b = Member(path="a", digest="1", key="k"), Member(path="b", digest="2", key="k")
    first = manifest("set", "R0", [a, b])
    assert manifest("set", "R0", [b, a]) == first
    others = [
        manifest("other", "R0", [a, b]),
        manifest("set", "R1", [a, b]),
        manifest("set", "train", [a, b]),
        manifest("set", "R0", [a]),
        manifest("set", "R0", [a, msgspec.structs.replace(b, origin=ORIGIN)]),
    ]
    assert len({made.digest for made in (first, *others)}) == 6


def test_rings_have_roles() -> None:
    assert [role_of(ring) for ring in RINGS] == ["train", "validation", *["test"] * 6]


def test_members_that_are_missing_changed_or_broken_are_named(folder: Path) -> None:
    made = read_manifest(folder / "set.yaml")
    (folder / "train" / "refund.yaml").unlink()
    reorder = folder / "train" / "reorder.yaml"
    reorder.write_text(reorder.read_text(encoding="utf-8").replace("title: ", "title: Other "), encoding="utf-8")
    (folder / "train" / "tickets.yaml").write_text("[not: an environment", encoding="utf-8")
    missing, changed, broken = verify(made, folder)
    assert missing == "train/refund.yaml is missing."
    assert changed.startswith("train/reorder.yaml was changed: its digest is ")
    assert broken.startswith("train/tickets.yaml is no environment any more: ")


def test_freezing_is_no_change(folder: Path) -> None:
    path = folder / "train" / "refund.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("\nfrozen:")], encoding="utf-8")
    assert verify(read_manifest(folder / "set.yaml"), folder) == []


def test_a_key_that_another_release_made_is_found(folder: Path) -> None:
    made = read_manifest(folder / "set.yaml")
    old = manifest("first", "train", [msgspec.structs.replace(made.members[0], key="old"), *made.members[1:]])
    assert verify(old, folder) == [
        f"train/refund.yaml has the structural key {made.members[0].key}, in the manifest old; make the manifest anew."
    ]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("manifest: coworkenv-set/1", "manifest: coworkenv-set/9"), "not a set manifest"),
        (("role: train", "role: test"), "the ring train is for train, not for test"),
        (("ring: train", "ring: R7"), "Invalid enum value 'R7'"),
        (("name: first", "nane: first"), "unknown field `nane`"),
        (("family: refunds", "famly: refunds"), r"unknown field `famly` - at `\$\.members"),
        (("path: train/refund.yaml", "path: ../refund.yaml"), "does not lie below"),
        (("path: train/refund.yaml", "path: /refund.yaml"), "does not lie below"),
        (("path: train/refund.yaml", "path: train/reorder.yaml"), "two members have the path"),
        (("name: first", "name: [first"), "not YAML"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_said(folder: Path, edit: tuple[str, str], message: str) -> None:
    path = folder / "set.yaml"
    text = path.read_text(encoding="utf-8")
    assert edit[0] in text
    path.write_text(text.replace(*edit), encoding="utf-8")
    with pytest.raises(BadManifest, match=message) as raised:
        read_manifest(path)
    assert str(path) in str(raised.value)


def test_files_that_are_no_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    with pytest.raises(BadManifest, match="not UTF-8"):
        read_manifest(tmp_path / "binary")
    with pytest.raises(BadManifest, match="cannot be read"):
        read_manifest(tmp_path / "nowhere")


def test_a_set_holds_each_environment_once() -> None:
    with pytest.raises(BadManifest, match="two members have the digest 1"):
        manifest("set", "R0", [Member(path="a", digest="1", key="k"), Member(path="b", digest="1", key="k")])
