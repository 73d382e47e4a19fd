"""Bad input of every kind ends with a typed error in one paragraph and exit code 2, and leaves the log as it was.

Each test draws few examples; `COWORKENV_FUZZ=1000` draws so many.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coworkenv.engine.cli.root import root
from coworkenv.events.chain import GENESIS, link
from coworkenv.events.codec import Blob, from_json, references, to_json
from coworkenv.events.errors import LogError
from coworkenv.events.log import StreamRow
from coworkenv.events.normalise import normalise
from coworkenv.events.sqlite import SqliteLog
from coworkenv.worlds.compiling import compile_environment, variants
from coworkenv.worlds.document import parse
from coworkenv.worlds.matching import Reading, needle
from coworkenv.worlds.patterns import looks_like
from coworkenv.worlds.problems import InvalidEnvironment
from coworkenv.worlds.reading import problems, read_environment, read_file
from coworkenv.worlds.records import initial_state
from coworkenv.worlds.service import Instant, Service
from coworkenv.worlds.services.declared import declared
from coworkenv.worlds.services.ready import library, names
from tests.engine.damage.flipping import exported
from tests.engine.damage.recording import record
from tests.engine.fuzzing import TEXTS, VALUES, Ran, cases, run, spoilt, subprocess_words, torn, unchanged, written
from tests.worlds.claw_eval.samples import RECORDS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "worlds" / "examples").glob("*.yaml"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    path = tmp_path_factory.mktemp("recorded") / "log.db"
    return path, record(path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, without anything in the environment that could matter."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "COWORKENV_LOG", "COWORKENV_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


# --- environments ------------------------------------------------------------------------------------------


def played(folder: Path, text: bytes) -> None:
    """Whatever a file holds: it is refused with all its problems, or it can be played."""
    path = written(folder, "environment.yaml", text)
    try:
        found = problems(read_file(path))
        if not found:
            variants(read_environment(path))
    except InvalidEnvironment as invalid:
        found = list(invalid.problems)
    assert all(str(problem) and "\n" not in str(problem) for problem in found)
    ran = run("run", str(path), "--agent", "oracle", "--agent", "explore", "--log", "play.db")
    assert (ran.code == 2) == bool(found), ran
    for file in folder.glob("play.db*"):
        file.unlink()


@given(st.sampled_from(EXAMPLES), st.data())
@cases(25)
def test_environments_with_other_values_are_refused_or_played(place: Path, example: Path, data: st.DataObject) -> None:
    played(place, to_json(data.draw(spoilt(parse(example.read_text("utf-8"))))))


@given(st.sampled_from(EXAMPLES), st.data())
@cases(25)
def test_environments_with_other_bytes_are_refused_or_played(place: Path, example: Path, data: st.DataObject) -> None:
    played(place, data.draw(torn(example.read_bytes())))


# --- scripts and tasks -------------------------------------------------------------------------------------


@given(st.sampled_from(["refund", "late-change"]), st.booleans(), st.data())
@cases(25)
def test_scripts_are_refused_or_followed(place: Path, name: str, valued: bool, data: st.DataObject) -> None:
    steps = parse((ROOT / "worlds" / "examples" / f"{name}.yaml").read_text("utf-8"))["oracle"]
    text = to_json(data.draw(spoilt(steps))) if valued else data.draw(torn(to_json(steps)))
    written(place, "script", text)
    ran = run("run", name, "--agent", "script:script", "--log", "script.db")
    assert ran.code in (0, 2), ran
    for file in place.glob("script.db*"):
        file.unlink()


TASK: dict[str, Any] = {
    "task_id": "T900_sample",
    "task_name": "Sample",
    "prompt": {"text": "Sort my mail.", "language": "en", "attachments": ["fixtures/note.txt"]},
    "tools": [
        {"name": name, "description": name, "input_schema": {"type": "object", "properties": {"max_results": {}}}}
        for name in ("gmail_list_messages", "todo_list_tasks", "Bash")
    ],
    "tool_endpoints": [
        {"tool_name": "gmail_list_messages", "url": "http://localhost:9100/gmail/messages", "method": "POST"},
        {"tool_name": "todo_list_tasks", "url": "http://localhost:9102/todo/tasks", "method": "POST"},
    ],
    "services": [
        {"name": kind, "command": f"python mock_services/{kind}/server.py", "port": port, "env": {}}
        for kind, port in (("gmail", 9100), ("todo", 9102))
    ],
    "environment": {"timeout_seconds": 600, "max_turns": 15},
}
FILES = {
    "task.yaml": to_json(TASK),
    "fixtures/gmail/inbox.json": to_json(RECORDS["gmail"]["messages"]),
    "fixtures/todo/tasks.json": to_json(RECORDS["todo"]["tasks"]),
    "fixtures/note.txt": b"A note.",
}


@given(st.sampled_from([*FILES, "task.yaml"]), st.sampled_from(["sane", "upstream"]), st.booleans(), st.data())
@cases(40)
def test_task_folders_are_refused_or_played(
    place: Path, file: str, mode: str, valued: bool, data: st.DataObject
) -> None:
    before = FILES[file]
    after = to_json(data.draw(spoilt(parse(before.decode())))) if valued else data.draw(torn(before))
    for name, text in {**FILES, file: after}.items():
        written(place / "tasks" / "T900_sample", name, text)
    ran = run("run", "tasks/T900_sample", "--agent", "explore", "--mode", mode, "--log", "tasks.db")
    assert ran.code in (0, 2), ran
    for log in place.glob("tasks.db*"):
        log.unlink()


# --- tools -------------------------------------------------------------------------------------------------


@cache
def every_service() -> list[Service]:
    """Those of all examples, and of the library."""
    worlds = [compile_environment(read_environment(path)) for path in EXAMPLES]
    found = [service for world in worlds for service in world.services]
    return [service for service in [*found, *(declared(name, library(name)) for name in names())] if service.tools]


class Even:
    """No randomness."""

    def fraction(self) -> float:
        return 0.5

    def below(self, n: int) -> int:
        return 0


@given(st.data())
@cases(150)
def test_tools_take_any_arguments_and_change_nothing_by_an_error(data: st.DataObject) -> None:
    service = data.draw(st.sampled_from(every_service()))
    state = initial_state(service.initial())
    stored = [record for name in state[service.name].collections() for record in state[service.name][name].values()]
    values = VALUES | st.sampled_from([value for record in stored for value in record.values()] or [None])
    for _ in range(data.draw(st.integers(1, 4))):
        tool = data.draw(st.sampled_from(service.tools))
        fitting = st.fixed_dictionaries({}, optional=dict.fromkeys(tool.schema["properties"], values))
        args, _ = normalise(data.draw(fitting | fitting | st.dictionaries(TEXTS, VALUES, max_size=2) | VALUES))
        name = data.draw(st.sampled_from([tool.name] * 20 + ["", "x" * 1000, "a.b.c"]))
        before = to_json(state.plain())
        outcome = service.call(
            name, args, state[service.name], Instant(datetime(2026, 3, 2, 9, tzinfo=UTC), 10**9), Even()
        )
        assert to_json(state.plain()) == before
        assert to_json(normalise(outcome.result)[0]) == to_json(outcome.result)
        if outcome.error is not None:
            assert outcome.changes == ()
            assert 0 < len(outcome.error.message) < 4000
        for change in outcome.changes:
            state = state.apply(change)


# --- the command line --------------------------------------------------------------------------------------


@cache
def commands() -> list[tuple[tuple[str, ...], click.Command]]:
    def walk(path: tuple[str, ...], command: click.Command) -> list[tuple[tuple[str, ...], click.Command]]:
        if isinstance(command, click.Group):
            return [each for name, inner in command.commands.items() for each in walk((*path, name), inner)]
        return [(path, command)]

    return [each for each in walk((), root()) if each[0][0] not in ("demo", "serve")]


WORDS = TEXTS | st.sampled_from(
    ["refund", "late-change", "folder", "bad.yaml", "binary", "script", "empty", "log.db", "missing", "/dev/null",
     "/dev/full", "/dev/zero", "/proc/self/mem", ".", "..", "/", "-", "--", "--help", "x" * 5000, "*", "oracle", "noop",
     "explore", "trap:x", "script:script", "script:folder", "script:binary", "script:missing", "openai:", "rules",
     "nobody", "a=b", "=", "temperature=hot", "-1", "0", "3", "57", "1e3", "9" * 40, "٣", "agent:lena:hi", "x:y",
     "a:b:c", "crm.customers:C-31.city=Lyon", "a.b:c.d=1", ".:=", "http://127.0.0.1:1"]
)  # fmt: skip
LOGS = ["log.db"] * 9 + [
    "folder",
    "missing/x.db",
    "binary",
    "empty",
    "unreadable",
    "/dev/null",
    "",
    "x" * 300,
    "/proc/x",
]


@st.composite
def lines(draw: st.DrawFn, ids: list[str]) -> list[str]:
    """A command with some of its options and arguments, of which few make sense."""
    path, command = draw(st.sampled_from(commands()))
    word = st.sampled_from([*ids[:5], ids[0][:4], ids[6], "0", "f"]) | WORDS
    line = list(path)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            line += draw(st.lists(word, min_size=int(parameter.nargs == 1), max_size=1 if parameter.nargs == 1 else 2))
        elif parameter.name not in ("log_path", "trials") and draw(st.integers(0, 9)) < (
            9 if parameter.required else 3
        ):
            flag = isinstance(parameter, click.Option) and parameter.is_flag
            line += [draw(st.sampled_from(parameter.opts)), *([] if flag else [draw(word)])]
    return line


@given(st.sampled_from(LOGS), st.data())
@cases(150)
def test_any_words_end_in_a_result_or_in_one_paragraph(
    place: Path, recorded: tuple[Path, list[str]], log: str, data: st.DataObject
) -> None:
    (place / "folder").mkdir(exist_ok=True)
    written(place, "bad.yaml", b"environment: coworkenv/1\nid: [\n")
    written(place, "script", b"[{call: a.b.c}]")
    written(place, "binary", bytes(range(256)) * 10)
    written(place, "empty", b"")
    (place / "unreadable").touch(mode=0)
    shutil.copy(recorded[0], place / "log.db")
    line = data.draw(lines(recorded[1]))
    # Nobody is asked over the network here.
    assume(not any("openai:x" in word or "model:" in word or "persona:" in word for word in line))
    before = set(os.listdir(place))
    os.environ["COWORKENV_LOG"] = log
    try:
        with unchanged(place / "log.db") as check:
            ran = run(*line)
            check(ran)
    finally:
        del os.environ["COWORKENV_LOG"]
    if ran.code == 2:
        assert set(os.listdir(place)) == before, ran


@pytest.mark.parametrize(
    "line",
    [(), ("--help",), ("shwo",), ("show",), ("run", "missing", "--agent", "noop"), ("run", "refund", "--agent", "x"),
     ("list", "--log", "missing.db"), ("import", "binary"), ("verify", "--all", "--log", "binary"),
     ("show", "\x1b[2J")],
)  # fmt: skip
def test_a_process_ends_with_the_same_code_and_words(place: Path, line: tuple[str, ...]) -> None:
    written(place, "binary", bytes(range(256)) * 10)
    ran = run(*line)
    process = subprocess.run([*subprocess_words(), *line], capture_output=True, text=True, timeout=60, check=False)
    assert (process.returncode, process.stderr) == (ran.code, ran.err)


# --- streams and exports -----------------------------------------------------------------------------------


@given(st.booleans(), st.data())
@cases(60)
def test_other_exports_are_refused_and_leave_the_log_alone(
    place: Path, recorded: tuple[Path, list[str]], packed: bool, data: st.DataObject
) -> None:
    with closing(SqliteLog(recorded[0])) as log:
        export = exported(log, recorded[1][2])
    torn_one = data.draw(torn(export)) if packed else gzip.compress(data.draw(torn(gzip.decompress(export))), 1)
    written(place, "sound.gz", export)
    written(place, "other.gz", torn_one)
    assert run("import", "sound.gz", "--log", "import.db").code == 0
    with unchanged(place / "import.db") as check:
        ran = run("import", "other.gz", "--log", "import.db")
        check(ran)
        check(Ran(ran.words, 2, ran.out, ran.err))  # what is accepted is what was there


VIEWS = [
    "show {}", "show {} --json", "show {} --events", "show {} --messages", "show {} --state", "show {} --state --at 3",
    "show {} --prompt 5", "show {} --event 4", "verify {}", "verify --all --json", "list", "list --json", "stats",
    "grade {}", "grade {} --json", "export {} -o out.gz --force", "fork {} --at 4 --seed 9", "resume {}", "diff {} {}",
]  # fmt: skip


@st.composite
def forged(draw: st.DrawFn, raw: list[list[Any]]) -> list[list[Any]]:
    """Events of which some say, or are about, something else than they did."""
    raw = [list(event) for event in raw]
    for _ in range(draw(st.integers(1, 2))):
        seq = draw(st.integers(0, len(raw) - 1))
        how = draw(st.sampled_from(["body", "body", "body", "envelope", "drop", "double", "swap"]))
        if how == "body":
            raw[seq][4] = draw(spoilt(raw[seq][4], 1))
        elif how == "envelope":
            odd = st.sampled_from([-1, 0, 1, 5, 10**18, 2**63 - 1, None, "agent", "x", "", "\x1b[2J"])
            raw[seq][draw(st.integers(1, 3))] = draw(odd)
        elif how == "drop" and len(raw) > 1:
            del raw[seq]
        elif how == "double":
            raw.insert(seq, raw[seq])
        elif how == "swap":
            other = draw(st.integers(0, len(raw) - 1))
            raw[seq], raw[other] = raw[other], raw[seq]
    return raw


def rewritten(path: Path, row: StreamRow, raw: list[list[Any]], blobs: dict[str, bytes]) -> None:
    """A log with one stream of these events, whose chain is right: what somebody may send who knows how."""
    digest, pieces = GENESIS, []
    for seq, event in enumerate(raw):
        data = to_json([seq, *event[1:]])
        digest = link(digest, data)
        pieces += [Blob(name, blobs[name]) for name in references(data) if name in blobs]
        pieces.append((seq, data, digest))
    with closing(SqliteLog(path)) as log:
        log.restore([msgspec.structs.replace(row, count=len(raw), digest=digest.hex()), *pieces])


@given(st.sampled_from([2, 3, 4, 7, 8]), st.booleans(), st.data())
@cases(20)
def test_forged_streams_are_shown_or_refused_by_every_command(
    place: Path, recorded: tuple[Path, list[str]], which: int, ended: bool, data: st.DataObject
) -> None:
    with closing(SqliteLog(recorded[0])) as log:
        row = log.row(recorded[1][which])
        stored = [piece for _, piece, _ in log.read_raw(row.id)]
        blobs = {name: log.blob(name) for piece in stored for name in references(piece)}
    events = data.draw(forged([from_json(piece) for piece in stored]))
    for file in place.glob("forged.db*"):
        file.unlink()
    try:
        status = "ended" if ended else "suspended"
        rewritten(place / "forged.db", msgspec.structs.replace(row, status=status), events, blobs)
    except (LogError, TypeError):
        events = []
    for view in VIEWS if events else ():
        with unchanged(place / "forged.db") as check:
            check(run(*view.replace("{}", row.id).split(), "--log", "forged.db"))


# --- too much of it ----------------------------------------------------------------------------------------


def spent(began: float) -> float:
    return time.process_time() - began


@pytest.mark.parametrize(
    "text",
    ["[" * 1_000_000, "[" * 100_000 + "]" * 100_000, "- " * 200_000, "{a: " * 200_000, "? " * 100_000,
     "\n".join(" " * depth + "a:" for depth in range(2000)), '"' + "a" * 5_000_000, "{" + " " * 5_000_000,
     "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "- 1\n" * 5_000_000, "a" * 20_000_000],
)  # fmt: skip
def test_bombs_are_refused_at_once(text: str) -> None:
    began = time.process_time()
    assert problems(text)
    assert spent(began) < 3


def test_facts_that_double_themselves_are_refused_at_once() -> None:
    for line in ('"${{f{0}}}${{f{0}}}"', "[$f{0}, $f{0}]", "{{a: $f{0}, b: $f{0}}}"):
        facts = "".join(f"  f{n + 1}: {line.format(n)}\n" for n in range(60))
        began = time.process_time()
        assert problems(
            f"environment: coworkenv/1\nid: a\nclock: {{start: 2026-01-01T09:00}}\nfacts:\n  f0: xxxx\n{facts}"
        )
        assert spent(began) < 3


HARD = [
    "1" * 100_000, "1," * 50_000, "1." * 50_000, "€ 1.000,00 " * 9_000, "may " * 25_000, "12 March 2026 " * 7_000,
    "2026-03-12T09:00 " * 6_000, " " * 100_000, "-" * 100_000, "1 " * 50_000, "1\u00a0" * 50_000, "1'" * 50_000,
    "a1-" * 35_000, "三月" * 50_000, "e" + "\u0301" * 100_000, "ﷺ" * 30_000, "\n" * 100_000, "9 am " * 20_000,
    "a" * 100_000, "#*" * 50_000, "O-55-" * 20_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_reading_long_texts_takes_time_in_proportion(text: str) -> None:
    """100 kB each: what takes the square of that takes minutes."""
    began = time.process_time()
    for wanted in (1000, "2026-03-12", "09:00", "O-55", "may may", "a1-a1", ["x", 7]):
        needle(wanted)(Reading(text))
    for pattern in ("#*#*#*#*#*#*", "a?" * 90 + "b", "*" * 90 + "-", "# # # # x", "O-#-#-#-x"):
        looks_like(text, pattern)
    assert spent(began) < 10


@pytest.mark.parametrize("line", [("env", "validate", "/dev/zero"), ("run", "refund", "--agent", "script:/dev/zero")])
def test_a_file_without_an_end_is_not_read_to_it(place: Path, line: tuple[str, ...]) -> None:
    ran = run(*line)
    assert (ran.code, "larger than 64 MiB" in ran.err) == (2, True)


def test_an_environment_may_come_through_a_pipe(place: Path) -> None:
    os.mkfifo(place / "pipe")
    with subprocess.Popen(["cp", str(EXAMPLES[0]), "pipe"], cwd=place):
        assert run("env", "validate", "pipe").code == 0


# --- what a terminal would obey ----------------------------------------------------------------------------

LOUD = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2028\rx"


def test_no_text_of_an_environment_reaches_the_terminal_raw(place: Path) -> None:
    """In JSON, since YAML refuses most of these characters."""
    loud = to_json(
        {
            "environment": "coworkenv/1",
            "id": f"../{LOUD}/x",
            "clock": {"start": "2026-06-02T09:00", "zone": "UTC"},
            "people": {"ann": {"opens": LOUD, "role": LOUD}},
            "services": {
                "box": {"about": LOUD, "collections": {"t": {"can": ["find"]}}, "records": {"t": [{LOUD: LOUD}]}}
            },
            "oracle": [{"call": "box.t.find"}, {"say": "ann", "text": LOUD}],
            "checks": {LOUD: {"weight": 1, "expect": {"said": "ann", "mentions": [LOUD]}}},
        }
    )  # fmt: skip
    written(place, "loud.json", loud)
    run("env", "validate", "loud.json")
    for ran in (run("run", "loud.json", "--agent", "oracle", "--log", "l.db"), run("list", "--log", "l.db")):
        assert ran.code == 0, ran
    with closing(SqliteLog(place / "l.db")) as log:
        [row] = log.rows(kind="episode")
    for view in VIEWS:
        assert run(*view.replace("{}", row.id).split(), "--log", "l.db").code in (0, 1, 2)
    assert {name for name in os.listdir(place) if not name.startswith("l.db")} == {"loud.json", "out.gz"}


def test_a_file_is_replaced_only_where_that_was_asked_for(place: Path, recorded: tuple[Path, list[str]]) -> None:
    written(place, "there", b"mine")
    (place / "folder").mkdir()
    log = ("--log", str(recorded[0]))
    assert run("export", recorded[1][0], "-o", "there", *log).code == 2
    assert (place / "there").read_bytes() == b"mine"
    assert run("export", recorded[1][0], "-o", "folder", "--force", *log).code == 2
    assert run("export", recorded[1][0], "-o", "missing/there", *log).code == 2
    assert run("export", recorded[1][0], "-o", "there", "--force", *log).code == 0
    assert sorted(os.listdir(place)) == ["folder", "there"]
    os.rename("there", "--help")
    assert run("import", "--log", "new.db", "--", "--help").code == 0


def test_a_failing_import_of_several_files_changes_nothing(place: Path, recorded: tuple[Path, list[str]]) -> None:
    with closing(SqliteLog(recorded[0])) as log:
        written(place, "good.gz", exported(log, recorded[1][2]))
    written(place, "bad.gz", b"\x1f\x8b")
    assert run("import", "good.gz", "bad.gz", "--log", "new.db").code == 2
    if (place / "new.db").exists():
        with closing(SqliteLog(place / "new.db", create=False)) as log:
            assert log.rows() == []


def test_an_export_that_unpacks_to_far_too_much_is_refused(place: Path) -> None:
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b"[" * 2**20)
    written(place, "bomb.gz", bomb.getvalue())
    began = time.process_time()
    ran = run("import", "bomb.gz", "--log", "new.db")
    assert (ran.code, spent(began) < 10) == (2, True)


@pytest.mark.parametrize("agent", [b"trap:\xff", b"openai:\xff", b"script:\xff", b"\xff"])
def test_an_agent_whose_name_is_no_text_is_refused_as_such(place: Path, agent: bytes) -> None:
    ran = run("run", "refund", "--agent", os.fsdecode(agent), "--log", "new.db")
    assert ran.code == 2
    assert "normalise" not in ran.err


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_process_without_standard_output_ends_as_any_other(place: Path, closed: str) -> None:
    python, flag, program = subprocess_words()
    line = f'"$0" {flag} "$1" run refund --agent noop {closed}'
    process = subprocess.run(
        ["sh", "-c", line, python, program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (process.returncode, "bug" in process.stdout + process.stderr) == (0, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", ["list", "list --json", "stats", "env schema"])
def test_output_that_cannot_be_written_is_no_traceback(
    place: Path, recorded: tuple[Path, list[str]], line: str, unbuffered: str
) -> None:
    env = {**os.environ, "COWORKENV_LOG": str(recorded[0]), "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*subprocess_words(), *line.split()], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=env,
            check=False,
        )  # fmt: skip
    assert (process.returncode, "Traceback" in process.stderr) == (2, False)
