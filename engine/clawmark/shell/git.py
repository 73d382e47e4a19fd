"""`git`: what it takes to keep versions of files, and to look at them: init, config, add, commit, log, show, ls-files.

Knows options and sentences. Does not know how a repository is written (`repository`). Times are virtual ones, or those
that a command names.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone

from .calls import Call
from .repository import Commit, Damaged, Repository

_WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_YEAR = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FATAL = 128
_LAST = 10**11
"""Seconds that have too many digits for a commit."""


class _Fatal(Exception):
    """Why git does nothing."""


def git(call: Call) -> None:
    """The command."""
    args = list(call.args)
    cwd = call.cwd
    while args[:1] == ["-C"] and len(args) > 1:
        cwd = call.disk.tree.path(args[1], cwd)
        args = args[2:]
    name = args.pop(0) if args else ""
    verb = _VERBS.get(name)
    if verb is None:
        raise call.unsupported(name)
    call.args, call.cwd, call.name = args, cwd, f"git {name}"
    try:
        verb(call)
    except (_Fatal, Damaged) as fatal:
        call.err += f"fatal: {fatal}\n".encode(errors="replace")
        call.code = _FATAL


def _repository(call: Call) -> Repository:
    folder = call.cwd
    while not call.disk.is_folder(posixpath.join(folder, ".git")):
        if folder == "/":
            raise _Fatal("not a git repository (or any of the parent directories): .git")
        folder = posixpath.dirname(folder)
    return Repository(call.disk, folder)


def _init(call: Call) -> None:
    options, names = call.options("q", "b", {"quiet": "q", "initial-branch": "b"})
    folder = call.path(names[0]) if names else call.cwd
    branch = options.get("b", "master")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", branch) or len(names) > 1:
        raise call.unsupported(" ".join(call.args))
    if call.disk.is_file(folder):
        raise _Fatal(f"cannot mkdir {names[0]}: File exists")
    new = Repository(call.disk, folder).create(branch)
    if "q" not in options:
        call.say(f"{'Initialized empty' if new else 'Reinitialized existing'} Git repository in {folder}/.git/\n")


def _config(call: Call) -> None:
    args = [each for each in call.args if each not in ("--local", "--global")]
    if not args or len(args) > 2 or not re.fullmatch(r"[a-z]+\.[A-Za-z]+", args[0]):
        raise call.unsupported(" ".join(call.args))
    repository = _repository(call)
    if len(args) == 2:
        repository.configure(args[0].lower(), args[1])
        return
    value = repository.configured(args[0].lower())
    call.code = int(value is None)
    call.say("" if value is None else value + "\n")


def _add(call: Call) -> None:
    options, names = call.options("Av", long={"all": "A"})
    repository = _repository(call)
    if not names and "A" not in options:
        call.say("Nothing specified, nothing added.\n")
        return
    index = repository.index()
    for name in names or [repository.folder]:
        path = call.path(name)
        if not f"{path}/".startswith(repository.folder.rstrip("/") + "/"):
            raise _Fatal(f"{name}: '{name}' is outside repository at '{repository.folder}'")
        if not repository.add(index, path):
            raise _Fatal(f"pathspec '{name}' did not match any files")
    repository.write_index(index)


def _commit(call: Call) -> None:
    options, rest = _messages(call)
    if rest or "m" not in options:
        raise call.unsupported("without a message" if not rest else rest[0])
    repository = _repository(call)
    index = repository.index()
    if "a" in options:
        for path in list(index):
            repository.add(index, posixpath.join(repository.folder, path))
        repository.write_index(index)
    parent = repository.head()
    tree = repository.tree(index)
    if "E" not in options and tree == (repository.commit(parent).tree if parent else repository.tree({})):
        call.say(f"On branch {repository.branch()}\nnothing to commit\n")
        call.code = 1
        return
    author = _person(call, repository, "AUTHOR", options.get("D"), options.get("P"))
    committer = _person(call, repository, "COMMITTER", None, None)
    made = repository.write_commit(tree, parent, author, committer, options["m"].strip() + "\n")
    if "q" not in options:
        root = "" if parent else " (root-commit)"
        call.say(f"[{repository.branch()}{root} {made[:7]}] {options['m'].strip().splitlines()[0]}\n")


def _messages(call: Call) -> tuple[dict[str, str], list[str]]:
    """Several `-m` are paragraphs."""
    paragraphs, args, rest = [], iter(call.args), []
    for arg in args:
        if arg in ("-m", "-am", "-qm", "--message"):
            paragraphs.append(next(args, ""))
            rest += ["-" + arg[1]] if arg in ("-am", "-qm") else []
        elif arg.startswith("--message="):
            paragraphs.append(arg.partition("=")[2])
        else:
            rest.append(arg)
    call.args = rest
    long = {"all": "a", "quiet": "q", "date": "D", "author": "P", "allow-empty": "E"}
    options, others = call.options("aq", "DP", long)
    if any(each.strip() for each in paragraphs):
        options["m"] = "\n\n".join(each.strip() for each in paragraphs)
    return options, others


def _person(call: Call, repository: Repository, role: str, date: str | None, person: str | None) -> str:
    """As a commit names who made it, and when."""
    name = call.values.get(f"GIT_{role}_NAME") or repository.configured("user.name")
    mail = call.values.get(f"GIT_{role}_EMAIL") or repository.configured("user.email")
    who = person or (f"{name} <{mail}>" if name and mail else "")
    if not who:
        raise _Fatal("no name and no address are known: git config user.name NAME, git config user.email ADDRESS")
    if not re.fullmatch(r"[^<>\n]+ <[^<>\n]*>", who):
        raise _Fatal(f"--author '{who[:60]}' is not 'Name <email>'")
    given = date or call.values.get(f"GIT_{role}_DATE")
    stamp = _stamp(_moment(given) if given else call.now.date())
    if not _legible(stamp):
        raise _Fatal(f"date out of range: {given}")
    return f"{who} {stamp}"


def _legible(stamp: str) -> bool:
    """Whether `git log` can show it."""
    seconds, zone = stamp.split()
    try:
        return bool(_date(int(seconds), zone)) and 0 <= int(seconds) < _LAST
    except (ValueError, OverflowError):
        return False


def _moment(given: str) -> datetime:
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise _Fatal(f"invalid date format: {given[:60]}") from None
    if found.tzinfo is None:
        raise _Fatal(f"a date without its zone: {given[:60]}")
    return found


def _stamp(moment: datetime) -> str:
    offset = (moment.utcoffset() or timedelta()) // timedelta(minutes=1)
    return f"{int(moment.timestamp())} {'-' if offset < 0 else '+'}{abs(offset) // 60:02}{abs(offset) % 60:02}"


# --- looking -----------------------------------------------------------------------------------------------


def _log(call: Call) -> None:
    if call.args and re.fullmatch(r"-\d{1,6}", call.args[0]):
        call.args = ["-n", *[each.removeprefix("-") if not place else each for place, each in enumerate(call.args)]]
    options, rest = call.options("", "n", {"oneline": "o", "max-count": "n", "all": "A", "reverse": "r"})
    if rest or not re.fullmatch(r"\d{1,6}", options.get("n", "0")):
        raise call.unsupported(" ".join(call.args))
    repository = _repository(call)
    if repository.head() is None:
        raise _Fatal(f"your current branch '{repository.branch()}' does not have any commits yet")
    found = repository.history()[: int(options["n"]) if "n" in options else None]
    ordered = reversed(found) if "r" in options else found
    shown = [_line(each, repository) if "o" in options else _whole(each) for each in ordered]
    call.say("".join(shown) if "o" in options else "\n".join(shown))


def _line(commit: Commit, repository: Repository) -> str:
    return f"{commit.id[:7]} {commit.message.splitlines()[0] if commit.message.strip() else ''}\n"


def _whole(commit: Commit) -> str:
    lines = "".join(f"    {line}\n" for line in commit.message.splitlines())
    who, seconds, zone = commit.author.rsplit(" ", 2)
    return f"commit {commit.id}\nAuthor: {who}\nDate:   {_date(int(seconds), zone)}\n\n{lines}"


def _date(seconds: int, zone: str) -> str:
    minutes = (int(zone[1:3]) * 60 + int(zone[3:5])) * (-1 if zone[0] == "-" else 1)
    at = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=minutes)))
    return f"{_WEEK[at.weekday()]} {_YEAR[at.month - 1]} {at.day} {at:%H:%M:%S} {at.year} {zone}"


def _show(call: Call) -> None:
    """Of a commit, its message; of `COMMIT:PATH`, the file as it was."""
    options, names = call.options("s", long={"no-patch": "s"})
    repository = _repository(call)
    for name in names or ["HEAD"]:
        revision, sign, path = name.partition(":")
        commit = repository.commit(repository.named(revision))
        if not sign:
            if "s" not in options:
                raise call.unsupported(f"{name} with its changes (try {commit.id[:7]}:FILE, or -s)")
            call.say(_whole(commit))
            continue
        files = repository.files(commit.tree)
        if path not in files:
            raise _Fatal(f"path '{path}' does not exist in '{revision}'")
        call.out += repository.blob(files[path])


def _ls_files(call: Call) -> None:
    if call.args:
        raise call.unsupported(" ".join(call.args))
    call.say("".join(f"{path}\n" for path in sorted(_repository(call).index())))


def _branch(call: Call) -> None:
    if call.args not in ([], ["--show-current"]):
        raise call.unsupported(" ".join(call.args))
    call.say(("" if call.args else "* ") + _repository(call).branch() + "\n")


_VERBS: Mapping[str, Callable[[Call], None]] = {
    "init": _init,
    "config": _config,
    "add": _add,
    "commit": _commit,
    "log": _log,
    "show": _show,
    "ls-files": _ls_files,
    "branch": _branch,
}
