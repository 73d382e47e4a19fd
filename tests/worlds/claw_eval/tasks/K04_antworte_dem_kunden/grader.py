"""Derives from another task's grader, as translations do."""

from claw_eval.graders.base import load_peer_grader

_Base = load_peer_grader("K01_answer_the_customer")


class GermanGrader(_Base):
    pass
