"""The agents that solve what needs no judge find names, dates and addresses in what they are given."""

from __future__ import annotations

from typing import Any

from benchmarks.claw_eval.solving import Seen, book, mend, plan, report, triage, unread, welcome
from coworkenv.agents.agent import Result


def seen(*results: Any) -> Seen:
    return Seen([Result(number, "tool", result) for number, result in enumerate(results)])


def test_the_fullest_version_of_a_record_is_kept() -> None:
    listed, whole = {"message_id": "m1"}, {"message_id": "m1", "body": "Hello"}
    assert seen({"messages": [listed]}, whole).of("message_id") == [whole]
    assert seen(whole, {"messages": [listed]}).of("message_id") == [whole]
    assert [call.args["message_id"] for call in unread("", seen({"all": [{"message_id": "m2"}]}, whole))] == ["m2"]


def test_a_meeting_is_booked_as_the_request_has_it() -> None:
    [call] = book('Call it "Weekly" and invite eva@example.org on 2026-05-01 at 12:30 AM.', seen())
    assert call.args["title"] == "Weekly"
    assert call.args["start_time"] == "2026-05-01T00:30:00Z"
    assert call.args["attendees"] == ["eva@example.org"]


def test_each_numbered_line_becomes_a_task() -> None:
    assert [call.args["title"] for call in plan("Do:\n1. sow\n2. reap\nThen rest.", seen())] == ["sow", "reap"]


def test_what_is_off_without_having_failed_is_switched_on() -> None:
    def job(name: str, enabled: bool, status: str) -> dict[str, Any]:
        return {"job_id": name, "name": name.lower(), "enabled": enabled, "last_status": status}

    jobs = [job("A", True, "failed"), job("B", False, "success"), job("C", False, "failed"), job("D", True, "success")]
    told = {"article_id": "k1", "content": "Write to night@example.org."}
    *switched, draft = mend("", seen({"jobs": jobs}, told))
    assert [call.args for call in switched] == [{"job_id": "B", "enabled": True}]
    assert (draft.args["to"], draft.args["body"]) == ("night@example.org", "A a, C c")


def test_who_has_no_leader_is_only_drafted_about() -> None:
    mail = {"message_id": "m", "body": "1. **Ada** - Ships\n2. **Bo** - Trains\n3. **Cy** - Kites"}
    people = [
        {"contact_id": "1", "name": "Kim", "department": "Ships", "email": "k1@example.org"},
        {"contact_id": "2", "name": "Kim", "department": "Trains", "email": "k2@example.org"},
        {"contact_id": "3", "name": "Lee", "department": "Kites", "email": "l@example.org"},
    ]
    calls = welcome("", seen(mail, {"contacts": people}))
    sent = [call.args["to"] for call in calls if call.tool == "gmail_send_message"]
    drafted = [call.args["to"] for call in calls if call.tool == "gmail_save_draft"]
    assert (sent, drafted) == (["k1@example.org", "k2@example.org"], ["l@example.org"])


def test_a_report_of_secrets_has_names_only_and_one_about_something_nothing_else() -> None:
    rows = seen({"integration_id": "i", "name": "Pay", "api_key": "hidden"}, {"note_id": "n", "title": "Moon trip"})
    assert "hidden" not in report("- ", secret=True)("", rows)
    assert "Pay" not in report("# ", about="Moon")("", rows)


def test_mails_are_sorted_by_urgency() -> None:
    def mail(subject: str, label: str) -> dict[str, Any]:
        return {"message_id": subject, "from": "a@x", "subject": subject, "labels": ["inbox", label]}

    said = triage("", seen({"messages": [mail("Cheap pans", "promo"), mail("URGENT flood", ""), mail("Hi", "client")]}))
    assert said.index("P0 URGENT flood") < said.index("P1 Hi") < said.index("P4 Cheap pans")
