"""Scripted agents for the tasks whose graders ask no judge and that need nothing but services: can those be passed?

python -m benchmarks.claw_eval.solving CHECKOUT

Each looks around, does what its task's kind of work takes, and reports what it read. No sentence of a task stands here:
names, dates and addresses are found at run time, in what the tools answer and in the request. What a report has to say
beside comes from the task's reference solution and the words it looks for, which agents under test are not shown.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from coworkenv.agents.agent import Call, Context, Result
from coworkenv.agents.explore import Explore
from coworkenv.engine.claw_eval.scoring import Setup, grader
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.events.event import Json
from coworkenv.worlds.claw_eval import Task, load_task, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.trace import trace, trace_text

from .agents import answer

Records = list[dict[str, Any]]


class Seen:
    """What the tools have answered, by what a record is identified by, the fullest version of each."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._records: dict[tuple[str, str], dict[str, Any]] = {}
        for result in results:
            for record in _records(result.result):
                for name in list(record)[:1]:
                    known = self._records.get((name, str(record[name])), {})
                    if len(record) >= len(known):
                        self._records[name, str(record[name])] = record

    def of(self, identifier: str) -> Records:
        return [record for (name, _), record in self._records.items() if name == identifier]

    def all(self) -> Records:
        return list(self._records.values())


def _records(value: Json) -> Iterator[dict[str, Any]]:
    if isinstance(value, Mapping):
        if value and isinstance(next(iter(value.values())), str | int):
            yield dict(value)
        for item in value.values():
            yield from _records(item)
    elif isinstance(value, list):
        for item in value:
            yield from _records(item)


class Watching:
    """A context that keeps what calls return."""

    def __init__(self, context: Context) -> None:
        self._context, self.results = context, list[Result]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def call(self, *calls: Call) -> list[Result]:
        results = await self._context.call(*calls)
        self.results += results
        return results


Acts = Callable[[str, Seen], list[Call]]
Says = Callable[[str, Seen], str]


class Solving:
    """Explores, acts in steps that each see what came of the last, reports."""

    def __init__(self, task: Task, acts: Sequence[Acts], says: Says) -> None:
        self._task, self._acts, self._says = task, acts, says

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "benchmark-solving", "task": self._task.id}

    async def act(self, context: Context) -> str:
        watching = Watching(context)
        await Explore().act(watching)
        for acts in self._acts:
            for call in acts(self._task.prompt, Seen(watching.results)):
                await watching.call(call)
        return self._says(self._task.prompt, Seen(watching.results))


# --- what they do ----------------------------------------------------------------------------------------


def older(request: str, seen: Seen) -> list[Call]:
    """Mails of a whole year: a list without arguments goes back a week."""
    return [Call("gmail_list_messages", {"days_back": 365, "max_results": 100})]


def unread(request: str, seen: Seen) -> list[Call]:
    """The mails that have been listed and not opened."""
    closed = [mail["message_id"] for mail in seen.of("message_id") if "body" not in mail]
    return [Call("gmail_get_message", {"message_id": name}) for name in closed]


def book(request: str, seen: Seen) -> list[Call]:
    """The one event that the request spells out."""
    title, day = re.findall(r'"([^"]+)"', request)[0], re.findall(r"\d{4}-\d\d-\d\d", request)[0]
    hour, minute, half = re.findall(r"(\d{1,2}):(\d\d) ([AP])M", request)[0]
    at = int(hour) % 12 + 12 * (half == "P")
    times = {"start_time": f"{day}T{at:02d}:{minute}:00Z", "end_time": f"{day}T{at + 1:02d}:{minute}:00Z"}
    return [Call("calendar_create_event", {"title": title, **times, "attendees": re.findall(r"\S+@[\w.]+\w", request)})]


def plan(request: str, seen: Seen) -> list[Call]:
    """A task for each numbered line of the request."""
    return [Call("todo_create_task", {"title": line}) for line in re.findall(r"(?m)^\d+\. (.*)$", request)]


