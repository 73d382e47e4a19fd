"""Baselines: what they may know, and that it is all they know."""

from __future__ import annotations

from collections import Counter

import pytest

from coworkenv.agents.answers import parse_json
from coworkenv.agents.prompts import FINISH, SEND, WAIT
from coworkenv.learn.baselines import TooAlike, format_only
from tests.learn.teaching import lessons


def calls(lesson):
    made = [call for message in lesson.messages for call in message.get("tool_calls", ())]
    return [(call["function"]["name"], parse_json(call["function"]["arguments"])) for call in made]


def values(lesson):
    """Texts, numbers and lists that its calls were given."""
    return [repr(value) for name, args in calls(lesson) for key, value in args.items() if drawn(name, key)]


def drawn(tool, argument):
    """Whether an argument's value is one that is drawn from other environments."""
    return tool != WAIT and (tool, argument) not in ((SEND, "to"), (SEND, "reply_to"))


def test_shuffling_is_a_function_of_the_demonstrations_and_a_seed():
    assert format_only(lessons(), 1) == format_only(lessons(), 1)
    assert format_only(lessons(), 1) != format_only(lessons(), 2)


def test_everything_but_the_calls_stays_and_so_do_their_places():
    for true, shuffled in zip(lessons(), format_only(lessons(), 0), strict=True):
        assert true.tools == shuffled.tools
        for before, after in zip(true.messages, shuffled.messages, strict=True):
            if before["role"] != "assistant":
                assert before == after
            else:
                ids = [[call["id"] for call in message.get("tool_calls", ())] for message in (before, after)]
                assert ids[0] == ids[1]
        own = [[name if name in (SEND, WAIT, FINISH) else "" for name, _ in calls(each)] for each in (true, shuffled)]
        assert own[0] == own[1]


def test_every_call_is_one_that_the_tools_allow():
    for lesson in format_only(lessons(), 0):
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in lesson.tools}
        for name, args in calls(lesson):
            assert args.keys() <= schemas[name]["properties"].keys()


def test_values_are_those_of_other_environments():
    given: dict[str, list[str]] = {}
    for lesson in lessons():
        given.setdefault(lesson.environment, []).extend(values(lesson))
    for lesson in format_only(lessons(), 0):
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in lesson.tools}
        elsewhere = {value for name, theirs in given.items() if name != lesson.environment for value in theirs}
        for name, args in calls(lesson):
            for key, value in args.items():
                schema = schemas[name]["properties"][key]
                if drawn(name, key) and "enum" not in schema:
                    assert repr(value) in elsewhere


def test_which_tool_is_called_says_nothing_of_what_is_to_be_done():
    true = Counter(name for lesson in lessons() for name, _ in calls(lesson))
    kept = total = 0
    for seed in range(20):
        for before, after in zip(lessons(), format_only(lessons(), seed), strict=True):
            pairs = [(a, b) for (a, _), (b, _) in zip(calls(before), calls(after)) if a not in (SEND, WAIT, FINISH)]
            kept += sum(a == b for a, b in pairs)
            total += len(pairs)
    assert true.total() > total / 20
    assert kept / total < 0.35


def test_one_environment_cannot_be_shuffled():
    with pytest.raises(TooAlike, match="all demonstrations are of one"):
        format_only(lessons()[:1], 0)
