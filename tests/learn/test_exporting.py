"""`learn export`: rows that other trainers take as they are, and no row that nobody may learn from."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from coworkenv.engine.cli import main
from coworkenv.engine.cli.options import opened
from coworkenv.engine.cli.places import examples
from coworkenv.learn.experience import Earning, read_experience
from coworkenv.learn.exporting import line
from coworkenv.learn.models import read_rendering
from coworkenv.learn.trajectories import read_trajectory
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import manifest, member, write_manifest
from tests.learn.small import model

CHAT = ["late-change", "refund"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two examples as sets, demonstrations of them with traps, and a policy that has played one of them."""
    folder = tmp_path_factory.mktemp("made")
    members = []
    for name in CHAT:
        shutil.copy(examples()[name], folder / f"{name}.yaml")
        members.append(member(f"{name}.yaml", read_environment(folder / f"{name}.yaml")))
    for ring in ("train", "R0"):
        write_manifest(folder / f"{ring}.yaml", manifest(ring, ring, members))
    words = [str(folder / f"{name}.yaml") for name in CHAT]
    teachers = ["--teacher", "oracle", "--teacher", "traps", "--twins", "--out", str(folder / "demos")]
    assert main(["learn", "demos", *words, *teachers]) == 0
    model(folder / "policy", 8192)
    write_manifest(folder / "val-iid.yaml", manifest("val-iid", "val-iid", members[1:]))
    sets = ["--set", str(folder / "val-iid.yaml"), "--temperature", "1", "--max-tokens", "4"]
    assert main(["learn", "evaluate", str(folder / "policy"), *sets, "--out", str(folder / "played")]) == 0
    return folder


