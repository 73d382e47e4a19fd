"""The verbs of an episode, as somebody types them: what is printed, what is kept, and the exit code."""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
from pathlib import Path

import msgspec
import pytest

from coworkenv.events import SqliteLog
from coworkenv.events.chain import GENESIS, link
from coworkenv.events.codec import Blob, references
from tests.loopback import Reply, completion, in_turn

LOOKS = completion("", [("shop_lines_find", {"order": "O-5512"})])
FINISHES = completion("", [("finish", {})])

# --- run ---------------------------------------------------------------------------------------------------


def test_an_example_is_played_by_name_and_its_grade_is_told(cli):
    ran = cli("run", "refund", "--agent", "oracle")
    assert ran.code == 0
    assert "1.00 passed" in ran.out
    assert "finance.refund/0007" in ran.out
    assert Path("coworkenv.db").exists()


def test_results_are_one_json_object_a_line_and_then_a_summary(cli):
    *results, summary = cli("run", "desk.yaml", "-a", "oracle", "-a", "noop", "--trials", "2", "--json").values
    assert [result["type"] for result in results] == ["result"] * 4
    assert {(result["agent"], result["trial"], result["seed"]) for result in results} == {
        ("oracle", 0, 0),
        ("oracle", 1, 1),
        ("noop", 0, 0),
        ("noop", 1, 1),
    }
    assert summary["episodes"] == summary["ended"] == 4
    assert summary["agents"]["oracle"] == {
        "graded": 2,
        "not_graded": 0,
        "suspended": 0,
        "error": 0,
        "failed": 0,
        "mean": 1.0,
        "pass_at_1": 1.0,
        "trials": 2,
        "pass_hat": 1.0,
    }
    assert summary["agents"]["noop"]["mean"] == 0.0


def test_an_episode_that_is_in_the_log_is_kept_and_said_to_be(cli):
    first = cli("run", "desk.yaml", "-a", "oracle", "--json").values[0]
    again = cli("run", "desk.yaml", "-a", "oracle", "--json").values[0]
    assert (first["kept"], again["kept"]) == (False, True)
    assert first["id"] == again["id"]
    assert "were not played again" in cli("run", "desk.yaml", "-a", "oracle").out
    assert len(cli("list", "--json").lines) == 1


def test_twins_are_played_on_demand_and_can_be_chosen_by_a_pattern(cli):
    assert len(cli("run", "desk.yaml", "-a", "oracle", "--twins", "--json").values) == 4
    [result, _] = cli("run", "desk.yaml", "-a", "oracle", "--twins", "--only", "*@other-price", "--json").values
    assert result["environment"] == "desk.refund/1@other-price"


def test_a_folder_of_environments_is_played_and_other_files_in_it_are_not(cli):
    Path("tasks/inner").mkdir(parents=True)
    source = Path("desk.yaml").read_text()
    Path("tasks/inner/one.yaml").write_text(source)
    Path("tasks/two.yml").write_text(source.replace("desk.refund/1", "desk.refund/2"))
    Path("tasks/notes.yaml").write_text("a: 1\n")
    results = cli("run", "tasks", "-a", "noop", "--json").values[:-1]
    assert {result["environment"] for result in results} == {"desk.refund/1", "desk.refund/2"}


def claw_eval(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text("task_id: T1\nprompt: {text: Say hello., language: en}\n")


def test_claw_eval_tasks_are_recognised_alone_in_a_folder_and_by_their_file(cli):
    claw_eval(Path("tasks/T1"))
    for path in ("tasks", "tasks/T1", "tasks/T1/task.yaml"):
        [result, summary] = cli("run", path, "-a", "noop", "--json").values
        assert result["environment"] == "T1"
        assert result["grade"] is None
        assert summary["agents"]["noop"]["not_graded"] == 1
    assert "1 is a task of claw-eval, whose own code grades" in cli("run", "tasks", "-a", "noop").out


def test_what_is_asked_for_in_vain_and_what_is_passed_over_is_noted(cli):
    claw_eval(Path("tasks/T1"))
    for name in ("T2", "T3"):
        Path("tasks", name, "fixtures").mkdir(parents=True)
    ran = cli("run", "tasks", "-a", "noop", "--twins", "--mode", "upstream", "--json")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "coworkenv: 2 folders have no task.yaml in tasks",
        "coworkenv: --twins changes nothing: nothing here has twins",
    ]
    ran = cli("run", "desk.yaml", "-a", "noop", "--twins", "--mode", "sane", "--json")
    assert (ran.code, ran.err) == (0, "coworkenv: --mode changes nothing: nothing here is a task of Claw-Eval\n")


