"""A task in the benchmark's form, in words of our own: a flower shop whose stock changes while nobody says so."""

from datetime import datetime

METADATA = {
    "id": "shop_task1",
    "name": "The flower shop",
    "category": "shop",
    "environments": ["filesystem", "email", "notion", "google_sheets", "calendar"],
    "env_config": {"email": {"users": {"owner": {"email": "owner@shop.test"}, "clerk": {"email": "clerk@shop.test"}}}},
}
PROMPT = "Look after the shop."


def text(value):
    return {"rich_text": [{"text": {"content": value}}]}


async def stage0(ctx):
    await ctx.fs.upload_dir(ctx.task_dir / "assets", "/workspace")
    await ctx.fs._sandbox.exec("mkdir -p /workspace/output")
    await ctx.notion.create_page("Shop")
    await ctx.notion.create_database(
        "flowers",
        {
            "Name": {"title": {}},
            "Note": {"rich_text": {}},
            "State": {"select": {"options": []}},
            "Price": {"number": {}},
        },
    )
    row = {"Name": {"title": [{"text": {"content": "Rose"}}]}, "Price": {"number": 2.5}}
    ctx._rose = await ctx.notion.add_database_row("flowers", row)
    sheet = await ctx.google_sheets.create_spreadsheet("orders")
    await ctx.google_sheets.update_values(sheet["sheet_id"], "Sheet1!A1:B2", [["id", "state"], ["7", "open"]])
    await ctx.calendar.create_calendar("shop")
    await ctx.calendar.add_event(
        "shop", "Market", dtstart=datetime(2025, 5, 2, 8), dtend=datetime(2025, 5, 2, 9), uid="market"
    )
    await ctx.email.send_email(from_user="owner", to="clerk@shop.test", subject="Hello", body="Sell the roses.")
    return {"notification": "There is mail.", "time": "2025-05-01T09:00:00+02:00"}


async def stage1(ctx):
    await ctx.fs.upload_file(ctx.task_dir / "inject" / "stage1" / "late.csv", "/workspace/input")
    await ctx.fs.upload_file(ctx.task_dir / "inject" / "stage1" / "late.csv", "/workspace/nowhere/late.csv")
    await ctx.notion.update_db_row(ctx._rose, {"Note": text("wilted")})
    return {"notification": "A new day.", "time": "2025-05-02T09:00:00+02:00"}


async def wrote_report(ctx):
    path = ctx.workspace / "output" / "report.txt"
    return path.exists() and "12" in path.read_text()


async def saw_no_wilting_yet(ctx):
    [row] = await ctx.notion.query_db("flowers")
    return row["properties"]["Note"]["rich_text"] == [] and row["properties"]["Price"]["number"] == 2.5


async def told_owner(ctx):
    return any("wilted" in mail["body"] for mail in await ctx.email.get_emails("owner"))


async def closed_order(ctx):
    sheet = await ctx.google_sheets.get_spreadsheet_id("orders")
    return await ctx.google_sheets.read_values(sheet, "Sheet1!B2") == [["closed"]]


async def kept_market(ctx):
    return [each["uid"] for each in await ctx.calendar.find_events("shop", "market")] == ["market"]


async def raises(ctx):
    return ctx.nothing


RUBRIC = {
    "stage0": [
        {"id": "report", "checker": wrote_report, "weight": 2.0},
        {"id": "quiet", "checker": saw_no_wilting_yet, "weight": 1.0},
    ],
    "stage1": [
        {"id": "told", "checker": told_owner, "weight": 2.0},
        {"id": "raises", "checker": raises, "weight": 0.5},
    ],
    "final": [
        {"id": "order", "checker": closed_order, "weight": 1.5},
        {"id": "market", "checker": kept_market, "weight": 1.0},
    ],
}
