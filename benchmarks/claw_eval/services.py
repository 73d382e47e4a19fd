"""The same calls to a checkout's own mock services and to ours, at one stopped instant: is each answer the same?

python -m benchmarks.claw_eval.services CHECKOUT [--python PYTHON] [--seed N]

PYTHON is an interpreter that has what the servers need (fastapi, uvicorn, httpx). Every fixture that a task's record
service, its integrations, its recognised text or its captions are loaded from is served once, with its own calls. Equal
means: the HTTP status, and the text of the JSON body as the loop shows it to the model, digit by digit and in the order
of its keys; at the end the audit, the same way. Two things are put aside: the order of a feed's categories, which is a
set's, and what a 422 says in words. Nothing of a task is printed unless `--show` asks for the differences.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from coworkenv.engine.draw import Drawer
from coworkenv.events.codec import from_json
from coworkenv.events.event import AnyBody, Event, ToolCalled, ToolReturned
from coworkenv.worlds.claw_eval import ClawEvalService, Task, TaskError, audit, load_task
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.endpoint import Endpoint, Kind
from coworkenv.worlds.claw_eval.kinds import KINDS
from coworkenv.worlds.claw_eval.reading import read_yaml
from coworkenv.worlds.claw_eval.service import dumps
from coworkenv.worlds.records import initial_state
from coworkenv.worlds.service import Draw, Instant

from .calls import Rows, name_of_ids, odd, right, text_of, wrong
from .serving import LONG

APART = ("web", "web_real", "web_real_injection", "documents")
"""Kinds that are not compared: the live web, the recorded one, and PDF, which nothing here reads."""

LEAST = 50
"""Calls that each endpoint gets."""


class Case(msgspec.Struct, frozen=True):
    """A service of some task, alone, its tools named by the paths they lead to."""

    task: Task
    kind: Kind
    env: dict[str, str]

    @property
    def service(self) -> ClawEvalService:
        return self.task.services[0]


class Sent(msgspec.Struct):
    """One call, and what came of it on both sides."""

    case: Case
    path: str
    body: str
    status: int
    text: str
    fits: bool
    """It was answered, about a record that existed."""
    equal: bool = False
    theirs: str = ""


class Ours:
    """Plays calls, each at the same instant, and keeps the events that a kernel would have appended."""

    def __init__(self, case: Case, draw: Draw) -> None:
        self.case, self.draw, self.events = case, draw, list[Event]()
        self.state = initial_state(case.service.initial())
        self.now = Instant(case.task.start, 0)

    def rows(self) -> Rows:
        collection = self.case.kind.collection
        return list(self.state[self.case.service.name][collection].values()) if collection else ()

    def call(self, path: str, body: str) -> Sent:
        args, ids = from_json(body), name_of_ids(self.case.kind)
        there = ids not in args or any(row[ids] == args[ids] for row in self.rows())
        service = self.case.service
        outcome = service.call(path, args, self.state[service.name], self.now, self.draw)
        call = self._emit(None, ToolCalled(path, args))
        for change in outcome.changes:
            self._emit(call, change)
            self.state = self.state.apply(change)
        self._emit(call, ToolReturned(call, outcome.result, outcome.error, outcome.status))
        value = outcome.result if outcome.error is None else outcome.error.detail
        text = value if outcome.status == 500 else dumps(value)
        return Sent(self.case, path, body, outcome.status or 0, text, outcome.status == 200 and there)

    def audit(self) -> str:
        return dumps(audit(self.case.task, self.events)[self.case.service.name])

    def _emit(self, cause: int | None, body: AnyBody) -> int:
        self.events.append(Event(len(self.events), 0, "agent", cause, body))
        return len(self.events) - 1


# --- which services there are ----------------------------------------------------------------------------


def cases(tasks: Path, seed: int, problems: list[str], apart: Counter[str]) -> Iterator[Case]:
    """Each fixture once. Every other one at the date of its story, the rest at a date within two years of it."""
    seen = set()
    for folder in sorted(path.parent for path in tasks.glob("*/task.yaml")):
        try:
            task = load_task(folder, "upstream")
            specs = {
                spec["name"]: spec.get("env") or {} for spec in read_yaml(folder / "task.yaml").get("services") or ()
            }
            for service in task.services:
                if service.kind in APART:
                    apart[service.kind] += 1
                elif service.kind in KINDS:
                    env = {name: str(value) for name, value in specs[service.name].items()}
                    if (mark := (service.kind, *sorted(env.items()))) not in seen:
                        seen.add(mark)
                        yield case(folder, task, service.name, env, Drawer([seed], len(seen), "instant"), len(seen) % 2)
        except TaskError as error:
            problems.append(str(error))


def case(folder: Path, task: Task, name: str, env: dict[str, str], draw: Draw, story: int) -> Case:
    start = task.start
    if not story:
        start += timedelta(microseconds=draw.below(2 * 365 * 86_400_000_000))
        task = load_task(folder, "upstream", clock=start)
    service = next(service for service in task.services if service.name == name)
    kind = KINDS[service.kind]
    paths = [endpoint.path for endpoint in kind.endpoints] + [f"/{kind.name}/nowhere"]
    alone = msgspec.structs.replace(service, tools=(), routes={path: path for path in paths})
    return Case(msgspec.structs.replace(task, services=(alone,)), kind, env)


# --- what is sent ----------------------------------------------------------------------------------------


def played(case: Case, count: int, seed: int, number: int) -> tuple[list[Sent], str]:
    """About `count` calls to ours: creations and deletions in turn, and in between any of them."""
    draw = Drawer([seed], number, "calls")
    ours = Ours(case, draw)
    sent = []
    for endpoint, chance in planned(case.kind, count, draw):
        make = right if chance < 65 else odd if chance < 82 else wrong
        sent.append(ours.call(endpoint.path, text_of(make(endpoint, case.kind, ours.rows(), draw))))
    sent.append(ours.call(f"/{case.kind.name}/nowhere", "{}"))
    return sent, ours.audit()


def planned(kind: Kind, count: int, draw: Draw) -> Iterator[tuple[Endpoint, int]]:
    """Endpoints, and a number below 100 that says how right the call will be."""
    endpoints = {endpoint.path: endpoint for endpoint in kind.endpoints}
    writes = [path for word in ("create", "delete", "create", "update") for path in endpoints if path.endswith(word)]
    paths = list(endpoints)
    for index in range(count):
        turn = index % (len(writes) + len(paths))
        if turn < len(writes):
            yield endpoints[writes[turn]], 0
        elif draw.below(3):
            yield endpoints[paths[turn - len(writes)]], draw.below(100)
        else:
            yield endpoints[paths[draw.below(len(paths))]], draw.below(100)


# --- the comparison --------------------------------------------------------------------------------------


def normal(text: str, kind: Kind, status: int) -> str:
    """Without the order of a feed's categories, and without the words of a 422."""
    if kind.name != "rss" and status != 422:
        return text
    value = json.loads(text, parse_float=lambda digits: f"number {digits}")
    return json.dumps(_put_aside(value, status == 422), ensure_ascii=False)


