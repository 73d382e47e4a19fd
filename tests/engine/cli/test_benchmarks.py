"""Benchmarks from the command line: a checkout is played, verified, forked, graded by its own code, and summed up.

The checkouts are stand-ins of our own. With no sandbox at hand their code runs without one, as it may: it is ours.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
import trio

from coworkenv.engine.claw_eval import importing as claw_eval
from coworkenv.engine.claw_eval.scoring import Setup
from coworkenv.engine.clawmark import host as clawmark_host
from coworkenv.engine.foreign import refusal
from coworkenv.engine.tau2 import host as tau2_host
from coworkenv.worlds.claw_eval.surface.claw_eval.trace.reader import load_trace
from tests.loopback import completion

WORLDS = Path(__file__).parents[2] / "worlds"
CHECKOUTS = {"claw-eval": "claw_eval/tasks", "clawmark": "clawmark/checkout", "tau2": "tau2/checkout"}


@pytest.fixture(scope="session")
def unconfined() -> str | None:
    return trio.run(refusal)


@pytest.fixture
def unsafe(unconfined: str | None, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The words without which nothing would run here; and no checkout is named yet."""
    for host in (clawmark_host, tau2_host):
        monkeypatch.setattr(host.CHECKOUTS, "current", None)
        monkeypatch.delenv(host.CHECKOUTS.variable, raising=False)
    return ("--unsafe-graders",) if unconfined else ()


@pytest.fixture
def unnamed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """As in a new process: no checkout is named."""

    def forget() -> None:
        for host in (clawmark_host, tau2_host):
            monkeypatch.setattr(host.CHECKOUTS, "current", None)

    return forget


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        ignored = shutil.ignore_patterns("__pycache__")
        return Path(shutil.copytree(WORLDS / CHECKOUTS[name], tmp_path / name, ignore=ignored))

    return copied


@pytest.fixture
def judge(serve) -> str:
    """A judge's address; whatever it is asked, it finds half of it right."""
    return serve(lambda _: completion('{"score": 0.5, "reasoning": "so so", "rate": 0.5, "met": true}')).url


# --- all three -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "agent", "count", "scores"),
    [
        ("claw-eval", "noop", 3, ["0.4", "0.6", "0.4"]),
        ("clawmark", "noop", 1, ["0.25"]),
        ("tau2", "oracle", 4, ["1", "1", "1", "1"]),
    ],
)
def test_a_checkout_is_played_and_graded_by_its_own_code(cli, checkout, judge, unsafe, name, agent, count, scores):
    path = checkout(name)
    only = ("--only", "K0[124]*") if name == "claw-eval" else ()
    graders = ("--graders", path, "--judge", "strict", *unsafe)
    ran = cli("run", path, "--agent", agent, *only, *graders, "--base-url", judge, "-o", "judge.attempts=1", "--json")
    *results, summary = ran.values
    assert (ran.code, len(results), summary["agents"][agent]["graded"]) == (0, count, count), ran.err
    assert [result["grade"]["score"] for result in results] == scores
    assert all(result["grade"]["rule"] == name for result in results)
    assert cli("verify", "--all").code == 0
    assert "ended" in cli("show", results[0]["id"], "--events").out
    again = cli("grade", "--all", *graders, "--base-url", judge, "-o", "attempts=1", "--json").values
    assert [each["grade"]["score"] for each in again] == scores
    standing = cli("report", "--json").values[0]
    assert (standing["rule"], standing["environments"]) == (name, count)


@pytest.mark.parametrize("name", CHECKOUTS)
def test_what_takes_a_judge_says_so_and_the_rest_is_graded(cli, checkout, unsafe, name):
    path = checkout(name)
    agent = "noop" if name == "claw-eval" else "oracle" if name == "tau2" else "readonly"
    ran = cli("run", path, "--agent", agent, "--only", "*[!e]", "--graders", path, *unsafe, "--json")
    *results, _ = ran.values
    ungraded = [result["ungraded"] for result in results if result["ungraded"]]
    assert all("name a model that judges" in each for each in ungraded)
    assert len(ungraded) == {"claw-eval": 1, "clawmark": 0, "tau2": 1}[name]
    assert ran.code == int(bool(ungraded))
    assert any(result["grade"] for result in results)


