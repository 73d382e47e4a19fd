"""Events as bytes: the one encoding that is hashed, stored, sent and read back.

Knows the canonical bytes (the JSON array `[seq, at, actor, cause, body]`), how large strings become blobs, and how
events of older releases are read. Does not know where bytes or blobs are kept. Keys keep the order in which they were
written, because agents see it; that the order is the same in every run is what re-execution checks.

Numbers with a point are `decimal.Decimal` and keep their digits; nothing here ever makes a binary fraction of one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import get_args

import msgspec

from .errors import MalformedEvent, MissingBlob, NotJson, UnknownEvent
from .event import AnyBody, EpisodeStarted, Event, Json

LARGE = 16 * 1024
"""A string of more UTF-8 bytes than this is kept beside the event, as a blob."""

HEAD = 120
"""Characters of a blob that stay in the event, for people who read it."""

to_json = msgspec.json.Encoder(decimal_format="number").encode
"""A JSON value as bytes, numbers as they were written."""

from_json = msgspec.json.Decoder(float_hook=Decimal).decode
"""The JSON value that bytes or text hold. Raises one of `BAD_JSON` where they hold none."""

BAD_JSON = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)

_event_decode = msgspec.json.Decoder(Event, float_hook=Decimal).decode

_TAGS = frozenset(str(body.__struct_config__.tag) for body in get_args(AnyBody))
_DOLLAR = ord("$")
_BAD_VALUE = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


class Blob(msgspec.Struct, frozen=True):
    """A large string beside its event. `digest` is the hexadecimal SHA-256 of `content`, the string's UTF-8 bytes."""

    digest: str
    content: bytes


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An event's canonical bytes, and the blobs that they refer to, in order of first use."""

    data: bytes
    blobs: tuple[Blob, ...] = ()


def blob_of(content: bytes) -> Blob:
    return Blob(hashlib.sha256(content).hexdigest(), content)


def encode(event: Event) -> Encoded:
    """The canonical bytes of `event`. Raises NotJson if its body holds what `normalise` would have refused."""
    blobs: list[Blob] = []
    return Encoded(encode_into(event, blobs), tuple(blobs))


def encode_into(event: Event, blobs: list[Blob]) -> bytes:
    """The same, putting the blobs that they refer to at the end of `blobs`."""
    try:
        data = to_json(event)
        # The first test of a marker is one memchr, and enough for nearly every event.
        small = len(data) <= LARGE and type(event.body) is not EpisodeStarted
        if small and (_DOLLAR not in data or not _holds_marker(data)):
            return data
        return _encode_with_blobs(event, blobs)
    except _BAD_VALUE as error:
        raise NotJson(
            f"event {event.seq} ({type(event.body).__name__}) holds a value that JSON cannot carry: {error}; "
            "pass what comes from outside through normalise() first",
            path="$[4]",
        ) from error


def _holds_marker(data: bytes) -> bool:
    """Whether a key, or a string, may be one of ours or look like it."""
    return b'"$blob"' in data or b'"$$' in data


def _encode_with_blobs(event: Event, blobs: list[Blob]) -> bytes:
    found: dict[str, Blob] = {}
    array = msgspec.to_builtins(event, builtin_types=(Decimal,))
    body = _take_out(array[4], found)
    if type(event.body) is EpisodeStarted and isinstance(body["environment"], str):
        text = event.body.environment
        blob = _environment_blob(text)
        found.setdefault(blob.digest, blob)
        body["environment"] = {"$blob": blob.digest, "bytes": len(blob.content), "head": text[:HEAD]}
    data = to_json([*array[:4], body])
    blobs.extend(found.values())
    return data


@lru_cache(maxsize=32)
def _environment_blob(text: str) -> Blob:
    """Kept, since many episodes have the same environment."""
    return blob_of(text.encode())