def test_a_device_is_neither_a_file_nor_a_folder(cli):
    assert cli("run", "/dev/null", "-a", "noop").err == "coworkenv: /dev/null is neither a file nor a folder\n"


def test_one_task_that_cannot_be_read_does_not_hide_the_others(cli):
    claw_eval(Path("tasks/T1"))
    claw_eval(Path("tasks/T2"))
    Path("tasks/T2/task.yaml").write_text("task_id: [\n")
    ran = cli("run", "tasks", "-a", "noop", "--json")
    assert ran.code == 1
    assert len(ran.values) == 2
    assert "T2" in ran.err
    Path("mine").mkdir()
    Path("mine/one.yaml").write_text(Path("desk.yaml").read_text())
    assert len(cli("run", "tasks", "mine", "-a", "noop", "--json").values) == 3


def test_a_trap_that_an_environment_lacks_is_told_with_those_that_it_has(cli):
    ran = cli("run", "desk.yaml", "-a", "trap:pays-thrice")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("coworkenv: there is no trap `pays-thrice` in desk.refund/1 (did you mean `pays-twice`?)")
    assert "; there is no-approval, pays-twice" in ran.err
    assert not Path("coworkenv.db").exists()


def test_an_environment_without_the_agent_asked_for_does_not_hide_the_others(cli):
    claw_eval(Path("tasks/T1"))
    ran = cli("run", "tasks", "desk.yaml", "-a", "oracle", "--json")
    assert ran.code == 1
    assert [value.get("environment") for value in ran.values] == ["desk.refund/1", None]
    assert "there is no oracle in T1" in ran.err


def test_a_model_that_answers_is_played_and_verified_without_being_asked_again(cli, serve):
    server = serve(
        in_turn(completion("", [("shop_lines_find", {"order": "O-5512"})]), completion("", [("finish", {})]))
    )
    ran = cli("run", "desk.yaml", "-a", "openai:m", "--base-url", server.url, "-o", "temperature=0.5", "--json")
    assert ran.code == 0
    assert [request["temperature"] for request in server.requests] == [0.5, 0.5]
    name = ran.values[0]["id"]
    assert cli("verify", name).code == 0
    assert len(server.requests) == 2
    timeline = cli("show", name).out
    assert "thinks 2.4 s · 20 tokens" in timeline
    assert "shop.lines.find" in timeline


def test_a_server_that_is_down_suspends_the_episode_with_the_reason_and_what_to_type(cli, serve):
    answers = [Reply(status=401, body={"error": {"message": "no such key"}}), FINISHES]
    server = serve(in_turn(*answers))
    ran = cli("run", "desk.yaml", "-a", "openai:m", "--base-url", server.url)
    assert ran.code == 1
    assert "no such key" in ran.out
    assert "coworkenv resume --all" in ran.out
    assert "suspended" in cli("list").out
    resumed = cli("resume", "--all", "--json")
    assert resumed.code == 0
    assert resumed.values[0]["status"] == "ended"
    assert "No episode is suspended" in cli("resume", "--all").out


# --- list and show -----------------------------------------------------------------------------------------


def test_the_list_can_be_narrowed(cli, played):
    assert len(cli("list", "--json").lines) == 2
    assert [row["id"] for row in cli("list", "--agent", "no*", "--json").values] == [played["noop"]]
    assert [row["id"] for row in cli("list", "--failed", "--json").values] == [played["noop"]]
    assert len(cli("list", "--last", "1", "--json").lines) == 1
    assert "No episodes" in cli("list", "--environment", "x*").out
    assert cli("list", "--json").values[0]["grade"]["score"] in ("0", "1")


def test_an_episode_is_drawn_from_the_beginning_of_its_id(cli, played):
    ran = cli("show", played["oracle"][:6])
    assert ran.code == 0
    assert "world" in ran.out
    assert "payments.refunds.create" in ran.out
    assert max(map(len, ran.lines)) <= 100


