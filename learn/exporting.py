"""Episodes as other trainers take them: rows of JSON, from chats or from token-exact trajectories.

Knows the formats. Does not know files, sets or torch.

`sft` and `preference` are TRL's conversational datasets with tools (language modelling, and preference with an explicit
prompt): arguments of calls are objects there, not texts of JSON as OpenAI has them, and results name their tool. Chats
are text: whoever trains on them tokenises anew, by a template of his own. `trajectories` are the ids themselves, as
they were read and sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from ..agents.answers import parse_json
from ..events.event import Json
from .chats import Found, LeftOut
from .decisions import Decision, Trajectory
from .experience import Lived

Row: TypeAlias = dict[str, Any]

NOT_GOOD = "are no good example"
UNLEARNT = "show a mistake before it is made good, and TRL would teach the mistake too"
ALONE = "have nothing better or worse in the same variant to be compared with"
APART = "do not part at a decision from what they would be compared with"

_encode = msgspec.json.Encoder(decimal_format="number").encode


def line(row: Row) -> bytes:
    """A row as a line of a file."""
    return _encode(row) + b"\n"


# --- chats ---------------------------------------------------------------------------------------------------


def sft(found: Iterable[Found], left_out: LeftOut) -> Iterator[Row]:
    """`messages` and `tools` of each chat that is a good example."""
    for each in found:
        if not each.good:
            left_out[NOT_GOOD] += 1
        elif (chat := each.read()).unlearnt:
            left_out[UNLEARNT] += 1
        else:
            about = {"environment": each.environment, "variant": each.variant, "episode": each.episode}
            yield {"messages": _messages(chat.messages), "tools": list(chat.tools), **about, "score": _said(each)}


def preference(found: Iterable[Found], left_out: LeftOut) -> Iterator[Row]:
    """`prompt`, `chosen`, `rejected` and `tools` of pairs of the same variant.

    Of episodes that were played, the best against the worst. Of demonstrations, the first that was accepted against
    each that shows something wrong. The prompt is what both have before the first decision in which they differ.
    """
    variants: dict[tuple[str, str], list[Found]] = {}
    for each in found:
        variants.setdefault((each.environment, each.variant), []).append(each)
    for group in variants.values():
        best, others = _pairs(group)
        left_out[ALONE] += len(group) - len(others) - bool(others)
        for worse in others:
            row = _preferred(best, worse)
            if row is None:
                left_out[APART] += 1
            else:
                yield row


def _pairs(group: Sequence[Found]) -> tuple[Found, list[Found]]:
    """The best of a variant, and those that it is compared with."""
    best = max(group, key=lambda each: (each.good, _worth(each)))
    if best.shown:
        return best, [each for each in group if each.bad] if best.good else []
    worst = min(group, key=_worth)
    return best, [worst] if _worth(worst) < _worth(best) else []


def _worth(found: Found) -> Any:
    return -1 if found.score is None else found.score


def _preferred(chosen: Found, rejected: Found) -> Row | None:
    """A pair; None where the chats do not part at a decision, so that they have no prompt in common."""
    better, worse = chosen.read(), rejected.read()
    good, bad = _messages(better.messages), _messages(worse.messages)
    parting = next((place for place, (one, other) in enumerate(zip(good, bad)) if one != other), None)
    if parting is None or better.tools != worse.tools:
        return None
    # What an episode shows between its decisions may differ first, a time of day say: then the last decision of both.
    while parting and not good[parting]["role"] == bad[parting]["role"] == "assistant":
        parting -= 1
    if not parting:
        return None
    return {
        "prompt": good[:parting],
        "chosen": good[parting:],
        "rejected": bad[parting:],
        "tools": list(better.tools),
        "environment": chosen.environment,
        "variant": chosen.variant,
        "episodes": {"chosen": chosen.episode, "rejected": rejected.episode},
        "scores": {"chosen": _said(chosen), "rejected": _said(rejected)},
    }


def _said(found: Found) -> float | None:
    return None if found.score is None else float(found.score)


def _messages(messages: Sequence[Json]) -> list[dict[str, Json]]:
    """Messages as chat templates take them."""
    names: dict[str, str] = {}
    made: list[dict[str, Json]] = []
    for message in messages:
        message = dict(message)
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [_call(call) for call in calls]
            names.update({call["id"]: call["function"]["name"] for call in calls if "id" in call})
        if message["role"] == "tool" and message.get("tool_call_id") in names:
            message = {"role": "tool", "name": names[message["tool_call_id"]], **message}
        made.append(message)
    return made


def _call(call: Json) -> dict[str, Json]:
    function = call["function"]
    return {**call, "function": {**function, "arguments": _arguments(function.get("arguments"))}}


def _arguments(given: Json) -> Json:
    """An object; a text that is none stays as it is, for what is wrong with it may be what is to be learnt."""
    if not isinstance(given, str):
        return given or {}
    try:
        found = parse_json(given) if given.strip() else {}
    except ValueError:
        return given
    return found if isinstance(found, dict) else given


# --- trajectories --------------------------------------------------------------------------------------------


def trajectories(lived: Iterable[Lived]) -> Iterator[Row]:
    """A row for each segment in which something was decided: nearly always one for an episode.

    `input_ids`, and of the same length `completion_mask`, 1 where the policy wrote, and `old_logprobs`, 0 where it did
    not (null where the log does not say what it sampled from, or with what probability). `decisions` have their places
    in them, what each earned, and how and by which weights it was sampled.
    """
    for each in lived:
        trajectory = each.rollout.trajectory
        earned = list(zip(trajectory.decisions, each.rollout.rewards, strict=True))
        for number, ids in enumerate(trajectory.segments):
            if mine := [(decision, reward) for decision, reward in earned if decision.segment == number]:
                yield {**_tokens(ids, [decision for decision, _ in mine]), **_about(each, number, mine)}


def _tokens(ids: Sequence[int], decisions: Sequence[Decision]) -> Row:
    mask, logprobs = [0] * len(ids), [0.0] * len(ids)
    for decision in decisions:
        mask[decision.start : decision.stop] = [1] * decision.tokens
        logprobs[decision.start : decision.stop] = decision.logprobs or [0.0] * decision.tokens
    known = all(decision.logprobs is not None for decision in decisions)
    return {"input_ids": list(ids), "completion_mask": mask, "old_logprobs": logprobs if known else None}


def _about(each: Lived, segment: int, mine: Sequence[tuple[Decision, float]]) -> Row:
    trajectory: Trajectory = each.rollout.trajectory
    return {
        "decisions": [
            {
                "start": decision.start,
                "stop": decision.stop,
                "reward": reward,
                "stopped": decision.stopped,
                "weights": decision.weights,
                "sampler": None if decision.sampler is None else msgspec.to_builtins(decision.sampler),
            }
            for decision, reward in mine
        ],
        "environment": trajectory.environment,
        "twin": trajectory.twin,
        "seed": trajectory.seed,
        "trial": trajectory.trial,
        "episode": trajectory.episode,
        "segment": segment,
        "segments": len(trajectory.segments),
        "score": float(each.exact),
        "tokenised": trajectory.tokenised,
    }
