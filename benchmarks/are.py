"""The nearest other engine, for scale: ARE's event loop in its oracle mode, queue-based, in memory.

Only measured where `meta-agents-research-environments` is installed for the interpreter that `ARE_PYTHON` names, since
its dependencies are heavy and not ours. Its scenario is as long as our episode: its mail app slows down with each mail.
"""

from __future__ import annotations

import os
import subprocess

_SCRIPT = """
import logging
import time

logging.disable(logging.CRITICAL)
from are.simulation.apps.email_client import EmailClientApp
from are.simulation.environment import Environment, EnvironmentConfig
from are.simulation.scenarios.scenario import Scenario
from are.simulation.types import EventRegisterer

COUNT = {count}


class Load(Scenario):
    start_time: float | None = 0
    duration: float | None = COUNT + 10
    scenario_id: str = "load"

    def init_and_populate_apps(self, *args, **kwargs):
        self.apps = [EmailClientApp()]

    def build_events_flow(self):
        mail, text = self.get_typed_app(EmailClientApp), "hello " * 30
        with EventRegisterer.capture_mode():
            sent = [mail.send_email(recipients=["a@example.com"], subject=str(i), content=text) for i in range(COUNT)]
            self.events = [event.oracle().delayed(i + 1) for i, event in enumerate(sent)]


best = 0.0
for _ in range({repeat}):
    scenario = Load()
    scenario.initialize()
    config = EnvironmentConfig(
        start_time=0,
        duration=COUNT + 10,
        oracle_mode=True,
        queue_based_loop=True,
        exit_when_no_events=True,
        verbose=False,
    )
    environment = Environment(config)
    start = time.perf_counter()
    environment.run(scenario)
    best = max(best, len(environment.event_log.list_view()) / (time.perf_counter() - start))
print(best)
"""


def are_rate(events: int, repeat: int) -> str:
    """Its events a second over scenarios of so many events, or why it was not measured."""
    python = os.environ.get("ARE_PYTHON")
    if not python:
        return "not measured: set ARE_PYTHON to an interpreter that has it"
    script = _SCRIPT.format(count=events, repeat=repeat)
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
    return f"{float(done.stdout.strip().splitlines()[-1]):,.0f}"
