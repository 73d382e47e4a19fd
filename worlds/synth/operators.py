"""Repair operators: what an edit's name means, as pure functions from data to data.

Knows the parts of an environment. Does not know when an edit is a good idea (`repairing`), nor whether it may be made
(`weakening`). `re_solve`, which makes an environment anew, is no operator on data: the repair loop has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from ...events.event import Json
from ..compiling import patched
from ..durations import DurationError, microseconds
from .findings import Edit, parts, pointer
from .pointing import BadEdit, Data, append, change, put, read, remove, rename, there

Operator: TypeAlias = Callable[[Data, str, Json], Data]
"""Takes data, a JSON pointer and a value. Raises `BadEdit`."""

RE_SOLVE = "re_solve"


def apply(data: Data, edit: Edit) -> Data:
    """Data after an edit. Raises `BadEdit` with a sentence."""
    operator = OPERATORS.get(edit.op)
    if operator is None:
        raise BadEdit(f"there is no repair operator {edit.op!r}; there are {', '.join(OPERATORS)}")
    try:
        changed: Json = operator(data, edit.path, edit.value)
    except (AttributeError, KeyError, TypeError) as error:
        # The data need not be an environment yet: there may be anything anywhere.
        raise BadEdit(f"{edit.path or '/'} is not what {edit.op} is for: {error}") from None
    if not isinstance(changed, dict):
        raise BadEdit(f"{edit.op} leaves no environment")
    return changed


# --- any place ---------------------------------------------------------------------------------------------


def _closest_key(data: Data, at: str, value: Json) -> Data:
    return rename(data, at, _text(value))


def _drop(data: Data, at: str, _: Json) -> Data:
    return remove(data, at)


def _use_ref(data: Data, at: str, value: Json) -> Data:
    if not _text(value).startswith(("$", "=")) and "${" not in _text(value):
        raise BadEdit(f"{value!r} is no reference to a fact")
    return change(data, at, lambda _: value)


def _restyle(data: Data, at: str, value: Json) -> Data:
    _text(read(data, at))
    return put(data, at, _text(value))


def _shift(data: Data, at: str, value: Json) -> Data:
    try:
        microseconds(_text(value))
    except DurationError as error:
        raise BadEdit(f"{at} cannot be {value!r}: {error}") from None
    if parts(at)[:1] == ["timeline"] and parts(at)[2:] == ["at"] and not there(data, at):
        raise BadEdit(f"the entry at {at} has no time of its own; shift `after`")
    return put(data, at, value)


# --- records -----------------------------------------------------------------------------------------------


def _create_row(data: Data, at: str, value: Json) -> Data:
    if len(_inside(at, "services")) != 4 or not isinstance(value, Mapping):
        raise BadEdit(f"a record goes to /services/SERVICE/records/COLLECTION, not to {at}")
    return append(data, at, value)


def _perturb(data: Data, at: str, value: Json) -> Data:
    path = _inside(at, "services")
    if len(path) < 6 or path[2] != "records":
        raise BadEdit(f"a field of a record stands at /services/SERVICE/records/COLLECTION/N/FIELD, not at {at}")
    return put(data, at, value)


def _move_row(data: Data, at: str, value: Json) -> Data:
    row = read(data, at)
    rows = read(data, at.rpartition("/")[0])
    if not isinstance(value, int) or not isinstance(rows, list) or not 0 <= value < len(rows):
        raise BadEdit(f"the record at {at} cannot move to place {value!r}")
    rest = [other for position, other in enumerate(rows) if position != int(parts(at)[-1])]
    return put(data, at.rpartition("/")[0], [*rest[:value], row, *rest[value:]])


def _move_carrier(data: Data, at: str, value: Json) -> Data:
    """The two texts change places; where there is none at the other place, the text moves."""
    there_, here = _text(value), _text(read(data, at))
    other = read(data, there_) if there(data, there_) else None
    moved = put(data, there_, here)
    return remove(moved, at) if other is None else put(moved, at, other)


def _declare_free(data: Data, at: str, value: Json) -> Data:
    path = _inside(at, "services")
    if len(path) != 5 or path[2] != "collections" or path[4] != "free":
        raise BadEdit(f"free fields stand at /services/SERVICE/collections/COLLECTION/free, not at {at}")
    read(data, pointer(*path[:2]))
    known = read(data, at) if there(data, at) else []
    return put(data, at, _more(known, [_text(value)]))


# --- checks ------------------------------------------------------------------------------------------------


def _add_where(data: Data, at: str, value: Json) -> Data:
    path = _inside(at, "checks", "twins")
    if "where" not in path and "args" not in path:
        raise BadEdit(f"what a claim demands stands under its `where` or `args`, not at {at}")
    if there(data, at):
        raise BadEdit(f"the claim says already what {path[-1]} must be")
    _check(data, at)
    return put(data, at, value)


def _add_count(data: Data, at: str, value: Json) -> Data:
    if not isinstance(value, int) or there(data, at):
        raise BadEdit(f"there is a count at {at} already, or {value!r} is none")
    _check(data, at)
    claim = at.rpartition("/")[0]
    for other in ("at_least", "at_most"):
        if there(data, f"{claim}/{other}"):
            data = remove(data, f"{claim}/{other}")
    return put(data, at, value)


def _to_gate(data: Data, at: str, _: Json) -> Data:
    read(data, at)
    return put(_if_there(data, f"{at}/weight"), f"{at}/gate", True)


def _reweight(data: Data, at: str, value: Json) -> Data:
    read(data, at)
    return put(data, at, _weight(value))


def _add_check(data: Data, at: str, value: Json) -> Data:
    if len(_inside(at, "checks")) != 2 or not isinstance(value, Mapping) or there(data, at):
        raise BadEdit(f"a new check goes to /checks/NAME, where no check is yet; not to {at}")
    return put(data, at, value)


def _add_gate(data: Data, at: str, value: Json) -> Data:
    if not isinstance(value, Mapping):
        raise BadEdit(f"{value!r} is no check")
    return _add_check(data, at, {"gate": True, **{key: part for key, part in value.items() if key != "weight"}})


def _relax(data: Data, at: str, _: Json) -> Data:
    if parts(at)[-1:] not in (["before"], ["after"]):
        raise BadEdit(f"only `before` and `after` can be relaxed, not {at}")
    return remove(data, at)


def _loosen(data: Data, at: str, value: Json) -> Data:
    if parts(at)[-1:] not in (["any"], ["mentions"], ["args"], ["where"]):
        raise BadEdit(f"only `any`, `mentions`, `args` and `where` can be loosened, not {at}")
    return change(data, at, lambda _: value) if value not in (None, [], {}) else remove(data, at)


def _declare_equivalence(data: Data, at: str, value: Json) -> Data:
    _check(data, at)
    return put(data, at, _more(read(data, at) if there(data, at) else [], value))


# --- people and what happens -------------------------------------------------------------------------------


def _widen(data: Data, at: str, value: Json) -> Data:
    return change(data, at, lambda known: _more(known, value))


def _split_rule(data: Data, at: str, value: Json) -> Data:
    reply = at.rpartition("/")[0]
    read(data, reply)
    if parts(at)[-1:] == ["tells"]:
        return put(data, at, _text(value))
    known = read(data, at)
    if not isinstance(value, list) or not isinstance(known, list) or any(word not in known for word in value):
        raise BadEdit(f"the words at {at} can only become fewer")
    return put(data, at, value)


def _add_reply(data: Data, at: str, value: Json) -> Data:
    path = _inside(at, "people")
    if path[2:] != ["replies"] or not isinstance(value, Mapping):
        raise BadEdit(f"a reply goes to /people/PERSON/replies, not to {at}")
    read(data, pointer(*path[:2]))
    return append(data, at, value)


def _re_anchor(data: Data, at: str, value: Json) -> Data:
    if parts(at)[-1:] != ["when"] or not isinstance(value, Mapping):
        raise BadEdit(f"an entry hangs on a condition at /timeline/N/when, not at {at}")
    entry = at.rpartition("/")[0]
    read(data, entry)
    return put(_if_there(data, f"{entry}/at"), at, value)


# --- twins, facts, steps -----------------------------------------------------------------------------------


def _add_twin(data: Data, at: str, value: Json) -> Data:
    if len(_inside(at, "twins")) != 2 or not isinstance(value, Mapping) or there(data, at):
        raise BadEdit(f"a new twin goes to /twins/NAME, where none is yet; not to {at}")
    if patched(data, value) == data:
        raise BadEdit(f"the twin at {at} would change nothing")
    return put(data, at, value)


def _re_id(data: Data, at: str, value: Json) -> Data:
    _inside(at, "facts")
    return change(data, at, lambda _: _text(value))


def _drop_check(data: Data, at: str, _: Json) -> Data:
    name = _named(at, "checks")
    return _without_patches(remove(data, at), "checks", name)


def _drop_trap(data: Data, at: str, _: Json) -> Data:
    name = _named(at, "traps")
    return _without_patches(remove(data, at), "traps", name)


def _drop_fact(data: Data, at: str, _: Json) -> Data:
    path = _inside(at, "facts")
    return _without_patches(remove(data, at), *path)


def _drop_tool(data: Data, at: str, _: Json) -> Data:
    """A whole service, one of its tools, or one verb of a collection; the faults of what is gone go, too."""
    path = _inside(at, "services")
    match path:
        case [_, service]:
            gone = f"{service}."
        case [_, service, "tools", tool]:
            gone = f"{service}.{tool}"
        case [_, service, "collections", collection, "can", _]:
            gone = f"{service}.{collection}.{read(data, at)}"
        case _:
            raise BadEdit(f"there is no tool at {at}")
    kept = [fault for fault in data.get("faults", []) if not _names(fault.get("tool", ""), gone)]
    data = remove(data, at)
    return {**data, "faults": kept} if "faults" in data else data


def _names(tool: str, gone: str) -> bool:
    return tool.startswith(gone) if gone.endswith(".") else tool == gone


def _drop_step(data: Data, at: str, _: Json) -> Data:
    """A step of the oracle; traps and `uses` no longer name it. Expressions that do make the edit unfit to be read."""
    if len(_inside(at, "oracle")) != 2:
        raise BadEdit(f"a step stands at /oracle/N, not at {at}")
    step = read(data, at)
    name = step.get("as") if isinstance(step, Mapping) else None
    data = remove(data, at)
    if name is None:
        return data
    steps = [_unused(step, "uses", [name]) for step in data["oracle"]]
    traps = {trap: _trap_without(spec, name) for trap, spec in data.get("traps", {}).items()}
    return {**data, "oracle": steps} | ({"traps": traps} if traps else {})


def _trap_without(trap: Data, step: str) -> Data:
    for key in ("drop", "repeat"):
        trap = _unused(trap, key, [step])
    for key in ("bind", "change"):
        if key in trap:
            kept = {path: value for path, value in trap[key].items() if path.partition(".")[0] != step}
            trap = {**trap, key: kept}
    return trap


def _unused(part: Data, key: str, words: Iterable[str]) -> Data:
    return {**part, key: [word for word in part[key] if word not in words]} if key in part else part


def _without_patches(data: Data, *path: str) -> Data:
    """Data whose twins say nothing of this place any more."""
    for twin in data.get("twins", {}):
        at = pointer("twins", twin, *path)
        if there(data, at):
            data = remove(data, at)
            outer = at.rpartition("/")[0]
            while len(parts(outer)) > 2 and read(data, outer) == {}:
                data, outer = remove(data, outer), outer.rpartition("/")[0]
    return data


# --- what values have to be --------------------------------------------------------------------------------


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise BadEdit(f"{value!r} is no text")
    return value


def _weight(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadEdit(f"{value!r} is no weight")
    return value


def _more(known: Json, words: Json) -> list[Json]:
    """The list with those of the words that are new. Raises `BadEdit` if none is."""
    if not isinstance(known, list) or not isinstance(words, list):
        raise BadEdit(f"{words!r} cannot be added to {known!r}")
    new = [word for word in words if word not in known]
    if not new:
        raise BadEdit(f"all of {words!r} are there already")
    return [*known, *new]


def _inside(at: str, *keys: str) -> list[str]:
    """The parts of a pointer into one of these parts of an environment."""
    path = parts(at)
    if not path or path[0] not in keys:
        raise BadEdit(f"{at or '/'} is not in {' or '.join(keys)}")
    return path


def _named(at: str, key: str) -> str:
    path = _inside(at, key)
    if len(path) != 2:
        raise BadEdit(f"one of the {key} stands at /{key}/NAME, not at {at}")
    return path[1]


def _check(data: Data, at: str) -> None:
    """A claim is only ever changed where there is one."""
    path = parts(at)
    claim = next((place for place, part in enumerate(path) if part in ("expect", "never", "only", "distinct")), None)
    if claim is None or not there(data, pointer(*path[: claim + 1])):
        raise BadEdit(f"there is no claim around {at}")


def _if_there(data: Data, at: str) -> Data:
    return remove(data, at) if there(data, at) else data


OPERATORS: Mapping[str, Operator] = {
    "closest_key": _closest_key,
    "drop": _drop,
    "replace": put,
    "use_ref": _use_ref,
    "create_row": _create_row,
    "add_where": _add_where,
    "add_count": _add_count,
    "to_gate": _to_gate,
    "perturb": _perturb,
    "add_twin": _add_twin,
    "add_check": _add_check,
    "add_gate": _add_gate,
    "drop_check": _drop_check,
    "drop_step": _drop_step,
    "drop_tool": _drop_tool,
    "drop_fact": _drop_fact,
    "drop_trap": _drop_trap,
    "reweight": _reweight,
    "shift_event": _shift,
    "re_anchor": _re_anchor,
    "widen_keywords": _widen,
    "split_rule": _split_rule,
    "add_reply": _add_reply,
    "re_id": _re_id,
    "move_row": _move_row,
    "declare_free": _declare_free,
    "declare_equivalence": _declare_equivalence,
    "relax_before": _relax,
    "loosen_matcher": _loosen,
    "move_carrier": _move_carrier,
    "restyle": _restyle,
}
"""By name."""
