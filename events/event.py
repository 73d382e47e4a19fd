"""The vocabulary of a workspace: the envelope, and every kind of fact that can be in it.

Knows the shape of events. Does not know how they are encoded, chained or stored (`codec`, `chain`, `log`),
nor what an environment, an agent or a service is: those words appear here only as plain values.

An event says what *has happened*. Its virtual time `at` is an integer of microseconds since the start of the
workspace. Nothing here depends on the machine or on the wall clock.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

#: A value as JSON has it: null, boolean, integer, `decimal.Decimal` (numbers with a point keep their digits),
#: string, list, or object with string keys. Order of keys is the order in which they were written.
Json: TypeAlias = Any

AGENT = "agent"
WORLD = "world"
"""The two actors that are nobody's id: who is tested or trained, and the timeline with all that is not a person."""

#: Raised only when re-executing some existing log would give other bytes than it holds.
SEMANTICS = 1


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What an event says. Subclasses are past-tense facts; `tag` is their name in the log.

    Facts cannot refer to themselves, so the collector of cycles need not look at them.
    """


# --- lifecycle ---------------------------------------------------------------------------------------------


class EpisodeStarted(Body, frozen=True, tag="episode.started"):
    """All that determines the rest. `environment` is the resolved environment as JSON text, always kept as a blob."""

    environment: str
    id: str
    start: str
    """Local date and time of virtual time 0, ISO 8601 with offset."""
    seed: int
    trial: int = 0
    agent: dict[str, Json] = {}
    """The agent's specification: everything about it that may change the future."""
    coworkers: dict[str, Json] = {}
    """How each coworker is played, by person: `{"kind": "rules"}`, `{"kind": "model", …}`."""
    semantics: int = SEMANTICS


class EpisodeForked(Body, frozen=True, tag="episode.forked"):
    """From here on the stream is its own; everything before is a copy of `parent` up to its event `seq`."""

    parent: str
    seq: int
    digest: str
    """Hexadecimal digest of the parent's event `seq`."""
    changes: dict[str, Json] = {}
    """Any of `seed`, `agent_seed` (what the agent alone draws from), `agent`, `coworkers`, `messages`, `records`."""


class EpisodeEnded(Body, frozen=True, tag="episode.ended"):
    reason: str
    """`finished`, `idle`, `deadline`, `failed`, `livelock`, or the limit that was met."""
    detail: str = ""


class ActorFinished(Body, frozen=True, tag="actor.finished"):
    summary: str = ""


class ActorFailed(Body, frozen=True, tag="actor.failed"):
    """An actor's own code raised. `error` is a type and a message of ours, never a traceback."""

    error: str
    message: str = ""


# --- messages ----------------------------------------------------------------------------------------------


class MessageSent(Body, frozen=True, tag="message.sent"):
    """Named by its own `seq`. Nobody has read it yet: that is `message.received`."""

    to: str
    text: str
    reply_to: int | None = None
    gives: dict[str, Json] = {}
    """Typed slots that this message discloses."""
    mark: str | None = None
    """A milestone that this message reaches."""
    media: tuple[Json, ...] = ()


class MessageReceived(Body, frozen=True, tag="message.received"):
    """The event's actor has read the message whose `message.sent` has this `seq`."""

    message: int


# --- tools and records -------------------------------------------------------------------------------------


