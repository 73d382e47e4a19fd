"""The format of an environment: what a person, the synthesiser or an importer may write in a file.

Knows the shape of the file and nothing else: reading files is `document`, references to facts are `facts`, and what a
resolved environment does when it is played is `world`. Every struct is strict: an unknown key is an error.

Values written as strings may be references. `$order.id` is a fact, `=$price * 2` an expression over facts, and
`"It is ${order.id}."` a text with facts in it. In the oracle, `@step.field` and `@{step.field}` are values that
the agent has seen. A literal text that starts with one of these signs doubles it (`$$5`, `@@home`, `==`); `facts` says
which places may refer to what, and `syntax` what an expression can say.
Durations are texts such as `90s`, `4m`, `1h30m`, `2d`. Dates and times are ISO 8601 texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec

from ..events.event import Json

FORMAT = "coworkenv/1"

Duration: TypeAlias = str
Expression: TypeAlias = str


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Anything an environment file consists of."""


class Clock(Part, frozen=True):
    start: str
    """Local date and time at which the workspace begins."""
    zone: str = "UTC"
    deadline: Duration = "8h"
    """The episode ends then, whatever is going on."""
    call: Duration = "20s"
    """How long a tool call takes, unless the tool says otherwise."""
    message: Duration = "1s"
    """How long a message travels."""


# --- services ----------------------------------------------------------------------------------------------


class Field(Part, frozen=True):
    """One field of a record, or one argument of a tool."""

    type: Literal[
        "text",
        "id",
        "integer",
        "number",
        "boolean",
        "date",
        "time",
        "datetime",
        "email",
        "choice",
        "list",
        "object",
        "any",
    ]
    about: str = ""
    of: tuple[str, ...] = ()
    """The values of a `choice`."""
    required: bool = False
    default: Json = None
    new: str | None = None
    """How a new record gets its value when the caller gives none: `RF-{n}` counts up, `{now}` is the virtual time, or
    its day in a `date`."""


Verb: TypeAlias = Literal["find", "get", "create", "update", "delete"]


class Collection(Part, frozen=True):
    key: str | None = None
    """The field that names a record; `id` where there is one. Without, records are numbered `#1`, `#2`, …"""
    fields: dict[str, Field] = {}
    """Left out, they are inferred from the records."""
    can: tuple[Verb, ...] = ()
    """Each verb is a tool `service.collection.verb`."""
    pages: int | None = None
    """`find` returns at most so many records at once, and a `next` to go on from."""
    free: tuple[str, ...] = ()
    """Fields whose value is nobody's business: the frame does not watch them."""


UNUSED: Mapping[str, tuple[str, ...]] = {"create": ("where", "set"), "update": ("record",), "delete": ("record", "set")}
"""What a side effect, or a change of the timeline, does not need beside each of its verbs, and may not have."""


class SideEffect(Part, frozen=True):
    """Other records that a tool writes. In `record`, `set` and `where`, `=args.x` and `=record.y` are expressions; in
    `set`, `it` is the record that is changed."""

    create: str | None = None
    update: str | None = None
    delete: str | None = None
    """Exactly one of the three names a collection of the same service."""
    where: dict[str, Json] = {}
    record: dict[str, Json] = {}
    set: dict[str, Json] = {}


class Tool(Part, frozen=True):
    """A verb of a service beyond the five that every collection can have."""

    verb: Verb
    collection: str
    about: str = ""
    takes: dict[str, Field] = {}
    """Arguments. For `get`, `update` and `delete` the key field is always one of them. Those with the name of a field
    are written into it, or searched for; the others are there for the expressions."""
    when: Expression | None = None
    """Must hold of `record` and `args`, else the call is refused with the sentence in `refusal`. A `find` gives the
    records of which it holds."""
    refusal: str = ""
    set: dict[str, Json] = {}
    """Fields of the record that the tool writes itself, such as a status: values, or expressions as in `also`."""
    also: tuple[SideEffect, ...] = ()
    latency: Duration | None = None


class Service(Part, frozen=True):
    use: str | None = None
    """A ready definition of the library; what is written here is laid over it."""
    about: str = ""
    collections: dict[str, Collection] = {}
    tools: dict[str, Tool] = {}
    """Called `service.name`. One named `collection.verb` takes the place of that verb."""
    records: dict[str, tuple[dict[str, Json], ...]] = {}
    """What each collection holds at the start."""