@pytest.fixture
def cli(made, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)

    def typed(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["learn", "export", *words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return typed


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in Path(path).read_text().splitlines()]


# --- what TRL takes ------------------------------------------------------------------------------------------


def test_accepted_demonstrations_are_chats_with_tools(cli) -> None:
    code, out, err = cli("demos", "--train", "train.yaml", "--format", "sft", "--out", "sft.jsonl", "--json")
    assert code == 0, err
    found = rows("sft.jsonl")
    accepted = rows("demos/accepted.jsonl")
    assert [row["episode"] for row in found] == [row["episode"] for row in accepted]
    told = json.loads(out)
    assert (told["rows"], sum(told["left_out"].values())) == (len(accepted), len(rows("demos/rejected.jsonl")))
    for row, demonstration in zip(found, accepted, strict=True):
        assert row["tools"] == demonstration["tools"]
        assert [message["role"] for message in row["messages"]] == [m["role"] for m in demonstration["messages"]]
        called: dict[str, str] = {}
        for message, before in zip(row["messages"], demonstration["messages"], strict=True):
            assert message["content"] == before["content"]
            for call, told in zip(message.get("tool_calls", ()), before.get("tool_calls", ()), strict=True):
                assert call["function"]["arguments"] == json.loads(told["function"]["arguments"])
                assert call["type"] == "function"
                called[call["id"]] = call["function"]["name"]
            if message["role"] == "tool":
                assert message["name"] == called[message["tool_call_id"]]


def test_a_pair_parts_at_the_first_decision_that_differs(cli) -> None:
    code, _, err = cli("demos", "--train", "train.yaml", "--format", "preference", "--out", "pairs.jsonl")
    assert code == 0, err
    found = rows("pairs.jsonl")
    accepted = {row["episode"]: row for row in rows("demos/accepted.jsonl")}
    rejected = {row["episode"]: row for row in rows("demos/rejected.jsonl")}
    assert found
    for row in found:
        sides = {side: row[side] for side in ("chosen", "rejected")}
        assert row["prompt"][-1]["role"] != "assistant" or row["prompt"][0]["role"] in ("system", "user")
        assert all(side[0]["role"] == "assistant" for side in sides.values())
        assert sides["chosen"][0] != sides["rejected"][0]
        better, worse = accepted[row["episodes"]["chosen"]], rejected[row["episodes"]["rejected"]]
        assert (better["environment"], better["variant"]) == (worse["environment"], worse["variant"])
        assert "trap" in worse["reasons"]
        for side, whole in (("chosen", better), ("rejected", worse)):
            told = [(m["role"], m["content"]) for m in whole["messages"]]
            assert [(m["role"], m["content"]) for m in row["prompt"] + row[side]] == told


def test_of_episodes_in_a_log_the_best_is_preferred_to_the_worst(cli) -> None:
    """In the log that `learn demos` leaves, oracles and traps are episodes as any other."""
    code, _, err = cli("demos/demos.db", "--train", "train.yaml", "--format", "preference", "--out", "pairs.jsonl")
    assert code == 0, err
    found = rows("pairs.jsonl")
    assert len({(row["environment"], row["variant"]) for row in found}) == len(found)
    for row in found:
        assert row["scores"]["rejected"] < row["scores"]["chosen"] == 1


def test_of_a_log_only_what_passes_is_imitated(cli) -> None:
    assert cli("demos/demos.db", "--train", "train.yaml", "--format", "sft", "--out", "log.jsonl")[0] == 0
    assert {row["score"] for row in rows("log.jsonl")} == {1.0}


def test_a_demonstration_with_a_mistake_is_left_out_and_counted(cli, tmp_path) -> None:
    first, *others = rows("demos/accepted.jsonl")
    Path("some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [{**first, "unlearnt": [0]}, *others]))
    code, _, err = cli("some.jsonl", "--train", "train.yaml", "--format", "sft", "--out", "sft.jsonl")
    assert code == 0
    assert "left out: 1 that show a mistake" in err
    assert first["episode"] not in [row["episode"] for row in rows("sft.jsonl")]


# --- token-exact ---------------------------------------------------------------------------------------------


def test_trajectories_are_the_ids_that_were_sampled(cli) -> None:
    words = ("--format", "trajectories", "--model", "policy", "--out", "exact.jsonl")
    code, _, err = cli("played", *words, "--train", "train.yaml")
    assert code == 0, err
    rendering = read_rendering(Path("policy"))
    with opened(str(next(Path("played").glob("*.db")))) as log:
        lived = {
            each.rollout.trajectory.episode: each
            for each in read_experience(log, [row.id for row in log.rows(kind="episode")], rendering, {}, Earning())
        }
        assert all(read_trajectory(log, name, rendering) == each.rollout.trajectory for name, each in lived.items())
    found = rows("exact.jsonl")
    assert {row["episode"] for row in found} == set(lived)
    for row in found:
        each = lived[row["episode"]]
        trajectory = each.rollout.trajectory
        assert tuple(row["input_ids"]) == trajectory.segments[row["segment"]]
        assert len(row["input_ids"]) == len(row["completion_mask"]) == len(row["old_logprobs"])
        mine = [d for d in trajectory.decisions if d.segment == row["segment"]]
        assert sum(row["completion_mask"]) == sum(decision.tokens for decision in mine)
        for decision, told in zip(mine, row["decisions"], strict=True):
            assert set(row["completion_mask"][told["start"] : told["stop"]]) == {1}
            assert tuple(row["old_logprobs"][told["start"] : told["stop"]]) == decision.logprobs
            assert told["sampler"] == {"temperature": 1.0, "top_k": 0, "top_p": 1.0}
            assert told["weights"] == decision.weights != ""
        assert (row["score"], row["tokenised"]) == (float(each.exact), False)
    rewards = [told["reward"] for row in found for told in row["decisions"]]
    assert rewards == [
        reward for row in found if row["segment"] == 0 for reward in lived[row["episode"]].rollout.rewards
    ]


def test_what_nobody_sampled_has_no_probabilities(cli) -> None:
    words = ("--format", "trajectories", "--model", "policy", "--out", "exact.jsonl")
    assert cli("demos", *words, "--train", "train.yaml")[0] == 0
    for row in rows("exact.jsonl"):
        assert (row["old_logprobs"], row["tokenised"]) == (None, True)
        assert sum(told["reward"] for told in row["decisions"]) == pytest.approx(row["score"])


def test_another_tokenizer_is_refused(cli, tmp_path) -> None:
    shutil.copytree("policy", "other")
    template = Path("other/chat_template.jinja")
    template.write_text(template.read_text().replace("\n", "\n\n") + "{# other #}")
    words = ("--format", "trajectories", "--model", "other", "--out", "exact.jsonl", "--train", "train.yaml")
    code, _, err = cli("played", *words)
    assert code == 2
    assert "another tokenizer or chat template" in err
    assert not list(Path().glob("exact.jsonl*"))


# --- what is refused -----------------------------------------------------------------------------------------


def test_nobody_exports_without_saying_that_it_may_be_learnt_from(cli) -> None:
    code, _, err = cli("demos", "--format", "sft", "--out", "sft.jsonl")
    assert code == 2
    assert "cannot be tested with it any more" in err
    assert not Path("sft.jsonl").exists()
    assert cli("demos", "--format", "sft", "--out", "sft.jsonl", "--all")[0] == 0


def test_a_test_set_is_no_set_to_export_from(cli) -> None:
    code, _, err = cli("demos", "--format", "sft", "--out", "sft.jsonl", "--train", "R0.yaml")
    assert code == 2
    assert "there for test" in err


@pytest.mark.parametrize("format_", ["sft", "preference", "trajectories"])
def test_episodes_from_elsewhere_are_refused(cli, format_: str) -> None:
    """A set that holds only one of both environments."""
    write_manifest(
        Path("one.yaml"), manifest("train", "train", [member("refund.yaml", read_environment(Path("refund.yaml")))])
    )
    words = ("--format", format_, "--out", "out.jsonl", "--train", "one.yaml", "--model", "policy")
    code, _, err = cli("demos", *words)
    assert code == 2
    assert "not all of it is from one.yaml" in err
    assert not list(Path().glob("out.jsonl*")), "a file that could not be written whole is not there"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "nowhere"),
        (("policy",), "holds no episodes"),
        (("train.yaml",), "train.yaml"),
        (("demos/accepted.jsonl", "--format", "trajectories", "--model", "policy"), "not a log"),
        (("demos", "--format", "trajectories"), "--model"),
        (("empty.jsonl",), "nothing in empty.jsonl"),
        (("broken.jsonl",), "broken.jsonl, line 1"),
        (("strange.jsonl",), "strange.jsonl, line 1"),
        (("accepted.jsonl", "--format", "preference"), "nothing better or worse"),
    ],
)
def test_what_cannot_be_is_a_sentence(cli, words: tuple[str, ...], says: str) -> None:
    Path("empty.jsonl").write_text("\n")
    Path("broken.jsonl").write_text('{"messages": [')
    Path("strange.jsonl").write_text('{"messages": [{"content": "no role"}]}')
    shutil.copy("demos/accepted.jsonl", "accepted.jsonl")
    code, _, err = cli("--format", "sft", *words, "--all", "--out", "out.jsonl")
    assert code in (1, 2)
    assert says in err
    assert "Traceback" not in err
    assert not list(Path().glob("out.jsonl*"))


def test_nothing_is_written_over_unless_that_is_said(cli) -> None:
    Path("out.jsonl").write_text("precious")
    words = ("demos", "--all", "--format", "sft", "--out", "out.jsonl")
    code, _, err = cli(*words)
    assert (code, Path("out.jsonl").read_text()) == (2, "precious")
    assert "--force" in err
    assert cli(*words, "--force")[0] == 0
    assert rows("out.jsonl")


def test_numbers_keep_their_digits() -> None:
    from decimal import Decimal

    assert line({"value": Decimal("315.60"), "half": float(Fraction(1, 2))}) == b'{"value":315.60,"half":0.5}\n'
