"""A compiled expression is the same function as the evaluated one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.expressions import ExpressionError, evaluate, parse
from coworkenv.worlds.formula import compiled

_values = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"]) | st.just(Decimal("1.0"))
_scopes = st.fixed_dictionaries(
    {
        "record": st.none() | st.dictionaries(st.sampled_from("xy"), _values),
        "args": st.dictionaries(st.just("x"), _values),
    }
)
_terms = st.sampled_from(["record.x", "record.y", "args.x", "1", "'a'", "null", "true", "record.x.y", "args.x + 1"])


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["and", "or", "==", "!=", "<", "+"])
    return st.builds("({} {} {})".format, inner, operators, inner) | st.builds("(not {})".format, inner)


def outcome(function: Any) -> Any:
    try:
        return type(value := function()).__name__, value
    except ExpressionError as error:
        return str(error)


@given(st.recursive(_terms, _joined, max_leaves=6), _scopes)
def test_both_ways_give_the_same(text: str, scope: dict[str, Any]) -> None:
    node = parse(text)
    assert outcome(lambda: compiled(node)(scope)) == outcome(lambda: evaluate(node, scope))


def test_a_name_that_is_not_there_is_an_error_either_way() -> None:
    with pytest.raises(ExpressionError, match="no nothing here"):
        compiled(parse("nothing.x == 'a'"))({})
