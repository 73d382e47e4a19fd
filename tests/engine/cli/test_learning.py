"""What a researcher types: teachers play, what is worth learning is kept, and the same words go on after a stop."""

from __future__ import annotations

import json
import os
import signal
import threading
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest

from coworkenv.engine.cli import learning
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import manifest, member, write_manifest
from tests.loopback import Reply, completion

OUT = Path("out")


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (OUT / name).read_text().splitlines()]


def test_an_oracle_and_its_traps_make_examples_and_counterexamples(cli):
    ran = cli("learn", "demos", "desk.yaml", "--twins", "-t", "oracle", "-t", "traps", "--out", "out")
    assert ran.code == 0
    accepted, rejected = lines("accepted.jsonl"), lines("rejected.jsonl")
    assert f"{len(accepted)} accepted, {len(rejected)} rejected" in ran.out
    assert {line["variant"] for line in accepted} == {"", "other-return", "other-price"}
    assert all(line["score"] == "1" and line["teacher"] == "oracle" for line in accepted)
    assert all("trap" in line["reasons"] for line in rejected)
    assert any(line["failed"] for line in rejected)
    assert cli("verify", "--all", "--log", "out/demos.db").code == 0


def test_in_brief_the_same_is_done_and_less_is_said(cli):
    said = {}
    for words in ((), ("--brief",)):
        assert cli("learn", "demos", "desk.yaml", "-t", "oracle", *words, "--out", "out").code == 0
        assert cli("verify", "--all", "--log", "out/demos.db").code == 0
        said[words] = lines("accepted.jsonl")[0]
    long, brief = (each["messages"] for each in said.values())
    assert [each.get("tool_calls") for each in long] == [each.get("tool_calls") for each in brief]
    assert brief[0]["content"].startswith("You are a coworker. It is ")
    assert len(brief[0]["content"]) < len(long[0]["content"]) / 3


def test_where_a_file_cannot_be_put_it_is_that_file_which_is_named(cli):
    Path("out/accepted.jsonl").mkdir(parents=True)
    ran = cli("learn", "demos", "desk.yaml", "--out", "out")
    assert (ran.code, ran.err) == (2, "coworkenv: out/accepted.jsonl: Is a directory\n")


def test_doing_it_again_plays_nothing_again_and_writes_the_same(cli):
    words = ("learn", "demos", "desk.yaml", "--trials", "2", "--out", "out")
    first = cli(*words)
    before = {path.name: path.read_bytes() for path in OUT.glob("*.jsonl")}
    second = cli(*words)
    assert first.out == second.out
    assert before == {path.name: path.read_bytes() for path in OUT.glob("*.jsonl")}
    assert "the same decisions as another" in second.out


def test_a_model_that_teaches_badly_is_kept_as_a_counterexample(cli, serve):
    server = serve(lambda _: completion("", [("finish", {"summary": "Nothing to do."})]))
    ran = cli("learn", "demos", "desk.yaml", "-t", "openai:m", "--base-url", server.url, "--out", "out", "--json")
    assert ran.code == 0
    found, summary = ran.values
    assert (found["accepted"], found["reasons"], found["teacher"]) == (False, ["score"], "openai:m")
    assert summary["reasons"] == {"score": 1}
    [line] = lines("rejected.jsonl")
    assert line["messages"][-1]["tool_calls"][0]["function"]["name"] == "finish"
    assert "refunded" in line["failed"]


def test_ctrl_c_keeps_what_has_ended_and_the_same_words_go_on(cli, serve):
    stop = threading.Event()

    def answer(_):
        if not stop.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            return Reply(delay=60)
        return completion("", [("finish", {"summary": ""})])

    server = serve(answer)
    words = ["learn", "demos", "desk.yaml", "-t", "oracle", "-t", "openai:m", "--concurrency", "1", "--out", "out"]
    words += ["--base-url", server.url]
    ran = cli(*words)
    assert ran.code == 130
    assert "goes on" in ran.err
    assert [line["teacher"] for line in lines("accepted.jsonl")] == ["oracle"]
    stop.set()
    assert cli(*words).code == 0
    assert [line["teacher"] for line in lines("rejected.jsonl")] == ["openai:m"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("desk.yaml", "-t", "noop"), "is no teacher"),
        (("desk.yaml", "-t", "trap:pays-twise"), "did you mean"),
        (("nowhere",), "no file, folder or example"),
        (("desk.yaml", "-o", "max_tokens=9"), "no model takes part"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(cli, words, said):
    ran = cli("learn", "demos", *words, "--out", "out")
    assert ran.code == 2
    assert said in ran.err


def test_a_file_where_the_folder_should_be_is_said(cli):
    ran = cli("learn", "demos", "desk.yaml", "--out", "desk.yaml")
    assert ran.code == 2
    assert "is a file" in ran.err


@click.command(short_help="Train a student.")
def train() -> None:
    """Train."""


def test_other_packages_hang_their_commands_into_the_group(cli, monkeypatch):
    point = EntryPoint("train", f"{__name__}:train", learning.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: train)
    monkeypatch.setattr(learning, "entry_points", lambda group: [point])
    group = learning._Learn("learn")
    assert group.list_commands(click.Context(group)) == ["train"]


# --- sets --------------------------------------------------------------------------------------------------


def write_set(ring: str) -> Path:
    made = manifest("desk", ring, [member("desk.yaml", read_environment(Path("desk.yaml")))])
    write_manifest(Path(f"{ring}.yaml"), made)
    return Path(f"{ring}.yaml")


def test_a_set_that_is_there_to_train_with_is_played_whole(cli):
    ran = cli("learn", "demos", write_set("train"), "--twins", "--out", "out")
    assert ran.code == 0
    assert len(lines("accepted.jsonl")) == 3


def test_nobody_learns_from_a_test_set(cli):
    ran = cli("learn", "demos", write_set("R2"), "--out", "out")
    assert ran.code == 2
    assert "nobody may learn from it" in ran.err
    assert cli("run", "R2.yaml", "--agent", "oracle").code == 0


def test_a_set_whose_member_was_changed_is_refused(cli):
    path = write_set("train")
    Path("desk.yaml").write_text(Path("desk.yaml").read_text().replace("lamp: 165.00", "lamp: 166.00"))
    assert "was changed" in cli("learn", "demos", path, "--out", "out").err
    Path("desk.yaml").unlink()
    assert "is missing" in cli("learn", "demos", path, "--out", "out").err
