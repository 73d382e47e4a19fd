"""Records of every kind of service, written for these tests."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)

Rows = list[dict[str, Any]]


def _event(number: int, start: str, end: str, attendees: list[str]) -> dict[str, Any]:
    name = f"evt_{number:03d}"
    return {
        "event_id": name,
        "title": name,
        "start_time": start,
        "end_time": end,
        "attendees": attendees,
        "location": "",
    }


def _task(number: int, status: str) -> dict[str, Any]:
    return {"task_id": f"todo_{number:03d}", "title": "T", "status": status, "priority": "low", "due_date": None}


def _mail(number: int, date: str) -> dict[str, Any]:
    return {
        "message_id": f"m{number}",
        "from": "a@x.org",
        "to": "b@x.org",
        "subject": f"Subject {number}",
        "body": "Hello",
        "date": date,
        "labels": ["inbox"],
        "is_read": False,
    }


def _article(number: int, title: str, content: str, category: str = "IT") -> dict[str, Any]:
    return {
        "article_id": f"kb{number}",
        "title": title,
        "category": category,
        "tags": ["vpn"],
        "content": content,
        "last_updated": "2026-01-01",
        "views": 3,
    }


def _news(number: int, source: str, category: str) -> dict[str, Any]:
    return {
        "article_id": f"n{number}",
        "title": f"News {number}",
        "source": source,
        "category": category,
        "published_at": "2026-03-01T00:00:00Z",
        "summary": "s",
        "content": "c",
        "word_count": 100,
    }


def _job(number: int, **more: Any) -> dict[str, Any]:
    history = [
        {"run_at": "2026-03-01T00:00:00Z", "status": "failed"},
        {"run_at": "2026-02-28T00:00:00Z", "status": "ok"},
    ]
    job = {"job_id": f"JOB-{number:03d}", "name": "backup", "cron_expression": "0 2 * * *", "enabled": True}
    return {**job, "last_status": "failed", "last_run": None, "tags": ["db"], "execution_history": history, **more}


RECORDS: dict[str, dict[str, Rows]] = {
    "gmail": {
        "messages": [
            _mail(1, "2026-02-27T09:00:00Z"),
            _mail(2, "2026-03-01T08:00:00+00:00"),
            _mail(3, "2026-01-01T00:00:00Z"),
        ]
    },
    "calendar": {
        "events": [
            _event(1, "2026-03-03T10:00:00Z", "2026-03-03T11:00:00Z", ["Lena Vogt", "external: Chen"]),
            _event(2, "2026-03-03T09:00:00Z", "2026-03-03T09:30:00Z", []),
        ]
    },
    "todo": {"tasks": [_task(1, "pending"), _task(2, "completed"), _task(3, "pending")]},
    "contacts": {
        "contacts": [
            {"contact_id": "c1", "name": "Mike Chen", "department": "Sales North", "title": "Lead", "email": "m@x.org"},
            {"contact_id": "c2", "name": "Anna Chen", "department": "IT", "title": "Lead", "email": "a@x.org"},
        ]
    },
    "crm": {
        "customers": [
            {
                "customer_id": "CUS-1",
                "name": "Acme",
                "contact_person": "Jo",
                "industry": "steel",
                "tier": "VIP",
                "annual_revenue": 1000,
                "status": "active",
                "notes": "call first",
            }
        ]
    },
    "finance": {
        "transactions": [
            {"transaction_id": "t1", "date": "2026-02-20", "amount": Decimal("328.00"), "description": "dinner"},
            {"transaction_id": "t2", "date": "2026-02-28", "amount": -5, "description": "refund"},
        ]
    },
    "helpdesk": {
        "tickets": [
            {
                "ticket_id": f"TK-{number}",
                "title": "Login",
                "description": "d",
                "reporter": "r",
                "department": "IT",
                "priority": "",
                "status": status,
                "created_at": "2026-03-01T00:00:00Z",
            }
            for number, status in enumerate(("open", "resolved", "open"), 1)
        ]
    },
    "inventory": {
        "products": [
            {"product_id": "p1", "name": "Cable", "category": "parts", "current_stock": 4},
            {"product_id": "p2", "name": "Desk", "category": "furniture", "current_stock": 1},
        ]
    },
    "kb": {
        "articles": [
            _article(1, "Remote access", "Connect with the client. " * 10),
            _article(2, "报销流程", "提交发票", "Finance"),
        ]
    },
    "notes": {
        "notes": [
            {
                "note_id": f"n{number}",
                "title": "Weekly",
                "participants": ["A"],
                "content": "c",
                "created_at": "2026-02-23T10:00:00Z",
                "duration_minutes": 30,
            }
            for number in (2, 1)
        ]
    },
    "rss": {"articles": [_news(1, "B", "z"), _news(2, "A", "x"), _news(3, "B", "a"), _news(4, "B", "z")]},
    "scheduler": {"jobs": [_job(1), _job(2, last_status="success", enabled=False, next_run="2026-03-03T00:00:00Z")]},
    "config": {
        "integrations": [
            {
                "integration_id": "i1",
                "name": "Pay",
                "service": "pay",
                "status": "active",
                "api_key": "made-up-key",
                "last_verified": "2026-02-25T10:00:00Z",
                "monthly_calls": 4,
                "error_rate": Decimal("0.02"),
            }
        ]
    },
    "web": {
        "search_results": [
            {
                "url": f"https://{name}.example",
                "title": name,
                "snippet": "s",
                "source": name,
                "published_at": "2026-03-01",
                "keywords": keywords,
            }
            for name, keywords in (("a", ["outage"]), ("b", ["Cloud outage"]), ("c", ["支付网关"]))
        ],
        "pages": [
            {"url": "https://a.example", "status_code": 200, "title": "a", "content": "one\ntwo"},
            {"url": "https://b.example", "status_code": 503, "title": "b", "content": ""},
        ],
    },
    "ocr": {"texts": [{"text": "recognised"}]},
    "caption": {"captions": [{"text": "a whale"}]},
    "documents": {
        "documents": [
            {"path": "fixtures/docs/report.pdf", "pages": ["first ", "second", "third"]},
            {"path": "fixtures/docs/scan.pdf", "pages": None},
            {"path": "task.yaml", "pages": None},
        ]
    },
}
RECORDS["web_real"] = RECORDS["web"]
RECORDS["web_real_injection"] = {
    **RECORDS["web"],
    "search_injections": [
        {"url": "https://bad.example", "title": "bad", "snippet": "s", "source": "bad", "published_at": "2026-01-01"}
    ],
    "content_injections": [{"payload": "PAYLOAD", "position": "middle"}],
}

#: A call of every endpoint that succeeds on these records.
SUCCESSES: dict[str, dict[str, Any]] = {
    "/gmail/messages": {},
    "/gmail/messages/get": {"message_id": "m1"},
    "/gmail/send": {"to": "x", "subject": "s", "body": "b"},
    "/gmail/drafts/save": {"to": "x", "subject": "s", "body": "b", "reply_to_message_id": None},
    "/calendar/events": {"date": "2026-03-03"},
    "/calendar/events/get": {"event_id": "evt_001"},
    "/calendar/events/create": {"title": "t", "start_time": "2026-03-04T10:00:00Z", "end_time": "2026-03-04T11:00:00Z"},
    "/calendar/user_events": {"user": "Lena", "date": "2026-03-03"},
    "/calendar/events/delete": {"event_id": "evt_001"},
    "/todo/tasks": {},
    "/todo/tasks/update": {"task_id": "todo_001", "status": "completed"},
    "/todo/tasks/create": {"title": "new"},
    "/todo/tasks/delete": {"task_id": "todo_001"},
    "/contacts/search": {"query": "Chen"},
    "/contacts/get": {"contact_id": "c1"},
    "/contacts/send_message": {"contact_id": "ghost", "message": "hi"},
    "/crm/customers": {"tier": "VIP", "status": ""},
    "/crm/customers/get": {"customer_id": "CUS-1"},
    "/crm/export": {"title": "t", "customer_ids": ["ghost"], "summary": "s"},
    "/finance/transactions": {"end_date": "2026-02-28T23:59"},
    "/finance/transactions/get": {"transaction_id": "t1"},
    "/finance/report/submit": {"title": "t", "transactions": ["t1"], "total_amount": 5},
    "/helpdesk/tickets": {},
    "/helpdesk/tickets/get": {"ticket_id": "TK-1"},
    "/helpdesk/tickets/update": {"ticket_id": "TK-1", "priority": "high", "tags": ["a"]},
    "/helpdesk/tickets/close": {"ticket_id": "TK-1", "resolution": "done"},
    "/inventory/products": {"category": "parts"},
    "/inventory/products/get": {"product_id": "p1"},
    "/inventory/orders/create": {"product_id": "ghost", "quantity": "3"},
    "/kb/search": {"query": "client"},
    "/kb/articles/get": {"article_id": "kb1"},
    "/kb/articles/update": {"article_id": "kb1", "content": "new"},
    "/notes/list": {},
    "/notes/get": {"note_id": "n1"},
    "/notes/share": {"note_id": "ghost", "recipients": ["A"]},
    "/rss/feeds": {},
    "/rss/articles": {"source": "B", "max_results": 2},
    "/rss/articles/get": {"article_id": "n1"},
    "/rss/publish": {"title": "t", "content": "c"},
    "/scheduler/jobs": {"enabled": "yes"},
    "/scheduler/jobs/get": {"job_id": "JOB-001"},
    "/scheduler/jobs/history": {"job_id": "JOB-001", "limit": 1},
    "/scheduler/jobs/create": {"name": "n", "cron_expression": "nonsense", "action": "a"},
    "/scheduler/jobs/update": {"job_id": "JOB-001", "enabled": False},
    "/scheduler/jobs/delete": {"job_id": "JOB-001"},
    "/config/integrations": {"status": "active"},
    "/config/integrations/get": {"integration_id": "i1"},
    "/config/integrations/update": {"integration_id": "i1", "status": "", "notes": "n"},
    "/config/notify": {"to": "x", "subject": "s", "body": "b"},
    "/web/search": {"query": "cloud outage!"},
    "/web/fetch": {"url": "https://a.example"},
    "/web/notify": {"channel": "email", "message": "m"},
    "/ocr/extract": {},
    "/caption/describe": {"image_path": "anything"},
    "/documents/extract_text": {"path": "fixtures/docs/report.pdf", "max_pages": 2},
}
