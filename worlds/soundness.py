"""Whether an environment that has the right shape also makes sense: what it refers to exists, and nothing contradicts.

Knows what each part may refer to. Does not know lines, or how the oracle and the traps are checked (`solutions`).
Everything is looked at in a resolved environment; every problem is found, not only the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal

from ..events.event import AGENT, WORLD, Json
from .compiling import start_of
from .conditions import ANYONE
from .document import Path
from .durations import DurationError, microseconds
from .environment import UNUSED, Change, Check, Claim, Condition, Entry, Environment, Fault, Only, Person, Reply
from .problems import InvalidEnvironment
from .shape import Finding
from .spelling import nearest
from .vocabulary import Vocabulary

RESERVED = frozenset({AGENT, WORLD, ANYONE})
"""Names that no person can have."""


def findings(environment: Environment, words: Vocabulary) -> Iterator[Finding]:
    """All that is wrong with the world and its checks."""
    yield from _clock(environment)
    for name, person in environment.people.items():
        yield from _person(name, person, words, ("people", name))
    for number, fault in enumerate(environment.faults):
        yield from _fault(fault, words, ("faults", number))
    seen: set[str] = set()
    for number, entry in enumerate(environment.timeline):
        if entry.name is not None and entry.name in seen:
            yield Finding(("timeline", number, "name"), f"the name {entry.name!r} is given twice.")
        seen.add(entry.name or "")
        yield from _entry(entry, words, ("timeline", number))
    for name, check in environment.checks.items():
        yield from _check(check, words, ("checks", name))
    if environment.checks and not any(check.weight for check in environment.checks.values()):
        yield Finding(("checks",), "gates alone earn nothing.", "Give at least one check a weight.")


# --- names -------------------------------------------------------------------------------------------------


def known(word: str, words: Collection[str], what: str, path: Path) -> Iterator[Finding]:
    """A finding if a word is none of these."""
    if word not in words:
        near = nearest(word, words)
        hint = f"Did you mean {near!r}?" if near else f"There are {', '.join(sorted(words))}." if words else None
        yield Finding(path, f"there is no {what} {word!r}.", hint)


def person_known(word: str, words: Vocabulary, path: Path, others: Iterable[str] = ()) -> Iterator[Finding]:
    return known(word, {*words.people, *others}, "person", path)


def tool_known(word: str, words: Vocabulary, path: Path) -> Iterator[Finding]:
    if word.partition(".")[0] not in words.unsound:
        yield from known(word, words.tools, "tool", path)


def arguments_known(tool: str, args: Iterable[str], words: Vocabulary, path: Path) -> Iterator[Finding]:
    if tool in words.tools:
        properties = words.tools[tool].schema.get("properties", {})
        for name in args:
            yield from known(name, properties, f"argument of {tool}", (*path, name))


def fields_known(collection: str, fields: Iterable[str], words: Vocabulary, path: Path) -> Iterator[Finding]:
    if collection in words.collections:
        for name in fields:
            yield from known(name, words.collections[collection], f"field of {collection}", (*path, name))


def collection_known(word: str, words: Vocabulary, path: Path) -> Iterator[Finding]:
    if word.partition(".")[0] not in words.unsound:
        yield from known(word, words.collections, "collection", path)


def length(text: str | None, path: Path) -> Iterator[Finding]:
    """A finding if a text that should be a duration is none."""
    if text is not None:
        try:
            microseconds(text)
        except DurationError as error:
            yield Finding(path, str(error))


def one_of(part: object, names: Mapping[str, str], path: Path) -> Iterator[Finding]:
    """A finding unless exactly one of these attributes is given; `names` are attribute: key."""
    given = [key for attribute, key in names.items() if getattr(part, attribute) is not None]
    if len(given) != 1:
        keys = ", ".join(names.values())
        says = f"this says {' and '.join(given)} at once" if given else "this says nothing"
        yield Finding(path, f"{says}; it needs exactly one of {keys}.")


# --- parts -------------------------------------------------------------------------------------------------


def _clock(environment: Environment) -> Iterator[Finding]:
    clock = environment.clock
    try:
        start_of(clock)
    except InvalidEnvironment as error:
        found = (Finding(tuple(problem.path.split(".")), problem.message) for problem in error.problems)
        yield from (finding for finding in found if finding.path != ("clock", "deadline"))  # that comes below
    for key, text in (("deadline", clock.deadline), ("call", clock.call), ("message", clock.message)):
        yield from length(text, ("clock", key))


def _person(name: str, person: Person, words: Vocabulary, path: Path) -> Iterator[Finding]:
    if name in RESERVED or "." in name:
        yield Finding(path, f"a person cannot be called {name!r}.", f"{', '.join(sorted(RESERVED))} mean others.")
    yield from length(person.after, (*path, "after"))
    yield from length(person.message, (*path, "message"))
    names = [reply.name for reply in person.replies if reply.name is not None]
    for number, reply in enumerate(person.replies):
        at = (*path, "replies", number)
        if reply.name is not None and names.count(reply.name) > 1:
            yield Finding((*at, "name"), f"the name {reply.name!r} is given to several replies of {name}.")
        for place, word in enumerate(reply.cancels):
            yield from known(word, names, f"reply of {name}", (*at, "cancels", place))
        yield from _reply(reply, words, at)


def _reply(reply: Reply, words: Vocabulary, path: Path) -> Iterator[Finding]:
    yield from length(reply.after, (*path, "after"))
    if reply.needs is not None:
        yield from known(reply.needs, words.marks, "mark", (*path, "needs"))
    if reply.tells != "volunteers" and not reply.any and not reply.all:
        yield Finding(path, "no message can bring this reply about; it needs words in 'any' or 'all'.")
    if (reply.tells == "wrong_until_challenged") != (reply.first is not None):
        yield Finding(path, "'first' goes with 'tells: wrong_until_challenged', and only with it.")
    if reply.challenge and reply.first is None:
        yield Finding((*path, "challenge"), "'challenge' means something only beside 'first'.")
    if reply.tells == "never" and (reply.gives or reply.mark):
        yield Finding(path, "a reply that never tells gives nothing and reaches no mark.")


def _fault(fault: Fault, words: Vocabulary, path: Path) -> Iterator[Finding]:
    yield from tool_known(fault.tool, words, (*path, "tool"))
    yield from arguments_known(fault.tool, fault.args, words, (*path, "args"))
    yield from length(fault.retry_after, (*path, "retry_after"))
    yield from length(fault.delay, (*path, "delay"))
    if fault.nth is not None and fault.nth < 1:
        yield Finding((*path, "nth"), "calls are counted from 1.")
    if fault.chance is not None and not 0 <= fault.chance <= 1:
        yield Finding((*path, "chance"), "a chance is a number between 0 and 1.")
    if fault.retry_after is not None and fault.kind != "rate_limit":
        yield Finding((*path, "retry_after"), "'retry_after' means something only with 'kind: rate_limit'.")


def _entry(entry: Entry, words: Vocabulary, path: Path) -> Iterator[Finding]:
    yield from length(entry.at, (*path, "at"))
    yield from length(entry.after, (*path, "after"))
    if (entry.at is None) == (entry.when is None):
        yield Finding(path, "an entry happens either 'at' a time or 'when' something has happened; say one of them.")
    if entry.when is not None:
        yield from condition(entry.when, words, (*path, "when"))
    if entry.sender is not None:
        yield from person_known(entry.sender, words, (*path, "from"))
    if (entry.say is None) != (entry.sender is None):
        yield Finding(path, "'say' and 'from' go together.")
    if entry.say is None and (entry.gives or entry.mark):
        yield Finding(path, "only a message can give something or reach a mark; it needs 'say'.")
    if entry.say is None and not entry.changes and entry.name is None:
        yield Finding(path, "nothing happens here; it needs 'say' or 'changes', or a name that a check refers to.")
    for number, change in enumerate(entry.changes):
        yield from _change(change, words, (*path, "changes", number))


def _change(change: Change, words: Vocabulary, path: Path) -> Iterator[Finding]:
    verbs = {"create": "create", "update": "update", "delete": "delete"}
    yield from one_of(change, verbs, path)
    for verb in verbs:
        collection = getattr(change, verb)
        if collection is not None:
            yield from collection_known(collection, words, (*path, verb))
            for part in ("where", "record", "set"):
                yield from fields_known(collection, getattr(change, part), words, (*path, part))
    for part in UNUSED.get(next((verb for verb in verbs if getattr(change, verb) is not None), ""), ()):
        if getattr(change, part):
            yield Finding((*path, part), f"{part!r} means nothing beside this verb.")


_CONDITIONS = {name: name for name in ("called", "mark", "said", "gave", "fired")}
_CLAIMS = {"record": "record", **_CONDITIONS}


def condition(part: Condition, words: Vocabulary, path: Path) -> Iterator[Finding]:
    """What is wrong with a condition."""
    yield from one_of(part, _CONDITIONS, path)
    yield from _subject(part, words, path)
    if part.mentions and part.said is None:
        yield Finding((*path, "mentions"), "'mentions' means something only beside 'said'.")


def _subject(part: Condition | Claim, words: Vocabulary, path: Path) -> Iterator[Finding]:
    """What conditions and claims have in common."""
    if part.called is not None:
        yield from tool_known(part.called, words, (*path, "called"))
        yield from arguments_known(part.called, part.args, words, (*path, "args"))
    elif part.args:
        yield Finding((*path, "args"), "'args' means something only beside 'called'.")
    if part.mark is not None:
        yield from known(part.mark, words.marks, "mark", (*path, "mark"))
    if part.said is not None:
        yield from person_known(part.said, words, (*path, "said"), [ANYONE])
    if part.gave is not None:
        yield from known(part.gave, words.slots, "slot", (*path, "gave"))
    if part.fired is not None:
        yield from known(part.fired, words.entries, "entry of the timeline", (*path, "fired"))


def _check(check: Check, words: Vocabulary, path: Path) -> Iterator[Finding]:
    yield from one_of(check, {"claim": "expect", "never": "never", "only": "only", "distinct": "distinct"}, path)
    if check.gate == (check.weight is not None):
        yield Finding(path, "a check is either a gate ('gate: true') or has a weight.")
    if check.weight is not None and check.weight < 1:
        yield Finding((*path, "weight"), "a weight is 1 or more.")
    for key, claim in (("expect", check.claim), ("never", check.never)):
        if claim is not None:
            yield from _claim(claim, words, (*path, key))
    for key, only in (("only", check.only), ("distinct", check.distinct)):
        if only is not None:
            yield from _only(only, words, (*path, key))
    if check.distinct is not None and check.distinct.values:
        yield Finding((*path, "distinct", "in"), "'in' means something only with 'only'.")


def _claim(claim: Claim, words: Vocabulary, path: Path) -> Iterator[Finding]:
    yield from one_of(claim, _CLAIMS, path)
    yield from _subject(claim, words, path)
    if claim.record is not None:
        yield from collection_known(claim.record, words, (*path, "record"))
        yield from fields_known(claim.record, claim.where, words, (*path, "where"))
    elif claim.where or claim.new:
        yield Finding(path, "'where' and 'new' mean something only beside 'record'.")
    for key in ("count", "at_least", "at_most"):
        number = getattr(claim, key)
        if number is not None and number < 0:
            yield Finding((*path, key), "a number of things is 0 or more.")
    if claim.count is not None and (claim.at_least is not None or claim.at_most is not None):
        yield Finding((*path, "count"), "'count' says it all; leave out 'at_least' and 'at_most'.")
    for key, part in (("before", claim.before), ("after", claim.after)):
        if part is not None:
            yield from condition(part, words, (*path, key))


def _only(only: Only, words: Vocabulary, path: Path) -> Iterator[Finding]:
    yield from collection_known(only.record, words, (*path, "record"))
    if only.record in words.collections:
        yield from known(only.by, words.collections[only.record], f"field of {only.record}", (*path, "by"))


def is_share(value: Json) -> bool:
    """Whether it is a number between 0 and 1."""
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool) and 0 <= value <= 1
