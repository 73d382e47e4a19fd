"""The nearest other engine, for scale: ARE's event loop in its oracle mode, queue-based, in memory.

Only measured where `meta-agents-research-environments` is installed for the interpreter named by `ARE_PYTHON`, since
its dependencies are heavy and not ours.
"""

from __future__ import annotations

import os
import subprocess

_SCRIPT = """
import time, logging
logging.disable(logging.CRITICAL)
from are.simulation.environment import Environment, EnvironmentConfig
from are.simulation.apps.email_client import EmailClientApp
from are.simulation.scenarios.scenario import Scenario
from are.simulation.types import EventRegisterer
COUNT = {count}
class Load(Scenario):
    start_time = 0
    duration = COUNT + 10
    scenario_id = "load"
    def init_and_populate_apps(self, *args, **kwargs):
        self.apps = [EmailClientApp()]
    def build_events_flow(self):
        mail = self.get_typed_app(EmailClientApp)
        with EventRegisterer.capture_mode():
            events = []
            for i in range(COUNT):
                sent = mail.send_email(recipients=["a@example.com"], subject=f"m{{i}}", content="hello " * 30)
                events.append(sent.oracle().delayed(i + 1))
        self.events = events
scenario = Load()
scenario.initialize()
environment = Environment(EnvironmentConfig(oracle_mode=True, queue_based_loop=True, start_time=0, duration=COUNT + 10))
start = time.perf_counter()
environment.run(scenario)
environment.join() if hasattr(environment, "join") else None
print(len(environment.event_log.list_view()) / (time.perf_counter() - start))
"""


def are_rate(quick: bool) -> str:
    """Its events a second, or why it was not measured."""
    python = os.environ.get("ARE_PYTHON")
    if not python:
        return "not measured: set ARE_PYTHON to an interpreter that has it"
    script = _SCRIPT.format(count=200 if quick else 3000)
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
    return str(round(float(done.stdout.strip().splitlines()[-1])))