FaultKind: TypeAlias = Literal["error", "rate_limit", "timeout", "slow", "partial"]


class Fault(Part, frozen=True):
    """Something that goes wrong with a tool call."""

    tool: str
    kind: FaultKind = "error"
    args: dict[str, Json] = {}
    """Only calls with these arguments."""
    nth: int | None = None
    """Only the n-th such call, counted from 1; otherwise each of them, subject to `chance`."""
    chance: Decimal | None = None
    """Probability of each such call failing; drawn from the seed."""
    applied: bool = False
    """The service did what was asked before it failed."""
    retry_after: Duration | None = None
    delay: Duration | None = None
    """How much longer a `slow` call or a `timeout` takes."""


# --- people ------------------------------------------------------------------------------------------------

Disclosure: TypeAlias = Literal[
    "volunteers", "on_ask", "on_specific_ask", "never", "wrong_until_challenged", "slow", "absent"
]


class Words(Part, frozen=True):
    say: str
    gives: dict[str, Json] = {}


class Reply(Part, frozen=True):
    """What a person answers to a message that has the words of `any` and of `all` in it."""

    name: str | None = None
    any: tuple[Json, ...] = ()
    all: tuple[Json, ...] = ()
    say: str = ""
    gives: dict[str, Json] = {}
    """Typed slots this answer discloses."""
    mark: str | None = None
    """A milestone this answer reaches."""
    after: Duration = "0s"
    """How long they take to answer."""
    tells: Disclosure = "on_ask"
    first: Words | None = None
    """With `wrong_until_challenged`: what they say until someone doubts it with a word of `challenge`."""
    challenge: tuple[Json, ...] = ()
    needs: str | None = None
    """Only once this milestone is reached."""
    once: bool = False
    cancels: tuple[str, ...] = ()
    """Names of replies of theirs that, if still on the way, are withdrawn."""


class Person(Part, frozen=True):
    """A coworker. Only those who have something to say take part."""

    role: str = ""
    about: str = ""
    """Persona, for coworkers played by a model."""
    opens: str | None = None
    """The request: what they write to the agent at the start."""
    replies: tuple[Reply, ...] = ()
    otherwise: str | None = None
    """Answer to a message that no reply fits; nothing if left out."""
    after: Duration = "30s"
    """How long `otherwise` takes."""
    message: Duration | None = None
    """How long messages to and from them travel."""


# --- what happens, and what is required --------------------------------------------------------------------


class Condition(Part, frozen=True):
    """Something that has happened in the stream. Exactly one of the first five is given."""

    called: str | None = None
    """A tool, whose call returned without an error."""
    mark: str | None = None
    said: str | None = None
    """The agent wrote to this person."""
    gave: str | None = None
    """`person.slot`: the agent has received a message that discloses the slot."""
    fired: str | None = None
    """An entry of the timeline, by name."""
    args: dict[str, Json] = {}
    """With `called`: only calls with these arguments."""
    mentions: tuple[Json, ...] = ()
    """With `said`: all of these values."""


class Change(Part, frozen=True):
    """A silent change of records by the world. Collections are written `service.collection`."""

    create: str | None = None
    update: str | None = None
    delete: str | None = None
    where: dict[str, Json] = {}
    record: dict[str, Json] = {}
    set: dict[str, Json] = {}


class Entry(Part, frozen=True):
    """One entry of the timeline. It fires once, `after` its condition or at its time.

    One that neither says nor changes anything is a moment that a check can refer to (`before: {fired: NAME}`).
    """

    name: str | None = None
    at: Duration | None = None
    when: Condition | None = None
    after: Duration = "0s"
    sender: str | None = msgspec.field(default=None, name="from")
    say: str | None = None
    gives: dict[str, Json] = {}
    mark: str | None = None
    changes: tuple[Change, ...] = ()