def _take_out(value: Json, blobs: dict[str, Blob]) -> Json:
    """`value` with every large string replaced by a reference, and keys that look like ours escaped."""
    if isinstance(value, str):
        if len(value) * 4 > LARGE and len(content := value.encode()) > LARGE:
            return _reference(value, content, blobs)
        return value
    if isinstance(value, dict):
        return {_escape(key): _take_out(item, blobs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_take_out(item, blobs) for item in value]
    return value


def _reference(text: str, content: bytes, blobs: dict[str, Blob]) -> Json:
    blob = blob_of(content)
    blobs.setdefault(blob.digest, blob)
    return {"$blob": blob.digest, "bytes": len(content), "head": text[:HEAD]}


def _escape(key: str) -> str:
    return f"${key}" if key == "$blob" or key.startswith("$$") else key


def _unescape(key: str) -> str:
    return key[1:] if key.startswith("$$") else key


def references(data: bytes) -> Iterator[str]:
    """The digests of the blobs that an event's canonical bytes refer to, in order. Raises MalformedEvent."""
    if may_refer(data):
        yield from _references(_parse(data))


def may_refer(data: bytes) -> bool:
    """Whether an event's bytes can refer to a blob; most do not."""
    return _DOLLAR in data and b'"$blob"' in data


def _references(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        if "$blob" in value:
            yield str(value["$blob"])
        else:
            for item in value.values():
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def seq_of(data: bytes) -> int:
    """The `seq` that canonical bytes give their event, whatever its kind. Raises MalformedEvent."""
    seq = _array(data)[0]
    if type(seq) is not int:
        raise MalformedEvent(f"not an event, which begins with its number: {_excerpt(data)}")
    return seq


def decode(data: bytes, blob: Callable[[str], bytes]) -> Event:
    """The event that `data` holds; `blob` gives the content of a digest and raises MissingBlob if there is none.

    Raises MalformedEvent, UnknownEvent (written by a newer release) or MissingBlob.
    """
    try:
        if _DOLLAR not in data or not _holds_marker(data):
            return _event_decode(data)
    except BAD_JSON:
        pass
    return _decode_carefully(data, blob)


def decode_many(lines: Iterable[bytes], blob: Callable[[str], bytes]) -> list[Event]:
    """`decode` of many, without a call for each."""
    events: list[Event] = []
    for data in lines:
        if _DOLLAR not in data or not _holds_marker(data):
            try:
                events.append(_event_decode(data))
                continue
            except BAD_JSON:
                pass
        events.append(_decode_carefully(data, blob))
    return events


def _decode_carefully(data: bytes, blob: Callable[[str], bytes]) -> Event:
    array = _array(data)
    body = _put_back(array[4], blob)
    tag = body.pop("type", None)
    if not isinstance(tag, str):
        raise MalformedEvent(f"an event without a type: {_excerpt(data)}")
    tag, body = upcast(tag, body)
    try:
        return msgspec.convert([*array[:4], {"type": tag, **body}], Event)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedEvent(f"not a valid {tag!r} event ({error}): {_excerpt(data)}") from error


def _array(data: bytes) -> list[Json]:
    """The parts of an event. Raises MalformedEvent."""
    array = _parse(data)
    if not isinstance(array, list) or len(array) < 5 or not isinstance(array[4], dict):
        raise MalformedEvent(f"not an event, which is an array of five with an object at its end: {_excerpt(data)}")
    return array


def _parse(data: bytes) -> Json:
    try:
        return from_json(data)
    except BAD_JSON as error:
        raise MalformedEvent(f"not JSON ({error}): {_excerpt(data)}") from error


def _excerpt(data: bytes) -> str:
    text = data[:HEAD].decode("utf-8", "replace")
    return text if len(data) <= HEAD else f"{text}…"


def _put_back(value: Json, blob: Callable[[str], bytes]) -> Json:
    if isinstance(value, dict):
        if "$blob" in value:
            return _content(value["$blob"], blob)
        return {_unescape(key): _put_back(item, blob) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_back(item, blob) for item in value]
    return value


def _content(digest: Json, blob: Callable[[str], bytes]) -> str:
    if not isinstance(digest, str):
        raise MalformedEvent(f"a reference to a large value has no digest but {digest!r}")
    try:
        return blob(digest).decode()
    except UnicodeDecodeError as error:
        raise MissingBlob(
            f"the large value {digest[:12]} is not text, but an event needs it as text", digest=digest
        ) from error


class Upcaster(msgspec.Struct, frozen=True):
    """How a body of an older release becomes one of `tag`: `change` takes and gives its fields, without the type."""

    tag: str
    change: Callable[[dict[str, Json]], dict[str, Json]]


UPCASTERS: dict[str, Upcaster] = {}
"""By the older tag. A result whose tag is old as well is changed again. Stored bytes are never rewritten."""


def upcast(tag: str, body: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """`body` in the words of this release. Raises UnknownEvent if no upcaster leads to a tag that it knows."""
    first = tag
    for _ in range(len(UPCASTERS) + 1):
        if tag in _TAGS:
            return tag, body
        if tag not in UPCASTERS:
            break
        body = UPCASTERS[tag].change(body)
        tag = UPCASTERS[tag].tag
    raise UnknownEvent(
        f"events of type {first!r} are not known to this release of coworkenv; a newer one wrote them: "
        "upgrade to read this log",
        tag=first,
    )
