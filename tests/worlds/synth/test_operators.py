"""What each repair operator does to the data, and what it refuses."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.operators import OPERATORS, apply
from coworkenv.worlds.synth.pointing import BadEdit, read, there

from .errands import data_of, setting

WHEN = {"called": "payments.payouts.create"}
REPLIES = "/people/greta/replies"
SALES = "/services/storefront/records/sales"
FREE = "/services/payments/collections/payouts/free"
DAY = "/checks/done/expect/where/effective_on"


def with_entry(data: dict[str, Any]) -> None:
    data["timeline"] = [{"name": "news", "at": "2h", "from": "greta", "say": "News."}]


DOES = [
    (Edit("closest_key", "/checks/told/weight", "wieght"), "/checks/told/wieght", 1),
    (Edit("drop", "/checks/told"), "/checks/told", ...),
    (Edit("replace", "/clock/zone", "UTC"), "/clock/zone", "UTC"),
    (Edit("use_ref", "/clock/zone", "$a1.value"), "/clock/zone", "$a1.value"),
    (Edit("create_row", SALES, {"id": "O-1"}), f"{SALES}/3/id", "O-1"),
    (Edit("add_where", DAY, "$a1.value"), DAY, "$a1.value"),
    (Edit("add_count", "/checks/told/expect/count", 1), "/checks/told/expect/count", 1),
    (Edit("to_gate", "/checks/told"), "/checks/told/gate", True),
    (Edit("to_gate", "/checks/told"), "/checks/told/weight", ...),
    (Edit("perturb", f"{SALES}/0/total", 5), f"{SALES}/0/total", 5),
    (Edit("add_twin", "/twins/new", {"facts": {"t1": {"id": "O-1"}}}), "/twins/new/facts/t1/id", "O-1"),
    (Edit("add_check", "/checks/new", {"weight": 1, "never": {"said": "greta"}}), "/checks/new/weight", 1),
    (Edit("add_gate", "/checks/new", {"weight": 1, "never": {"said": "greta"}}), "/checks/new/weight", ...),
    (Edit("add_gate", "/checks/new", {"weight": 1, "never": {"said": "greta"}}), "/checks/new/gate", True),
    (Edit("drop_check", "/checks/told"), "/checks/told", ...),
    (Edit("drop_step", "/oracle/4"), "/oracle/4", ...),
    (Edit("drop_step", "/oracle/4"), "/traps/announces-only/change/report.if", ...),
    (Edit("drop_tool", "/services/storefront"), "/services/storefront", ...),
    (Edit("drop_fact", "/facts/a1/value"), "/facts/a1/value", ...),
    (Edit("drop_fact", "/facts/a1/value"), "/twins/a1-other/facts", ...),
    (Edit("drop_trap", "/traps/a1-guesses"), "/traps/a1-guesses", ...),
    (Edit("reweight", "/checks/told/weight", 7), "/checks/told/weight", 7),
    (Edit("shift_event", "/timeline/0/at", "3h"), "/timeline/0/at", "3h"),
    (Edit("shift_event", "/clock/deadline", "1d"), "/clock/deadline", "1d"),
    (Edit("re_anchor", "/timeline/0/when", WHEN), "/timeline/0/when", WHEN),
    (Edit("re_anchor", "/timeline/0/when", WHEN), "/timeline/0/at", ...),
    (Edit("widen_keywords", f"{REPLIES}/1/any", ["sign"]), f"{REPLIES}/1/any", ["approval", "approve", "sign"]),
    (Edit("split_rule", f"{REPLIES}/1/tells", "on_specific_ask"), f"{REPLIES}/1/tells", "on_specific_ask"),
    (Edit("split_rule", f"{REPLIES}/1/any", ["approval"]), f"{REPLIES}/1/any", ["approval"]),
    (Edit("add_reply", REPLIES, {"any": ["x"], "say": "Yes."}), f"{REPLIES}/3/say", "Yes."),
    (Edit("re_id", "/facts/t1/id", "O-4349"), "/facts/t1/id", "O-4349"),
    (Edit("move_row", f"{SALES}/0", 2), f"{SALES}/2/id", "$t3.id"),
    (Edit("move_row", f"{SALES}/0", 2), f"{SALES}/0/id", "$t1.id"),
    (Edit("declare_free", FREE, "note"), FREE, ["note"]),
    (Edit("declare_equivalence", "/checks/told/expect/any", ["done"]), "/checks/told/expect/any", ["done"]),
    (Edit("relax_before", "/checks/told/expect/after"), "/checks/told/expect/after", ...),
    (Edit("loosen_matcher", "/checks/told/expect/mentions", []), "/checks/told/expect/mentions", ...),
    (Edit("move_carrier", "/people/greta/otherwise", "/people/greta/role"), "/people/greta/role", "Thanks!"),
    (Edit("move_carrier", "/people/greta/otherwise", "/people/greta/role"), "/people/greta/otherwise", "support lead"),
    (Edit("move_carrier", "/people/greta/otherwise", "/people/greta/about"), "/people/greta/otherwise", ...),
    (Edit("restyle", "/people/greta/otherwise", "Thank you."), "/people/greta/otherwise", "Thank you."),
]


@pytest.mark.parametrize(("edit", "at", "value"), DOES, ids=lambda part: part.op if isinstance(part, Edit) else "")
def test_an_operator_does_what_its_name_says_and_changes_nothing_in_place(edit: Edit, at: str, value: Any) -> None:
    data, before = data_of(with_entry), data_of(with_entry)
    after = apply(data, edit)
    assert data == before
    if value is ...:
        assert not there(after, at)
    else:
        assert read(after, at) == value


def test_every_operator_is_shown() -> None:
    assert {edit.op for edit, _, _ in DOES} == set(OPERATORS)


BAD = [
    Edit("no_such_operator", "/checks"),
    Edit("closest_key", "/checks/told", "done"),
    Edit("drop", "/checks/nobody"),
    Edit("use_ref", "/clock/zone", "UTC"),
    Edit("create_row", "/services/storefront", {"id": "O-1"}),
    Edit("create_row", SALES, "O-1"),
    Edit("add_where", "/checks/done/expect/where/order", "$t2.id"),
    Edit("add_where", "/checks/done/where/order", "$t2.id"),
    Edit("add_count", "/checks/done/expect/count", 2),
    Edit("reweight", "/checks/once/weight", 0),
    Edit("to_gate", "/checks/nobody"),
    Edit("perturb", "/facts/t1/id", "O-1"),
    Edit("add_twin", "/twins/a1-other", {"facts": {}}),
    Edit("add_twin", "/twins/new", {"facts": {"t1": {"id": "O-8347"}}}),
    Edit("add_check", "/checks/told", {"weight": 1}),
    Edit("add_gate", "/checks/new", "never"),
    Edit("drop_check", "/checks/told/expect"),
    Edit("drop_step", "/oracle/4/text"),
    Edit("drop_tool", "/services/payments/records"),
    Edit("shift_event", "/clock/deadline", "soon"),
    Edit("re_anchor", "/timeline/0/when", {"called": "x"}),
    Edit("widen_keywords", f"{REPLIES}/1/any", ["approve"]),
    Edit("split_rule", f"{REPLIES}/1/any", ["other"]),
    Edit("add_reply", "/people/nobody/replies", {"say": "x"}),
    Edit("re_id", "/checks/told", "x"),
    Edit("move_row", f"{SALES}/0", 9),
    Edit("declare_free", "/services/nobody/collections/x/free", "note"),
    Edit("relax_before", "/checks/told/expect"),
    Edit("loosen_matcher", "/checks/told/weight", 1),
    Edit("restyle", "/checks/told", "x"),
]


@pytest.mark.parametrize("edit", BAD, ids=lambda edit: f"{edit.op} {edit.path}")
def test_an_edit_that_does_not_fit_is_refused_in_a_sentence(edit: Edit) -> None:
    with pytest.raises(BadEdit) as error:
        apply(data_of(), edit)
    assert str(error.value)


def test_with_a_tool_its_faults_go() -> None:
    data = data_of(setting("/faults", [{"tool": "payments.payouts.find"}, {"tool": "payments.payouts.create"}]))
    after = apply(data, Edit("drop_tool", "/services/payments/collections/payouts/can/0"))
    assert [fault["tool"] for fault in after["faults"]] == ["payments.payouts.create"]


paths = st.sampled_from(
    ["", "/", "/checks", "/checks/told/expect/where/x", "/oracle/0", "/oracle/x", "/twins/a/b", "/facts"]
)
jsons = st.none() | st.integers(-1, 3) | st.text(max_size=3) | st.lists(st.text(max_size=2), max_size=2)
objects = jsons | st.dictionaries(st.text(max_size=3), jsons, max_size=2)


@given(
    st.sampled_from(sorted(OPERATORS)),
    paths,
    objects,
    st.sampled_from(["/faults", "/oracle", "/twins", "/traps"]),
    objects,
)
def test_any_edit_of_any_data_is_made_or_refused(op: str, path: str, value: Any, broken: str, junk: Any) -> None:
    plant = setting(broken, junk)
    data = data_of(plant)
    try:
        assert isinstance(apply(data, Edit(op, path, value)), dict)
    except BadEdit:
        pass
    assert data == data_of(plant)


def test_every_operator_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "validation.md").read_text()
    assert set(OPERATORS) <= set(re.findall(r"`([a-z_]+)`", page))
