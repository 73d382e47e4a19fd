"""`coworkenv synth` as people use it: sets with and without rings, models that write, and what is said of bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from coworkenv.engine import authoring
from coworkenv.engine.cli import synth
from coworkenv.engine.synthesis import LEDGER, place
from coworkenv.worlds.compiling import digest, is_stale
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth import receipt as receipts
from coworkenv.worlds.synth.capabilities.registry import FRAGMENTS
from coworkenv.worlds.synth.making import make
from coworkenv.worlds.synth.manifest import read_manifest, verify
from coworkenv.worlds.synth.splits import check_splits
from coworkenv.worlds.synth.structure import structural_key
from coworkenv.worlds.writing import write
from tests.loopback import Reply, completion, in_turn

SMALL = ("synth", "make", "envs", "-j", "1", "-n", "3", "--capabilities", "a1,C1", "--families", "refunds,leave")
SOUND = (Path(__file__).parents[2] / "worlds/synth/errand.yaml").read_text("utf-8")


@pytest.fixture
def impatient(monkeypatch):
    """A model that does not answer is given up at once."""
    monkeypatch.setattr(synth, "model_named", partial(authoring.model_named, attempts=2, first_wait=0.001))


# --- make --------------------------------------------------------------------------------------------------


def test_a_set_is_made_listed_and_can_be_used(cli):
    ran = cli(*SMALL)
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[0] == "3 of 3 environments are sound, in envs"
    made = read_manifest(Path("envs/set.yaml"))
    assert (made.ring, len(made.members), verify(made, Path("envs"))) == ("train", 3, [])
    assert made.digest[:16] in ran.out
    assert cli("env", "validate", f"envs/{made.members[0].path}", "--quick").code == 0
    assert cli("run", "envs/set.yaml", "--agent", "oracle").code == 0


def test_the_same_again_makes_nothing_and_says_the_same(cli):
    first = cli(*SMALL, "--json")
    ledger = Path("envs", LEDGER).read_bytes()
    second = cli(*SMALL, "--json")
    assert first.values == second.values
    assert Path("envs", LEDGER).read_bytes() == ledger
    [found] = first.values
    assert (found["asked"], found["made"], found["problems"]) == (3, 3, [])
    assert found["sets"]["set"]["members"] == 3


def test_what_is_asked_for_is_what_is_made(cli):
    words = ("--languages", "de", "--styles", "terse", "--depth", "2", "--knob", "rows=1", "--knob", "near=0")
    assert cli(*SMALL, *words, "--seed", "9", "--probe", "1").code == 0
    for each in read_manifest(Path("envs/set.yaml")).members:
        origin = each.origin
        assert (origin.seed, origin.language, origin.style, len(origin.capabilities)) == (9, "de", "terse", 2)
        assert origin.knobs == {"rows": 1, "near": 0}
        assert origin.family in ("refunds", "leave")


@pytest.fixture
def unjudged(monkeypatch):
    """Sets are made without the work of validating them."""

    def produce(self, origins, jobs):
        for origin in origins:
            environment, path = make(origin), place(self.folder, origin)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(write(environment))
            [request] = [person.opens for person in environment.people.values() if person.opens]
            key = structural_key(environment)
            yield synth.Product(origin=origin, digest=digest(environment), key=key, request=request)

    monkeypatch.setattr(synth.Workshop, "produce", produce)


def test_with_a_split_each_ring_has_its_list_and_nothing_is_shared(cli, unjudged):
    names = "A1,B1,C1,D1,E1,G2,H1"
    ran = cli("synth", "make", "envs", "-n", "30", "--split", "2", "--capabilities", names, "--seed", "2")
    assert (ran.code, ran.err) == (0, "")
    assert "✗" not in ran.out
    rings = ("train", "val-iid", "R0", "R1", "R2", "R3", "R4", "R5")
    manifests = [read_manifest(Path("envs", f"{ring}.yaml")) for ring in rings]
    assert [len(made.members) for made in manifests] == [30, *[2] * 7]
    assert [made.ring for made in manifests] == list(rings)
    assert check_splits(manifests) == []
    for made in manifests:
        assert verify(made, Path("envs")) == []
        assert made.digest[:16] in ran.out


def test_a_set_to_tune_by_is_of_the_same_kind_with_other_facts(cli, unjudged):
    ran = cli("synth", "make", "envs", "-n", "6", "--val", "3", "--capabilities", "A1,B2", "--seed", "2")
    assert (ran.code, ran.err) == (0, "")
    train, val = (read_manifest(Path("envs", f"{name}.yaml")) for name in ("train", "val-iid"))
    assert [(made.ring, made.role, len(made.members)) for made in (train, val)] == [
        ("train", "train", 6),
        ("val-iid", "validation", 3),
    ]
    assert not {each.digest for each in train.members} & {each.digest for each in val.members}
    both = cli("synth", "make", "envs", "-n", "6", "--val", "3", "--split", "2")
    assert (both.code, both.err) == (2, "coworkenv: --split makes a set to tune by already; leave --val out\n")


def test_what_is_wrong_with_a_split_is_told_and_gives_exit_code_1(cli, unjudged, monkeypatch):
    monkeypatch.setattr(synth, "check_splits", lambda manifests, texts: ["R1 has a style of train."])
    names = "A1,B1,C1,D1,E1,G2,H1"
    ran = cli("synth", "make", "envs", "-n", "16", "--split", "1", "--capabilities", names, "--seed", "2")
    assert ran.code == 1
    assert ran.lines[-1] == "  ✗ R1 has a style of train."


def test_what_cannot_be_made_is_in_the_table_with_the_reason(cli, monkeypatch):
    def none(self, origins, jobs):
        for origin in origins:
            yield synth.Product(origin=origin, failed=(17,), discarded=(17, 18), reason="weak")

    monkeypatch.setattr(synth.Workshop, "produce", none)
    Path("envs").mkdir()
    ran = cli(*SMALL)
    assert ran.code == 1
    assert ran.lines[0] == "0 of 3 environments are sound, in envs"
    assert "discarded       3  validator 17" in ran.out


BAD = {
    "a capability that there is none of": (
        ("--capabilities", "A1,A9"),
        "there is no capability 'A9'; there are A1, A2",
    ),
    "a family, nearly": (("--families", "refund"), "there is no family 'refund' (did you mean `refunds`?)"),
    "a language": (("--languages", "fr"), "there is no language 'fr'; there are en, de"),
    "a style": (("--styles", "formel"), "there is no style 'formel' (did you mean `formal`?)"),
    "no depth": (("--depth", "0-3"), "'0-3' is not a number of capabilities"),
    "a depth the wrong way round": (("--depth", "4-2"), "'4-2' is not a number of capabilities"),
    "a depth in small figures": (("--depth", "²"), "'²' is not a number of capabilities"),
    "a knob that there is none of": (("--knob", "hard=3"), "'hard=3' is no knob; there are rows=0…60"),
    "a knob turned too far": (("--knob", "rows=61"), "'rows=61' is no knob"),
    "a knob without a number": (("--knob", "rows"), "'rows' is no knob"),
    "no number": (("-n", "many"), "'many' is not a whole number"),
    "nothing at all": (("-n", "0"), "0 is not between 1 and 1000000"),
    "nothing that goes together": (("--capabilities", "H3", "--families", "leave"), "no such set can be planned"),
    "too little to split": (("--split", "2", "--styles", "plain"), "no such set can be planned"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_words_are_told_in_a_sentence_and_nothing_is_made(cli, name):
    words, sentence = BAD[name]
    ran = cli("synth", "make", "envs", "-j", "1", *words)
    assert ran.code == 2
    assert sentence in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert not Path("envs").exists()


@pytest.mark.parametrize("place", ["desk.yaml", "desk.yaml/envs"])
def test_a_place_where_nothing_can_be_written_is_named(cli, place):
    ran = cli("synth", "make", place, "-n", "1", "-j", "1")
    assert ran.code == 2
    assert "desk.yaml" in ran.err
    assert "Traceback" not in ran.err


MAIN = "import sys; from coworkenv.engine.cli import main; sys.exit(main())"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_and_the_same_command_goes_on(cli, jobs):
    words = ("synth", "make", "envs", "-n", "300", "-j", jobs, "--depth", "1")
    with subprocess.Popen([sys.executable, "-c", MAIN, *words], stderr=subprocess.PIPE, text=True) as process:
        ledger = Path("envs", LEDGER)
        until = time.monotonic() + 60
        while not (ledger.exists() and ledger.read_bytes().count(b"\n") >= 2) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "coworkenv: stopped. What was finished is in envs; the same command goes on from there.\n"
    lines = ledger.read_bytes().splitlines()
    assert 2 <= len(lines) < 300
    for line in lines:
        assert json.loads(line)["content"]
    assert not list(Path("envs").rglob("*.part"))


# --- list and report ---------------------------------------------------------------------------------------


def test_capabilities_and_families_are_listed(cli):
    ran = cli("synth", "list")
    assert "  A1  asks for a missing parameter before acting" in ran.lines
    [found] = cli("synth", "list", "--json").values
    assert list(found["capabilities"]) == list(FRAGMENTS)
    assert len(found["families"]) >= 24


def test_a_report_says_what_the_receipts_say_together(cli):
    assert cli("synth", "report", ".").code == 1
    cli(*SMALL)
    ran = cli("synth", "report", "envs")
    assert ran.code == 0
    assert ran.lines[0] == "3 of 3 environments are sound"


# --- models ------------------------------------------------------------------------------------------------


def draft(*words: str) -> tuple[str, ...]:
    return ("synth", "draft", "new/refund.yaml", "--capabilities", "A1", "--brief", "a refund", *words)


def test_a_draft_that_is_sound_is_written_with_its_receipt(cli, serve):
    flawed = SOUND.replace("any: [effective date]", "any: [something else]")
    server = serve(in_turn(completion(f"```yaml\n{flawed}```"), completion(f"```yaml\n{SOUND}```")))
    ran = cli(*draft("--model", "openai:m", "--base-url", server.url))
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[-1] == "sound  new/refund.yaml"
    assert "round 1:" in ran.out
    environment = read_environment(Path("new/refund.yaml"))
    assert not is_stale(environment)
    receipt = receipts.read(receipts.path_of(Path("new/refund.yaml")))
    assert receipt is not None
    assert receipt.digest == digest(environment)
    assert "A refund" in str(server.requests[0]) or "a refund" in str(server.requests[0])


def test_a_draft_that_is_not_is_discarded_with_the_reason_and_not_written(cli, serve):
    server = serve(lambda request: completion("I'd rather not."))
    ran = cli(*draft("--model", "openai:m", "--base-url", server.url, "--rounds", "1", "--json"))
    assert ran.code == 1
    [found] = ran.values
    assert found["file"] is None
    assert found["reason"]
    assert not Path("new").exists()


def test_without_a_model_server_there_is_no_draft_and_no_wording(cli, impatient):
    nowhere = ("--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
    ran = cli(*draft(*nowhere))
    assert ran.code == 1
    assert "gave no answer" in " ".join(ran.out.split())
    before = Path("desk.yaml").read_bytes()
    ran = cli("synth", "rewrite", "desk.yaml", *nowhere)
    assert ran.code == 1
    assert ran.err.startswith(
        "coworkenv: desk.yaml was not reworded, nor what comes after it: http://127.0.0.1:9/v1 gave"
    )
    assert Path("desk.yaml").read_bytes() == before


def test_where_there_is_no_server_the_first_of_many_files_is_the_last_to_be_tried(cli, serve, impatient):
    Path("other.yaml").write_bytes(Path("desk.yaml").read_bytes())
    server = serve(lambda request: Reply({"error": {"message": "no such model"}}, 404))
    ran = cli("synth", "rewrite", "desk.yaml", "other.yaml", "--model", "openai:m", "--base-url", server.url)
    assert ran.code == 1
    assert len(server.requests) == 1


@pytest.mark.parametrize("words", [draft(), ("synth", "rewrite", "desk.yaml")])
def test_ctrl_c_while_a_model_thinks_is_an_interruption(cli, serve, words):
    def answer(request):
        os.kill(os.getpid(), signal.SIGINT)
        return Reply(delay=60)

    ran = cli(*words, "--model", "openai:m", "--base-url", serve(answer).url)
    assert ran.code == 130
    assert ran.err == "coworkenv: interrupted\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (draft("--model", "openai:"), "model"),
        (draft(), "Missing option '--model'"),
        (draft("--model", "openai:m", "--capabilities", "Z1"), "there is no capability 'Z1'"),
        (draft("--model", "openai:m", "--capabilities", ","), "--capabilities names none"),
        (("synth", "rewrite", "nothing.yaml", "--model", "openai:m"), "there is no file, folder or example"),
    ],
)
def test_bad_words_for_models_are_told(cli, words, sentence):
    ran = cli(*words)
    assert ran.code == 2
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_rewording_keeps_what_says_the_same_and_says_why_the_rest_stays(cli, serve):
    cli(*SMALL, "-n", "1", "--languages", "en")
    [each] = read_manifest(Path("envs/set.yaml")).members
    path = Path("envs", each.path)
    before = read_environment(path)

    def answer(request):
        wanted = json.loads(request["messages"][1]["content"])
        texts = {name: f"{text} Thanks!" for name, text in wanted.items()}
        return completion(json.dumps({**texts, **dict.fromkeys(list(texts)[1:2], "Something else, 4711.")}))

    server = serve(answer)
    ran = cli("synth", "rewrite", "envs", "--model", "openai:m", "--base-url", server.url)
    assert ran.code == 0
    assert "texts reworded" in ran.out
    assert " refused: " in ran.out
    after = read_environment(path)
    assert digest(after) != digest(before)
    assert not is_stale(after)
    receipt = receipts.read(receipts.path_of(path))
    assert receipt is not None
    assert receipt.digest == digest(after)
    assert any((person.opens or "").endswith("Thanks!") for person in after.people.values())


# --- contamination -----------------------------------------------------------------------------------------


def test_what_repeats_a_benchmark_is_named_and_what_does_not_is_not(cli):
    cli(*SMALL, "--languages", "en")
    files = sorted(path for path in Path("envs").rglob("*.yaml") if path.name != "set.yaml")
    Path("tasks/T1").mkdir(parents=True)
    Path("tasks/T1/task.yaml").write_text(files[0].read_text())
    ran = cli("synth", "contamination", "envs", "--against", "tasks")
    assert ran.code == 1
    assert f"{files[0]}  is like T1/task.yaml" in ran.lines
    assert "words 1.00" in ran.out
    assert ran.lines[-1].endswith(" environments are like one of the 1 files in tasks")
    found = cli("synth", "contamination", str(files[0]), "--against", "tasks", "--json").values
    assert found[0]["words"] == 1
    Path("tasks/T1/task.yaml").write_text("The otters of the northern coast were counted in spring, as every year.")
    assert cli("synth", "contamination", "envs", "--against", "tasks").code == 0
    assert cli("synth", "contamination", "envs", "--against", "desk.yaml").code == 2
    Path("tasks/T1/task.yaml").write_bytes(b"\0")
    ran = cli("synth", "contamination", "envs", "--against", "tasks")
    assert (ran.code, ran.err) == (2, "coworkenv: there is no text in tasks to compare with (1 binary left out)\n")
