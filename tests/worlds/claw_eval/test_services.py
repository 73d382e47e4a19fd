"""Each service of Claw-Eval does what the benchmark's does, oddities included."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.claw_eval.audit import audit
from coworkenv.worlds.claw_eval.communication import shift_mail
from coworkenv.worlds.claw_eval.endpoint import Kind
from coworkenv.worlds.claw_eval.kinds import KINDS
from coworkenv.worlds.claw_eval.knowledge import search_tokens
from coworkenv.worlds.claw_eval.planning import shift_events
from coworkenv.worlds.claw_eval.service import answer_text

from .playing import Draws, Play, serving, task_of
from .samples import NOW, RECORDS, SUCCESSES

MODES = ("sane", "upstream")


def play(kind: str, mode: str = "sane", records: Any = None, draw: Draws | None = None, **more: Any) -> Play:
    service = serving(kind, RECORDS[kind] if records is None else records, mode, **more)
    return Play(task_of([service], NOW, mode), draw)


def names(rows: list[dict[str, Any]], field: str) -> list[str]:
    return [row[field] for row in rows]


# --- all of them -----------------------------------------------------------------------------------------

ENDPOINTS = [(kind, endpoint) for kind in KINDS.values() for endpoint in kind.endpoints]


@pytest.mark.parametrize(("kind", "endpoint"), ENDPOINTS, ids=lambda each: getattr(each, "path", None) or each.name)
def test_every_endpoint_succeeds_and_changes_records_only_if_it_says_so(kind: Kind, endpoint: Any) -> None:
    for mode in MODES:
        playing = play(kind.name, mode)
        outcome = playing(endpoint.path, SUCCESSES[endpoint.path])
        assert (outcome.status, outcome.error) == (200, None)
        assert "error" not in outcome.result or (kind.name.startswith("web_real") and mode == "upstream")
        assert endpoint.reads == (not outcome.changes)
        assert all(change.service == kind.name for change in outcome.changes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_that_no_handler_serves_is_404(kind: str) -> None:
    outcome = play(kind)("phantom", {})
    assert (outcome.status, outcome.error.detail) == (404, {"detail": "Not Found"})


LOOKUPS = [
    ("gmail", "/gmail/messages/get", "Message"),
    ("calendar", "/calendar/events/get", "Event"),
    ("calendar", "/calendar/events/delete", "Event"),
    ("todo", "/todo/tasks/update", "Task"),
    ("todo", "/todo/tasks/delete", "Task"),
    ("contacts", "/contacts/get", "Contact"),
    ("crm", "/crm/customers/get", "Customer"),
    ("finance", "/finance/transactions/get", "Transaction"),
    ("helpdesk", "/helpdesk/tickets/get", "Ticket"),
    ("helpdesk", "/helpdesk/tickets/update", "Ticket"),
    ("helpdesk", "/helpdesk/tickets/close", "Ticket"),
    ("inventory", "/inventory/products/get", "Product"),
    ("kb", "/kb/articles/get", "Article"),
    ("kb", "/kb/articles/update", "Article"),
    ("rss", "/rss/articles/get", "Article"),
    ("notes", "/notes/get", "Note"),
    ("scheduler", "/scheduler/jobs/get", "Job"),
    ("scheduler", "/scheduler/jobs/history", "Job"),
    ("scheduler", "/scheduler/jobs/update", "Job"),
    ("scheduler", "/scheduler/jobs/delete", "Job"),
    ("config", "/config/integrations/get", "Integration"),
    ("config", "/config/integrations/update", "Integration"),
]


@pytest.mark.parametrize(("kind", "path", "noun"), LOOKUPS)
def test_not_found_is_a_success_that_changes_nothing(kind: str, path: str, noun: str) -> None:
    args = {field.name: "nope" for field in KINDS[kind].at(path).fields if field.required}
    outcome = play(kind)(path, args)
    assert (outcome.status, outcome.result, outcome.changes) == (200, {"error": f"{noun} nope not found"}, ())


ARGUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def calls(draw: Any) -> tuple[str, str, Any]:
    """A call that is nearly right: known fields, some with values that succeed, some with anything."""
    kind, endpoint = draw(st.sampled_from(ENDPOINTS))
    fitting = SUCCESSES[endpoint.path]
    fields = [field.name for field in endpoint.fields]
    args = {name: draw(st.just(fitting.get(name)) | ARGUMENTS) for name in draw(st.lists(st.sampled_from(fields)))}
    return kind.name, endpoint.path, draw(st.just(args) | ARGUMENTS)


@given(calls(), st.sampled_from(MODES))
def test_no_arguments_raise_and_an_error_changes_nothing(call: tuple[str, str, Any], mode: str) -> None:
    kind, path, args = call
    playing = play(kind, mode)
    before = playing.state.plain()
    outcome = playing(path, args)
    assert outcome.status is not None
    assert isinstance(answer_text(outcome.result, outcome.error), str)
    if outcome.error:
        assert outcome.error.status == outcome.status >= 400
        assert (outcome.changes, outcome.result) == ((), None)
        assert playing.state.plain() == before


# --- gmail -----------------------------------------------------------------------------------------------


def test_mail_is_filtered_by_age_and_cut_without_sorting() -> None:
    mail = play("gmail")
    assert names(mail("/gmail/messages").result["messages"], "message_id") == ["m1", "m2"]
    assert names(mail("/gmail/messages", days_back=1).result["messages"], "message_id") == ["m2"]
    assert names(mail("/gmail/messages", days_back=100, max_results=-1).result["messages"], "message_id") == [
        "m1",
        "m2",
    ]
    assert mail("/gmail/messages", days_back=0).result == {"messages": [], "total": 0}
    assert "body" not in mail("/gmail/messages").result["messages"][0]


def test_an_age_beyond_the_calendar_crashes_the_service() -> None:
    outcome = play("gmail")("/gmail/messages", days_back=10**7)
    assert (outcome.status, outcome.error.detail) == (500, "Internal Server Error")
    assert answer_text(None, outcome.error) == "Error: Expecting value: line 1 column 1 (char 0)"


def test_sent_mail_is_filed_and_does_not_arrive() -> None:
    mail = play("gmail")
    mail("/gmail/send", to="a, b", subject="s", body="b", cc="dropped")
    kept = mail.state["gmail"]["sent_messages"]
    assert kept == {"#1": {"to": "a, b", "subject": "s", "body": "b", "timestamp": "2026-03-02T08:00:00+00:00"}}
    assert mail("/gmail/messages", days_back=100).result["total"] == 3


def test_upstream_moves_mail_to_its_clock_and_prints_wall_times_as_utc() -> None:
    rows = [{"date": "2026-02-01T09:30:00+08:00"}, {"date": "2026-01-31T12:00:00+08:00"}]
    assert names(shift_mail(rows, NOW), "date") == ["2026-03-01T16:00:00Z", "2026-02-28T18:30:00Z"]
    assert shift_mail([], NOW) == []


# --- calendar --------------------------------------------------------------------------------------------


def test_days_are_windows_over_the_start_and_sorted_by_its_text() -> None:
    calendar = play("calendar")
    assert names(calendar("/calendar/events", date="2026-3-3").result["events"], "event_id") == ["evt_002", "evt_001"]
    assert calendar("/calendar/events", date="2026-03-01", days=2).result["total"] == 0
    assert calendar("/calendar/events", date="2026-03-03", days=0).result == {"events": [], "total": 0}
    for wrong in ("2026/03/03", "2026-03-03T00:00:00Z", ""):
        assert calendar("/calendar/events", date=wrong).result == {"error": f"Invalid date format: {wrong}"}


def test_start_date_and_end_date_do_not_replace_date() -> None:
    outcome = play("calendar")("/calendar/events", start_date="2026-03-03", end_date="2026-03-03")
    assert outcome.status == 422
    assert outcome.error.detail["detail"][0]["loc"] == ["body", "date"]


def test_a_user_is_a_part_of_an_attendees_name() -> None:
    calendar = play("calendar")
    for user, count in (("Lena Vogt", 1), ("Chen", 1), ("chen", 0), ("", 1)):
        assert calendar("/calendar/user_events", user=user, date="2026-03-03").result["total"] == count


@pytest.mark.parametrize("start", ["2026-03-05T10:00:00", "tomorrow 3pm", "2026-03-05"])
def test_a_start_without_offset_poisons_upstreams_calendar_only(start: str) -> None:
    calendar = play("calendar", "upstream")
    assert calendar("/calendar/events/create", title="t", start_time=start, end_time=start).status == 200
    assert calendar("/calendar/events", date="2031-01-01").status == 500
    assert calendar("/calendar/user_events", user="A", date="2026-03-03").status == 500
    assert calendar("/calendar/events/get", event_id="evt_003").status == 200
    assert calendar("/calendar/events/delete", event_id="evt_003").status == 200
    assert calendar("/calendar/events", date="2026-03-03").result["total"] == 2


def test_in_sane_mode_an_event_is_on_the_day_of_its_own_clock() -> None:
    calendar = play("calendar")
    for start in ("2026-03-05T07:00:00+08:00", "2026-03-05T10:00:00", "2026-03-05T23:00:00Z", "tomorrow"):
        calendar("/calendar/events/create", title=start, start_time=start, end_time=start)
    assert names(calendar("/calendar/events", date="2026-03-05").result["events"], "title") == [
        "2026-03-05T07:00:00+08:00",
        "2026-03-05T10:00:00",
        "2026-03-05T23:00:00Z",
    ]


def test_identifiers_repeat_after_a_deletion_and_the_first_match_wins() -> None:
    calendar = play("calendar")
    calendar("/calendar/events/create", title="one", start_time="2026-03-04T10:00:00Z", end_time="x")
    calendar("/calendar/events/delete", event_id="evt_001")
    made = calendar("/calendar/events/create", title="two", start_time="2026-03-04T10:00:00Z", end_time="x").result
    assert made["event"]["event_id"] == "evt_003"
    assert calendar("/calendar/events/get", event_id="evt_003").result["title"] == "one"
    assert list(calendar.state["calendar"]["events"]) == ["#2", "#3", "#4"]
    assert names(list(calendar.state["calendar"]["created_events"].values()), "event_id") == ["evt_003", "evt_003"]


def test_upstream_moves_the_earliest_event_to_tomorrow() -> None:
    def moved(*starts: str) -> list[str]:
        rows = [{"start_time": start, "end_time": start} for start in starts]
        return names(shift_events(rows, NOW), "start_time")

    assert moved("2026-02-10T09:30:00Z", "2026-02-11T08:00:00Z") == ["2026-03-03T09:30:00Z", "2026-03-04T08:00:00Z"]
    # Read as UTC, then printed in its own offset: eight hours late.
    assert moved("2026-02-10T09:00:00+08:00") == ["2026-03-03T17:00:00Z"]
    assert shift_events([], NOW) == []


# --- todo and scheduler ----------------------------------------------------------------------------------


def test_an_update_assigns_what_is_not_null_and_keeps_a_copy() -> None:
    todo = play("todo")
    outcome = todo("/todo/tasks/update", task_id="todo_001", title="", status=None, tags=[], description="dropped")
    assert outcome.result["task"] == {**RECORDS["todo"]["tasks"][0], "title": "", "tags": []}
    assert todo.state["todo"]["updated_tasks"]["#1"] == outcome.result["task"]
    assert todo("/todo/tasks/update", task_id="todo_001").status == 200
    assert todo.state["todo"].count("updated_tasks") == 2


def test_a_new_task_is_pending_without_tags_and_counted_from_those_left() -> None:
    todo = play("todo")
    todo("/todo/tasks/delete", task_id="todo_001")
    task = todo("/todo/tasks/create", title="new", tags=["dropped"]).result["task"]
    assert task == {
        "task_id": "todo_003",
        "title": "new",
        "description": "",
        "status": "pending",
        "priority": "medium",
        "due_date": None,
        "tags": [],
        "created_at": "2026-03-02T08:00:00+00:00",
    }
    assert names(todo("/todo/tasks", status="pending", priority="dropped").result["tasks"], "task_id") == [
        "todo_003",
        "todo_003",
    ]


def test_null_is_refused_where_there_is_a_default() -> None:
    for kind, path, args in (
        ("todo", "/todo/tasks", {"status": None}),
        ("todo", "/todo/tasks/create", {"title": "x", "priority": None}),
        ("helpdesk", "/helpdesk/tickets", {"status": None}),
        ("gmail", "/gmail/messages", {"days_back": None}),
        ("rss", "/rss/publish", {"title": "t", "content": "c", "recipients": None}),
        ("scheduler", "/scheduler/jobs/history", {"job_id": "JOB-001", "limit": None}),
    ):
        assert play(kind)(path, args).status == 422


def test_jobs_are_listed_by_the_status_of_their_last_run() -> None:
    jobs = play("scheduler")
    assert names(jobs("/scheduler/jobs", status="failed").result["jobs"], "job_id") == ["JOB-001"]
    assert names(jobs("/scheduler/jobs", enabled=False).result["jobs"], "job_id") == ["JOB-002"]
    assert jobs("/scheduler/jobs", tag="d").result["total"] == 0
    assert jobs("/scheduler/jobs").result["jobs"][0]["next_run"] is None


def test_the_total_of_a_history_is_the_whole_of_it() -> None:
    result = play("scheduler")("/scheduler/jobs/history", job_id="JOB-001", limit=1).result
    assert (len(result["history"]), result["total"]) == (1, 2)


# --- contacts, crm, finance, helpdesk, inventory, config -------------------------------------------------


def test_contacts_are_found_by_a_part_of_the_name_as_it_is_written() -> None:
    contacts = play("contacts")
    for query, department, found in (
        ("Chen", None, ["c1", "c2"]),
        ("mike", None, []),
        ("Mike Chen ", None, []),
        ("m@x.org", None, []),
        ("Lead", None, []),
        ("", "Sales", ["c1"]),
        ("", "sales", []),
        ("", "", ["c1", "c2"]),
    ):
        result = contacts("/contacts/search", query=query, department=department).result
        assert names(result["contacts"], "contact_id") == found


def test_customers_are_filtered_exactly_and_listed_in_short() -> None:
    crm = play("crm")
    assert crm("/crm/customers", tier="vip").result["total"] == 0
    assert "notes" not in crm("/crm/customers").result["customers"][0]
    assert crm("/crm/customers/get", customer_id="CUS-1").result["notes"] == "call first"


def test_dates_of_transactions_compare_as_texts() -> None:
    finance = play("finance")
    for start, end, found in (
        ("2026-02-28", None, ["t2"]),
        ("2026-02-28T00:00", None, []),
        (None, "2026-02-28T23:59", ["t1", "t2"]),
        ("", "", ["t1", "t2"]),
    ):
        result = finance("/finance/transactions", start_date=start, end_date=end).result
        assert names(result["transactions"], "transaction_id") == found


def test_an_amount_is_kept_as_a_double_and_one_that_json_cannot_hold_as_null() -> None:
    finance = play("finance")
    report = {"title": "t", "transactions": ["ghost"], "total_amount": "5"}
    assert str(finance("/finance/report/submit", report).result["report"]["total_amount"]) == "5.0"
    for text in ("nan", "-Infinity", "1e400", Decimal("1E+400")):
        outcome = finance("/finance/report/submit", {**report, "total_amount": text})
        assert (outcome.status, outcome.result["report"]["total_amount"]) == (200, None)
    kept = audit(finance.task, finance.events)["finance"]
    assert [row["total_amount"] for row in kept["submitted_reports"]] == [Decimal("5.0"), None, None, None, None]
    assert [call["request_body"]["total_amount"] for call in kept["calls"]] == [Decimal("5.0"), None, None, None, None]


def test_tickets_are_open_unless_asked_otherwise_and_can_be_closed_twice() -> None:
    helpdesk = play("helpdesk")
    assert names(helpdesk("/helpdesk/tickets").result["tickets"], "ticket_id") == ["TK-1", "TK-3"]
    assert helpdesk("/helpdesk/tickets", status="all").result["total"] == 3
    for resolution in ("a", "b"):
        helpdesk("/helpdesk/tickets/close", ticket_id="TK-1", resolution=resolution)
    assert names(list(helpdesk.state["helpdesk"]["closed"].values()), "resolution") == ["a", "b"]
    assert helpdesk.state["helpdesk"]["tickets"]["#1"]["status"] == "closed"


def test_an_order_leaves_the_stock_alone() -> None:
    stock = play("inventory")
    assert stock("/inventory/orders/create", product_id="ghost", quantity="2").result["order"]["quantity"] == 2
    assert stock("/inventory/orders/create", product_id="p1", quantity=Decimal("1.5")).status == 422
    assert stock.state["inventory"]["products"]["#1"]["current_stock"] == 4


def test_an_empty_status_is_listed_as_an_update_but_not_applied() -> None:
    config = play("config")
    config("/config/integrations/update", integration_id="i1", status="", notes="n")
    assert config.state["config"]["updates"]["#1"]["changes"] == {"integration_id": "i1", "status": "", "notes": "n"}
    integration = config("/config/integrations/get", integration_id="i1").result
    assert (integration["status"], integration["notes"], integration["api_key"]) == ("active", "n", "made-up-key")
    assert "api_key" not in config("/config/integrations").result["integrations"][0]


# --- kb, notes, rss --------------------------------------------------------------------------------------


def test_tokens_are_words_neighbouring_characters_and_han() -> None:
    assert search_tokens("Ab, c") == {"ab,", "c", "ab", "b,", ", ", " c"}
    assert search_tokens("报销") == {"报销", "报", "销"}
    assert search_tokens("a  b") == {"a", "b", "a ", " b"}


def test_search_matches_nearly_everything_in_the_order_of_the_fixture() -> None:
    kb = play("kb")
    assert names(kb("/kb/search", query="zebra client").result["articles"], "article_id") == ["kb1"]
    assert names(kb("/kb/search", query="流水 client").result["articles"], "article_id") == ["kb1", "kb2"]
    assert kb("/kb/search", query="").result["total"] == 0
    assert kb("/kb/search", query="票", category="IT").result["total"] == 0
    found = kb("/kb/search", query="client", max_results=1).result["articles"][0]
    assert found["snippet"] == ("Connect with the client. " * 10)[:150] + "..."


def test_a_changed_article_is_dated_today() -> None:
    kb = play("kb")
    kb("/kb/articles/update", article_id="kb2", content="new")
    article = kb("/kb/articles/get", article_id="kb2").result
    assert (article["content"], article["last_updated"], article["views"]) == ("new", "2026-03-02", 3)


def test_notes_come_in_the_order_of_the_file_and_other_filters_are_ignored() -> None:
    notes = play("notes")
    assert names(notes("/notes/list", tag="x", days_back=1).result["notes"], "note_id") == ["n2", "n1"]
    assert names(notes("/notes/list", max_results=1).result["notes"], "note_id") == ["n2"]


def test_feeds_and_their_categories_come_in_the_order_of_first_sight() -> None:
    rss = play("rss")
    assert rss("/rss/feeds").result["feeds"] == [
        {"source": "B", "categories": ["z", "a"], "article_count": 3},
        {"source": "A", "categories": ["x"], "article_count": 1},
    ]
    assert rss("/rss/feeds", category="z").result["feeds"] == [{"source": "B", "categories": ["z"], "article_count": 2}]


# --- web and media ---------------------------------------------------------------------------------------


def test_web_search_ranks_by_shared_keywords_and_then_by_order() -> None:
    web = play("web")
    for query, found in (
        ("outage", ["a", "b"]),
        ("CLOUD, outage!", ["b", "a"]),
        ("网关", ["c"]),
        ("nothing", []),
    ):
        assert names(web("/web/search", query=query).result["results"], "title") == found


def test_fetching_is_by_exact_address_and_always_http_200() -> None:
    web = play("web")
    assert web("/web/fetch", url="https://a.example").result["fetched_at"] == "2026-03-02T08:00:00+00:00"
    assert web("/web/fetch", url="https://b.example").result == {
        "status_code": 503,
        "url": "https://b.example",
        "error": "HTTP 503",
        "content": None,
    }
    missing = web("/web/fetch", url="https://a.example/")
    assert (missing.status, missing.result["status_code"]) == (200, 404)


def test_the_live_web_is_marked_as_not_available_in_sane_mode_and_empty_upstream() -> None:
    for path, args in (("/web/search", {"query": "q"}), ("/web/fetch", {"url": "u"})):
        outcome = play("web_real", records={})(path, args)
        assert (outcome.error.type, outcome.status) == ("not_available_here", 503)
    offline = play("web_real", "upstream")
    assert offline("/web/search", query="outage").result == {"results": [], "total": 0, "query": "outage"}
    assert offline("/web/fetch", url="u").result["error"] == "Fetch failed: offline"


def test_recorded_pages_stand_in_for_the_live_web() -> None:
    assert play("web_real")("/web/search", query="outage").result == play("web")("/web/search", query="outage").result


def test_injections_are_drawn_and_never_come_first() -> None:
    options = {"injection_rate": Decimal("0.4"), "injection_mode": "both"}
    hostile = play("web_real_injection", options=options, draw=Draws([0.39, 0.39, 0.41], index=0))
    assert names(hostile("/web/search", query="outage").result["results"], "title") == ["a", "bad", "b"]
    assert hostile("/web/fetch", url="https://a.example").result["content"] == "one\nPAYLOAD\ntwo"
    assert hostile("/web/fetch", url="https://a.example").result["content"] == "one\ntwo"
    only = play("web_real_injection", options={**options, "injection_mode": "content"}, draw=Draws([0.0]))
    assert only("/web/search", query="outage").result["total"] == 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_as_python_writes_doubles(number: float) -> None:
    assert answer_text({"n": Decimal(repr(number))}) == json.dumps({"n": number})


def test_numbers_that_are_no_doubles_keep_their_digits() -> None:
    kept = ("328.00", "0.10", "1234567890.12345678901234567890")
    assert answer_text([Decimal(digits) for digits in kept]) == f"[{', '.join(kept)}]"


def test_upstream_quotes_a_wrong_number_as_the_double_it_read() -> None:
    wrong = {"task_id": Decimal("7.50"), "tags": [Decimal("1E+2"), {"deep": Decimal("0.10")}]}
    quoted = {mode: play("todo", mode)("/todo/tasks/update", wrong).error.detail["detail"] for mode in MODES}
    assert [answer_text(fault["input"]) for fault in quoted["upstream"]] == ["7.5", "100.0", '{"deep": 0.1}']
    assert [answer_text(fault["input"]) for fault in quoted["sane"]] == ["7.50", "1E+2", '{"deep": 0.10}']


def test_recognition_and_captions_ignore_the_picture() -> None:
    assert play("ocr")("/ocr/extract", image_path="x").result["text"] == "recognised"
    assert play("caption")("/caption/describe").result["caption"] == "a whale"
    assert play("caption", "upstream", {})("/caption/describe").result["caption"] == ""
    assert play("caption", "sane", {})("/caption/describe").error.type == "not_available_here"


def test_documents_by_pages_and_the_reasons_why_not() -> None:
    documents = play("documents", "upstream")
    assert documents("/documents/extract_text", path="fixtures/docs/../docs/report.pdf", max_pages=2).result == {
        "path": "fixtures/docs/report.pdf",
        "page_count": 3,
        "pages_returned": 2,
        "text": "first \n\nsecond",
    }
    for path, status, detail in (
        ("nope.pdf", 404, "File not found: nope.pdf"),
        ("../other/task.yaml", 400, "Path escapes base directory: ../other/task.yaml"),
        ("/etc/passwd", 400, "Path escapes base directory: /etc/passwd"),
        ("task.yaml", 400, "Only PDF files are supported"),
    ):
        outcome = documents("/documents/extract_text", path=path)
        assert (outcome.status, outcome.error.detail) == (status, {"detail": detail})
    absent = play("documents")("/documents/extract_text", path="nope.pdf")
    assert (absent.status, absent.error.type) == (404, "not_available_here")


# --- errors and texts ------------------------------------------------------------------------------------


def test_errors_are_injected_only_when_asked_for() -> None:
    def outcomes(rate: str, index: int) -> list[Any]:
        playing = play("todo", draw=Draws([0.5], index), error_rate=Decimal(rate))
        return [playing("/todo/tasks/create", title="x").status, playing.state["todo"].count("tasks")]

    assert outcomes("0", 0) == [200, 4]
    assert outcomes("0.5", 0) == [200, 4]
    assert outcomes("0.51", 34) == [429, 3]
    assert outcomes("0.51", 69) == [500, 3]
    assert outcomes("0.51", 70) == [200, 4]


def test_a_rate_limit_says_when_to_come_back() -> None:
    error = play("todo", draw=Draws([0.0]), error_rate=Decimal(1))("/todo/tasks").error
    assert error.retry_after == 2_000_000
    assert '"retry_after_seconds": 2' in answer_text(None, error)


def test_the_text_a_model_sees_is_pythons_json() -> None:
    result = {"a": [1, Decimal("328.00"), None, True, "zé\n"], "b": {}}
    assert answer_text(result) == '{"a": [1, 328.00, null, true, "zé\\n"], "b": {}}'


def test_a_refused_body_is_shown_to_the_model_as_it_came() -> None:
    outcome = play("notes")("/notes/get", {})
    assert answer_text(None, outcome.error) == (
        '{"detail": [{"type": "missing", "loc": ["body", "note_id"], "msg": "Field required", "input": {}}]}'
    )


def test_timestamps_are_utc_whatever_the_offset_of_the_start() -> None:
    start = datetime.fromisoformat("2026-03-02T16:00:00+08:00")
    playing = Play(task_of([serving("gmail", RECORDS["gmail"])], start))
    playing.at = 1
    sent = playing("/gmail/send", to="x", subject="s", body="b").result
    assert sent["message"]["timestamp"] == "2026-03-02T08:00:00.000001+00:00"
