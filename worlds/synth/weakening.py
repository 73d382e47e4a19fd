"""Whether an edit made an environment easier to pass without being better: what no repair may do unless it was asked.

Knows what makes a check, a claim, a trap or a twin weaker than it was. Does not know who asked for the edit.

Checks are compared in every variant in which they count, as they are written and as they come out: a value that another
spelling stands for is the same value. A check that counts nowhere, and a trap that could not be played, may go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ...events.event import Json
from ..compiling import plain, with_twin
from ..environment import Collection as Records
from ..environment import Environment
from ..expressions import ExpressionError, evaluate, parse
from ..facts import FactError, Resolution
from ..trapping import BadTrap, edited
from ..values import truth
from ..world import World

_ALL_OF = ("where", "args", "mentions")
"""Parts of a claim that narrow it: the more, the less fits."""
_ANY_FIELD = "*"


def weakenings(
    before: Environment, after: Environment, worlds: Mapping[str, World], *, measured: bool = False
) -> list[str]:
    """In what `after` asks less of an agent than `before` did; `worlds` are the variants of `before`.

    Whether another `before` or `after` asks less cannot be read. It counts as less, unless somebody has `measured` that
    no mistake goes unnoticed that was noticed before.
    """
    old, new = plain(before), plain(after)
    found = [f"the twin {twin} is gone" for twin in before.twins if twin not in after.twins]
    found += _traps(before, after, worlds)
    found += _scoring(before, after)
    found += _freed(before, after)
    base = _checks_of(old, None), _checks_of(new, None)
    resolutions = Resolution(with_twin(old, None)), Resolution(with_twin(new, None))
    for twin in [None, *(twin for twin in before.twins if twin in after.twins)]:
        where = f" in the twin {twin}" if twin else ""
        pair = with_twin(old, twin), with_twin(new, twin)
        outs = _resolved(pair[0], resolutions[0]), _resolved(pair[1], resolutions[1])
        # What a twin does not say of its own was compared in the base, where its values are those that are meant.
        known = {name for name in base[0] if twin and all(_is_same(name, *both) for both in zip(base, pair))}
        found += [f"{sentence}{where}" for sentence in _checks(pair, outs, known, measured)]
    return list(dict.fromkeys(found))


def _checks_of(data: Mapping[str, Json], twin: str | None) -> Mapping[str, Json]:
    checks: Mapping[str, Json] = with_twin(data, twin).get("checks", {})
    return checks


def _is_same(name: str, checks: Mapping[str, Json], twin: Mapping[str, Json]) -> bool:
    return name in checks and twin.get("checks", {}).get(name) == checks[name]


def _scoring(before: Environment, after: Environment) -> Iterator[str]:
    if before.scoring != after.scoring:
        yield f"the scoring rule is {after.scoring}, not {before.scoring}"


def _traps(before: Environment, after: Environment, worlds: Mapping[str, World]) -> Iterator[str]:
    for name, trap in before.traps.items():
        if name not in after.traps:
            if _playable(name, worlds):
                yield f"the trap {name} is gone"
        elif after.traps[name].ceiling > trap.ceiling:
            yield f"the trap {name} may score {after.traps[name].ceiling}, not only {trap.ceiling}"


def _playable(trap: str, worlds: Mapping[str, World]) -> bool:
    try:
        return all(bool(edited(world.oracle, world.traps[trap])) for world in worlds.values() if trap in world.traps)
    except BadTrap:
        return False


def _freed(before: Environment, after: Environment) -> Iterator[str]:
    """Fields that are nobody's business now. One that no check reads may become so: it is prose, or chance."""
    read = _read_fields(after)
    for name, spec in after.services.items():
        old = before.services.get(name)
        for collection, shape in spec.collections.items():
            known = old.collections.get(collection, Records()) if old else Records()
            for field in shape.free:
                records = f"{name}.{collection}"
                if field not in known.free and ((records, field) in read or (records, _ANY_FIELD) in read):
                    yield f"the field {name}.{collection}.{field}, which a check reads, is free"


def _read_fields(environment: Environment) -> set[tuple[str, str]]:
    """Fields that claims read by name, in any variant."""
    data = plain(environment)
    fields: set[tuple[str, str]] = set()
    for twin in [None, *environment.twins]:
        for check in with_twin(data, twin).get("checks", {}).values():
            for part in ("expect", "never"):
                claim = check.get(part) or {}
                fields.update((claim.get("record", ""), field) for field in claim.get("where", {}))
                if any(key in claim for key in ("mentions", "any", "looks_like")):
                    fields.add((claim.get("record", ""), _ANY_FIELD))
            for part in ("only", "distinct"):
                claim = check.get(part) or {}
                fields.add((claim.get("record", ""), claim.get("by", "")))
    return fields


# --- checks ------------------------------------------------------------------------------------------------


