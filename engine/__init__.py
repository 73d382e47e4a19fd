"""Virtual time: episodes are played, replayed, forked, resumed and graded here."""

from .episode import Episode, play, resume_episode, run_episode
from .fork import fork_episode
from .grading import Graded, grade_episode
from .plan import EpisodeError, Plan
from .replay import Verified, state_after, verify
from .rollouts import Result, rollout

__all__ = [
    "Episode",
    "EpisodeError",
    "Graded",
    "Plan",
    "Result",
    "Verified",
    "fork_episode",
    "grade_episode",
    "play",
    "resume_episode",
    "rollout",
    "run_episode",
    "state_after",
    "verify",
]
