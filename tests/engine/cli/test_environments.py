"""What an author types: everything wrong at once and where, fairness, freezing that touches one block only."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

DESK = Path("desk.yaml")


def test_a_fair_environment_is_said_to_be_fair_with_all_its_scores(cli):
    ran = cli("env", "validate", "desk.yaml")
    assert ran.code == 0
    assert "fair" in ran.out
    assert "trap:pays-twice" in ran.out
    [found] = cli("env", "validate", "desk.yaml", "--json").values
    assert (found["readable"], found["fair"]) == (True, True)
    assert len(found["played"]) == 3 * 7


def test_all_that_is_wrong_is_told_at_once_with_its_line(cli):
    text = DESK.read_text().replace("deadline: 6h", "deadlin: 6h").replace("gate: true, never", "gat: true, never")
    DESK.write_text(text)
    ran = cli("env", "validate", "desk.yaml")
    assert ran.code == 1
    assert "desk.yaml:5 " in ran.out
    assert "deadline" in ran.out
    assert ran.out.count("✗") >= 3
    [found] = cli("env", "validate", "desk.yaml", "--json").values
    assert found["readable"] is False
    assert {problem["line"] for problem in found["problems"]} == {5, 45, 46}


def test_an_unfair_environment_gives_exit_code_1_and_the_reason(cli):
    DESK.write_text(DESK.read_text().replace("ceiling: 0, repeat: [paid]", "ceiling: 0, repeat: [lines]"))
    ran = cli("env", "validate", "desk.yaml")
    assert ran.code == 1
    assert "The trap pays-twice scores at least 1.00 everywhere; its ceiling is 0." in ran.out
    assert cli("env", "validate", "desk.yaml", "--only-read").code == 0


def test_freezing_adds_one_block_and_leaves_every_other_byte(cli):
    before = DESK.read_bytes()
    assert cli("env", "freeze", "--check", "desk.yaml").code == 1
    assert DESK.read_bytes() == before
    assert cli("env", "freeze", "desk.yaml").code == 0
    after = DESK.read_bytes()
    assert after.startswith(before.rstrip())
    assert b"payments.refunds:new" in after
    assert cli("env", "freeze", "--check", "desk.yaml").code == 0
    assert "not frozen" not in cli("env", "validate", "desk.yaml").out


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("ceiling: 0, repeat: [paid]", "ceiling: 0, repeat: [lines]", "The trap pays-twice scores at least 1.00"),
        ('amount: "@line.price"', "amount: 1", "The oracle scores 0."),
    ],
)
def test_an_unfair_environment_is_not_frozen(cli, old, new, finding):
    DESK.write_text(DESK.read_text().replace(old, new))
    before = DESK.read_bytes()
    for words in ([], ["--check"]):
        ran = cli("env", "freeze", *words, "desk.yaml")
        assert (ran.code, DESK.read_bytes()) == (1, before)
        assert finding in ran.out
        assert "refused" in ran.out
    [found] = cli("env", "freeze", "desk.yaml", "--json").values
    assert found["result"] == "refused"
    assert finding in found["complaints"][0]["message"]


def test_freezing_keeps_line_ends_and_the_mark_at_the_beginning(cli):
    DESK.write_bytes(b"\xef\xbb\xbf" + DESK.read_bytes().replace(b"\n", b"\r\n"))
    before = DESK.read_bytes()
    assert cli("env", "freeze", "desk.yaml").code == 0
    after = DESK.read_bytes()
    assert after.startswith(before)
    assert b"frozen:" in after
    assert after.count(b"\n") == after.count(b"\r\n")
    assert cli("env", "freeze", "--check", "desk.yaml").code == 0


def test_a_file_that_changed_after_freezing_is_stale(cli):
    cli("env", "freeze", "desk.yaml")
    DESK.write_text(DESK.read_text().replace("cheap: 25", "cheap: 26"))
    assert cli("env", "freeze", "--check", "desk.yaml").code == 1
    assert cli("env", "validate", "desk.yaml").code == 1


def test_examples_of_the_package_are_never_frozen_in_place(cli):
    ran = cli("env", "freeze", "refund")
    assert ran.code == 2
    assert "no file" in ran.err


def test_the_schema_is_printed_or_written(cli):
    [schema] = cli("env", "schema").values
    assert "Environment" in schema["$defs"]
    assert cli("env", "schema", "-o", "schema.json").code == 0
    assert msgspec.json.decode(Path("schema.json").read_bytes()) == schema


@pytest.mark.parametrize("name", ["missing.yaml", ".", ""])
def test_what_is_no_file_is_refused_in_a_sentence(cli, name):
    for words in (["env", "validate", name], ["env", "freeze", name]):
        ran = cli(*words)
        assert ran.code == 2
        assert ran.err.startswith("coworkenv: ")
