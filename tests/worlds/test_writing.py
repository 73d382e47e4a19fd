"""Writing environments: read again they are the same, and freezing touches nothing else."""

from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.document import DocumentError, parse
from coworkenv.worlds.environment import Frozen
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.writing import WIDTH, with_frozen, write

EXAMPLES = sorted(
    file.name for file in (files("coworkenv.worlds") / "examples").iterdir() if file.name.endswith(".yaml")
)
TEXTS = st.text(
    st.sampled_from(" :#-?,[]{}&*!|>'\"%@`\\\n\t$=~.0179eEntfNxaä\u2028\x85\xa0\ufeff😀漢")
    | st.characters(exclude_categories=["Cs"]),
    max_size=12,
) | st.sampled_from(
    ["null", "true", "1.5", "1e3", ".inf", "yes", "09:30", "- a", "...", "---", "a: b", "a #b", "<<", "=", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.decimals(-(10**6), 10**6, places=2) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)
FROZEN = Frozen(digest="ab" * 32, frame=("payments.refunds:new", "calendar.events:EV-88.start"), scores={"oracle": "1"})


def example(name: str) -> str:
    return (files("coworkenv.worlds") / "examples" / name).read_text(encoding="utf-8")


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_reads_as_the_same_data(data: dict[str, Any]) -> None:
    read = parse(write(data))
    assert read == data
    assert list(read) == list(data)
    assert write(read) == write(data)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_environment_survives_writing_and_reading(name: str) -> None:
    environment = read_environment(example(name))
    assert read_environment(write(environment)) == environment
    data = parse(example(name))
    assert parse(write(data)) == data


def test_short_things_stand_on_one_line_and_long_ones_are_spread() -> None:
    text = write({"id": "x", "facts": {"a": {"b": 1, "c": ["d", "1"]}, "long": {"one": "x" * 60, "two": "y" * 60}}})
    assert text == (
        'id: x\n\nfacts:\n  a: {b: 1, c: [d, "1"]}\n  long:\n    one: ' + "x" * 60 + "\n    two: " + "y" * 60 + "\n"
    )
    assert max(map(len, text.splitlines())) <= WIDTH


def test_several_lines_of_text_stay_several_lines() -> None:
    assert write({"a": {"b": "one\ntwo"}}) == "a:\n  b: |-\n    one\n    two\n"


@pytest.mark.parametrize("name", EXAMPLES)
def test_freezing_appends_to_the_text_and_freezing_again_replaces(name: str) -> None:
    text = example(name)
    frozen = with_frozen(text, FROZEN)
    assert read_environment(frozen).frozen == FROZEN
    again = with_frozen(frozen, Frozen(digest="cd"))
    assert read_environment(again).frozen == Frozen(digest="cd")
    assert with_frozen(again, FROZEN) == frozen
    if "\nfrozen:" not in text:
        assert frozen.startswith(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# top\na: 1 # one\nfrozen:\n  digest: x # c\n# below\n\nb: 2 # two",
            ("# top\na: 1 # one\nfrozen:", " # c\n# below\n\nb: 2 # two"),
        ),
        ("a: 1\nfrozen: {digest: x}\nb: |\n  text\n", ("a: 1\nfrozen:", "\nb: |\n  text\n")),
        ("a: 1", ("a: 1\n", "\n")),
        ("  a: 1\n  b: 2\n", ("  a: 1\n  b: 2\n", "\n")),
        ("---\na: 1\n...\n", ("---\na: 1\n", "...\n")),
        ("\ufeffa: 1\r\n", ("\ufeffa: 1\r\n", "\n")),
        ('{"a": 1, "frozen": {"digest": "x"}, "b": 2}', ('{"a": 1, "frozen": {', '}, "b": 2}')),
        ('{\n  "a": 1\n}\n', ('{\n  "a": 1, "frozen": {', "}\n}\n")),
    ],
)
def test_freezing_leaves_every_other_byte(before: str, after: tuple[str, str]) -> None:
    text = with_frozen(before, FROZEN)
    assert text.startswith(after[0])
    assert text.endswith(after[1])
    assert parse(text)["frozen"]["digest"] == FROZEN.digest
    rest = {key: value for key, value in parse(text).items() if key != "frozen"}
    assert rest == {key: value for key, value in parse(before).items() if key != "frozen"}


@pytest.mark.parametrize("text", ["", "- a", "just text"])
def test_what_is_no_environment_cannot_be_frozen(text: str) -> None:
    with pytest.raises(DocumentError):
        with_frozen(text, FROZEN)


@given(st.dictionaries(TEXTS.filter(lambda key: key != "frozen"), VALUES, min_size=1, max_size=3), TEXTS)
def test_anything_that_was_written_can_be_frozen(data: dict[str, Any], digest: str) -> None:
    text = with_frozen(write(data), Frozen(digest=digest))
    assert parse(text) == {**data, "frozen": {"digest": digest}}
