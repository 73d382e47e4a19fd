"""Claw-Eval's customers, finance, help desk, stock and integrations.

Knows their endpoints. Lists of customers, tickets and integrations are summaries; those of transactions and products
are whole records.
"""

from __future__ import annotations

from ...events.event import Json
from ..service import Record
from .endpoint import Answer, Endpoint, Kind, Request, file_note, get_one, matches, missing, shown, update_one
from .validation import Field, defaulted, nullable

# --- crm -------------------------------------------------------------------------------------------------

_CUSTOMER = ("customer_id", "name", "contact_person", "tier", "status", "industry", "annual_revenue")


def _list_customers(request: Request) -> Answer:
    wanted = ("status", "tier", "industry")
    found = [shown(row, _CUSTOMER) for row in request.rows("customers") if matches(row, request.body, wanted)]
    return Answer({"customers": found, "total": len(found)})


CRM = Kind(
    "crm",
    (
        Endpoint(
            "/crm/customers", (nullable("status"), nullable("tier"), nullable("industry")), _list_customers, reads=True
        ),
        get_one("/crm/customers/get", "customers", "customer_id", "Customer"),
        file_note(
            "/crm/export",
            (Field("title"), Field("customer_ids", "strings"), Field("summary")),
            "exported_reports",
            "exported",
            "report",
        ),
    ),
    sides=("exported_reports",),
    collection="customers",
    fixture="customers.json",
    default="T023zh",
)

# --- finance ---------------------------------------------------------------------------------------------


def _list_transactions(request: Request) -> Answer:
    """Both ends included; dates compare as texts, so that `2026-02-28T23:59` as an end includes that day."""
    start, end = request.body["start_date"], request.body["end_date"]
    found = [
        row
        for row in request.rows("transactions")
        if (not start or row["date"] >= start) and (not end or row["date"] <= end)
    ]
    return Answer({"transactions": found, "total": len(found)})


FINANCE = Kind(
    "finance",
    (
        Endpoint(
            "/finance/transactions", (nullable("start_date"), nullable("end_date")), _list_transactions, reads=True
        ),
        get_one("/finance/transactions/get", "transactions", "transaction_id", "Transaction"),
        file_note(
            "/finance/report/submit",
            (Field("title"), Field("transactions", "strings"), Field("total_amount", "number")),
            "submitted_reports",
            "submitted",
            "report",
        ),
    ),
    sides=("submitted_reports",),
    collection="transactions",
    fixture="transactions.json",
    default="T011zh",
)

# --- helpdesk --------------------------------------------------------------------------------------------

_TICKET = ("ticket_id", "title", "reporter", "department", "priority", "status", "created_at")


def _list_tickets(request: Request) -> Answer:
    """Open ones unless another status, or `all`, is asked for."""
    status = request.body["status"]
    found = [shown(row, _TICKET) for row in request.rows("tickets") if status in ("all", row["status"])]
    return Answer({"tickets": found, "total": len(found)})


def _close_ticket(request: Request) -> Answer:
    found = request.find("tickets", "ticket_id", request.body["ticket_id"])
    if found is None:
        return missing("Ticket", request.body["ticket_id"])
    values = {"status": "closed", "resolution": request.body["resolution"]}
    ticket = {**found[1], **values}
    changes = (*request.change("tickets", found[0], values), request.create("closed", ticket))
    return Answer({"status": "closed", "ticket": ticket}, changes)


HELPDESK = Kind(
    "helpdesk",
    (
        Endpoint("/helpdesk/tickets", (defaulted("status", "open"),), _list_tickets, reads=True),
        get_one("/helpdesk/tickets/get", "tickets", "ticket_id", "Ticket"),
        update_one(
            "/helpdesk/tickets/update",
            "tickets",
            "Ticket",
            "ticket",
            (Field("ticket_id"), nullable("priority"), nullable("tags", "strings"), nullable("category")),
            "updated_tickets",
        ),
        Endpoint("/helpdesk/tickets/close", (Field("ticket_id"), Field("resolution")), _close_ticket),
    ),
    sides=("closed", "updated_tickets"),
    collection="tickets",
    fixture="tickets.json",
    default="T017zh",
)

# --- inventory -------------------------------------------------------------------------------------------


def _list_products(request: Request) -> Answer:
    found = [row for row in request.rows("products") if matches(row, request.body, ("category",))]
    return Answer({"products": found, "total": len(found)})


INVENTORY = Kind(
    "inventory",
    (
        Endpoint("/inventory/products", (nullable("category"),), _list_products, reads=True),
        get_one("/inventory/products/get", "products", "product_id", "Product"),
        file_note(
            "/inventory/orders/create",
            (Field("product_id"), Field("quantity", "integer"), nullable("supplier")),
            "orders",
            "created",
            "order",
        ),
    ),
    sides=("orders",),
    collection="products",
    fixture="products.json",
    default="T019zh",
)

# --- config ----------------------------------------------------------------------------------------------

_INTEGRATION = ("integration_id", "name", "service", "status", "last_verified", "monthly_calls", "error_rate")


def _list_integrations(request: Request) -> Answer:
    rows: list[Record] = [row for row in request.rows("integrations") if matches(row, request.body, ("status",))]
    return Answer({"integrations": [shown(row, _INTEGRATION) for row in rows], "total": len(rows)})


def _update_integration(request: Request) -> Answer:
    """An empty text is not applied, but stands in the list of updates all the same."""
    body = request.body
    found = request.find("integrations", "integration_id", body["integration_id"])
    if found is None:
        return missing("Integration", body["integration_id"])
    values: dict[str, Json] = {field: body[field] for field in ("status", "notes") if body[field]}
    update = {
        "integration_id": body["integration_id"],
        "changes": {field: value for field, value in body.items() if value is not None},
        "timestamp": request.timestamp(),
    }
    changes = (*request.change("integrations", found[0], values), request.create("updates", update))
    return Answer({"status": "updated", "integration": {**found[1], **values}}, changes)


CONFIG = Kind(
    "config",
    (
        Endpoint("/config/integrations", (nullable("status"),), _list_integrations, reads=True),
        get_one("/config/integrations/get", "integrations", "integration_id", "Integration"),
        Endpoint(
            "/config/integrations/update",
            (Field("integration_id"), nullable("status"), nullable("notes")),
            _update_integration,
        ),
        file_note(
            "/config/notify", (Field("to"), Field("subject"), Field("body")), "notifications", "sent", "notification"
        ),
    ),
    sides=("updates", "notifications"),
    collection="integrations",
    fixture="integrations.json",
    default="T027zh",
)
