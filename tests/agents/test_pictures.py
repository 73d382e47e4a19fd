"""Pictures among tool results: their bytes are never text, and a prompt can have them as servers take them."""

from __future__ import annotations

import pytest

from coworkenv.agents.agent import Result
from coworkenv.agents.counting import utf8_4
from coworkenv.agents.pictures import TOKENS, picture_of
from coworkenv.agents.prompts import looked_at, result_text
from coworkenv.agents.window import fit, length
from coworkenv.events.event import Json

DATA = "iVBOR" * 10_000
PICTURE: Json = {"kind": "picture", "picture": {"mime": "image/png", "base64": DATA}}


def test_a_picture_is_told_from_what_only_looks_like_one() -> None:
    assert picture_of(PICTURE) == f"data:image/png;base64,{DATA}"


@pytest.mark.parametrize(
    "result",
    [
        None,
        "picture",
        {"picture": "rose.png"},
        {"picture": {"mime": "text/html", "base64": ""}},
        {"picture": {"mime": "image/png", "base64": 5}},
        {"picture": {"mime": "image/png", "base64": "", "name": "rose"}},
    ],
)
def test_other_results_are_left_as_they_are(result: Json) -> None:
    assert picture_of(result) is None


@pytest.mark.parametrize(("shown", "says"), [(True, "shown below"), (False, "cannot be shown")])
def test_the_text_of_a_result_says_whether_its_picture_is_shown(shown: bool, says: str) -> None:
    text = result_text(Result(3, "view_picture", PICTURE), shown)
    assert says in text
    assert DATA[:20] not in text


def test_a_picture_has_a_length_of_its_own_and_goes_with_its_turn() -> None:
    message = looked_at({"000001000": f"data:image/png;base64,{DATA}"})
    assert TOKENS < length(message, utf8_4) < TOKENS + 60
    asked: Json = {"role": "user", "content": "Look."}
    call: Json = {"id": "1", "type": "function", "function": {"name": "view_picture", "arguments": "{}"}}
    turn: list[Json] = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "The picture is shown below."},
        message,
    ]
    last: Json = {"role": "assistant", "content": "A rose."}
    assert message in fit([asked, *turn, last], 5_000, keep=1, result=1_000).messages
    assert fit([asked, *turn, last], 200, keep=1, result=100).left_out == (1, 2, 3)