def test_episodes_of_two_who_act_are_forked_and_go_on(cli, checkout, unsafe):
    path = checkout("tau2")
    [result, _] = cli("run", path, "--agent", "oracle", "--only", "tau2.library.pay*", *unsafe, "--json").values
    events = cli("show", result["id"], "--json").values
    ran = cli("fork", result["id"], "--at", "4", "--agent", "noop", "--json")
    assert (ran.code, ran.values[0]["status"]) == (0, "ended"), (ran.err, events)
    assert cli("verify", "--all", "--foreign").code == 0
    graded = cli("grade", "--all", "--graders", path, *unsafe, "--json").values
    assert [each["grade"]["score"] for each in graded] == ["1", "0"]


def test_what_takes_a_checkout_that_is_nowhere_is_refused_with_what_to_do(cli, checkout, unsafe, unnamed, monkeypatch):
    path = checkout("tau2")
    [result, _] = cli("run", path, "--agent", "oracle", "--only", "tau2.library.lend", *unsafe, "--json").values
    unnamed()
    fork = ("fork", result["id"], "--at", "4", "--seed", "7")
    refused = cli(*fork)
    assert (refused.code, refused.out, tau2_host.CHECKOUTS.variable in refused.err) == (2, "", True)
    assert "add --graders CHECKOUT" in refused.err
    assert [row["id"] for row in cli("list", "--json").values] == [result["id"]]
    assert cli("verify", result["id"], "--foreign").code == 2
    if unsafe:
        return  # Named by the environment, it would need a sandbox.
    monkeypatch.setenv(tau2_host.CHECKOUTS.variable, str(path))
    assert cli(*fork, "--json").values[0]["status"] == "ended"


@pytest.mark.parametrize("name", ["clawmark", "tau2"])
def test_a_checkout_is_named_alike_wherever_its_code_is_wanted_again(cli, checkout, unsafe, unnamed, name):
    path = checkout(name)
    who = ("oracle", "--only", "tau2.library.lend") if name == "tau2" else ("explore",)
    [result, _] = cli("run", path, "--agent", *who, *unsafe, "--json").values
    code = ("--graders", path, *unsafe)
    unnamed()
    refused = cli("verify", "--all", "--foreign", "--json")
    assert (refused.code, [found["verdict"] for found in refused.values]) == (2, ["not driven"])
    assert "add --graders CHECKOUT" in refused.values[0]["says"]
    assert cli("verify", "--all", "--foreign", *code).code == 0
    unnamed()
    assert cli("fork", result["id"], "--at", "4", "--seed", "7").code == 2
    again = cli("fork", result["id"], "--at", "4", "--seed", "8", *code, "--json").values[0]
    assert (again["status"], again["grade"]["rule"]) == ("ended", name)


@pytest.mark.parametrize("name", ["clawmark", "tau2"])
def test_code_that_has_changed_or_vanished_is_neither_driven_nor_gone_on_with(
    cli, checkout, unsafe, unnamed, tmp_path, name
):
    path = checkout(name)
    who = ("oracle", "--only", "tau2.library.lend") if name == "tau2" else ("explore",)
    [result, _] = cli("run", path, "--agent", *who, *unsafe, "--json").values
    changed = path / ("src/tau2/domains/library/environment.py" if name == "tau2" else "tasks/shop/task1/task.py")
    changed.write_text(changed.read_text() + "# another\n")
    unnamed()
    code = ("--graders", path, *unsafe)
    told = cli("verify", "--all", "--foreign", *code)
    assert (told.code, "is not what this episode was begun with" in " ".join(told.out.split())) == (2, True), told.out
    forked = cli("fork", result["id"], "--at", "4", "--seed", "7", *code)
    assert (forked.code, "is not what this episode was begun with" in forked.err) == (2, True)
    assert len(cli("list", "--json").values) == 1
    path.rename(tmp_path / "elsewhere")
    for words in (("resume", "--all"), ("verify", "--all", "--foreign"), ("fork", result["id"], "--at", "4")):
        told = cli(*words, *code)
        assert (told.code, f"{path} is no checkout of a benchmark" in told.err) == (2, True), told.err


def test_one_that_cannot_be_driven_again_keeps_no_other_from_it(cli, checkout, unsafe, unnamed):
    cli("run", checkout("clawmark"), "--agent", "noop", *unsafe)
    path = checkout("tau2")
    cli("run", path, "--agent", "oracle", "--only", "tau2.library.lend", *unsafe)
    unnamed()
    told = cli("verify", "--all", "--foreign", "--graders", path, *unsafe)
    assert (told.code, "1 of 2 are sound" in told.out) == (2, True), told.out
    assert cli("verify", "--all", "--graders", path).code == 2