def test_each_view_of_an_episode(cli, played):
    name = played["oracle"]
    assert "episode.started" in cli("show", name, "--events").out
    assert "Hi! Please refund the lamp of order O-5512." in cli("show", name, "--messages").out
    assert "payments.refunds  1 record" in cli("show", name, "--state").out
    assert "payments.refunds" not in cli("show", name, "--state", "--at", "5").out
    assert len(cli("show", name, "--events", "--at", "5").lines) == 2 + 6
    assert cli("show", name, "--event", "1").values[0]["body"]["type"] == "message.sent"
    assert cli("show", name, "--json").values[0]["moments"][0]["kind"] == "happened"
    assert cli("show", name, "--state", "--json").values[0]["state"]["payments"]["refunds"]


def test_a_prompt_can_be_read_as_the_model_read_it(cli, serve):
    server = serve(
        in_turn(completion("", [("shop_lines_find", {"order": "O-5512"})]), completion("", [("finish", {})]))
    )
    name = cli("run", "desk.yaml", "-a", "openai:m", "--base-url", server.url, "--json").values[0]["id"]
    events = cli("show", name, "--events", "--json").values[0]["events"]
    asked = [event["seq"] for event in events if event["body"]["type"] == "effect.requested"]
    prompt = cli("show", name, "--prompt", str(asked[-1]), "--json").values[0]["prompt"]
    sent = server.requests[-1]["messages"]
    assert [message["role"] for message in prompt if "role" in message] == [message["role"] for message in sent]
    assert "O-5512" in cli("show", name, "--prompt", str(asked[-1])).out
    assert cli("show", name, "--prompt", "1").code == 2


def test_an_episode_can_be_drawn_into_a_file(cli, played):
    assert cli("show", played["oracle"], "--svg", "episode.svg").code == 0
    assert Path("episode.svg").read_text("utf-8").startswith("<svg")
    Path("mine.svg").write_text("mine")
    ran = cli("show", played["oracle"], "--svg", "mine.svg")
    assert (ran.code, Path("mine.svg").read_text()) == (2, "mine")
    assert "--force replaces it" in ran.err
    assert cli("show", played["oracle"], "--svg", "mine.svg", "--force").code == 0
    assert Path("mine.svg").read_bytes() == Path("episode.svg").read_bytes()


def test_what_was_observed_at_an_event_is_listed_and_a_traceback_shown_in_full(cli, played):
    log = SqliteLog("coworkenv.db")
    log.put_observation(played["noop"], 3, "response", b'{"raw": "\xc3\xa4"}')
    log.put_observation(played["noop"], 3, "traceback", b"Traceback:\n  File x\x1b[2J\nValueError: no")
    log.close()
    ran = cli("show", played["noop"], "--event", "3")
    assert "observed response, 13 bytes" in ran.out
    assert "observed traceback, 38 bytes" in ran.out
    assert "    File x\\x1b[2J\n  ValueError: no\n" in ran.out
    [event] = cli("show", played["noop"], "--event", "3", "--json").values
    assert event["observed"] == [{"name": "response", "bytes": 13}, {"name": "traceback", "bytes": 38}]
    assert "observed" not in cli("show", played["noop"], "--event", "2").out


# --- verify and grade --------------------------------------------------------------------------------------


def test_all_that_is_in_a_log_can_be_verified(cli, played):
    ran = cli("verify", "--all")
    assert ran.code == 0
    assert ran.out.count("identical") == 2
    assert "4 of 4 are sound." in ran.out
    assert all(found["good"] for found in cli("verify", "--all", "--json").values)


def test_one_changed_byte_is_found_and_the_event_named(cli, played):
    with sqlite3.connect("coworkenv.db") as database:
        database.execute("UPDATE event SET data = replace(data, 'RMA-7741', 'RMA-7742') WHERE seq = 7")
    ran = cli("verify", "--all")
    assert ran.code == 1
    assert "damaged" in ran.out
    assert "event 7 was changed" in ran.out
    assert "3 of 4 are sound." in ran.out


def test_an_event_that_execution_does_not_give_is_shown_in_both_versions(cli, played):
    forge(played["oracle"], 5, b"What is", b"Whatever is")
    ran = cli("verify", played["oracle"], "--log", "forged.db")
    assert ran.code == 1
    assert "different" in ran.out
    assert "body.text" in ran.out
    assert "- log        Whatever is" in ran.out
    assert "+ execution  What is" in ran.out
    [found] = cli("verify", played["oracle"], "--log", "forged.db", "--json").values
    assert (found["verdict"], found["seq"], found["good"]) == ("different", 5, False)