def _checks(
    pair: tuple[Mapping[str, Json], Mapping[str, Json]],
    outs: tuple[Mapping[str, Json], Mapping[str, Json]],
    known: Collection[str],
    measured: bool,
) -> Iterator[str]:
    """In what the checks of a variant ask less; of those `known` only whether they are there and count.

    `pair` is the variant before and after, `outs` what its references come to.
    """
    (old, new), (old_out, new_out) = pair, outs
    for name, check in old.get("checks", {}).items():
        if not _counts(old_out, name):
            continue
        if name not in new.get("checks", {}):
            yield f"the check {name} is gone"
        elif not _counts(new_out, name):
            yield f"the check {name} does not count any more"
        elif name not in known:
            both = _Pair(check, old_out["checks"][name]), _Pair(new["checks"][name], new_out["checks"][name])
            yield from (f"the check {name} {what}" for what in _check(*both, measured))


def _resolved(data: Mapping[str, Json], base: Resolution) -> dict[str, Json]:
    try:
        return Resolution(data, base).whole()
    except FactError:
        return dict(data)


def _counts(data: Mapping[str, Json], name: str) -> bool:
    condition = data["checks"][name].get("if")
    try:
        return condition is None or truth(evaluate(parse(condition), {}))
    except ExpressionError:
        return True


class _Pair:
    """A value as it is written, and as it comes out."""

    def __init__(self, written: Any, out: Any) -> None:
        self.written, self.out = written, out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pair) and (self.written == other.written or self.out == other.out)

    __hash__ = None  # type: ignore[assignment]

    def get(self, key: str, default: Json = None) -> _Pair:
        return _Pair(self.written.get(key, default), self.out.get(key, default))

    def items(self, key: str) -> list[tuple[str, _Pair]]:
        """What a mapping or list under this key holds; the items of a list have no name."""
        inside = self.get(key, {})
        if isinstance(inside.written, Mapping):
            return [(name, inside.get(name)) for name in inside.written]
        return [("", _Pair(*both)) for both in zip(inside.written, inside.out)]

    def __contains__(self, key: str) -> bool:
        return key in self.written


def _check(old: _Pair, new: _Pair, measured: bool) -> Iterator[str]:
    if "gate" in old and "gate" not in new:
        yield "is no gate any more"
    if "weight" in old and "weight" in new and new.out["weight"] < old.out["weight"]:
        yield f"weighs {new.out['weight']}, not {old.out['weight']}"
    for part in ("expect", "never", "only", "distinct"):
        if part not in old:
            continue
        if part not in new:
            yield f"has no `{part}` any more"
        elif part == "only":
            yield from _only(old.get(part), new.get(part))
        elif part == "distinct":
            if old.get(part) != new.get(part):
                yield "has another `distinct`"
        else:
            positive = part == "expect" and _bounds(old.get(part))[0] > 0
            yield from _claim(old.get(part), new.get(part), positive, measured)


def _only(old: _Pair, new: _Pair) -> Iterator[str]:
    if old.get("record") != new.get("record") or old.get("by") != new.get("by"):
        yield "looks at something else"
    known = [value for _, value in old.items("in")]
    if any(value not in known for _, value in new.items("in")):
        yield "allows more values"


def _claim(old: _Pair, new: _Pair, positive: bool, measured: bool) -> Iterator[str]:
    """A positive claim may not fit more than it did; a negative one, such as an `at_most: 0`, not less."""
    stronger, weaker = (new, old) if positive else (old, new)
    for part in ("record", "called", "said", "gave", "mark", "fired"):
        if old.get(part) != new.get(part):
            yield "looks at something else"
    for part in _ALL_OF:
        if not _holds_all(stronger.items(part), weaker.items(part)):
            yield f"demands less in `{part}`" if positive else f"forbids less, by its `{part}`"
    if not _narrower(stronger, weaker):
        yield "accepts more phrases" if positive else "forbids fewer phrases"
    for part in ("looks_like", "before", "after"):
        if part in old and part in new and measured and part != "looks_like":
            continue
        if part in weaker and stronger.get(part) != weaker.get(part):
            yield f"has another `{part}`" if part in new else f"has no `{part}` any more"
    if weaker.get("new", False).out and not stronger.get("new", False).out:
        yield "looks at other records, by `new`"
    if not _counted(old, new, positive):
        yield "counts otherwise"


def _holds_all(more: Sequence[tuple[str, _Pair]], fewer: Sequence[tuple[str, _Pair]]) -> bool:
    return all(any(name == other and value == found for other, found in more) for name, value in fewer)


def _narrower(stronger: _Pair, weaker: _Pair) -> bool:
    """One of a list of phrases: a shorter list is harder to meet, and none at all asks nothing."""
    few, many = stronger.items("any"), weaker.items("any")
    return not many or (bool(few) and _holds_all(many, few))


def _counted(old: _Pair, new: _Pair, positive: bool) -> bool:
    (least, most), (now_least, now_most) = _bounds(old), _bounds(new)
    if positive:
        return now_least >= least and now_most <= most
    return now_least <= least and now_most >= most


def _bounds(claim: _Pair) -> tuple[float, float]:
    count = claim.out.get("count")
    if count is not None:
        return count, count
    most = claim.out.get("at_most")
    least = claim.out.get("at_least", 1 if most is None else 0)
    return least, float("inf") if most is None else most
