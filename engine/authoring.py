"""Models as authors: what connects a chat server to synthesis, which words texts and drafts environments with it.

Knows the project's model client and the kernel that plays what a model wrote. Does not know prompts, nor when a text or
a draft is accepted (`worlds.synth.rewriting`, `worlds.synth.drafting`). A refusal or an answer that makes no sense is a
reason in the result, never an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version

import msgspec
import trio

from ..agents.agent import Perform, Request, Unavailable
from ..agents.building import model_at
from ..agents.naming import UnknownName
from ..agents.registry import BadSpecification
from ..agents.sampling import Sampling
from ..agents.server import Server
from ..events.event import Event
from ..worlds.environment import Environment
from ..worlds.synth.capabilities.registry import FRAGMENTS
from ..worlds.synth.drafting import ROUNDS, Drafted, draft
from ..worlds.synth.findings import Finding
from ..worlds.synth.freezing import freeze
from ..worlds.synth.playing import Program
from ..worlds.synth.prompts import Complete, Message, NoAnswer, Unreachable
from ..worlds.synth.receipt import Receipt, receipt
from ..worlds.synth.repairing import Repaired, repair
from ..worlds.synth.rewriting import AFFECTED, Rewritten, rewritten
from ..worlds.synth.validating import Validation, validate
from ..worlds.synth.validators.registry import VALIDATORS
from ..worlds.world import World
from .playing import play_program

PATIENCE = 300.0
"""Seconds that the examination of one draft may take. Sound environments need about one."""


def model_named(
    model: str,
    *,
    url: str | None = None,
    temperature: Decimal | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    timeout: float = 300.0,
    attempts: int = 6,
    first_wait: float = 0.5,
    perform: Perform | None = None,
) -> Complete:
    """Asks a model (`openai:MODEL`, or just its name). `perform` is asked instead of a server.

    Raises BadSpecification where there can be no such model.
    """
    kind, colon, name = model.partition(":")
    try:
        chosen = Sampling(
            model=name if colon and kind == "openai" else model,
            url=url,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
        )
        server = Server(timeout=timeout, attempts=attempts, first_wait=first_wait)
    except ValueError as error:
        raise BadSpecification(str(error)) from None
    ask = perform or model_at(chosen.url, server)

    async def complete(messages: Sequence[Message]) -> str:
        prompt = tuple({"role": message.role, "content": message.content} for message in messages)
        try:
            outside = await ask(Request("model", prompt, chosen.settings, chosen.price))
        except Unavailable as error:
            raise Unreachable(str(error)) from None
        answer = outside.answer
        if answer.refused is not None:
            raise NoAnswer(f"the model was refused an answer ({answer.refused.type}): {answer.refused.message}")
        text: str = answer.value["text"]
        if not text.strip():
            raise NoAnswer("the model's answer holds no text.")
        return text

    return complete


async def rewrite_environment(environment: Environment, complete: Complete, *, articles: bool = False) -> Rewritten:
    """The environment with its texts in a model's words, as far as they are accepted; frozen where it was.

    `articles` lets records that are prose be reworded, too. Raises `InvalidEnvironment` where it cannot be played, and
    `Unreachable` where the model cannot be asked.
    """
    asked = [validator.number for validator in VALIDATORS if validator.number in AFFECTED]

    async def check(candidate: Environment) -> Sequence[Finding]:
        return (await validate(candidate, play_program, only=asked)).findings

    result = await rewritten(environment, complete, check, articles=articles)
    if environment.frozen is None or not result.accepted:
        return result
    frozen = await freeze(result.environment, play_program)
    return msgspec.structs.replace(result, environment=msgspec.structs.replace(result.environment, frozen=frozen))


async def draft_environment(
    capabilities: Sequence[str], brief: str, complete: Complete, *, rounds: int = ROUNDS, patience: float = PATIENCE
) -> Drafted:
    """An environment that a model writes about these capabilities (`A1`, …), from a brief in a few words.

    What is accepted is frozen and has its receipt. Raises UnknownName for a capability that there is none of.
    """

    async def judge(environment: Environment) -> Validation:
        with trio.fail_after(patience):
            return await validate(environment, _play)

    async def mend(environment: Environment, validation: Validation) -> Repaired:
        with trio.fail_after(patience):
            return await repair(environment, _play, validation=validation)

    async def certify(repaired: Repaired) -> Receipt:
        with trio.fail_after(patience):
            return await receipt(repaired, release=version("coworkenv"))

    result = await draft(definitions(capabilities), brief, complete, judge, mend, certify, rounds)
    if result.environment is None:
        return result
    frozen = await freeze(result.environment, play_program)
    return msgspec.structs.replace(result, environment=msgspec.structs.replace(result.environment, frozen=frozen))


def definitions(capabilities: Sequence[str]) -> Mapping[str, str]:
    """What each capability means, in the order of the taxonomy. Raises UnknownName."""
    wanted = {name.upper() for name in capabilities}
    for name in sorted(wanted - FRAGMENTS.keys()):
        raise UnknownName("capability", name, list(FRAGMENTS))
    return {
        name: f"The agent {fragment.title}. One that lacks it {fragment.failure}."
        for name, fragment in FRAGMENTS.items()
        if name in wanted
    }


async def _play(world: World, program: Program) -> Sequence[Event]:
    """`play_program`, where time that is up is noticed between episodes."""
    await trio.lowlevel.checkpoint()
    return await play_program(world, program)