def forge(stream: str, seq: int, old: bytes, new: bytes) -> None:
    """Another log, with an event changed and everything made to fit, as damage never would."""
    log, forged = SqliteLog("coworkenv.db"), SqliteLog("forged.db")
    digest, events, blobs = GENESIS, [], []
    for number, data, _ in log.read_raw(stream):
        data = data.replace(old, new) if number == seq else data
        digest = link(digest, data)
        events.append((number, data, digest))
        blobs += [Blob(name, log.blob(name)) for name in references(data)]
    row = msgspec.structs.replace(log.row(stream), digest=digest.hex())
    forged.restore([row, *blobs, *events])
    log.close()
    forged.close()


def test_a_grade_shows_each_check_and_the_events_that_decide_it(cli, played):
    ran = cli("grade", played["oracle"], played["noop"])
    assert ran.code == 0
    assert re.search(r"✓ +×4 refunded .*\[14\]", ran.out)
    assert re.search(r"✗ +×4 refunded", ran.out)
    grades = cli("grade", "--all", "--json").values
    assert {grade["grade"]["score"] for grade in grades} == {"0", "1"}


def test_an_old_log_can_be_graded_by_other_checks(cli, played):
    Path("stricter.yaml").write_text(
        Path("desk.yaml")
        .read_text()
        .replace("checks:\n", "checks:\n  never-a-word: {gate: true, never: {said: lena}}\n")
    )
    before = cli("show", played["oracle"], "--events").out
    [graded] = cli("grade", played["oracle"], "--with", "stricter.yaml", "--json").values
    assert graded["grade"]["score"] == "0"
    assert "never-a-word" in [check["check"] for check in graded["grade"]["checks"]]
    assert cli("show", played["oracle"], "--events").out == before
    assert cli("list", "--agent", "oracle", "--json").values[0]["grade"]["score"] == "1"


# --- fork --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (["--seed", "4"], {"seed": 4}),
        (["--agent", "noop"], {"agent": {"kind": "noop"}}),
        (["--coworker", "tomas=rules"], {"coworkers": {"tomas": {"kind": "rules"}}}),
        (["--message", "tomas:agent:Stop: now"], {"messages": [{"from": "tomas", "to": "agent", "text": "Stop: now"}]}),
        (
            ["--set", "shop.lines:L-1.price=99.50"],
            {
                "records": [
                    {
                        "type": "record.changed",
                        "service": "shop",
                        "collection": "lines",
                        "key": "L-1",
                        "set": {"price": 99.5},
                    }
                ]
            },
        ),
        ([], {}),
    ],
)
def test_a_fork_keeps_the_past_and_changes_what_it_was_told_to(cli, played, words, changes):
    ran = cli("fork", played["oracle"], "--at", "8", *words, "--json")
    assert ran.code == 0, ran.err
    [fork] = ran.values
    assert fork["parent"] == played["oracle"]
    old, new = (cli("show", name, "--events", "--json").values[0]["events"] for name in (played["oracle"], fork["id"]))
    [forked] = [event for event in new if event["body"]["type"] == "episode.forked"]
    assert forked["seq"] > 8
    assert new[: forked["seq"]] == old[: forked["seq"]]
    assert forked["body"].get("changes", {}) == changes
    assert cli("verify", fork["id"]).code == 0
    assert cli("show", fork["id"]).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--at", "999"],
        ["--at", "-1"],
        ["--at", "8", "--agent", "orcale"],
        ["--at", "8", "--agent", "trap:pays-thrice"],
        ["--at", "8", "--coworker", "nobody=rules"],
        ["--at", "8", "--coworker", "tomas"],
        ["--at", "8", "--message", "tomas:agent"],
        ["--at", "8", "--message", "tomas:everyone:hi"],
        ["--at", "8", "--set", "shop.lines:L-9.price=1"],
        ["--at", "8", "--set", "shop.rows:L-1.price=1"],
        ["--at", "8", "--set", "price=1"],
    ],
)
def test_a_change_that_does_not_fit_is_refused_in_a_sentence(cli, played, words):
    ran = cli("fork", played["oracle"], *words)
    assert ran.code == 2
    assert ran.err.startswith("coworkenv: ")
    assert "Traceback" not in ran.err
    assert len(cli("list", "--json").lines) == 2


# --- diff, stats, export, import ---------------------------------------------------------------------------


def test_two_episodes_are_compared_from_where_they_part(cli, played):
    ran = cli("diff", played["oracle"], played["noop"])
    assert ran.code == 1
    assert "agent.kind: oracle ≠ noop" in ran.out
    assert "up to event 2" in ran.out
    [found] = cli("diff", played["oracle"], played["noop"], "--json").values
    assert found["seq"] == 3
    assert cli("diff", played["oracle"], played["oracle"]).code == 0


