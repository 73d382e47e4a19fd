"""Events survive being bytes, and bytes that are no event are refused with a reason."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coworkenv.events import codec
from coworkenv.events.codec import LARGE, Encoded, Upcaster, decode, encode, references
from coworkenv.events.errors import LogError, MalformedEvent, MissingBlob, NotJson, UnknownEvent
from coworkenv.events.event import EpisodeStarted, Event, MessageSent, ToolCalled, ToolError, ToolReturned
from coworkenv.events.normalise import normalise

KEYS = st.text(max_size=6) | st.sampled_from(["$blob", "$$blob", "$", "$$", "$$$blob", "$$$", "bytes", "head", "type"])
NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3) | st.floats(allow_nan=False)
TEXTS = st.text(max_size=8) | st.sampled_from(["$$ 5", '"$blob"', "$blob", "é" * LARGE, "x" * LARGE, "x" * (LARGE + 1)])
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    LEAVES.filter(lambda leaf: leaf not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
).map(lambda value: normalise(value)[0])


def bare(event: Event) -> bytes:
    return msgspec.json.Encoder(decimal_format="number").encode(event)


def kept(encoded: Encoded) -> Callable[[str], bytes]:
    return {blob.digest: blob.content for blob in encoded.blobs}.__getitem__


def nothing(digest: str) -> bytes:
    raise MissingBlob(digest, digest=digest)


def call(args: Any, seq: int = 3) -> Event:
    return Event(seq, 1000, "agent", None, ToolCalled(tool="t", args=args))


@given(JSON)
@example({"$blob": {"$blob": "x"}, "$$blob": 1, "$$": {"$$$": "é" * LARGE}})
def test_what_is_encoded_is_what_is_decoded(value: Any) -> None:
    encoded = encode(call(value))
    back = decode(encoded.data, kept(encoded))
    assert back == call(value)
    assert repr(back) == repr(call(value))  # 1 == Decimal(1), and the order of keys, would pass the line above


@given(JSON, st.text(max_size=5))
def test_typed_text_fields_can_be_large_as_well(value: Any, text: str) -> None:
    event = Event(3, 0, "tomas", 1, MessageSent(to="agent", text=f"{text}{'y' * LARGE}z", gives={"v": value}))
    encoded = encode(event)
    assert len(encoded.blobs) >= 1
    assert decode(encoded.data, kept(encoded)) == event


def test_the_canonical_bytes_are_these() -> None:
    event = Event(4, 1500000, "agent", 2, ToolReturned(call=2, result={"b": Decimal("1.10"), "a": [None, True, "é"]}))
    assert encode(event).data == (
        '[4,1500000,"agent",2,{"type":"tool.returned","call":2,"result":{"b":1.10,"a":[null,true,"é"]}}]'.encode()
    )


@given(st.dictionaries(st.sampled_from("abc"), st.integers() | st.sampled_from(["$$ 5", '"$blob"', "$"]), max_size=3))
def test_a_dollar_in_a_text_changes_no_bytes(args: dict[str, Any]) -> None:
    assert encode(call(args)).data == bare(call(args))


def test_a_string_of_16_kib_stays_and_one_byte_more_leaves() -> None:
    assert encode(call("x" * LARGE)).blobs == ()
    encoded = encode(call("x" * (LARGE + 1)))
    digest = hashlib.sha256(b"x" * (LARGE + 1)).hexdigest()
    assert [blob.digest for blob in encoded.blobs] == [digest]
    assert msgspec.json.decode(encoded.data)[4]["args"] == {"$blob": digest, "bytes": LARGE + 1, "head": "x" * 120}


def test_bytes_are_counted_not_characters() -> None:
    assert encode(call("é" * (LARGE // 2))).blobs == ()
    assert len(encode(call("é" * (LARGE // 2 + 1))).blobs) == 1


def test_an_environment_is_always_a_blob() -> None:
    event = Event(0, 0, "world", None, EpisodeStarted(environment="{}", id="e", start="2026-01-01T00:00:00Z", seed=1))
    encoded = encode(event)
    assert encoded.blobs[0].content == b"{}"
    assert decode(encoded.data, kept(encoded)) == event


def test_the_same_large_text_is_one_blob() -> None:
    encoded = encode(call(["x" * 20_000, "y" * 20_000, "x" * 20_000]))
    assert [blob.content[:1] for blob in encoded.blobs] == [b"x", b"y"]
    assert list(references(encoded.data)) == [encoded.blobs[i].digest for i in (0, 1, 0)]


def test_a_users_own_blob_key_is_no_reference() -> None:
    encoded = encode(call({"$blob": "0" * 64}))
    assert encoded.blobs == ()
    assert list(references(encoded.data)) == []
    assert decode(encoded.data, nothing) == call({"$blob": "0" * 64})


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), "\ud800", object(), {("a",): 1}])
def test_values_that_were_never_normalised_are_refused(value: Any) -> None:
    with pytest.raises(NotJson, match="event 3"):
        encode(call({"v": value}))


@given(st.binary(max_size=60))
@example(b'[0,0,"agent",null,{"type":"tool.called","tool":"t","args":1e999999999999999999999}]')
@example(b'[0,0,"agent",null,{"type":"tool.called","tool":"t","args":' + b"9" * 5000 + b"}]")
@example(b'[0,0,"agent",null,{"type":"tool.called","tool":"t","args":' + b"[" * 9000 + b"]" * 9000 + b"}]")
@example(b'[0,0,"agent",null,{"type":"tool.called","tool":{"$blob":5}}]')
@example(b'[0,0,"agent",null,{"type":["tool.called"]}]')
@example(b'[0,0,"agent",null,{"$blob":"00"}]')
def test_other_bytes_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(LogError):
        decode(data, nothing)


@given(st.integers(0, 200), st.integers(0, 255), st.sampled_from([{"a": Decimal("1.5")}, {"$blob": 1}, "z" * 17_000]))
def test_a_changed_byte_gives_another_event_or_a_named_error(place: int, byte: int, args: Any) -> None:
    encoded = encode(call(args))
    data = bytearray(encoded.data)
    data[place % len(data)] = byte
    try:
        assert isinstance(decode(bytes(data), lambda digest: b"\xff"), Event)
    except LogError:
        pass


def test_a_type_that_is_not_known_comes_from_a_newer_release() -> None:
    with pytest.raises(UnknownEvent, match="upgrade") as caught:
        decode(b'[0,0,"agent",null,{"type":"tool.called/9","tool":"t"}]', nothing)
    assert caught.value.tag == "tool.called/9"


def test_a_malformed_event_is_shown() -> None:
    with pytest.raises(MalformedEvent, match=r"tool\.called.*Expected `str`"):
        decode(b'[0,0,"agent",null,{"type":"tool.called","tool":3}]', nothing)


def test_a_missing_blob_is_named() -> None:
    encoded = encode(call("x" * 20_000))
    with pytest.raises(MissingBlob) as caught:
        decode(encoded.data, nothing)
    assert caught.value.digest == encoded.blobs[0].digest


def test_unknown_fields_are_of_no_concern() -> None:
    data = b'[0,0,"agent",null,{"type":"tool.called","tool":"t","colour":"red"}]'
    assert decode(data, nothing) == Event(0, 0, "agent", None, ToolCalled(tool="t"))


def test_older_events_are_read_in_the_words_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Upcaster("tool.used/2", lambda body: {"tool": body["name"], "parameters": body["parameters"]})
    split = Upcaster("tool.called", lambda body: {"tool": body["tool"], "args": body["parameters"]})
    monkeypatch.setitem(codec.UPCASTERS, "tool.used", rename)
    monkeypatch.setitem(codec.UPCASTERS, "tool.used/2", split)
    data = b'[5,7,"agent",1,{"type":"tool.used","name":"mail.send","parameters":{"n":1.50}}]'
    expected = Event(5, 7, "agent", 1, ToolCalled(tool="mail.send", args={"n": Decimal("1.50")}))
    assert decode(data, nothing) == expected


def test_upcasters_that_lead_nowhere_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(codec.UPCASTERS, "old", Upcaster("older", lambda body: body))
    monkeypatch.setitem(codec.UPCASTERS, "older", Upcaster("old", lambda body: body))
    with pytest.raises(UnknownEvent, match="'old'"):
        decode(b'[5,7,"agent",1,{"type":"old"}]', nothing)


def test_errors_are_part_of_the_value() -> None:
    error = ToolError(type="rate_limited", message="Too many", detail={"$blob": 1}, retry_after=5)
    event = Event(1, 1, "agent", 0, ToolReturned(call=0, error=error))
    assert decode(encode(event).data, nothing) == event
