"""`learn evaluate` and `learn compare` as a researcher types them."""

from __future__ import annotations

import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from coworkenv.engine.cli import main
from coworkenv.engine.cli.places import examples
from coworkenv.learn import playing
from coworkenv.learn.evaluating import FOLDER, Evaluation, read_evaluation, write_evaluation
from coworkenv.learn.scores import twin_sets
from coworkenv.learn.splits import openings, read_split
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import manifest, member, write_manifest
from tests.learn.scoring import scored
from tests.learn.small import model
from tests.learn.teaching import lessons
from tests.learn.test_grammar import rendering
from tests.learn.test_rl import break_coworkers
from tests.loopback import in_turn, served


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    """Runs a command line in a folder that has two examples as sets of every role."""
    monkeypatch.chdir(tmp_path)
    members = []
    for name in sorted(examples())[:2]:
        shutil.copy(examples()[name], tmp_path / f"{name}.yaml")
        members.append(member(f"{name}.yaml", read_environment(tmp_path / f"{name}.yaml")))
    for ring in ("train", "val-iid", "R0"):
        write_manifest(tmp_path / f"{ring}.yaml", manifest(ring, ring, members))

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["learn", *words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def demonstrations(path: Path, environments: set[str]) -> None:
    kept = [lesson for lesson in lessons() if lesson.environment in environments]
    path.write_bytes(b"".join(msgspec.json.encode(msgspec.to_builtins(each, enc_hook=str)) + b"\n" for each in kept))


def test_an_oracle_is_ahead_of_everybody_who_only_looks_like_one(cli):
    code, out, _ = cli("evaluate", "--set", "val-iid.yaml", "-b", "oracle", "-b", "explore", "-b", "noop", "--json")
    assert code == 0
    values = [json.loads(line) for line in out.splitlines()]
    whole = values[0]
    assert (whole["kind"], whole["sets"]) == ("all", 2)
    means = {who: found["twin score"]["estimate"] for who, found in whole["values"].items()}
    assert means == {"oracle": 1, "explore": 0, "noop": 0}
    assert whole["ahead"]["noop"]["score"]["estimate"] == 1
    assert values[-1]["who"] == ["oracle", "explore", "noop"]
    assert {line["kind"] for line in values if line["type"] == "group"} == {"all", "ring", "family"}


def test_the_same_command_plays_nothing_again_and_writes_the_same(cli):
    words = ("evaluate", "--set", "val-iid.yaml", "-b", "explore", "-b", "noop", "--trials", "2")
    first = cli(*words)
    files = {path: path.read_bytes() for path in Path("evaluation").rglob("*.json")}
    assert cli(*words) == first
    assert files == {path: path.read_bytes() for path in Path("evaluation").rglob("*.json")}
    assert "explore, beside noop" in first[1]
    found = read_evaluation(Path("evaluation/evaluation.json"))
    assert all(each.episodes == 2 * len(each.variants) for each in twin_sets(found.scores))


@pytest.mark.parametrize("name", ["R0.yaml", "late-change"])
def test_a_test_set_is_not_looked_at_by_the_way(cli, name):
    code, _, err = cli("evaluate", "--set", name, "-b", "noop")
    assert code == 2
    assert "is a test set" in err
    assert "--final" in err
    assert not Path("evaluation").exists()


def test_a_test_set_is_opened_when_it_is_asked_for_and_that_is_counted(cli):
    for count in (1, 2):
        code, *_ = cli("evaluate", "--final", "--set", "R0.yaml", "--set", "val-iid.yaml", "-b", "noop")
        assert code == 0
        assert [each.ring for each in openings(Path("evaluation"))] == ["R0"] * count


def test_whoever_remembers_the_test_is_refused(cli):
    demonstrations(Path("demos.jsonl"), {lesson.environment for lesson in lessons()})
    words = ("evaluate", "-b", "memoriser", "--demos", "demos.jsonl")
    code, _, err = cli(*words, "--set", "val-iid.yaml")
    assert code == 2
    assert "who remembers it cheats" in err
    code, out, _ = cli(*words, "--set", "train.yaml", "--json")
    assert code == 0
    whole = json.loads(out.splitlines()[0])["values"]["memoriser"]
    assert 0 < whole["score"]["estimate"] <= 1


def test_a_model_is_tested_beside_what_it_does_when_it_is_only_shown_how(cli):
    """One that reads hardly more than a request: soon it cannot go on, and all of it is counted."""
    model(Path("model"), 900)
    others = {lesson.environment for lesson in lessons()} - read_split("train.yaml").about.keys()
    demonstrations(Path("demos.jsonl"), others)
    words = ("evaluate", "model", "--set", "val-iid.yaml", "-b", "few-shot", "--demos", "demos.jsonl")
    code, out, err = cli(*words, "--max-tokens", "8", "--temperature", "1", "--json")
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["who"] == ["model", "few-shot:model"]
    found = read_evaluation(Path("evaluation/evaluation.json"))
    assert found.weights
    assert found.temperature == 1
    assert sum(each.tokens for each in found.scores) > 0
    assert Path("evaluation/baselines/few-shot-model.json").exists()


def test_what_a_coworker_spoils_is_left_out_for_everybody_and_counted(cli, monkeypatch):
    """The twin set whole, though only one of its variants breaks; the coworker is no fault of who is tested."""
    broken, kept = (base for base in read_split("val-iid.yaml").about)
    break_coworkers(monkeypatch, lambda name: name == broken, playing)
    words = ("evaluate", "--set", "val-iid.yaml", "-b", "oracle", "-b", "noop")
    code, out, _ = cli(*words, "--json")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert (lines[0]["sets"], lines[-1]["left_out"]) == (1, [broken])
    assert lines[0]["values"]["oracle"]["score"]["estimate"] == 1
    assert {each.environment for each in read_evaluation(Path("evaluation/evaluation.json")).scores} == {kept}
    assert f"left out, since a coworker failed: 1 twin set ({broken})" in " ".join(cli(*words)[1].split())
    break_coworkers(monkeypatch, lambda name: True, playing)
    code, _, err = cli(*words, "--out", "nothing")
    assert code == 2
    assert "in every environment a coworker failed" in " ".join(err.split())


def test_a_model_on_a_server_is_tested_by_the_ids_that_it_answers(cli):
    """The folder has no weights at all: it only says how the model reads."""
    folder = model(Path("model"), 8192)
    weights = list(folder.glob("*.safetensors"))
    for path in weights:
        path.unlink()
    ids = rendering("plain").answer("", [{"name": "finish", "args": {"summary": "done"}}])
    logprobs = {"token_logprobs": [-0.5] * len(ids)}
    choice = {"index": 0, "text": "", "token_ids": ids, "logprobs": logprobs, "finish_reason": "stop"}
    with served(in_turn({"object": "text_completion", "choices": [choice]})) as server:
        words = ("evaluate", "model", "--set", "val-iid.yaml", "-b", "noop", "--json", "--server", server.url)
        code, out, err = cli(*words, "--served", "student")
    assert weights
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["who"] == ["model", "noop"]
    found = read_evaluation(Path("evaluation/evaluation.json"))
    assert (found.weights, found.temperature) == ("", 0)
    assert {each.tokens for each in found.scores} == {len(ids)}
    assert {each.reason for each in found.scores} == {"finished"}
    assert len(server.requests) == len(found.scores)
    assert {(sent["model"], sent["temperature"]) for sent in server.requests} == {("student", 0)}
    assert all(isinstance(token, int) for sent in server.requests for token in sent["prompt"])


def test_a_server_that_answers_without_ids_is_refused(cli):
    model(Path("model"), 8192)
    answer = {"choices": [{"index": 0, "text": "I am done", "logprobs": None, "finish_reason": "stop"}]}
    with served(in_turn(answer)) as server:
        code, _, err = cli("evaluate", "model", "--set", "val-iid.yaml", "--server", server.url)
    assert code == 1
    assert "the response has no `token_ids`" in " ".join(err.split())
    assert server.requests[0]["model"] == "model"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-b", "noop", "--server", "http://127.0.0.1:1"), "name the folder"),
        (("nowhere", "--server", "http://127.0.0.1:1"), "nowhere"),
        (("model", "--server", "http://me:secret@127.0.0.1"), "may not hold a name"),
        (("model", "--server", "http://127.0.0.1:1", "--temperature", "0.5"), "at 0 or 1"),
        ((), "name a run or a model"),
        (("-b", "memoriser"), "--demos"),
        (("-b", "memoriser", "--demos", "nowhere"), "nowhere.*cannot be read"),
        (("-b", "memoriser", "--demos", "/dev/null"), "there is no demonstration in /dev/null"),
        (("-b", "few-shot", "--demos", "demos.jsonl"), "whose weights|cannot be read"),
        (("-b", "explor"), "explore"),
        (("nowhere",), "no folder nowhere"),
        (("-b", "noop", "--temperature", "warm"), "is a number"),
        (("-b", "noop", "--temperature", "nan"), "between 0 and 10"),
    ],
)
def test_bad_words_are_answered_with_a_sentence(cli, words, says):
    code, _, err = cli("evaluate", "--set", "val-iid.yaml", *words)
    assert code == 2
    assert re.search(says, err)
    assert "Traceback" not in err


