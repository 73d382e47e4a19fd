"""Commands on text: `echo`, `cat`, `head`, `tail`, `wc`, `grep`.

Knows their options. Does not know where files are, nor how a pattern is matched (`patterns`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from .calls import Call, Command
from .patterns import Pattern, pattern


def _echo(call: Call) -> None:
    args, end = list(call.args), "\n"
    while args and args[0] in ("-n", "-e", "-E"):
        if args[0] == "-e":
            raise call.unsupported("-e")
        end = "" if args.pop(0) == "-n" else end
    call.say(" ".join(args) + end)


def _cat(call: Call) -> None:
    options, names = call.options("nu")
    number = 0
    for _, data in call.contents(names):
        if "n" not in options:
            call.out += data
            continue
        for line in data.splitlines(keepends=True):
            number += 1
            call.out += f"{number:6}\t".encode() + line


def _head(call: Call) -> None:
    for first, lines in _parts(call):
        if first.startswith("+"):
            raise call.unsupported(first)
        call.out += _cut(lines, first, lambda all, count: all[:count] if count >= 0 else all[: len(all) + count])


def _tail(call: Call) -> None:
    for first, lines in _parts(call):
        if first.startswith("+"):
            call.out += _cut(lines, first[1:], lambda all, count: all[max(0, count - 1) :])
        else:
            call.out += _cut(lines, first, lambda all, count: all[max(0, len(all) - abs(count)) :])


def _parts(call: Call) -> Iterator[tuple[str, tuple[bytes, bool]]]:
    """For each file, how much is wanted, and what there is: bytes, and whether they are counted as such."""
    args = call.args
    if args and len(args[0]) > 1 and args[0][0] == "-" and args[0][1:].isdecimal():
        call.args = ["-n", args[0][1:], *args[1:]]
    options, names = call.options("qv", "nc", {"lines": "n", "bytes": "c", "quiet": "q"})
    wanted = options.get("c", options.get("n", "10"))
    digits = wanted[wanted[:1] in ("-", "+") :]
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        raise call.unsupported(f"-n {wanted}")
    for number, (name, data) in enumerate(call.contents(names)):
        if len(names) > 1 and "q" not in options:
            call.say(("\n" if number else "") + f"==> {name} <==\n")
        yield wanted, (data, "c" in options)


def _cut(given: tuple[bytes, bool], wanted: str, cut) -> bytes:  # type: ignore[no-untyped-def]
    data, bytewise = given
    if bytewise:
        return bytes(cut(data, int(wanted)))
    return b"".join(cut(_lines(data), int(wanted)))


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only a new line ends one."""
    found = [line + b"\n" for line in data.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


_COUNTS = "lwmc"


def _wc(call: Call) -> None:
    options, names = call.options(_COUNTS, long={"lines": "l", "words": "w", "chars": "m", "bytes": "c"})
    shown = [letter for letter in _COUNTS if letter in options] or ["l", "w", "c"]
    rows = [(name, _counted(data)) for name, data in call.contents(names)]
    if len(names) > 1:
        rows.append(("total", {letter: sum(row[letter] for _, row in rows) for letter in _COUNTS}))
    width = max((len(str(row["c"])) for _, row in rows), default=1) if names else 7
    width = 1 if len(rows) == 1 and len(shown) == 1 else width
    for name, row in rows:
        numbers = " ".join(f"{row[letter]:{width}}" for letter in shown)
        call.say(f"{numbers} {name}\n" if names else f"{numbers}\n")


def _counted(data: bytes) -> dict[str, int]:
    text = data.decode(errors="replace")
    return {"l": data.count(b"\n"), "w": len(text.split()), "m": len(text), "c": len(data)}


# --- grep --------------------------------------------------------------------------------------------------


def _grep(call: Call) -> None:
    flags = {"ignore-case": "i", "count": "c", "recursive": "r", "line-number": "n", "invert-match": "v"}
    options, rest = call.options("iEFnvlcrRhHoqsw", "e", {**flags, "files-with-matches": "l"})
    if set("ow") & set(options):
        raise call.unsupported("-o or -w")
    asked = options["e"] if "e" in options else rest.pop(0) if rest else None
    if asked is None:
        raise call.unsupported("without a pattern")
    found = pattern(asked, "E" in options, "F" in options, "i" in options)
    deep = bool({"r", "R"} & set(options))
    names = list(_below(call, rest or ["."])) if deep else rest
    shown = ("H" in options or deep or len(names) > 1) and "h" not in options
    shown = shown or ("l" in options and bool(names))
    before = call.code
    many = [_matched(call, found, options, name if shown else "", data) for name, data in call.contents(names)]
    if call.code == before:
        call.code = 0 if any(many) else 1
    else:
        call.code = 2


def _below(call: Call, names: list[str]) -> Iterator[str]:
    for name in names:
        path = call.path(name)
        if not call.disk.is_folder(path):
            yield name
            continue
        for each in call.disk.below(path):
            if call.disk.is_file(each):
                yield posixpath.join(name, each[len(path.rstrip("/")) + 1 :])


def _matched(call: Call, wanted: Pattern, options: Mapping[str, str], name: str, data: bytes) -> bool:
    """Prints what matches in a file; whether anything does."""
    binary = b"\0" in data
    count = 0
    for number, line in enumerate(_lines(data), 1):
        text = line.decode(errors="replace").removesuffix("\n")
        if wanted.found(text) == ("v" in options):
            continue
        count += 1
        if set("lcq") & set(options) or binary:
            continue
        call.say((f"{name}:" if name else "") + (f"{number}:" if "n" in options else "") + text + "\n")
    if "q" in options:
        return bool(count)
    if "c" in options:
        call.say((f"{name}:" if name else "") + f"{count}\n")
    elif "l" in options and count:
        call.say(f"{name or '(standard input)'}\n")
    elif binary and count:
        call.say(f"Binary file {name or '(standard input)'} matches\n")
    return bool(count)


COMMANDS: Mapping[str, Command] = {
    "echo": _echo,
    "cat": _cat,
    "head": _head,
    "tail": _tail,
    "wc": _wc,
    "grep": _grep,
}
