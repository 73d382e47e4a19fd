"""The judge: how a grader's question is put to a model, and what of its answer counts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Answer, Outside, Request
from coworkenv.engine.judging import TRIES, BadQuestion, JudgeOptions, judge, verdict_in
from coworkenv.events.event import Refused

OPTIONS = JudgeOptions(model="strict")
QUESTION = {
    "method": "evaluate",
    "task_prompt": "THE TASK",
    "conversation": "THE CONVERSATION",
    "actions_summary": "THE ACTIONS",
    "rubric": "THE RUBRIC",
}


class Model:
    """Answers with these texts in turn; None is a refusal."""

    def __init__(self, *texts: str | None) -> None:
        self.texts, self.requests = list(texts), list[Request]()

    async def __call__(self, request: Request) -> Outside:
        self.requests.append(request)
        text = self.texts[min(len(self.requests), len(self.texts)) - 1]
        if text is None:
            return Outside(Answer(refused=Refused("content_filter")))
        return Outside(Answer(value={"text": text, "calls": [], "stop": "stop"}))


@pytest.mark.parametrize(
    ("text", "score", "reasoning"),
    [
        ('{"score": 0.5, "reasoning": "so so"}', "0.5", "so so"),
        ('```json\n{"score": 1, "reasoning": "fine"}\n```', "1", "fine"),
        ('I think {so}: {"score": "0.25"}', "0.25", ""),
        ('{"score": 7}', "1", ""),
        ('{"score": -1}', "0", ""),
        ('{"a": {"score": 0.125, "reasoning": "within"}}', "0.125", "within"),
        ('{"score": 0.75, "reasoning": "cut of', "0.75", ""),
        ("score: 0.5", "0.5", ""),
    ],
)
def test_a_score_is_found_in_whatever_a_model_writes_around_it(text: str, score: str, reasoning: str) -> None:
    assert verdict_in(text) == {"score": Decimal(score), "reasoning": reasoning}


@pytest.mark.parametrize("text", ["", "Good.", '{"score": true}', '{"score": null}', '{"score": NaN}', '{"rate": 1}'])
def test_where_no_score_is_there_is_none(text: str) -> None:
    assert verdict_in(text) is None


@given(st.text())
def test_a_score_is_from_0_to_1_whatever_is_written(text: str) -> None:
    for written in (text, f'{{"score": {text}}}', f'{{"score": "{text}"}}', f"score = {text}"):
        found = verdict_in(written)
        assert found is None or 0 <= found["score"] <= 1


async def test_a_question_becomes_a_prompt_with_all_of_it() -> None:
    model = Model('{"score": 0.5, "reasoning": "so so"}')
    assert await judge(OPTIONS, model)(QUESTION) == {"score": Decimal("0.5"), "reasoning": "so so"}
    [request] = model.requests
    assert (request.kind, request.settings) == ("judge", {"model": "strict", "temperature": 0, "max_tokens": 8192})
    assert [message["role"] for message in request.prompt] == ["system", "user"]
    content = request.prompt[1]["content"]
    places = [content.index(part) for part in ("THE TASK", "THE CONVERSATION", "THE ACTIONS", "THE RUBRIC")]
    assert places == sorted(places)


async def test_pictures_are_shown() -> None:
    model = Model('{"score": 1}')
    pictures = {"reference_images_b64": ["UkVG"], "candidate_images_b64": ["QQ==", "Qg=="]}
    await judge(OPTIONS, model)({"method": "evaluate_visual", "rubric": "R", "context": "C", **pictures})
    parts = model.requests[0].prompt[1]["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert urls == [f"data:image/png;base64,{each}" for each in ("UkVG", "QQ==", "Qg==")]


async def test_an_answer_without_a_score_is_asked_for_again_and_then_given_up() -> None:
    model = Model("Good.", '{"score": 0.25}')
    assert (await judge(OPTIONS, model)(QUESTION))["score"] == Decimal("0.25")
    silent = Model("Good.", None)
    assert await judge(OPTIONS, silent)(QUESTION) is None
    assert len(silent.requests) == TRIES


async def test_a_grader_may_word_its_own_messages() -> None:
    model = Model("as it is")
    messages = [{"role": "user", "content": "Sort these.", "name": "grader"}]
    assert await judge(OPTIONS, model)({"method": "chat", "messages": messages}) == "as it is"
    assert model.requests[0].prompt == ({"role": "user", "content": "Sort these."},)


@pytest.mark.parametrize(
    "question",
    [
        None,
        {},
        {"method": "system"},
        {**QUESTION, "rubric": 5},
        {"method": "chat", "messages": []},
        {"method": "chat", "messages": [{"role": "tool", "content": ""}]},
        {"method": "chat", "messages": "Sort these."},
        {"method": "evaluate_visual", "rubric": "R", "context": "C", "reference_images_b64": [1]},
    ],
)
async def test_what_no_judge_can_be_asked_is_said(question: Any) -> None:
    model = Model('{"score": 1}')
    with pytest.raises(BadQuestion, match="grader"):
        await judge(OPTIONS, model)(question)
    assert model.requests == []