class Claim(Part, frozen=True):
    """What is looked for. Exactly one of the first six is given."""

    record: str | None = None
    """`service.collection`: records of the final state."""
    called: str | None = None
    """Calls of a tool that returned without an error."""
    said: str | None = None
    """What the agent wrote to a person (`anyone` for all), taken together."""
    gave: str | None = None
    """`person.slot`: disclosed to the agent."""
    mark: str | None = None
    fired: str | None = None

    where: dict[str, Json] = {}
    """With `record`: fields that are equal as typed values."""
    new: bool = False
    """With `record`: only those created during the episode."""
    args: dict[str, Json] = {}
    mentions: tuple[Json, ...] = ()
    """All of these values, compared as numbers, dates or words; in `said`, or in any text of the record or call."""
    any: tuple[str, ...] = ()
    """At least one of these phrases."""
    looks_like: str | None = None
    """A pattern in the text: `#` is a run of digits, `*` a run of letters or digits, `x?` an optional `x`."""
    count: int | None = None
    at_least: int | None = None
    at_most: int | None = None
    """How many; at least one if nothing is said."""
    before: Condition | None = None
    """Only what happened before the condition first held (all of it, where it never held)."""
    after: Condition | None = None
    """Only what happened after the condition first held (nothing, where it never held)."""


class Only(Part, frozen=True):
    """Records created during the episode, by the values of one field."""

    record: str
    by: str
    values: tuple[Json, ...] = msgspec.field(default=(), name="in")
    """Allowed values."""


class Check(Part, frozen=True):
    """One thing that is graded. Either `gate: true` or a `weight`, and exactly one of the last four."""

    gate: bool = False
    weight: int | None = None
    why: str = ""
    condition: Expression | None = msgspec.field(default=None, name="if")
    """A check whose condition is false is left out of the score."""

    claim: Claim | None = msgspec.field(default=None, name="expect")
    never: Claim | None = None
    only: Only | None = None
    distinct: Only | None = None


# --- solutions ---------------------------------------------------------------------------------------------


class Step(Part, frozen=True):
    """One step of the oracle. Exactly one of `call`, `ask`, `say`, `wait`, `calc`."""

    name: str | None = msgspec.field(default=None, name="as")
    call: str | None = None
    args: dict[str, Json] = {}
    ask: str | None = None
    """Writes `text` to a person and waits for the reply to it; its value is what the reply gives."""
    say: str | None = None
    text: str = ""
    wait: str | None = None
    """Waits for any next message of a person; its value is what the message gives."""
    limit: Duration | None = None
    """How long to wait at most; the value is then null. It may have been read somewhere (`@rule.patience`)."""
    calc: Expression | None = None
    each: Expression | None = None
    """The step is done once for each item of this list, called `it`; its value is the list of values."""
    condition: Expression | None = msgspec.field(default=None, name="if")
    uses: tuple[str, ...] = ()
    """Steps whose result this one depends on without naming it."""


class Trap(Part, frozen=True, kw_only=True):
    """A plausible bad agent: the oracle with some steps changed. It must score at most `ceiling` in some twin."""

    ceiling: Decimal
    """A number between 0 and 1."""
    why: str = ""
    drop: tuple[str, ...] = ()
    bind: dict[str, Json] = {}
    """Values that dropped steps would have had: `step.field: value`."""
    change: dict[str, Json] = {}
    """Parts of steps: `step.args.amount: value`, `step.if: null`."""
    add: tuple[Step, ...] = ()
    repeat: tuple[str, ...] = ()


class Frozen(Part, frozen=True):
    """Computed by `env freeze`, never by hand."""

    digest: str
    """SHA-256 of the environment without this part."""
    frame: tuple[str, ...] = ()
    """What may change: `service.collection:key.field`, `…:new` for created records, over all twins."""
    scores: dict[str, str] = {}


class Limits(Part, frozen=True):
    decisions: int = 200
    calls: int = 400
    events: int = 100_000
    tokens: int = 1_000_000


OnText: TypeAlias = Literal["wait", "finish", "round"]


class Environment(Part, frozen=True, kw_only=True):
    """A whole file."""

    environment: str
    """The format: `coworkenv/1`."""
    id: str
    title: str = ""
    capabilities: tuple[str, ...] = ()
    clock: Clock
    facts: dict[str, Json] = {}
    people: dict[str, Person] = {}
    services: dict[str, Service] = {}
    faults: tuple[Fault, ...] = ()
    timeline: tuple[Entry, ...] = ()
    on_text: OnText = "wait"
    """What an agent's plain text without a call means."""
    limits: Limits = Limits()
    scoring: str = "coworkenv"
    checks: dict[str, Check] = {}
    oracle: tuple[Step, ...] = ()
    traps: dict[str, Trap] = {}
    twins: dict[str, dict[str, Json]] = {}
    """Each is a JSON merge patch (RFC 7386) over this file: the same request with one hidden fact flipped."""
    frozen: Frozen | None = None
