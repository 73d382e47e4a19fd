"""Durations: what people write, and what it comes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.durations import LONGEST, DurationError, duration, microseconds


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0s", 0),
        ("90s", 90_000_000),
        ("4m", 240_000_000),
        ("1h30m", 5_400_000_000),
        ("2d", 172_800_000_000),
        ("5ms", 5000),
    ],
)
def test_a_duration_is_a_number_of_microseconds(text: str, length: int) -> None:
    assert microseconds(text) == length


@given(st.integers(0, LONGEST))
def test_what_is_written_reads_as_the_same_length(length: int) -> None:
    assert microseconds(duration(length)) == length


@pytest.mark.parametrize(
    "text", ["", "5", "6 hours", "1m1h", "1h1h", "-4m", "1.5h", "4M", "h", " 4m", "9" * 9 + "d", "٣m"]
)
def test_everything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(DurationError, match=r"\.$"):
        microseconds(text)


@given(st.text(max_size=12))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        assert 0 <= microseconds(text) <= LONGEST
    except DurationError:
        pass
