"""Whoever acts in a workspace: what an actor is, agents, coworkers, and how one is asked for by name."""

from .agent import (
    Actor,
    ActorError,
    Answer,
    Call,
    Context,
    Message,
    Outside,
    Perform,
    Price,
    Request,
    Result,
    Unavailable,
)
from .building import build_agent, build_coworkers
from .registry import register_agent, register_coworker

__all__ = [
    "Actor",
    "ActorError",
    "Answer",
    "Call",
    "Context",
    "Message",
    "Outside",
    "Perform",
    "Price",
    "Request",
    "Result",
    "Unavailable",
    "build_agent",
    "build_coworkers",
    "register_agent",
    "register_coworker",
]