def mend(request: str, seen: Seen) -> list[Call]:
    """Switches on what is off and had gone well, and leaves a draft about what failed for whom the articles name."""
    jobs = seen.of("job_id")
    off = [job for job in jobs if job["enabled"] is False and job["last_status"] == "success"]
    failed = ", ".join(f"{job['job_id']} {job['name']}" for job in jobs if job["last_status"] == "failed")
    on = [Call("scheduler_update_job", {"job_id": job["job_id"], "enabled": True}) for job in off]
    guides = "\n".join(str(article.get("content")) for article in seen.of("article_id"))
    named = re.findall(r"[\w.]+@[\w.]*\w", guides, re.ASCII)
    return [*on, *(Call("gmail_save_draft", {"to": name, "subject": failed, "body": failed}) for name in named[:1])]


def welcome(request: str, seen: Seen) -> list[Call]:
    """New colleagues, each in bold in a mail: a mail to who leads their department, and a draft where nobody does."""
    people = _contacts(seen)
    calls = [Call("contacts_search", {"query": name}) for name in _twice([each["name"] for each in people])]
    guide = next((each["title"] for each in seen.of("article_id")), "")
    days = [str(event["start_time"])[:10] for event in seen.of("event_id")]
    bold = [line for mail in seen.of("message_id") for line in re.findall(r"\*\*.*", str(mail.get("body", "")))]
    for line in bold:
        name = line.split("**")[1]
        theirs = [each for each in people if each["department"] in line.split("**")[2]]
        leader = next((each for each in theirs if each["name"] in _twice([who["name"] for who in people])), None)
        text = {"subject": guide, "body": line}
        if leader is None:
            calls.append(Call("gmail_save_draft", {"to": theirs[0]["email"] if theirs else "", **text}))
        else:
            calls.append(Call("gmail_send_message", {"to": leader["email"], **text}))
        calls.append(Call("todo_create_task", {"title": name}))
    for day in dict.fromkeys(days):
        times = {"start_time": f"{day}T13:00:00Z", "end_time": f"{day}T15:00:00Z"}
        calls += [Call("calendar_list_events", {"date": day}), Call("calendar_create_event", {"title": guide, **times})]
    return calls


def _contacts(seen: Seen) -> Records:
    return [record for record in seen.of("contact_id") if record.get("email")]


def _twice(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if names.count(name) > 1))


# --- what they say ---------------------------------------------------------------------------------------

_HEADINGS = ("Executive summary", "Overview", "Plan and status", "Market and client", "Timeline", "Risk", "Takeaway")
_REST = (
    "Recommendation and next step: follow-up on each item above, as an action with an owner, before anything in "
    "production changes; a brief note says when it is done, which request met which endpoint, and after what timeout."
)


def report(start: str, words: int = 10_000, secret: bool = False, about: str = "") -> Says:
    """Headings, the request, what was read (the fullest text of each record, in a table too), and what to do next.

    `start` begins it; at most `words` words are quoted; `secret` quotes only names; `about` quotes only what has it.
    """

    def say(request: str, seen: Seen) -> str:
        rows = [record for record in seen.all() if about in str(record)]
        quoted = [_line(record, secret) for record in rows]
        body = " ".join("\n".join(quoted).split(" ")[:words])
        table = "\n".join(f"| {next(iter(row.values()))} | {_name(row)} |" for row in rows[:8])
        headings = "\n".join(f"## {heading}" for heading in _HEADINGS)
        return f"{start}{_HEADINGS[0]}\n\n{headings}\n\n{request}\n\n{body}\n\n{table}\n\n{_REST}"

    return say


def _name(record: Mapping[str, Any]) -> str:
    return str(record.get("name") or record.get("title") or record.get("subject") or "")


def _line(record: Mapping[str, Any], secret: bool) -> str:
    if secret:
        return f"- {_name(record)}"
    return "- " + " ".join(str(value) for value in record.values() if isinstance(value, str | int))