def test_a_comparison_of_two_environments_says_so_first(cli):
    results = cli("run", "desk.yaml", "-a", "noop", "--twins", "--json").values[:2]
    ran = cli("diff", *(result["id"] for result in results))
    assert ran.lines[0] == "They play in different environments."


def test_a_log_and_an_episode_can_be_counted(cli, played):
    assert "2 with" in cli("stats").out
    [one] = cli("stats", played["oracle"], "--json").values
    [both] = cli("stats", "--json").values
    assert one["calls"] == both["calls"] == 2
    assert both["events"] > one["events"]


def test_a_failing_import_names_the_file_and_leaves_no_new_log(cli, played):
    assert cli("export", played["oracle"], "-o", "good.gz").code == 0
    Path("bad.gz").write_bytes(Path("good.gz").read_bytes()[:-40])
    Path("folder").mkdir()
    for words in (["good.gz", "bad.gz"], ["bad.gz"]):
        for log in ("new.db", "coworkenv.db"):
            ran = cli("import", *words, "--log", log)
            assert (ran.code, ran.out) == (2, "")
            assert ran.err.startswith("coworkenv: bad.gz: ")
    assert cli("import", "folder", "--log", "new.db").err.startswith("coworkenv: folder is a folder")
    assert not Path("new.db").exists()


def test_what_is_imported_again_is_said_to_be_there(cli, played):
    cli("export", played["oracle"], "-o", "a.gz")
    assert "already there" in cli("import", "a.gz").out
    assert "already there" not in cli("import", "a.gz", "--log", "new.db").out
    assert {row["kept"] for row in cli("import", "a.gz", "--json").values} == {True}


def test_an_episode_travels_in_a_file_and_arrives_as_it_was_with_its_grade(cli, played):
    assert cli("export", played["oracle"], "-o", "a.gz").code == 0
    assert cli("export", played["oracle"], "-o", "b.gz").code == 0
    assert Path("a.gz").read_bytes() == Path("b.gz").read_bytes()
    assert cli("import", "a.gz", "--log", "other.db").code == 0
    assert cli("import", "a.gz", "--log", "other.db").code == 0
    assert cli("verify", "--all", "--log", "other.db").code == 0
    [row] = cli("list", "--json", "--log", "other.db").values
    assert row["grade"]["score"] == "1"
    assert cli("show", played["oracle"], "--log", "other.db").out == cli("show", played["oracle"]).out


def test_a_file_that_is_there_is_not_written_over_by_accident(cli, played):
    Path("a.gz").write_text("precious")
    assert cli("export", played["oracle"], "-o", "a.gz").code == 2
    assert Path("a.gz").read_text() == "precious"
    assert cli("export", played["oracle"], "-o", "a.gz", "--force").code == 0
    assert gzip.decompress(Path("a.gz").read_bytes())
    assert not list(Path().glob("*part"))


def test_an_export_takes_the_place_of_no_device(cli, played):
    Path("device").symlink_to(os.devnull)
    assert cli("export", played["oracle"], "-o", "device", "--force").code == 0
    assert Path("device").is_char_device()
    assert not list(Path().glob("*part"))


def test_a_damaged_export_changes_nothing(cli, played):
    cli("export", played["oracle"], "-o", "a.gz")
    Path("a.gz").write_bytes(Path("a.gz").read_bytes()[:-20])
    ran = cli("import", "a.gz", "--log", "other.db")
    assert ran.code == 2
    assert "damaged" in ran.err or "cut" in ran.err
    assert SqliteLog("other.db").rows() == []


def test_the_demo_tells_its_story_and_leaves_its_log(cli):
    ran = cli("demo")
    assert ran.code == 0, ran.err
    assert "16 of 16 episodes identical" in ran.out
    assert "forked from" in ran.out
    assert "\x1b" not in ran.out
    assert cli("verify", "--all", "--log", "coworkenv-demo.db").code == 0
    assert cli("demo").out == ran.out


def test_the_demo_replaces_no_log_but_its_own(cli):
    Path("precious.db").write_text("precious")
    assert cli("demo", "--log", "precious.db").code == 2
    assert Path("precious.db").read_text() == "precious"


def test_a_grading_is_shown_as_its_checks(cli, played):
    [graded] = cli("grade", played["oracle"], "--json").values
    assert "refunded" in cli("show", graded["grade"]["id"]).out
