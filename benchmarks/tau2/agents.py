"""Who plays: the reference actions, nobody to speak of, and calls at random, all as plays for two."""

from __future__ import annotations

import copy
from random import Random

from coworkenv.events.event import Json
from coworkenv.worlds.tau2.reference import Action, Play, play_of, reference_actions, to_communicate

AGENTS = ("reference", "none", "random")
_CALLS = 7


def play_by(agent: str, raw: dict[str, Json], pool: list[Action], seed: int, solo: bool) -> Play:
    """What `agent` does with a task; `pool` are the reference actions of all tasks of the domain."""
    actions = reference_actions(raw)
    if agent == "reference":
        return play_of(actions, to_communicate(raw), solo)
    return play_of([] if agent == "none" else _drawn(Random(f"{seed} {raw['id']}"), actions, pool), (), solo)


def _drawn(random: Random, actions: list[Action], pool: list[Action]) -> list[Action]:
    """Some of the task's own actions, in some order, and others, some of them spoilt."""
    chosen = [action for action in actions if random.random() < 0.7]
    if random.random() < 0.5:
        random.shuffle(chosen)
    while pool and len(chosen) < _CALLS and random.random() < 0.7:
        chosen.insert(random.randint(0, len(chosen)), _spoilt(random, random.choice(pool), pool))
    return chosen


def _spoilt(random: Random, action: Action, pool: list[Action]) -> Action:
    kind = random.randrange(6)
    arguments = copy.deepcopy(action.arguments)
    names = sorted(arguments)
    if kind == 0:
        return Action(f"{action.name}_", arguments, action.requestor)
    if kind == 1:
        return Action(action.name, arguments, "user" if action.requestor == "assistant" else "assistant")
    if kind == 2 and names:
        del arguments[random.choice(names)]
    elif kind == 3 and names:
        other = random.choice(pool).arguments
        arguments[random.choice(names)] = random.choice([0, -1, None, "nothing", [], {}, *other.values()])
    elif kind == 4:
        arguments["unexpected"] = True
    return Action(action.name, arguments, action.requestor)
