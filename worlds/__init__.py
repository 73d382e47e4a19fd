"""Environments as data: what can be played, how it answers, and how it is graded. All of it pure."""

from .compiling import compile_environment, rebuild, variants
from .environment import Environment
from .problems import InvalidEnvironment, Problem
from .reading import problems, read_environment
from .records import State
from .service import Outcome, Service, Tool
from .world import World

__all__ = [
    "Environment",
    "InvalidEnvironment",
    "Outcome",
    "Problem",
    "Service",
    "State",
    "Tool",
    "World",
    "compile_environment",
    "problems",
    "read_environment",
    "rebuild",
    "variants",
]