def test_files_that_a_checkout_lacks_are_named(cli, checkout, unsafe):
    path = checkout("tau2")
    (path / "data/tau2/domains/library/db.json").unlink()
    ran = cli("run", path, "--agent", "noop", *unsafe)
    assert (ran.code, "data/tau2/domains/library/db.json" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("grade", "--all", "--graders", "."), "no checkout of a benchmark that is known here"),
        (("grade", "--all", "--judge", "m"), "name their checkout with --graders"),
        (("grade", "--all", "--graders", "tau2", "-o", "seed=1"), "name one with --judge"),
        (("grade", "--all", "--graders", "tau2", "--judge", "m", "-o", "wit=1"), "the judge cannot be asked so"),
        (("grade", "--all", "--graders", "tau2", "--with", "desk.yaml"), "either --with or --graders"),
        (("run", "desk.yaml", "--agent", "noop", "-o", "judge.seed=1"), "name their checkout with --graders"),
    ],
)
def test_graders_that_cannot_be_had_are_told_before_anything_runs(cli, checkout, played, words, says):
    checkout("tau2")
    ran = cli(*words)
    assert (ran.code, says in ran.err) == (2, True), ran.err


def test_graders_of_another_benchmark_grade_nothing(cli, checkout, played):
    checkout("tau2")
    path = checkout("claw-eval")
    cli("run", path, "--agent", "noop", "--only", "K01*")
    ran = cli("grade", "--all", "--graders", "tau2", "--json")
    says = [each["says"] for each in ran.values if not each["graded"]]
    assert (ran.code, len(ran.values), len(says)) == (1, 3, 1)  # Our own environments have checks of their own.
    assert "is of claw-eval, and tau2 is a checkout of tau2" in says[0]


def test_tasks_that_nobody_was_named_to_grade_say_what_to_type(cli, checkout):
    told = cli("run", checkout("claw-eval"), "--agent", "noop", "--only", "K01*")
    assert told.code == 0
    assert "1 is a task of claw-eval, whose own code grades: add --graders CHECKOUT" in told.out
    assert "it is a task of claw-eval, whose own code grades: add --graders CHECKOUT" in cli("grade", "--all").out
    assert "with `--graders CHECKOUT` where they are a benchmark's" in " ".join(cli("report").out.split())


def test_several_checkouts_grade_each_their_own_and_two_of_one_benchmark_are_refused(cli, checkout, unsafe):
    tau2, claw = checkout("tau2"), checkout("claw-eval")
    both = ("--graders", tau2, "--graders", claw, *unsafe)
    ran = cli("run", tau2, claw, "--agent", "noop", "--only", "K01*", *both, "--json")
    cli("run", tau2, "--agent", "oracle", "--only", "tau2.library.lend", *unsafe)
    graded = cli("grade", "--all", *both, "--json")
    assert {each["grade"]["rule"] for each in graded.values} == {"tau2", "claw-eval"}, (ran.err, graded.out)
    other = shutil.copytree(tau2, tau2.with_name("other"))
    for words in (("grade", "--all"), ("verify", "--all", "--foreign"), ("resume", "--all")):
        told = cli(*words, "--graders", tau2, "--graders", other)
        assert (told.code, told.err) == (
            2,
            f"coworkenv: {tau2} and {other} are both checkouts of tau2; name one of them\n",
        )


def test_what_cannot_be_audited_says_how_to_look_at_it(cli, checkout):
    path = checkout("tau2")
    ran = cli("env", "audit", path)
    assert (ran.code, f"coworkenv run {path} --agent noop --graders {path}" in ran.err) == (2, True)
    assert cli("env", "audit", checkout("claw-eval")).code in (0, 1)


def test_a_models_episodes_of_a_benchmark_are_demonstrations_where_its_graders_say_so(
    cli, checkout, unsafe, serve, tmp_path
):
    path = checkout("claw-eval")
    asked = ("--teacher", "openai:m", "--base-url", serve(lambda _: completion("behave")).url)
    graders = ("--graders", path, *unsafe)
    told = cli("learn", "demos", path, "--only", "K0[13]*", *asked, *graders, "--out", "demos", "--json")
    assert told.code == 0, told.err
    [line] = (tmp_path / "demos" / "accepted.jsonl").read_text().splitlines()
    assert json.loads(line)["environment"] == "K03_hostile"
    ran = cli("learn", "demos", checkout("tau2"), "--out", "others", *unsafe)
    assert (ran.code, ran.err.count("name openai:MODEL")) == (2, 1)


# --- traces ----------------------------------------------------------------------------------------------