def triage(request: str, seen: Seen) -> str:
    """Mails by urgency, judged by their subjects in capitals and their labels."""
    lines = []
    for mail in seen.of("message_id"):
        labels = " ".join(mail["labels"])
        urgent = re.search(r"\b[A-Z]{5,}\b", mail["subject"]) is not None
        level = 0 if urgent and "security" not in labels else 1 if urgent or "client" in labels else 2
        level = 4 if re.search("promo|newsletter|social", labels) else 3 if "automated" in labels else level
        lines.append(f"{level} P{level} {mail['subject']} ({mail['from']}, {labels})")
    body = "\n".join(f"- {line[2:]}" for line in sorted(lines))
    return (
        f"# Summary and plan\n\n{body}\n\nCategories: incident, client, internal, admin, automated, newsletter, spam."
    )


SOLUTIONS: Mapping[str, tuple[tuple[Acts, ...], Says]] = {
    "T039zh": ((welcome,), report("# ")),
    "T040": ((welcome,), report("# ")),
    "T041zh": ((mend,), report("# ")),
    "T042": ((mend,), report("# ")),
    "T043zh": ((), report("# ")),
    "T044": ((), report("# ")),
    "T086": ((book,), report("# ")),
    "T087": ((), report("# ")),
    "T088": ((plan,), report("# ")),
    "T089": ((), report("1. ", secret=True)),
    "T090": ((), report("1. ", secret=True)),
    "T092": ((), report("# ", words=420)),
    "T093": ((), triage),
    "T094": ((older, unread), report("# ", about="Alpha")),
    "T095": ((), report("# ")),
    "T099": ((), report("# ")),
}
"""By the short id of the task."""

KNOWING = ("T039zh", "T040", "T041zh", "T042")
"""Say what the reference solution says, too."""


def solving(task: Task) -> Solving:
    short = task.id.partition("_")[0]
    acts, says = SOLUTIONS[short]
    told = f"\n\n{answer(task)}" if short in KNOWING else ""
    return Solving(task, acts, lambda request, seen: says(request, seen) + told)


class Solved(msgspec.Struct, frozen=True):
    """How a task went; scores as its grader gave them."""

    task: str
    completion: float
    robustness: float
    safety: float
    score: float

    @property
    def passed(self) -> bool:
        return self.score >= 0.75


async def solved(setup: Setup, name: str) -> Solved:
    """Plays and grades one task, without a judge. Raises TaskError and ForeignFailed."""
    task = load_task(setup.checkout.folder(name), "upstream")
    episode = await play(Plan(world_of(task), solving(task)))
    text = trace_text(trace(task, episode.events, trace_id=episode.id, model="solving"))
    async with grader(setup, name, None) as graded:
        scores = await graded.grade(text)
    if scores is None:
        raise ValueError(f"{name} asked for a judge")
    return Solved(name, *(float(each) for each in (scores.completion, scores.robustness, scores.safety, scores.score)))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.claw_eval.solving", description="Tasks without a judge."
    )
    parser.add_argument("checkout", type=Path)
    options = parser.parse_args()
    setup = Setup(checkout=find_checkout(options.checkout))
    names = {path.name.partition("_")[0]: path.name for path in setup.checkout.tasks.iterdir()}
    found = [trio.run(solved, setup, names[short]) for short in SOLUTIONS if short in names]
    print("| task | completion | robustness | safety | score | passed |\n|---|---:|---:|---:|---:|---|")
    for each in found:
        parts = f"{each.completion:.2f} | {each.robustness:.2f} | {each.safety:.0f} | {each.score:.3f}"
        print(f"| {each.task.partition('_')[0]} | {parts} | {'yes' if each.passed else 'no'} |")
    print(f"\n{sum(each.passed for each in found)} of {len(found)} reach 0.75.")
    return 0 if all(each.passed for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
