"""One place of the data is changed, and nothing else; what does not fit is refused in a sentence."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.findings import pointer
from coworkenv.worlds.synth.pointing import BadEdit, append, change, put, read, remove, rename, there

keys = st.text(alphabet="ab~/0", min_size=1, max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | keys,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(keys, values, min_size=1, max_size=4)


def places(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a value but the outermost."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inside for place in [(*way, key), *places(item, (*way, key))]]


@given(documents, st.data())
def test_what_is_put_somewhere_is_read_there_and_the_rest_is_as_it_was(
    data: dict[str, Any], draw: st.DataObject
) -> None:
    before = deepcopy(data)
    here, other = (pointer(*draw.draw(st.sampled_from(places(data)))) for _ in range(2))
    after = put(data, here, "new")
    assert data == before
    assert read(after, here) == "new"
    if not f"{other}/".startswith(f"{here}/") and not f"{here}/".startswith(f"{other}/"):
        assert read(after, other) == read(data, other)
    assert change(data, here, lambda _: "new") == after


@given(documents, st.data())
def test_what_is_removed_is_gone(data: dict[str, Any], draw: st.DataObject) -> None:
    place = draw.draw(st.sampled_from(places(data)))
    here = pointer(*place)
    after = remove(data, here)
    outer, inner = read(data, pointer(*place[:-1])), read(after, pointer(*place[:-1]))
    assert len(inner) == len(outer) - 1
    if isinstance(place[-1], str):
        assert not there(after, here)


@given(documents, st.data())
def test_a_key_that_is_renamed_keeps_its_place_and_its_value(data: dict[str, Any], draw: st.DataObject) -> None:
    key = draw.draw(st.sampled_from(sorted(data)))
    after = rename(data, pointer(key), "fresh")
    assert list(after) == ["fresh" if name == key else name for name in data]
    assert after["fresh"] == data[key]


def test_a_list_that_is_not_there_is_made() -> None:
    assert append({}, "/a/b", 1) == {"a": {"b": [1]}}
    assert append({"a": [1]}, "/a", 2) == {"a": [1, 2]}


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: read(data, "/b"),
        lambda data: read(data, "/a/2"),
        lambda data: read(data, "/a/x"),
        lambda data: remove(data, "/b"),
        lambda data: remove(data, ""),
        lambda data: rename(data, "/a", "c"),
        lambda data: rename(data, "/a/0", "c"),
        lambda data: put(data, "/c/d", 1),
        lambda data: put(data, "/a/7", 1),
        lambda data: put(data, "/a/-1/x", 1),
        lambda data: change(data, "/c/d", str),
    ],
)
def test_what_does_not_fit_is_refused(edit: Any) -> None:
    with pytest.raises(BadEdit):
        edit({"a": [1, 2], "c": "text"})
