"""The small shell that ClawMark's stages, checkers and agents have: what it does, and what it refuses.

What a real shell would print was taken from one; where git is installed, it must read what ours wrote.
"""

from __future__ import annotations

import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from coworkenv.engine.clawmark.shell.running import Done, Shell
from coworkenv.events.codec import to_json
from coworkenv.worlds.clawmark.tree import ROOT, Tree
from coworkenv.worlds.records import ServiceRecords
from coworkenv.worlds.service import Instant

NOW = Instant(datetime.fromisoformat("2026-03-01T09:00:00+08:00"), 5_000_000)


@pytest.fixture
def tree() -> Tree:
    return Tree(ServiceRecords({"files": {}, "folders": {}}, {}), lambda path: b"", NOW.at)


def run(tree: Tree, line: str) -> Done:
    return Shell(tree, NOW).run(line)


def said(tree: Tree, line: str) -> str:
    done = run(tree, line)
    assert (done.code, done.stderr) == (0, b""), done
    return done.stdout.decode()


def refused(tree: Tree, line: str) -> list[str]:
    shell = Shell(tree, NOW)
    shell.run(line)
    return shell.refused


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("mkdir -p a/b && echo hi > a/b/x && cat a/b/x", "hi\n"),
        ("echo one > x; echo two >> x; cat x; cat < x | head -n 1", "one\ntwo\none\n"),
        ("cat > x << 'END'\n$a `b`\nEND\ncat x", "$a `b`\n"),
        ("A=1; cat << END\n$A \\$A\nEND", "1 $A\n"),
        ("mkdir d; echo 1 > d/a; cp -r d e; mv d/a f; rm -r d; find . -type f", "./e/a\n./f\n"),
        ("mkdir d; touch d/b d/a .h; ls; ls d; ls -A", "d\na\nb\n.h\nd\n"),
        ("touch a.md b.txt MEMORY; find . -name '*.md' -o -name 'MEM*' | head -20", "./MEMORY\n./a.md\n"),
        ("touch a.md b.md c.txt; echo *.md", "a.md b.md\n"),
        ("echo -n abc | md5sum", "900150983cd24fb0d6963f7d28e17f72  -\n"),
        ("md5sum nowhere 2>/dev/null || echo none", "none\n"),
        ("if [ -d nowhere ]; then echo yes; elif [ 1 = 1 ]; then echo one; else echo no; fi", "one\n"),
        ("false || echo $?", "1\n"),
        ("echo 'a b' \"c  d\" e\\ f # nothing", "a b c  d e f\n"),
        ("cd /tmp && pwd; bash -c 'cd /; pwd'; pwd", "/tmp\n/\n/tmp\n"),
        ("echo 'exit 3' > s; bash s || echo $?", "3\n"),
        ("echo 'set -e\nfalse\necho never' > s; sh s || echo over", "over\n"),
        ("ls nowhere 2>&1 | wc -l", "1\n"),
        ("echo 'a1\nb\nA2' | grep -in 'a[0-9]'", "1:a1\n3:A2\n"),
        ("echo 'ab\nabab\nb' | grep -cE '^(ab)+$'", "2\n"),
        ("echo '1\n2\n3\n4' | tail -n +3 | head -1", "3\n"),
    ],
)
def test_what_it_prints(tree: Tree, line: str, says: str) -> None:
    assert said(tree, line) == says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cat nowhere", "cat: nowhere: No such file or directory\n"),
        ("echo 1 > no/where", "bash: no/where: No such file or directory\n"),
        ("mkdir a/b", "mkdir: cannot create directory ‘a/b’: No such file or directory\n"),
        ("cp a b", "cp: cannot stat 'a': No such file or directory\n"),
        ("cd nowhere", "bash: cd: nowhere: No such file or directory\n"),
    ],
)
def test_what_fails_says_why(tree: Tree, line: str, says: str) -> None:
    assert run(tree, line) == Done(b"", says.encode(), 1)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("curl http://x", "curl"),
        ("python3 -c 1", "python3"),
        ("echo $(date)", "a command within a command"),
        ("echo `date`", "a command within a command"),
        ("for a in b; do echo a; done", "`for`"),
        ("echo a & echo b", "`&` here"),
        ("(echo a)", "`(` here"),
        ("ls --color", "ls --color"),
        ("find . -exec rm {} ;", "find -exec"),
        ("echo 'a", "a quote that does not end"),
        ("mkdir {a,b}", "braces for several words"),
        ("grep -P a b", "grep -P"),
        ("echo ${a:-b}", "the variable ${a:"),
    ],
)
def test_what_it_does_not_do_is_refused_and_known(tree: Tree, line: str, what: str) -> None:
    done = run(tree, line)
    assert done == Done(b"", f"unsupported command: {what}\n".encode(), 127)
    assert refused(tree, line) == [what]
    assert not tree.changes()


# --- bounds ------------------------------------------------------------------------------------------------