def _put_aside(value: Any, words: bool) -> Any:
    if isinstance(value, list):
        return [_put_aside(item, words) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _put_aside(item, words) for name, item in value.items() if not (words and name == "msg")}
    return {**kept, "categories": sorted(kept["categories"])} if isinstance(kept.get("categories"), list) else kept


def compared(sent: list[Sent], record: str, theirs: dict[str, Any]) -> bool:
    """Fills in what upstream answered; whether the audits are equal."""
    for each, (status, text) in zip(sent, theirs["answers"], strict=True):
        ours = f"sha256:{sha256(each.text.encode()).hexdigest()}" if len(each.text) > LONG else each.text
        each.theirs = f"{status} {text}"
        each.equal = status == each.status and normal(ours, each.case.kind, status) == normal(
            text, each.case.kind, status
        )
    kind = sent[0].case.kind
    return normal(record, kind, 200) == normal(theirs["audit"], kind, 200)


def report(sent: list[Sent], audits: dict[str, list[bool]]) -> bool:
    print(
        "| service | fixtures | calls | fewest of an endpoint | least share answered, of existing records "
        "| equal | audits equal |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    passed = True
    by_kind = defaultdict[str, list[Sent]](list)
    for each in sent:
        by_kind[each.case.kind.name].append(each)
    for kind, mine in by_kind.items():
        calls = Counter(each.path for each in mine if not each.path.endswith("/nowhere"))
        fits = Counter(each.path for each in mine if each.fits)
        share = min(fits[path] / count for path, count in calls.items())
        equal = sum(each.equal for each in mine)
        enough = len(calls) == len(KINDS[kind].endpoints) and min(calls.values()) >= LEAST and share >= 0.5
        passed &= enough and equal == len(mine) and all(audits[kind])
        counted = f"{len(audits[kind])} | {len(mine)} | {min(calls.values())}"
        print(f"| {kind} | {counted} | {share:.0%} | {equal} | {sum(audits[kind])} |")
    equal = sum(each.equal for each in sent)
    every = [each for mine in audits.values() for each in mine]
    print(f"| all | {len(every)} | {len(sent)} | | | {equal} | {sum(every)} |")
    return passed


def differences(sent: Iterable[Sent]) -> None:
    for each in sent:
        if not each.equal:
            print(f"{each.case.task.id} {each.path} {each.body}", file=sys.stderr)
            print(f"  ours   {each.status} {each.text}\n  theirs {each.theirs}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.claw_eval.services", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has what the servers need")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=48, help="calls to each fixture")
    parser.add_argument("--only", metavar="KIND", help="one kind of service")
    parser.add_argument("--show", action="store_true", help="print what differs, texts of tasks included")
    options = parser.parse_args()
    problems, apart = list[str](), Counter[str]()
    sent, audits, started = list[Sent](), defaultdict[str, list[bool]](list), time.monotonic()
    command = [options.python, "-m", f"{__package__}.serving", str(options.checkout.resolve())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as upstream:
        assert upstream.stdin
        assert upstream.stdout
        for number, case in enumerate(cases(find_checkout(options.checkout).tasks, options.seed, problems, apart)):
            if options.only not in (None, case.kind.name):
                continue
            mine, record = played(case, options.calls, options.seed, number)
            asked = {"kind": case.kind.name, "env": case.env, "now": case.task.start.isoformat()}
            upstream.stdin.write(json.dumps({**asked, "calls": [[each.path, each.body] for each in mine]}) + "\n")
            upstream.stdin.flush()
            theirs = json.loads(upstream.stdout.readline())
            if set(theirs["paths"]) != {endpoint.path for endpoint in case.kind.endpoints}:
                problems.append(f"{case.kind.name}: upstream's paths are {theirs['paths']}.")
            audits[case.kind.name].append(compared(mine, record, theirs))
            if options.show and not audits[case.kind.name][-1]:
                print(f"{case.task.id}: audits differ\n  ours   {record}\n  theirs {theirs['audit']}", file=sys.stderr)
            sent += mine
        upstream.stdin.close()
    passed = report(sent, audits)
    print(
        f"\n{time.monotonic() - started:.0f} s. Apart: {', '.join(f'{kind} {count}' for kind, count in apart.items())}."
    )
    if options.show:
        differences(sent)
    print("\n".join(problems), file=sys.stderr)
    return 0 if passed and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
