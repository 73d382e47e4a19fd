"""Texts in other words: what is accepted, and why the rest stays as it was."""

import json
from functools import partial
from importlib.resources import files

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coworkenv.engine.playing import play_program
from coworkenv.worlds.compiling import plain
from coworkenv.worlds.reading import problems, read_environment
from coworkenv.worlds.synth.findings import Finding
from coworkenv.worlds.synth.pointing import read
from coworkenv.worlds.synth.prompts import NoAnswer
from coworkenv.worlds.synth.rewriting import rewritten, texts
from coworkenv.worlds.synth.validating import validate
from coworkenv.worlds.writing import write

REFUND = read_environment((files("coworkenv.worlds") / "examples/refund.yaml").read_text("utf-8"))
EXAMPLES = sorted(file.name for file in (files("coworkenv.worlds") / "examples").iterdir())
OPENS = REFUND.people["lena"].opens
BETTER = (
    "Hello! Could you please refund Ms ${surname} for the lamp? It arrived broken. The lamp only, not the whole order."
)


def answering(change):
    """A model that answers each text with what `change` makes of it; those of which it makes None are left out."""

    async def complete(messages):
        wanted = json.loads(messages[-1].content)
        found = {number: change(text) for number, text in wanted.items()}
        return json.dumps({number: text for number, text in found.items() if text is not None})

    return complete


def only(before, after):
    return answering(lambda text: after if text == before else None)


async def nothing(_):
    return []


async def reworded(environment, complete, check=nothing, **options):
    result = await rewritten(environment, complete, check, **options)
    return result, {wording.before: wording for wording in result.wordings}


def test_what_people_say_may_be_reworded_and_values_and_policies_may_not():
    found = texts(plain(REFUND))
    assert found[OPENS] == ("/people/lena/opens",)
    assert found["No, send it to repair."] == ("/twins/refused/people/tomas/replies/0/say",)
    assert not any("RMA number" in text and "Above" in text for text in found)
    assert any("Above EUR" in text for text in texts(plain(REFUND), articles=True))


async def test_a_wording_that_says_the_same_is_taken():
    result, wordings = await reworded(REFUND, only(OPENS, BETTER))
    assert wordings[OPENS].accepted
    assert result.accepted == 1
    assert result.environment.people["lena"].opens == BETTER
    assert result.environment.frozen is None
    assert problems(write(result.environment)) == []


REFUSED = {
    "a reference is lost": ("Please refund her for the lamp. The lamp only, not the whole order.", "references"),
    "a reference is broken": (f"{BETTER} ${{surname", "never closed"),
    "an unknown reference": (f"{BETTER} ${{nobody}}", "references"),
    "an expression": ("=$surname", "not"),
    "a number is new": (f"{BETTER} It cost 165.", "number 165"),
    "a hidden value": (f"{BETTER} It is the one from Lyon, O-5512.", "O-5512"),
    "the restriction is gone": (BETTER.replace(" only", ""), "restriction only"),
    "turned round": ("Please refund Ms ${surname} for the broken order. The order only, not the whole lamp.", "about"),
    "longer than is needed": (BETTER + " Thank you so much for it." * 40, "characters"),
    "control characters": (BETTER + "\x1b[31m", "characters"),
    "a line break": (BETTER.replace("! ", "!\n"), "line breaks"),
    "nothing": ("  ", "empty"),
    "the same": (OPENS, "left it"),
    "no text": (7, "no wording"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_wording_that_does_not_is_refused_with_the_reason(name):
    after, why = REFUSED[name]
    result, wordings = await reworded(REFUND, only(OPENS, after))
    assert why in wordings[OPENS].reason
    assert result.environment is REFUND


async def test_what_people_would_hear_in_it_stays():
    before = "Which order, and how much?"
    _, wordings = await reworded(REFUND, only(before, "What exactly, and how much?".replace(" exactly", "")))
    assert "lena's reply 0" in wordings[before].reason


ANSWERS = ["", "I cannot do that.", "{", '{"1": ', "[1, 2]", "null", '{"1": {"a": 1}}', "{'1': *x}", "{" * 5000, "\x00"]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_makes_no_sense_changes_nothing(answer):
    async def complete(_):
        return answer

    result, wordings = await reworded(REFUND, complete)
    assert result.environment is REFUND
    assert all(wording.reason for wording in wordings.values())


async def test_no_answer_is_the_reason():
    async def complete(_):
        raise NoAnswer("the server is away")

    result, wordings = await reworded(REFUND, complete)
    assert {wording.reason for wording in wordings.values()} == {"the server is away"}
    assert result.environment is REFUND


async def test_a_wording_with_which_something_new_is_found_goes_back_and_the_others_stay():
    thanks = "Thanks!"

    async def check(environment):
        bad = environment.people["lena"].otherwise != thanks
        return [Finding(validator=13, at="/people/lena/otherwise", observed="It tells.", expected="-")] if bad else []

    def change(text):
        return {OPENS: BETTER, thanks: "Thank you!"}.get(text)

    result, wordings = await reworded(REFUND, answering(change), check)
    assert wordings[OPENS].accepted
    assert "validator 13" in wordings[thanks].reason
    assert (result.environment.people["lena"].opens, result.environment.people["lena"].otherwise) == (BETTER, thanks)


async def test_a_text_that_stands_at_several_places_is_reworded_at_all_of_them():
    data = plain(REFUND)
    twin = {"people": {"tomas": {"otherwise": "Which order, and how much?"}, "lena": {"otherwise": "Merci!"}}}
    environment = msgspec.convert({**data, "twins": {**data["twins"], "curt": twin}}, type(REFUND))
    before, after = "Which order, and how much?", "Which order is it, and how much?"
    result, wordings = await reworded(environment, only(before, after))
    assert wordings[before].accepted
    assert len(wordings[before].at) == 2
    assert {read(plain(result.environment), at) for at in wordings[before].at} == {after}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_whatever_is_accepted_is_as_sound_as_before(name):
    environment = read_environment((files("coworkenv.worlds") / "examples" / name).read_text("utf-8"))
    check = partial(found_in, {4, 13})
    polite = answering(lambda text: f"{text} Thanks!" if "Thanks" not in text else text)
    result, _ = await reworded(environment, polite, check)
    assert result.accepted
    assert await check(result.environment) == await check(environment)
    assert problems(write(result.environment)) == []


async def found_in(numbers, environment):
    return list((await validate(environment, play_program, only=numbers)).errors)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from("123456789"), st.one_of(st.text(max_size=60), st.integers(), st.none())))
async def test_whatever_a_model_answers_the_environment_can_be_read(answer):
    async def complete(_):
        return json.dumps(answer)

    result, _ = await reworded(REFUND, complete)
    assert problems(write(result.environment)) == []
