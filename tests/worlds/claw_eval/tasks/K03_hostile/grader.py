"""Does what the agent's last words say: each is something that a grader should not do."""

import os
import socket
import sys
from pathlib import Path

from claw_eval.graders.base import AbstractGrader
from claw_eval.models.trace import DimensionScores


class HostileGrader(AbstractGrader):
    def grade(self, messages, dispatches, task, audit_data=None, judge=None, media_events=None, env_snapshot=None):
        deed = self._get_final_assistant_text(messages)
        return getattr(self, deed)(judge)

    def behave(self, judge):
        return DimensionScores(completion=1.0, robustness=1.0)

    def loop(self, judge):
        while True:
            pass

    def fail(self, judge):
        raise LookupError("no such \x1b[31mluck")

    def leave(self, judge):
        os._exit(7)

    def allocate(self, judge):
        return [bytearray(1 << 28) for _ in range(64)]

    def fork(self, judge):
        while True:
            os.fork()

    def connect(self, judge):
        socket.create_connection(("127.0.0.1", 9), timeout=1)

    def write(self, judge):
        (Path(__file__).parent / "score.txt").write_text("1.0")

    def shout(self, judge):
        sys.stdout.write("!" * (5 << 20))
        return DimensionScores(completion=1.0, robustness=1.0)

    def nothing(self, judge):
        return None

    def words(self, judge):
        return DimensionScores(completion="all of it")

    def infinity(self, judge):
        return DimensionScores(completion=float("inf"))

    def peek(self, judge):
        (Path(__file__).parents[1] / "K02_answer_kindly" / "task.yaml").read_text()
        return DimensionScores(completion=1.0)

    def swallow(self, judge):
        try:
            judge.evaluate("", "", "", "")
        except BaseException:
            return DimensionScores(completion=1.0, robustness=1.0)
        return DimensionScores()

    def misuse(self, judge):
        judge.evaluate({"a": 1}, "", "", "")
