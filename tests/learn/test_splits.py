"""Who may use which environments for what."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.engine.cli.failures import Told
from coworkenv.learn.splits import (
    NotForThis,
    Split,
    check_from,
    for_report,
    for_training,
    for_tuning,
    openings,
    read_split,
    run_of,
    write_opening,
)
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import manifest, member, write_manifest

DESK = Path(__file__).parents[1] / "engine" / "cli" / "desk.yaml"


@pytest.fixture
def sets(tmp_path: Path) -> dict[str, Path]:
    """The same environment as sets of three rings, and as a file."""
    (tmp_path / "desk.yaml").write_bytes(DESK.read_bytes())
    found = {"file": tmp_path / "desk.yaml"}
    for ring in ("train", "val-iid", "R2"):
        found[ring] = tmp_path / f"{ring}.yaml"
        made = manifest(ring, ring, [member("desk.yaml", read_environment(tmp_path / "desk.yaml"))])
        write_manifest(found[ring], made)
    return found


def test_only_the_training_set_is_learnt_from(sets):
    assert for_training(sets["train"]).role == "train"
    for name, why in {"val-iid": "validation", "R2": "test", "file": "no set manifest"}.items():
        with pytest.raises(NotForThis, match=f"{why}.*nobody may learn from it"):
            for_training(sets[name])
    with pytest.raises(NotForThis, match="no set manifest"):
        for_training("late-change")


def test_only_the_validation_set_stops_and_tunes(sets):
    assert for_tuning(sets["val-iid"]).ring == "val-iid"
    for name, why in {"train": "what is learnt from", "R2": "test set", "file": "test set"}.items():
        with pytest.raises(NotForThis, match=why):
            for_tuning(sets[name])


def test_tests_are_opened_by_those_who_say_so(sets):
    assert for_report(sets["val-iid"], final=False).role == "validation"
    assert for_report(sets["train"], final=False).role == "train"
    for name in ("R2", "file"):
        with pytest.raises(NotForThis, match="--final"):
            for_report(sets[name], final=False)
        assert for_report(sets[name], final=True).role == "test"


def test_a_set_has_all_twins_and_says_what_is_known_of_them(sets):
    found = read_split(sets["R2"])
    [base] = found.about
    assert found.about[base].ring == "R2"
    assert [world.id.partition("@")[2] for world in found.worlds] == ["", "other-return", "other-price"]
    assert read_split(sets["file"]).digest != found.digest


def test_a_member_that_was_changed_is_not_what_the_manifest_says(sets):
    sets["file"].write_text(sets["file"].read_text() + "\n\n# nothing\n")
    assert read_split(sets["train"]).role == "train"
    sets["file"].write_text(sets["file"].read_text().replace("weight: 1", "weight: 7", 1))
    with pytest.raises(Told, match="was changed since the manifest was made"):
        for_training(sets["train"])


def test_demonstrations_of_other_environments_are_refused(sets):
    split = read_split(sets["train"])
    [base] = split.about
    check_from([base, f"{base}@other-price"], split, "demos.jsonl")
    with pytest.raises(NotForThis, match=r"demos.jsonl: .*: elsewhere/1 and 2 more|elsewhere/1"):
        check_from([base, "elsewhere/1@x", "elsewhere/1", "elsewhere/2"], split, "demos.jsonl")


def test_openings_are_counted(sets, tmp_path):
    split: Split = read_split(sets["R2"])
    folder = tmp_path / "run"
    assert openings(folder) == []
    for when in (5.4, 9.0):
        write_opening(folder, split, "evaluate", when)
    assert [(each.ring, each.manifest, each.when, each.command) for each in openings(folder)] == [
        ("R2", split.digest, 5, "evaluate"),
        ("R2", split.digest, 9, "evaluate"),
    ]
    with (folder / "openings.jsonl").open("a") as file:
        file.write('{"when": 1}\n')
    with pytest.raises(Told, match=r"openings.jsonl, line 3"):
        openings(folder)


def test_a_checkpoint_belongs_to_its_run(tmp_path):
    step = tmp_path / "run" / "checkpoints" / "step-10"
    step.mkdir(parents=True)
    (tmp_path / "run" / "config.json").write_text("{}")
    (step / "config.json").write_text("{}")
    assert run_of(step) == run_of(tmp_path / "run") == (tmp_path / "run").resolve()
    alone = tmp_path / "model"
    alone.mkdir()
    (alone / "config.json").write_text("{}")
    assert run_of(alone) is None
