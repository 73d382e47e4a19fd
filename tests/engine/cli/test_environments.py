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
    assert "26 of 26 validators passed" in ran.out
    [found] = cli("env", "validate", "desk.yaml", "--json").values
    assert (found["readable"], found["fair"], found["frame"]) == (True, True, "missing")
    assert [outcome["verdict"] for outcome in found["validators"]] == ["passed"] * 26
    assert found["scores"]["oracle"] == {"lowest": "1", "highest": "1", "variants": 3}
    assert len(found["scores"]) == 4 + 4


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
    assert {problem["line"] for problem in found["problems"]} == {5, 46, 47}


def test_an_unfair_environment_gives_exit_code_1_and_the_reason(cli):
    DESK.write_text(DESK.read_text().replace("ceiling: 0, repeat: [paid]", "ceiling: 0, repeat: [lines]"))
    ran = cli("env", "validate", "desk.yaml")
    assert ran.code == 1
    assert "The trap pays-twice scores at least 1.00 everywhere" in ran.out
    assert "It scores at most 0 in some variant." in ran.out
    assert "at /traps/pays-twice" in ran.out
    [found] = cli("env", "validate", "desk.yaml", "--json").values
    [outcome] = [outcome for outcome in found["validators"] if outcome["verdict"] == "failed"]
    assert outcome["findings"][0]["details"]["score"] == "1"
    quick = cli("env", "validate", "desk.yaml", "--quick")
    assert quick.code == 0
    assert "can be read" in quick.out


def test_what_may_be_mended_is_shown_with_the_edit(cli):
    DESK.write_text(DESK.read_text().replace("returned.rma: $guess", "returned.rma: RMA-1204"))
    for words in ([], ["--quick"]):
        ran = cli("env", "validate", "desk.yaml", *words)
        assert ran.code == 1
        assert "single-source  'RMA-1204' is typed here" in ran.out
        assert "may be mended by use_ref /traps/guesses-number/bind/returned.rma = " in ran.out


def test_where_the_oracle_does_not_win_the_rest_is_not_asked(cli):
    DESK.write_text(DESK.read_text().replace('amount: "@line.price"', "amount: 1"))
    ran = cli("env", "validate", "desk.yaml")
    assert ran.code == 1
    assert "not asked, since one before them failed" in ran.out
    assert "oracle-wins  The oracle scores 0." in ran.out


def test_several_files_are_told_one_after_the_other(cli):
    Path("wrong.yaml").write_text("hello: there\n")
    ran = cli("env", "validate", "desk.yaml", "wrong.yaml", "--json")
    assert ran.code == 1
    assert [found["readable"] for found in ran.values] == [True, False]


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
    assert any(finding in told["observed"] for told in found["findings"])


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
    ran = cli("env", "validate", "desk.yaml")
    assert ran.code == 1
    assert "It was changed after it was frozen; freeze it again." in ran.out


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
    for words in (
        ["env", "validate", name],
        ["env", "freeze", name],
        ["env", "explain", name],
        ["env", "receipt", name],
    ):
        ran = cli(*words)
        assert ran.code == 2
        assert ran.err.startswith("coworkenv: ")


# --- explain -----------------------------------------------------------------------------------------------


def test_an_explanation_says_why_everything_is_there(cli):
    ran = cli("env", "explain", "desk.yaml")
    assert ran.code == 0
    for title in ("Checks", "Facts", "Twins", "Traps", "Steps"):
        assert title in ran.out
    assert "trap no-approval" in ran.out
    assert all(len(line) <= 100 for line in ran.lines)
    [found] = cli("env", "explain", "desk.yaml", "--json").values
    [check] = [check for check in found["checks"] if check["name"] == "approved-first"]
    assert "trap no-approval" in check["needed"]
    assert check["mutants"]


def test_an_example_is_explained_by_its_name(cli):
    ran = cli("env", "explain", "refund")
    assert ran.code == 0
    assert "finance.refund/0007" in ran.out


@pytest.mark.parametrize("command", ["explain", "receipt"])
def test_a_file_with_problems_is_not_explained(cli, command):
    DESK.write_text(DESK.read_text().replace("deadline: 6h", "deadlin: 6h"))
    ran = cli("env", command, "desk.yaml")
    assert ran.code == 2
    assert "deadlin" in ran.err


# --- receipts ----------------------------------------------------------------------------------------------

RECEIPT = Path("desk.receipt.json")


def test_a_receipt_is_written_beside_the_file_and_shown(cli):
    ran = cli("env", "receipt", "desk.yaml")
    assert ran.code == 1
    assert "desk.yaml has no receipt; --write makes desk.receipt.json" in ran.err
    ran = cli("env", "receipt", "desk.yaml", "--write")
    assert ran.code == 0
    assert "sound" in ran.out
    assert RECEIPT.exists()
    shown = cli("env", "receipt", "desk.yaml")
    assert (shown.code, shown.out) == (0, ran.out)
    for words in (
        "26 of 26 validators passed",
        "mutants noticed",
        "difficulty",
        "panel",
        "knobs",
        "trap:pays-twice 0.00",
    ):
        assert words in shown.out
    [found] = cli("env", "receipt", "desk.yaml", "--json").values
    assert (found["stale"], found["sound"], found["id"]) == (False, True, "desk.refund/1")


def test_a_receipt_of_another_version_is_stale(cli):
    cli("env", "receipt", "desk.yaml", "--write")
    cli("env", "freeze", "desk.yaml")
    assert cli("env", "receipt", "desk.yaml").code == 0
    DESK.write_text(DESK.read_text().replace("cheap: 25", "cheap: 26"))
    ran = cli("env", "receipt", "desk.yaml")
    assert ran.code == 1
    assert "another version of the environment" in ran.out


def test_a_receipt_says_what_is_not_sound(cli):
    DESK.write_text(DESK.read_text().replace("ceiling: 0, repeat: [paid]", "ceiling: 0, repeat: [lines]"))
    ran = cli("env", "receipt", "desk.yaml", "--write")
    assert ran.code == 1
    assert "not sound" in ran.out
    assert "The trap pays-twice scores at least 1.00" in ran.out


@pytest.mark.parametrize("content", ["", "{}", "[", '{"format": "coworkenv-receipt/9"}'])
def test_what_is_no_receipt_is_told_in_a_sentence(cli, content):
    RECEIPT.write_text(content)
    ran = cli("env", "receipt", "desk.yaml")
    assert ran.code == 2
    assert ran.err.startswith("coworkenv: desk.receipt.json: this is no receipt")


def test_a_receipt_that_cannot_be_written_is_told_in_a_sentence(cli):
    RECEIPT.mkdir()
    ran = cli("env", "receipt", "desk.yaml", "--write")
    assert ran.code == 2
    assert "desk.receipt.json" in ran.err