def test_a_script_that_calls_itself_ends(tree: Tree) -> None:
    run(tree, "echo 'bash s; bash s; bash s; bash s; bash s; bash s' > s")
    assert "unsupported" in run(tree, "bash s").stderr.decode()


def test_files_that_double_are_bounded(tree: Tree) -> None:
    """What a workspace holds travels with each call, as JSON: sixteen megabytes at most."""
    doubled = "cat b b > a; cat a a > b; "
    line = "echo '\"\\0123456789' > b; " + doubled * 9 + "cp b c; cp b d; " + doubled
    assert refused(tree, line) == [
        "files of more than 6,291,456 bytes together",
        "a file of more than 4,194,304 bytes",
    ]
    assert len(to_json(tree.files)) < 16 << 20


def test_a_pattern_that_would_take_for_ever_takes_a_moment(tree: Tree) -> None:
    run(tree, f"echo {'a' * 5000} > x")
    assert run(tree, "grep -E '(a*)*(a|a)*b' x").code == 1


_ANYHOW = f"{3**9_000:b}".replace("0", "a").replace("1", "b")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("A=aa\n" + "A=$A$A$A$A\n" * 20, "a word of more than 4,194,304 characters"),
        ("touch 0 1 2 3 4 5 6 7 8 9\necho " + "* " * 9_000, "a command of more than 50,000 words"),
        ("mkdir " + " ".join(map(str, range(5_001))), "more than 5,000 files"),
        ("mkdir -p " + "a/" * 70, "a path of this length or depth"),
        ("echo a > " + "a" * 300, "a path of this length or depth"),
        ("true\n" * 2_001, "more than 2,000 commands"),
        ("touch " + " ".join(map(str, range(4_900))) + "\nls > /dev/null" * 1_000, "so much work in one line"),
        ("echo ab > x; yes=1; cat x | grep -E '" + "(a|b)?" * 80 + "c' x", ""),
        (f"echo {_ANYHOW} > x; grep -E 'a{'(a|b)' * 60}c' x", "a pattern that takes so long"),
    ],
)
def test_a_line_that_goes_on_and_on_comes_to_an_end(tree: Tree, line: str, what: str) -> None:
    assert refused(tree, line) == [what][: bool(what)]


# --- sqlite3 -----------------------------------------------------------------------------------------------

_MADE = "sqlite3 x.db \"CREATE TABLE t(id TEXT, n REAL); INSERT INTO t VALUES ('a;b', 1.5), ('c', NULL);\""


def test_tables_are_kept_in_a_file(tree: Tree) -> None:
    assert said(tree, _MADE) == ""
    before = tree.read(f"{ROOT}/x.db")
    assert before.startswith(b"SQLite format 3\0")
    assert said(tree, "sqlite3 -header x.db 'SELECT * FROM t'") == "id|n\na;b|1.5\nc|\n"
    assert said(tree, "echo '.tables\n.schema t' | sqlite3 x.db") == "t\nCREATE TABLE t(id TEXT, n REAL);\n"
    assert tree.read(f"{ROOT}/x.db") == before
    assert said(tree, "sqlite3 x.db 'DELETE FROM t; SELECT count(*) FROM t'") == "0\n"


def test_the_same_statements_give_the_same_bytes(tree: Tree) -> None:
    other = Tree(ServiceRecords({"files": {}, "folders": {}}, {}), lambda path: b"", NOW.at)
    for each in (tree, other):
        said(each, _MADE + "; sqlite3 x.db \"UPDATE t SET id = 'longer than it was' WHERE n > 1\"")
    assert tree.changes() == other.changes()


def test_time_is_virtual_and_nothing_is_drawn(tree: Tree) -> None:
    assert (
        said(tree, "sqlite3 x.db \"SELECT date('now'), CURRENT_TIME, strftime('%Y')\"") == "2026-03-01|01:00:05|2026\n"
    )
    for statement in (
        "SELECT random()",
        "ATTACH '/etc/passwd' AS p",
        "VACUUM INTO '/tmp/x'",
        "PRAGMA journal_mode=wal",
    ):
        done = run(tree, f'sqlite3 x.db "{statement}"')
        assert (done.code, done.stdout) == (1, b"")
        assert b"authoriz" in done.stderr


def test_a_statement_without_end_is_ended(tree: Tree) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    done = run(tree, f'sqlite3 x.db "{endless}"; sqlite3 x.db "{endless}"')
    assert done == Done(b"", b"Error: the statement takes too long\n" * 2, 1)


def test_what_is_no_database_is_a_sentence(tree: Tree) -> None:
    run(tree, "echo hello > x.db")
    assert run(tree, "sqlite3 x.db 'SELECT 1 FROM t'").stderr.startswith(b"Error: ")


# --- git ---------------------------------------------------------------------------------------------------

_REPOSITORY = """
mkdir -p repo/sub && cd repo
git init
git config user.email "ida@shop.test"
git config user.name "Ida"
echo 1 > a.txt; echo 2 > sub/b.txt
git add a.txt sub
GIT_COMMITTER_DATE="2026-01-15T10:00:00+08:00" git commit --date="2026-01-15T10:00:00+08:00" -m "first: (#1)"
echo 3 > a.txt
rm sub/b.txt
git add -A
git commit -q -m second
git log --oneline
"""