def learnt(folder: Path, gain: int, seed: int) -> None:
    for sampled in (0, 1000):
        scores = tuple(
            scored(f"e{n}", Fraction(n + gain * (sampled > 0) + seed % 2, 20), family=f"f{n % 2}") for n in range(8)
        )
        evaluation = Evaluation(who=str(folder), scores=scores, seed=seed, sampled=sampled)
        write_evaluation(folder / FOLDER / f"{sampled:06d}.json", evaluation)


def test_methods_are_compared_over_their_training_seeds(cli):
    for seed in range(3):
        learnt(Path(f"plain/{seed}"), 2, seed)
        learnt(Path(f"better/{seed}"), 6, seed)
    code, out, _ = cli("compare", "plain", "better", "--out", "figures")
    assert code == 0
    assert "better less plain, at 1,000 sampled tokens; 3 training seeds, paired" in out
    assert "+0.200 (+0.200 to +0.200)" in out
    written = json.loads(Path("figures/comparison.json").read_text())
    assert [curve["method"] for curve in written["curves"]] == ["plain", "better"]
    assert [point["sampled"] for point in written["curves"][0]["runs"][0]] == [0, 1000]
    code, out, _ = cli("compare", "plain/0", "better/0", "--tokens", "10", "--json")
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["comparison", "curve", "curve"]
    assert json.loads(out.splitlines()[0])["sampled"] == [[0], [0]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("plain",), "at least two"),
        (("plain", "nowhere"), "no folder"),
        (("plain", "."), "not tested on the same|first"),
    ],
)
def test_what_cannot_be_compared_is_told(cli, words, says):
    learnt(Path("plain"), 2, 0)
    learnt(Path("other"), 2, 0)
    scores = (scored("elsewhere", 1),)
    write_evaluation(Path("other") / FOLDER / "001000.json", Evaluation(who="other", scores=scores, sampled=1000))
    code, _, err = cli("compare", *words)
    assert code == 2
    assert re.search(says, err)
