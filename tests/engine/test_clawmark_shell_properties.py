"""The small shell, on lines that nobody thought of: it never breaks, does the same again, and agrees with real ones."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from datetime import datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coworkenv.engine.clawmark.shell.language import script
from coworkenv.engine.clawmark.shell.patterns import pattern
from coworkenv.engine.clawmark.shell.running import Shell
from coworkenv.engine.clawmark.shell.words import Unsupported
from coworkenv.worlds.clawmark.tree import ROOT, Tree
from coworkenv.worlds.records import ServiceRecords
from coworkenv.worlds.service import Instant

NOW = Instant(datetime.fromisoformat("2026-03-01T09:00:00+08:00"), 0)

SIGNS = ["'", '"', "\\", "$", "`", "(", ")", "{", "}", "|", "&", ";", "<", ">", "<<", "<<-", "\n", " ", "\t", "#", "~"]
PIECES = st.sampled_from(
    [*SIGNS, "if", "then", "fi", "else", "END", "a", "A=1", "$A", "${A}", "2>&1", "2", "é", "*", "["]
)
LINES = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40)

_NAMES = """mkdir touch cp mv rm ls find cat echo head tail wc grep md5sum sha256sum sqlite3 git cd pwd bash sh test [
true false exit set export"""
_ARGS = """-p -r -f -n -c -la -1 -name -type -e -i -E -o ! -maxdepth -- - ] = 3 init add commit log show -m --oneline
HEAD HEAD:a/b HEAD~1 config user.name user.email
a a/b a/* *.txt .. / /tmp x.db . f d /dev/null .tables '[a-c]*' 'é' ''"""
COMMANDS, WORDS = _NAMES.split(), _ARGS.split()
WORDS += ["'SELECT * FROM t'", "'CREATE TABLE t(a)'", "'INSERT INTO t VALUES (1)'", "'é x'"]
CALLS = st.tuples(st.sampled_from(COMMANDS), st.lists(st.sampled_from(WORDS), max_size=4))
JOINTS = st.sampled_from(["; ", " && ", " || ", " | ", "\n", " > ", " >> ", " < "])


def empty() -> Tree:
    return Tree(ServiceRecords({"files": {}, "folders": {}}, {}), lambda path: b"", 0)


@given(LINES)
def test_a_line_is_read_or_refused(line: str) -> None:
    with suppress(Unsupported):
        script(line)


@given(LINES)
@settings(deadline=None)
def test_any_line_is_done_or_refused_and_the_same_way_again(line: str) -> None:
    first, second = empty(), empty()
    done = Shell(first, NOW).run(line)
    assert 0 <= done.code < 256
    assert Shell(second, NOW).run(line) == done
    assert first.changes() == second.changes()


@given(st.lists(st.tuples(CALLS, JOINTS), min_size=1, max_size=8))
@settings(deadline=None)
def test_commands_take_any_arguments(calls: list[tuple[tuple[str, list[str]], str]]) -> None:
    line = "git init; echo 'a b\nc' > a; " + "".join(" ".join([name, *args]) + joint for (name, args), joint in calls)
    first, second = empty(), empty()
    done = Shell(first, NOW).run(f"{line}true")
    assert Shell(second, NOW).run(f"{line}true") == done
    assert first.changes() == second.changes()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_what_is_quoted_stays_as_it_is(text: str) -> None:
    tree = empty()
    shell = Shell(tree, NOW)
    assert shell.run(f"echo -n {shlex.quote(text)} > f").code == 0
    assert tree.read(f"{ROOT}/f") == text.encode()
    assert shell.run("cat f").stdout == text.encode()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=10)))
def test_a_document_that_stands_in_a_line_is_kept_as_it_is(lines: list[str]) -> None:
    tree, text = empty(), "".join(f"{line}.\n" for line in lines)
    assert Shell(tree, NOW).run(f"cat > f << 'END'\n{text}END").code == 0
    assert tree.read(f"{ROOT}/f") == text.encode()


# --- patterns ----------------------------------------------------------------------------------------------

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "[a-b]", "\\.", "^", "$"])


def _longer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds("({}){}".format, inner, st.sampled_from(["", "*", "+", "?"]))
    return st.lists(inner | groups, min_size=1, max_size=3).map("".join) | st.builds("{}|{}".format, inner, inner)


@given(st.recursive(ATOMS, _longer, max_leaves=8), st.text("ab.c", max_size=8))
@example("a$|b", "ab")
@example("(^a|b)*c", "bc")
def test_patterns_find_what_pythons_own_find(text: str, line: str) -> None:
    assert pattern(text, extended=True).found(line) == bool(re.search(text, line))


@given(st.text("ab.*+?()[]{}|^$\\-:", max_size=12), st.booleans(), st.text("ab", max_size=6))
def test_any_pattern_is_matched_or_refused(text: str, extended: bool, line: str) -> None:
    with suppress(Unsupported):
        pattern(text, extended).found(line)


# --- a real shell ------------------------------------------------------------------------------------------

SIMPLE = st.sampled_from(
    ["true", "false", "echo a", "echo 'b c'", "exit 3", "[ a = a ]", "[ -d nowhere ]", "cat", "A=1"]
)
SIMPLE |= st.sampled_from(
    ['echo "$A$?"', "wc -l", "echo err >&2", "cat < /dev/null", "grep b", "head -1", "bash -c 'exit 2'"]
)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joint = st.sampled_from(["; ", " && ", " || ", " | ", "\n"])
    choice = st.builds("if {}; then {}; else {}; fi".format, inner, inner, inner)
    return st.builds("{}{}{}".format, inner, joint, inner) | choice


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@given(st.recursive(SIMPLE, _joined, max_leaves=6), st.booleans())
@settings(deadline=None, max_examples=60)
def test_it_does_what_bash_does(line: str, strict: bool) -> None:
    text = ("set -e\n" if strict else "") + line
    done = Shell(empty(), NOW).run(text)
    real = subprocess.run(["bash", "-c", text], input=b"", capture_output=True, timeout=20)
    assert (done.stdout, done.code) == (real.stdout, real.returncode)
