"""A policy on an inference server: asks it for ids, and takes nothing but ids.

Knows OpenAI's completions as vLLM extends them (0.10.2 and later): a prompt of token ids, `return_token_ids`, and
log-probabilities. Does not know text: what a server sends as text is ignored. HTTP, retries and keys are those of
`agents.chat`.

vLLM tells the log-probability of a token before temperature, `top_k` and `top_p`, unless it was started with
`--logprobs-mode processed_logprobs`. No response says which, so whoever samples with them must say that it was.

SGLang answers completions without ids (its own `/generate` has them, in another form), and so does OpenAI: such a
server is refused, since ids told from text again need not be those that were sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import httpx
import msgspec

from ..agents.agent import Answer, Outside, Unavailable
from ..agents.answers import Again, Hopeless, Verdict, judge, parse_json
from ..agents.chat import persist
from ..agents.server import Server
from ..events.event import Json
from .decisions import Sampler, Stop
from .student import Asked, Sampled

_STOPS: Mapping[Json, Stop] = {"stop": "stop", "length": "length"}


class Remote:
    """A `student.Sample`: the model of this name on a server.

    `ends` are the ids that end a turn; ids from `known` on, if that is said, the model does not have. `processed` says
    that the server was started with `--logprobs-mode processed_logprobs`. The key is `OPENAI_API_KEY`'s value unless
    given.
    """

    def __init__(
        self,
        server: Server,
        model: str,
        ends: Sequence[int],
        *,
        known: int | None = None,
        key: str | None = None,
        processed: bool = False,
    ) -> None:
        self._server = server
        self._model = model
        self._ends = tuple(ends)
        self._known = known
        self._key = key
        self._processed = processed

    async def __call__(self, asked: Asked) -> Sampled:
        """Raises Unavailable, with the reason and what to do, if there is no answer that can be learnt from."""
        if problem := self._problem(asked):
            raise Unavailable(f"{self._server.url}: {problem}")
        body = msgspec.json.encode(self.body(asked))
        outside = await persist(self._server, "completions", body, partial(self._judge, asked), key=self._key)
        if refused := outside.answer.refused:
            said = " Start it with room for longer prompts." if refused.type == "context_length" else ""
            raise Unavailable(f"{self._server.url}: {refused.message}{said}")
        return msgspec.convert(outside.answer.value, Sampled)

    def body(self, asked: Asked) -> dict[str, Json]:
        """What is sent."""
        sampler = asked.sampler
        return {
            "model": self._model,
            "prompt": list(asked.prompt),
            "max_tokens": asked.tokens,
            "temperature": sampler.temperature,
            "top_p": sampler.top_p,
            "top_k": sampler.top_k,
            "seed": asked.seed,
            "n": 1,
            "stop_token_ids": list(self._ends),
            "ignore_eos": True,
            "logprobs": 0,
            "return_token_ids": True,
            "add_special_tokens": False,
        }

    def _problem(self, asked: Asked) -> str:
        """Why this cannot be asked of a server."""
        if asked.allowed is not None:
            return "a grammar given as a function cannot be sent to a server; sample with the weights at hand"
        if asked.sampler not in (Sampler(), Sampler(temperature=0)) and not self._processed:
            return (
                "its log-probabilities are those before temperature, `top_k` and `top_p`, unless it is vLLM, started "
                "with `--logprobs-mode processed_logprobs`; start it so and say `processed`, or sample at temperature 1"
            )
        return ""

    def _judge(self, asked: Asked, status: int, headers: httpx.Headers, body: bytes) -> Verdict:
        return self._read(asked, body) if status == 200 else judge(status, headers, body, "")

    def _read(self, asked: Asked, body: bytes) -> Verdict:
        """What a completion holds, as the fields of a `Sampled`."""
        try:
            [choice] = parse_json(body)["choices"]
            ids, stop, prompt = (choice.get(name) for name in ("token_ids", "finish_reason", "prompt_token_ids"))
            logprobs = (choice.get("logprobs") or {}).get("token_logprobs")
        except (ValueError, LookupError, TypeError, AttributeError):
            return Again("the response is not a completion", garbled=True)
        if stop not in _STOPS:
            return Again(f"the server broke off ({str(stop)[:40]})")
        problem = self._missing(ids, logprobs, stop) or self._excess(ids, asked)
        if problem:
            return Hopeless(problem)
        if prompt is not None and prompt != list(asked.prompt):
            return Hopeless("the server did not go on from the ids that it was sent, but from ids of its own")
        value = {"ids": ids, "logprobs": [float(number) for number in logprobs or ()], "stopped": _STOPS[stop]}
        return Outside(Answer(value=value, tokens=len(ids)))

    def _missing(self, ids: Json, logprobs: Json, stop: Json) -> str:
        """What an answer lacks, and what to do; empty if nothing."""
        if not isinstance(ids, list) or not ids or not all(type(token) is int and token >= 0 for token in ids):
            return (
                "the response has no `token_ids`: the server does not know `return_token_ids`. vLLM does from 0.10.2 "
                "on; SGLang's completions have no ids"
            )
        if not isinstance(logprobs, list) or len(logprobs) != len(ids) or not all(map(_is_logprob, logprobs)):
            return "the response has not one log-probability for each of its ids; let the server return `logprobs`"
        if stop == "stop" and ids[-1] not in self._ends:
            return (
                f"the answer stopped, but its last id {ids[-1]} ends no turn ({', '.join(map(str, self._ends))}): the "
                "server stops at other ids or words than the policy, or leaves the last id out"
            )
        return ""

    def _excess(self, ids: Sequence[int], asked: Asked) -> str:
        """What an answer has too much of; empty if nothing."""
        if len(ids) > asked.tokens:
            return f"the response has {len(ids)} ids, where no more than {asked.tokens} were asked for"
        if self._known is not None and max(ids) >= self._known:
            return (
                f"the response has the id {str(max(ids))[:20]}, and the model has {self._known}: the server has another"
            )
        return ""


def _is_logprob(number: Json) -> bool:
    return type(number) is not bool and not isinstance(number, str | None) and math.isfinite(number) and number <= 0
