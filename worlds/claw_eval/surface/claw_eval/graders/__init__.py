"""What graders derive from. The families that they share are looked up in the user's checkout."""

from .base import AbstractGrader
from .registry import get_grader

__all__ = ["AbstractGrader", "get_grader"]
