"""The command line as a whole: help, exit codes, pipes, signals, other packages' commands, and any words at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coworkenv.engine.cli import main
from coworkenv.engine.cli.root import root
from tests.loopback import Reply, completion

COMMANDS = [
    "run",
    "show",
    "list",
    "verify",
    "grade",
    "report",
    "fork",
    "resume",
    "diff",
    "stats",
    "export",
    "import",
    "demo",
]
ENV = ["validate", "freeze", "schema"]
SCREEN = 30

PROGRAM = [sys.executable, "-c", "import sys; from coworkenv.engine.cli import main; sys.exit(main())"]


# --- help --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["env", "--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_of_each_level_fits_a_screen(cli, words):
    ran = cli(*words)
    assert ran.code == 0
    assert ran.out.startswith("Usage: coworkenv")
    assert len(ran.lines) <= SCREEN


@pytest.mark.parametrize("words", [*([name] for name in COMMANDS), *(["env", name] for name in ENV)])
def test_help_of_each_command_has_an_example(cli, words):
    example = f"  coworkenv {' '.join(words)}"
    assert any(line.startswith(example) for line in cli(*words, "--help").lines)


def test_the_verbs_of_an_episode_are_at_the_top(cli):
    listed = [line.split()[0] for line in cli("--help").out.split("Commands:\n")[1].splitlines() if line.strip()]
    assert listed[: len(COMMANDS) + 1] == [*COMMANDS, "env"]


def test_the_version_is_told(cli):
    assert cli("--version").out.startswith("coworkenv, version ")


def test_every_command_but_help_like_ones_has_json():
    group = root()
    without = {name for name, command in group.commands.items() if not has_json(command)}
    assert without <= {"demo", "env", *(set(group.commands) - {*COMMANDS, "env"})}


def has_json(command: click.Command) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["rum"],
        ["run"],
        ["run", "desk.yaml"],
        ["run", "missing.yaml", "-a", "oracle"],
        ["run", "desk.yaml", "-a", "orcale"],
        ["run", "desk.yaml", "-a", "script:missing.yaml"],
        ["run", "desk.yaml", "-a", "trap:"],
        ["run", "desk.yaml", "-a", "trap:pays-thrice"],
        ["run", "no-oracle", "-a", "oracle"],
        ["run", "no-oracle", "-a", "trap:x"],
        ["run", "desk.yaml", "-a", "oracle", "--trials", "0"],
        ["run", "desk.yaml", "-a", "oracle", "--seed", "x"],
        ["run", "desk.yaml", "-a", "oracle", "--only", "nothing*"],
        ["run", "desk.yaml", "-a", "oracle", "-o", "temperature=1"],
        ["run", "desk.yaml", "-a", "openai:m", "-o", "temprature=1"],
        ["run", "desk.yaml", "-a", "openai:m", "-o", "temperature"],
        ["run", "desk.yaml", "-a", "oracle", "--coworkers", "nobody"],
        ["run", "empty", "-a", "oracle"],
        ["run", "broken.yaml", "-a", "oracle"],
        ["run", "desk.yaml", "-a", "oracle", "--log", "desk.yaml"],
        ["run", "desk.yaml", "-a", "oracle", "--log", "empty"],
        ["run", "desk.yaml", "-a", "oracle", "--log", "no/such/folder/x.db"],
        ["list", "--log", "missing.db"],
        ["list", "--log", "a\0b"],
        ["show"],
        ["show", "zz"],
        ["show", "0", "--at", "-1"],
        ["verify"],
        ["verify", "--all", "0"],
        ["grade", "00"],
        ["fork", "00", "--at", "1"],
        ["resume", "00"],
        ["diff", "00"],
        ["export", "00"],
        ["import", "missing.gz"],
        ["import", "desk.yaml"],
        ["env", "validate", "missing.yaml"],
    ],
)
def test_bad_input_is_one_paragraph_on_stderr_and_exit_code_2(cli, words):
    Path("empty").mkdir()
    Path("no-oracle").mkdir()
    Path("no-oracle/task.yaml").write_text("task_id: T1\nprompt: {text: Say hello., language: en}\n")
    Path("broken.yaml").write_text("environment: coworkenv/1\nid: [\n")
    ran = cli(*words)
    assert ran.code == 2, ran
    assert ran.err.startswith("coworkenv: ")
    assert "Traceback" not in ran.err
    assert "bug" not in ran.err
    assert ran.out == ""


LIKELY = [
    *("--all", "--json", "--at", "--agent", "-a", "--log", "--set", "--message", "--seed", "--trials", "--only", "--"),
    *(
        "--help",
        "--option",
        "--svg",
        "--prompt",
        "--event",
        "--twins",
        "--coworkers",
        "--with",
        "",
        "*",
        "0",
        "ff",
        "-1",
    ),
    *("oracle", "trap:x", "desk.yaml", "coworkenv.db", "a.b:c.d=1", "lena:agent:hi", "x=1"),
]
words = st.sampled_from([*COMMANDS, "env", *ENV, *LIKELY]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=8
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words, max_size=7))
def test_no_words_whatever_give_a_traceback_or_an_unknown_exit_code(cli, words):
    ran = cli(*words)
    assert ran.code in (0, 1, 2), (words, ran)
    assert "Traceback" not in ran.err
    assert not set(ran.err) & set(map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0)]))


def test_an_error_of_ours_is_called_a_bug_with_how_to_see_more(cli, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr("coworkenv.engine.cli.looking.grades_of", broken)
    cli("run", "desk.yaml", "-a", "noop")
    ran = cli("list")
    assert ran.code == 70
    assert "this is a bug in coworkenv: KeyError" in ran.err
    assert "COWORKENV_DEBUG=1" in ran.err
    monkeypatch.setenv("COWORKENV_DEBUG", "1")
    assert "Traceback" in cli("list").err


# --- other packages' commands ------------------------------------------------------------------------------


def test_a_command_of_another_package_is_hung_in(monkeypatch, tmp_path):
    (tmp_path / "theirs_for_test.py").write_text(
        "import click\n@click.command()\ndef greet():\n    click.echo('hello')\ncommands = [greet]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    group = root([EntryPoint("theirs", "theirs_for_test:commands", "coworkenv.commands")])
    assert list(group.commands) == ["greet"]


@pytest.mark.parametrize("value", ["no_such_package:commands", "coworkenv.engine.cli:nothing", "os:sep"])
def test_a_broken_command_of_another_package_is_a_warning(capsys, value):
    points = [
        EntryPoint("theirs", value, "coworkenv.commands"),
        EntryPoint("env", "coworkenv.engine.cli.environments:commands", "coworkenv.commands"),
    ]
    group = root(points)
    assert list(group.commands) == ["env"]
    assert "cannot be loaded" in capsys.readouterr().err


# --- pipes and signals -------------------------------------------------------------------------------------


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("COWORKENV", "OPENAI", "COLUMNS"))
    }
    return {**kept, "OPENAI_API_KEY": "a-key", **more}


def test_a_closed_pipe_is_quiet(cli, played):
    for words in (["list", "--json"], ["show", played["oracle"], "--events"], ["stats"]):
        command = subprocess.Popen(
            [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0
        )
        assert command.stdout is not None
        command.stdout.close()
        _, errors = command.communicate(timeout=30)
        assert errors == b""
        assert command.returncode == 141


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_pipe_that_closes_while_episodes_play_stops_the_run_and_loses_nothing(cli, more):
    words = ["run", "desk.yaml", "-a", "oracle", "--trials", "300", "--concurrency", "4", *more]
    command = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert command.stdout is not None
    told = command.stdout.readline()
    command.stdout.close()
    errors = command.stderr.read()
    assert (command.wait(30), errors) == (141, b"")
    rows = cli("list", "--json").values
    assert 0 < len(rows) < 300
    assert any(row["id"][:10].encode() in told and row["status"] == "ended" for row in rows)
    assert cli("verify", "--all").code == 0
    summary = cli("run", "desk.yaml", "-a", "oracle", "--trials", "300", "--json").values[-1]
    assert (summary["ended"], summary["agents"]["oracle"]["graded"]) == (300, 300)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_run_whose_output_cannot_be_written_says_so_in_one_line(cli, more, unbuffered):
    env = environment(PYTHONUNBUFFERED=unbuffered)
    words = ["run", "desk.yaml", "-a", "oracle", "--trials", "3", "--concurrency", "1", *more]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, env=env, text=True)
    assert ran.returncode == 2
    assert ran.stderr == "coworkenv: the output cannot be written: No space left on device\n"
    assert [row["status"] for row in cli("list", "--json").values][:1] == ["ended"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_that_nobody_can_be_told_of_keeps_its_exit_code(cli, unbuffered):
    env = environment(PYTHONUNBUFFERED=unbuffered)
    with open("/dev/full", "wb") as full:
        assert subprocess.run([*PROGRAM, "list"], stderr=full, env=env, check=False).returncode == 2


@pytest.mark.parametrize("variables", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}, {}])
def test_output_needs_no_terminal_and_no_unicode(cli, played, variables):
    ran = subprocess.run([*PROGRAM, "show", played["oracle"]], capture_output=True, env=environment(**variables))
    assert ran.returncode == 0, ran.stderr
    assert b"\x1b" not in ran.stdout
    assert b"payments.refunds.create" in ran.stdout


def test_a_screen_that_has_only_ascii_shows_lanes_and_whole_json(cli, played):
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    for words in (["show", played["oracle"]], ["list"], ["grade", played["noop"]]):
        ran = subprocess.run([*PROGRAM, *words], capture_output=True, env=environment(**variables))
        ours = subprocess.run([*PROGRAM, *words], capture_output=True, env=environment(PYTHONUTF8="1"))
        assert ran.stdout.isascii()
        assert ran.stdout.count(b"?") == ours.stdout.count(b"?")
        assert b"|" in ran.stdout or b"+" in ran.stdout
    Path("desk.yaml").write_text(Path("desk.yaml").read_text("utf-8").replace("Hi! Please", "Hé 🎉! Please"), "utf-8")
    name = cli("run", "desk.yaml", "-a", "noop", "--json").values[0]["id"]
    words = ["show", name, "--messages", "--json"]
    ran = subprocess.run([*PROGRAM, *words], capture_output=True, env=environment(**variables))
    assert json.loads(ran.stdout)["events"][0]["body"]["text"].startswith("Hé 🎉! Please")


def test_an_interrupted_run_says_how_to_go_on_and_loses_nothing(cli, serve):
    asked: list[object] = []

    def answer(request: dict[str, object]) -> Reply:
        asked.append(request)
        first = len(asked) <= 3
        body = completion("", [("shop_lines_find", {})] if first else [("finish", {})])
        return Reply(body, delay=0.0 if first else 60.0)

    server = serve(answer)
    run = [*PROGRAM, "run", "desk.yaml", "-a", "openai:m", "--base-url", server.url, "--trials", "3"]
    command = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True)
    deadline = time.monotonic() + 30
    while len(asked) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=30)
    assert command.returncode == 130, errors
    assert "stopped: 0 of 3 episodes have ended, 3 are suspended, 0 were not begun." in errors
    assert "coworkenv resume --all" in errors
    assert "Traceback" not in errors
    rows = cli("list", "--json").values
    assert [row["status"] for row in rows] == ["suspended"] * 3
    assert all(row["count"] > 3 for row in rows)
    assert cli("verify", "--all").code == 0


def test_main_returns_and_never_raises(monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("coworkenv.engine.cli.root.Root.invoke", interrupted)
    assert main(["list"]) == 130