class ToolError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a call gave no result. `type` is a word for programs, `message` a sentence for the agent."""

    type: str
    message: str
    status: int | None = None
    detail: Json = None
    """What the service answered, where that is more than a sentence."""
    retry_after: int | None = None
    """Microseconds of virtual time."""


class ToolCalled(Body, frozen=True, tag="tool.called"):
    """Named by its own `seq`. Services see it `latency` later, in the step of `tool.returned`."""

    tool: str
    args: Json = {}


class ToolReturned(Body, frozen=True, tag="tool.returned"):
    call: int
    result: Json = None
    error: ToolError | None = None
    status: int | None = None
    """Only where a foreign protocol has one (HTTP)."""


class RecordCreated(Body, frozen=True, tag="record.created"):
    service: str
    collection: str
    key: str
    value: dict[str, Json]


class RecordChanged(Body, frozen=True, tag="record.changed"):
    service: str
    collection: str
    key: str
    set: dict[str, Json] = {}
    unset: tuple[str, ...] = ()


class RecordDeleted(Body, frozen=True, tag="record.deleted"):
    service: str
    collection: str
    key: str


# --- effects: what is asked of the outside world -----------------------------------------------------------


class EffectRequested(Body, frozen=True, tag="effect.requested"):
    """Named by its own `seq`. Committed before the request leaves the process."""

    kind: str
    """`model`, `human`, `judge` or `foreign`."""
    digest: str
    """SHA-256 of the whole request, hexadecimal."""
    bound: int
    """Virtual time before which the answer cannot be known; here the kernel waits for it."""
    settings: Json = {}
    prompt: tuple[Json, ...] = ()
    """The request's messages as a change from this actor's last prompt of the same kind: a pair `[start, stop]` keeps
    those messages of it, an object is a new message."""


class Refused(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer that is no answer, and that the actor must live with: the context is too long, a filter, bad JSON."""

    type: str
    message: str = ""


class EffectResolved(Body, frozen=True, tag="effect.resolved"):
    effect: int
    due: int
    """Virtual time at which the actor learns the answer; never before the event's own time."""
    answer: Json = None
    refused: Refused | None = None
    tokens: int | None = None
    """Tokens written by the model: what its virtual time is counted in."""
    prompt_tokens: int | None = None
    counted: str | None = None
    """The rule that counted the tokens where the server reported none."""


class EffectCancelled(Body, frozen=True, tag="effect.cancelled"):
    """Before its bound: the answer does not exist. After it: the actor keeps the first `paid` tokens."""

    effect: int
    reason: str
    paid: int | None = None


# --- what happened to the actors ---------------------------------------------------------------------------


class TimelineFired(Body, frozen=True, tag="timeline.fired"):
    name: str


class FaultInjected(Body, frozen=True, tag="fault.injected"):
    fault: str
    call: int
    kind: str


class ContextCut(Body, frozen=True, tag="context.cut"):
    """What an actor's next prompt leaves out, and why. Positions are indices into its whole history."""

    reason: str
    messages: tuple[int, ...] = ()
    """Messages left out whole."""
    shortened: tuple[int, ...] = ()
    """Messages whose text was shortened."""


class ActorWaited(Body, frozen=True, tag="actor.waited"):
    """The agent waited with a time limit, and what it waited for did not come."""

    since: int


# --- grading: a stream of its own, about another stream ----------------------------------------------------


class GradingStarted(Body, frozen=True, tag="grading.started"):
    """`stream` is what is graded, as it was when its last event had this `digest`; `grader` names the rules."""

    stream: str
    digest: str
    grader: str
    """SHA-256 of the grader: the checks, the frame and the scoring rule."""
    rule: str


class CheckGraded(Body, frozen=True, tag="check.graded"):
    check: str
    passed: bool
    gate: bool = False
    weight: int | None = None
    applies: bool = True
    """False for a check whose condition is false: it is not in the score."""
    evidence: tuple[int, ...] = ()
    """Events of the graded stream that decide it."""
    says: str = ""


class GradingEnded(Body, frozen=True, tag="grading.ended"):
    score: str
    """A decimal number, as text."""
    passed: bool


AnyBody: TypeAlias = (
    EpisodeStarted
    | EpisodeForked
    | EpisodeEnded
    | ActorFinished
    | ActorFailed
    | MessageSent
    | MessageReceived
    | ToolCalled
    | ToolReturned
    | RecordCreated
    | RecordChanged
    | RecordDeleted
    | EffectRequested
    | EffectResolved
    | EffectCancelled
    | TimelineFired
    | FaultInjected
    | ContextCut
    | ActorWaited
    | GradingStarted
    | CheckGraded
    | GradingEnded
)


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One immutable fact of a stream; as JSON the array `[seq, at, actor, cause, body]`."""

    seq: int
    """Position in the stream, gapless from 0."""
    at: int
    """Virtual time in microseconds."""
    actor: str
    """`agent`, a person's id, or `world`."""
    cause: int | None
    """The `seq` of the event that led to this one."""
    body: AnyBody

    @property
    def type(self) -> str:
        """The name of what it says, such as `message.sent`."""
        return str(self.body.__struct_config__.tag)
