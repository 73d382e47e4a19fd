"""A policy that knows nothing and tries everything: what a student has to survive.

It writes noise, special tokens, calls that are none, answers without an end, and valid calls with strange values; each
answer is a function of the seed that it was asked with, so a resumed episode can be compared with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import trio

from coworkenv.agents.building import build_coworkers
from coworkenv.agents.prompts import OWN_TOOLS, wire_names
from coworkenv.engine.episode import Episode, run_episode
from coworkenv.engine.plan import Plan
from coworkenv.events.event import Json
from coworkenv.events.log import Log
from coworkenv.learn.decisions import Trajectory
from coworkenv.learn.rendering import Rendering
from coworkenv.learn.student import Asked, Sampled, Student, StudentOptions
from coworkenv.learn.trajectories import read_trajectory
from coworkenv.worlds.world import World

WORDS = ("Köln", "315.60", "2026-03-03", "<|im_", "end|>", "\n\n", "日本", "🙂", '"', "{", "EUR", " ", "</tool_call>")


def offered(world: World) -> dict[str, dict[str, Json]]:
    """The tools of a world's agent, by their names on the wire: the schemas of their arguments."""
    tools = [*(OWN_TOOLS if world.talks else ()), *(tool for service in world.services for tool in service.tools)]
    schemas = {tool.name: tool.schema for tool in tools}
    return {on_wire: schemas[name] for on_wire, name in wire_names(schemas).items()}


class Babble:
    """A `Sample`. `asked` and `answered` are what it was asked and what it answered, in order."""

    def __init__(self, rendering: Rendering, world: World, *, long: bool = False, pause: bool = False) -> None:
        self.asked: list[Asked] = []
        self.answered: list[tuple[Asked, Sampled]] = []
        self._rendering = rendering
        self._tools = offered(world)
        self._people = list(world.people)
        self._long = long
        self._pause = pause

    async def __call__(self, asked: Asked) -> Sampled:
        self.asked.append(asked)
        if self._pause:
            await trio.sleep(0)
        random = Random(asked.seed)
        ids = self._written(random)[: asked.tokens]
        ends = self._rendering.template.ends
        ended = next((place for place, i in enumerate(ids) if i in ends), None)
        ids = ids if ended is None else ids[: ended + 1]
        logprobs = tuple(-random.random() for _ in ids)
        sampled = Sampled(tuple(ids), logprobs, "length" if ended is None else "stop")
        self.answered.append((asked, sampled))
        return sampled

    def _written(self, random: Random) -> list[int]:
        rendering = self._rendering
        kinds = [self._noise, self._marks, self._broken, self._speech, self._cut, *[self._call] * 6]
        ids = random.choice(kinds)(random)
        if rendering.template.thinks and random.random() < 0.9:
            ids = rendering.tokens.trusted("hm</think>") + ids
        if self._long:
            ids = rendering.tokens.untrusted("Well, " * random.randrange(400)) + ids
        return ids if random.random() < 0.1 else [*ids, random.choice(sorted(rendering.template.ends))]

    def _noise(self, random: Random) -> list[int]:
        return [random.randrange(len(self._rendering.tokens.tokenizer)) for _ in range(random.randrange(30))]

    def _marks(self, random: Random) -> list[int]:
        marks = sorted(self._rendering.tokens.special - self._rendering.template.ends)
        return random.choices([*marks, *self._rendering.tokens.untrusted("so what")], k=random.randrange(1, 8))

    def _broken(self, random: Random) -> list[int]:
        ids = self._call(random)
        return ids[: random.randrange(len(ids) + 1)]

    def _cut(self, random: Random) -> list[int]:
        return self._rendering.tokens.untrusted("I think " * 500)

    def _speech(self, random: Random) -> list[int]:
        return self._rendering.tokens.untrusted("".join(random.choices(WORDS, k=random.randrange(6))))

    def _call(self, random: Random) -> list[int]:
        calls = [self._one(random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
        text = random.choice(("", "", "I look it up."))
        return self._rendering.answer(text, calls)[:-1]

    def _one(self, random: Random) -> dict[str, Json]:
        name = random.choice([name for name in self._tools if name != "finish" or random.random() < 0.1])
        properties = self._tools[name].get("properties") or {}
        given = [each for each in properties if random.random() < 0.6]
        args = {each: self._value(random, properties[each]) for each in given}
        if name == "send_message":
            args = {"to": random.choice(self._people), "text": "".join(random.choices(WORDS, k=4))}
        return {"name": name, "args": args}

    def _value(self, random: Random, schema: Json) -> Json:
        choices = schema.get("enum") if isinstance(schema, dict) else None
        if choices:
            return random.choice(choices)
        kind = schema.get("type") if isinstance(schema, dict) else None
        return random.randrange(1, 30) if kind in ("integer", "number") else "".join(random.choices(WORDS, k=2))


def options(rendering: Rendering, **more: object) -> StudentOptions:
    given = {"model": "babble", "tokenizer": rendering.digest, "weights": "none", "max_tokens": 120, "decisions": 10}
    return msgspec.convert({**given, **more}, StudentOptions)


async def lived(
    log: Log, world: World, rendering: Rendering, sample: Babble, *, seed: int = 0, trial: int = 0, **more: object
) -> tuple[Episode, Trajectory]:
    """An episode in which the policy babbles, and its trajectory as the log has it."""
    student = Student(options(rendering, **more), (rendering, sample))
    episode = await run_episode(Plan(world, student, build_coworkers(world), seed, trial), log)
    return episode, read_trajectory(log, episode.id, rendering)


def drift(trajectory: Trajectory, answered: Sequence[tuple[Asked, Sampled]]) -> list[int]:
    """The decisions whose prompt, or what was written, is not what was really sent and sampled."""
    real = [(tuple(asked.prompt), sampled.ids) for asked, sampled in answered if sampled.ids]
    read = [(trajectory.prompt(decision), trajectory.written(decision)) for decision in trajectory.decisions]
    return [n for n in range(max(len(real), len(read))) if real[n : n + 1] != read[n : n + 1]]