def test_an_episode_is_exported_as_claw_evals_own_trace_with_its_grade(cli, checkout, unsafe, played, tmp_path):
    path = checkout("claw-eval")
    [result, _] = cli("run", path, "--agent", "noop", "--only", "K01*", "--graders", path, *unsafe, "--json").values
    assert cli("export", result["id"], "--format", "claw-eval", "-o", "trace.jsonl").code == 0
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert (lines[-1]["type"], lines[-1]["task_score"], lines[-1]["passed"]) == ("grading_result", 0.4, False)
    assert load_trace(tmp_path / "trace.jsonl")[0]["task_id"] == "K01_answer_the_customer"
    ran = cli("export", played["noop"], "--format", "claw-eval", "-o", "other.jsonl")
    assert (ran.code, "no task of Claw-Eval" in ran.err) == (2, True)
    assert not (tmp_path / "other.jsonl").exists()


# --- hostile folders -------------------------------------------------------------------------------------

#: What a grader does, and a word of what is said of it.
DEEDS = {
    "loop": "seconds",
    "fork": "",
    "allocate": "",
    "connect": "",
    "write": "",
    "fail": "LookupError",
    "leave": "code 7",
    "nothing": "no number",
    "words": "no number",
    "peek": "no digest",
}


def test_hostile_graders_are_contained_and_told_of(cli, checkout, unconfined, monkeypatch, tmp_path):
    if unconfined:
        pytest.skip(unconfined)
    monkeypatch.setattr(claw_eval, "Setup", partial(Setup, seconds=5.0))
    path = checkout("claw-eval")
    deeds = [*DEEDS, "shout", "behave"]
    for deed in deeds:
        (tmp_path / f"{deed}.yaml").write_text(f"[{{finish: {deed}}}]")
    agents = [word for deed in deeds for word in ("--agent", f"script:{deed}.yaml")]
    assert cli("run", path, "--only", "K03*", *agents).code == 0
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    ran = cli("grade", "--all", "--graders", path, "--json")
    assert (ran.code, len(ran.values)) == (1, len(deeds))
    for deed, found in zip(deeds, ran.values, strict=True):
        assert found["graded"] == (deed not in DEEDS), (deed, found)
        says = found.get("says", "")
        assert DEEDS.get(deed, "") in says, (deed, says)
        assert len(says) < 2500
        assert says.isprintable()
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    assert cli("verify", "--all").code == 0


def test_without_a_sandbox_nothing_runs_unless_it_is_told_to(cli, checkout, unconfined):
    if not unconfined:
        pytest.skip("code can be confined here")
    path = checkout("claw-eval")
    ran = cli("run", path, "--agent", "noop", "--only", "K01*", "--graders", path, "--json")
    assert (ran.code, "does not let a user confine" in ran.values[0]["ungraded"]) == (1, True)


def spoilt(folder: Path, name: str, changes: Sequence[tuple[str, str]]) -> Path:
    """A copy of a good task, in which texts of its `task.yaml` are others."""
    made = folder / name
    shutil.copytree(folder / "K01_answer_the_customer", made)
    text = (made / "task.yaml").read_text().replace("K01_answer_the_customer", name)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (made / "task.yaml").write_text(text)
    return made


def test_hostile_files_are_told_of_one_by_one_and_the_others_are_played(cli, checkout, tmp_path):
    path = checkout("claw-eval")
    inbox = "fixtures/gmail/inbox.json"
    (spoilt(path, "X1_bad_json", []) / inbox).write_text('[{"message_id": "m1",')
    with (spoilt(path, "X2_huge", []) / inbox).open("wb") as file:
        file.truncate(1 << 40)
    spoilt(path, "X3_escape", [(f"tasks/X3_escape/{inbox}", "tasks/../../../etc/passwd")])
    spoilt(path, "X4_bomb", [("prompt:", "bomb: &a [x, x]\nmore: [*a, *a]\nprompt:")])
    (spoilt(path, "X5_link", []) / inbox).unlink()
    (path / "X5_link" / inbox).symlink_to("/etc/passwd")
    (spoilt(path, "X6_not_utf8", []) / "task.yaml").write_bytes(b"\xff\xfe\x00task_id: x")
    ran = cli("run", path, "--agent", "noop", "--json")
    *results, summary = ran.values
    assert (ran.code, summary["ended"]) == (1, len(results))
    assert {result["environment"][:2] for result in results} >= {"K0"}
    played = {result["environment"][:2] for result in results}
    told = {name for name in ("X1", "X2", "X3", "X4", "X5", "X6") if f"/{name}_" in ran.err}
    assert {"X1", "X2", "X3", "X5", "X6"} <= told
    assert not told & played
    assert "root:" not in ran.err