def test_git_keeps_versions(tree: Tree) -> None:
    done = said(tree, _REPOSITORY)
    first, second = (line.split()[0] for line in reversed(done.splitlines()[-2:]))
    assert done.splitlines()[1] == f"[master (root-commit) {first}] first: (#1)"
    assert (
        said(tree, f"cd repo/sub && git show {first}:a.txt && git show HEAD:a.txt && git ls-files") == "1\n3\na.txt\n"
    )
    log = said(tree, "cd repo && git log -1").splitlines()
    assert log[0].startswith(f"commit {second}")
    assert log[1:] == ["Author: Ida <ida@shop.test>", "Date:   Sun Mar 1 09:00:05 2026 +0800", "", "    second"]
    assert run(tree, "git log").stderr.decode().startswith("fatal: not a git repository")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_itself_reads_it(tree: Tree, tmp_path: Path) -> None:
    ours = said(tree, _REPOSITORY)
    for folder in tree.folders:
        (tmp_path / folder[1:]).mkdir(parents=True, exist_ok=True)
    for path in tree.files:
        (tmp_path / path[1:]).write_bytes(tree.read(path))

    def git(*words: str) -> str:
        command = ["git", "-c", "safe.directory=*", "-C", str(tmp_path / ROOT[1:] / "repo"), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("fsck", "--strict")
    assert git("status", "--porcelain") == ""
    assert git("log", "--oneline", "--no-decorate") == "".join(ours.splitlines(keepends=True)[-2:])
    assert git("log", "--no-decorate") == said(tree, "cd repo && git log")


@pytest.mark.parametrize("name", ["random()", "hex(randomblob(4))", "sqlite_version()", "sqlite_source_id()"])
def test_default_values_of_a_table_know_neither_chance_nor_the_library(tree: Tree, name: str) -> None:
    line = f'sqlite3 x.db "create table t(a default ({name}), b); insert into t(b) values (1); select a from t"'
    done = run(tree, line)
    assert (done.code, done.stdout) == (1, b"")


def test_what_depends_on_the_library_is_refused(tree: Tree) -> None:
    assert refused(tree, "sqlite3 x.db '/* */ EXPLAIN select 1'") == ["sqlite3 explain"]
    assert run(tree, "sqlite3 x.db 'select sqlite_compileoption_get(0)'").code == 1
    assert run(tree, "sqlite3 x.db 'select * from sqlite_stmt'").code == 1


def test_patterns_are_neither_too_deep_nor_too_long(tree: Tree) -> None:
    deep = "(" * 200 + "a" + ")" * 200
    assert refused(tree, f"echo a | grep -E '{deep}'")
    assert refused(tree, "echo " + "[" * 3000 + "*") == ["a pattern of this length"]


def test_output_over_the_limit_is_dropped_and_ends_the_line(tree: Tree) -> None:
    done = run(tree, f"A={'x' * 500_000}; " + "echo $A$A;" * 20 + "echo end | cat; echo end")
    assert done.code == 127
    assert len(done.stdout) <= 4 << 20
    assert b"end" not in done.stdout


def test_a_pattern_with_a_slash_at_its_end_names_folders(tree: Tree) -> None:
    assert said(tree, "mkdir d; touch f; echo */; touch a b; echo [^a]") == "d/\nb d f\n"


def test_git_has_a_file_or_a_folder_of_one_name(tree: Tree) -> None:
    made = "git init -q; echo x > a; git add .; rm a; mkdir a; echo y > a/b; git add a/b; git ls-files"
    assert said(tree, made) == "a/b\n"
    assert said(tree, "rm -r a; echo y > a; git add a; git ls-files") == "a\n"


def test_git_refuses_a_date_that_it_cannot_show(tree: Tree) -> None:
    made = "git init -q; git config user.name a; git config user.email b; echo x > a; git add ."
    said(tree, made)
    for date in ("9999-12-31T23:59:59-12:00", "9999-12-31T00:00:00+00:00", "1960-01-01T00:00:00+00:00"):
        assert run(tree, f"git commit -qm x --date {date}").code == 128


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("A=1; A=2 bash -c 'echo $A.'; bash -c 'echo $A.'; export A; bash -c 'echo $A.'", "2.\n.\n1.\n"),
        ("mkdir a b; echo x > a/f; cp -r a/. b; find b", "b\nb/f\n"),
        ("echo x > f; grep -l x f; grep -l x < f", "f\n(standard input)\n"),
    ],
)
def test_it_does_as_bash_does(tree: Tree, line: str, says: str) -> None:
    assert said(tree, line) == says


@pytest.mark.parametrize("line", ["rm", "mkdir", "touch", "touch d/", "mv /workspace x", "mv /workspace /tmp/x"])
def test_what_cannot_be_done_says_so(tree: Tree, line: str) -> None:
    done = run(tree, line)
    assert done.code == 1
    assert done.stderr
