"""Drafts of whole environments: found in answers, examined, sent back, repaired, and in or out with a reason."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coworkenv.engine.playing import play_program
from coworkenv.worlds.compiling import digest
from coworkenv.worlds.document import parse
from coworkenv.worlds.reading import problems, read_environment
from coworkenv.worlds.synth.drafting import EVENTS, LARGEST, draft
from coworkenv.worlds.synth.extracting import document_in, object_in
from coworkenv.worlds.synth.findings import Edit, Finding
from coworkenv.worlds.synth.prompts import FEEDBACK, NoAnswer, drafting, feedback, findings_in_short, format_in_short
from coworkenv.worlds.synth.receipt import receipt
from coworkenv.worlds.synth.repairing import repair
from coworkenv.worlds.synth.validating import validate
from coworkenv.worlds.writing import write

SOUND = (Path(__file__).parent / "errand.yaml").read_text("utf-8")
ASKED = {"A1": "The agent asks for what is missing. One that lacks it guesses."}


class Model:
    """Answers in turn, the last again and again; an exception is raised. Keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, messages):
        self.asked.append(messages)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def judged(environment):
    return await validate(environment, play_program)


async def repaired(environment, validation):
    return await repair(environment, play_program, validation=validation)


async def certified(found):
    return await receipt(found, release="test")


async def drafted(*answers, rounds=3, validate=judged):
    model = Model(*answers)
    return await draft(ASKED, "A refund.", model, validate, repaired, certified, rounds), model


def fenced(text):
    return f"Here it is:\n\n```yaml\n{text}```\nI hope that it helps!"


# --- finding the document ----------------------------------------------------------------------------------

WRAPPED = {
    "fenced": "Sure.\n```yaml\nDOC```\nDone.",
    "fenced without a language": "```\nDOC```",
    "fenced with tildes": "~~~yml\nDOC~~~",
    "bare": "DOC",
    "bare, with words around": "Here is the environment:\n\nDOC\nI hope that it helps, let me know!",
    "behind its thinking": "<think>environment: maybe\n```yaml\nid: x\n```\n</think>\n```yaml\nDOC```",
    "behind the end of thinking": "I think that\n```\nno\n```\n</think>\nDOC",
    "beside a smaller block": "```bash\nls\n```\n```yaml\nDOC```",
    "with Windows line ends": "```yaml\r\nDOC```",
    "in a tag": "<answer>\nDOC</answer>",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_the_document_is_found_in_whatever_stands_around_it(name):
    found = document_in(WRAPPED[name].replace("DOC", SOUND))
    assert parse(found.text) == parse(SOUND)
    assert not found.cut


def test_json_is_found_too():
    text = '{"environment": "coworkenv/1", "id": "a"}'
    assert parse(document_in(f"Well: \n{text}\nBye.").text) == parse(text)


@pytest.mark.parametrize(
    "answer", ["", "I cannot help with that.", "<think>environment: coworkenv/1\nand so on", "\x00\x01"]
)
def test_where_there_is_none_none_is_found(answer):
    assert document_in(answer) is None


def test_an_answer_that_was_cut_says_so():
    assert document_in("```yaml\n" + SOUND[:900]).cut


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["```", "~~~", "\n", "{", "}", "<think>", "</think>", "id: x"])).map("".join)
)
def test_any_answer_can_be_looked_at(answer):
    document_in(answer)
    object_in(answer)


# --- prompts -----------------------------------------------------------------------------------------------


def test_the_request_names_every_key_the_capabilities_and_the_brief():
    system, user = drafting(ASKED, "A refund.")
    assert format_in_short() in system.content
    for key in ("opens", "ceiling", "wrong_until_challenged", "retry_after", "looks_like"):
        assert key in system.content
    assert "frozen:" not in system.content
    assert "A1: The agent asks" in user.content
    assert "A refund." in user.content


def test_the_example_of_the_request_can_be_read():
    system, _ = drafting(ASKED, "")
    assert problems(document_in(system.content).text) == []


def finding(validator, severity="error", observed="It is wrong."):
    edits = tuple(Edit("replace", "/id", "x" * 5000) for _ in range(9))
    return Finding(validator=validator, severity=severity, at="/id", observed=observed, expected="-", candidates=edits)


def test_findings_go_back_the_most_important_first_and_no_more_than_there_is_room_for():
    many = [
        finding(25, "warning"),
        finding(17, observed="x" * 9999),
        *(finding(n % 20 + 3) for n in range(200)),
        finding(1),
    ]
    told = findings_in_short(many)
    assert told[0]["validator"] == 1
    assert [t["severity"] for t in told].count("error") == len(told) < len(many)
    message = feedback(drafting(ASKED, ""), SOUND, many, 2)[-1].content
    assert len(message) < FEEDBACK + 2000
    assert "203 findings" in message


async def test_what_goes_back_is_the_last_draft_and_its_findings_only():
    model = (await drafted("no", fenced(SOUND.replace("wei", "wie")), fenced(SOUND)))[1]
    assert [len(messages) for messages in model.asked] == [2, 4, 4]
    assert "wieght" in model.asked[2][2].content
    assert "closest_key" in model.asked[2][3].content


# --- in or out ---------------------------------------------------------------------------------------------


async def test_a_sound_draft_is_accepted_at_once_with_its_receipt():
    result, model = await drafted(fenced(SOUND))
    assert (result.accepted, result.reason, len(model.asked)) == ("at once", "", 1)
    assert result.receipt.digest == digest(result.environment)
    assert result.receipt.sound
    assert result.receipt.measured.scores["oracle"]


async def test_a_draft_becomes_better_by_feedback():
    flawed = SOUND.replace("any: [effective date]", "any: [something else]")
    result, _ = await drafted(fenced(flawed), fenced(SOUND))
    assert result.accepted == "after feedback"
    assert {finding.validator for finding in result.rounds[0].findings} >= {4}
    assert result.rounds[-1].sound


async def test_what_the_model_does_not_mend_is_repaired():
    result, model = await drafted(fenced(SOUND.replace("weight: 2, why: The o", "wieght: 2, why: The o")), rounds=2)
    assert (result.accepted, len(model.asked)) == ("after repair", 3)
    assert problems(write(result.environment)) == []


async def test_what_nothing_mends_is_discarded_with_the_reason():
    result, model = await drafted("I would rather talk about the weather.")
    assert (result.environment, result.receipt, len(model.asked)) == (None, None, 4)
    assert "There is no YAML document" in result.reason


async def test_no_answer_at_all_is_a_reason_and_later_only_the_end_of_feedback():
    result, _ = await drafted(NoAnswer("the server is away"))
    assert "the server is away" in result.reason
    result, model = await drafted(fenced(SOUND.replace("role: support lead", "rol: support lead")), NoAnswer("away"))
    assert (result.accepted, len(model.asked)) == ("after repair", 2)


async def test_the_best_draft_is_the_one_that_is_repaired():
    near = SOUND.replace("role: support lead", "rol: support lead")
    result, _ = await drafted(fenced(near), "no more ideas", "none", rounds=2)
    assert result.accepted == "after repair"


RULES = {
    "capabilities": ("capabilities: [A1]", "capabilities: [A1, D1]", "/capabilities"),
    "names": ("  a1-asked:", "  asked:", "/checks"),
    "id": ("id: finance.errand/0001", "id: ../../etc/passwd", "/id"),
    "scoring": ("title:", "scoring: claw-eval\ntitle:", "/scoring"),
}


@pytest.mark.parametrize("name", RULES)
async def test_drafts_keep_rules_of_their_own(name):
    right, wrong, at = RULES[name]
    text = SOUND.replace(right, wrong).replace("  a1-day:", "  day:" if name == "names" else "  a1-day:")
    result, _ = await drafted(fenced(text), rounds=0)
    assert result.environment is None
    assert at in [finding.at for finding in result.rounds[0].findings]


async def test_what_a_draft_claims_of_itself_counts_for_nothing_and_its_episodes_end_soon():
    claimed = "limits: {events: 999999999, calls: 999999}\nfrozen: {digest: abc, scores: {oracle: '1'}}\n"
    result, _ = await drafted(fenced(SOUND + claimed))
    assert result.environment.limits.events == EVENTS
    assert result.environment.limits.calls == 400
    assert result.environment.frozen.digest == digest(result.environment)


HUGE = {
    "records": (
        SOUND.replace("        - {id: $t2.id", "        - {id: x}\n" * 1500 + "        - {id: $t2.id"),
        "records",
    ),
    "steps": (SOUND.replace("oracle:\n", "oracle:\n" + "  - {calc: '1'}\n" * 200), "oracle"),
    "text": (SOUND + "# " + "x" * LARGEST, "characters"),
}


@pytest.mark.parametrize("name", HUGE)
async def test_a_huge_draft_is_not_played(name):
    async def played(_):
        raise AssertionError("it was played")

    text, told = HUGE[name]
    result, _ = await drafted(fenced(text), rounds=0, validate=played)
    assert told in result.rounds[0].findings[0].observed
    assert result.reason


async def test_a_validator_that_breaks_costs_the_draft_and_no_more():
    async def broken(_):
        raise ZeroDivisionError("by accident")

    result, _ = await drafted(fenced(SOUND), validate=broken, rounds=0)
    assert result.environment is None
    assert "ZeroDivisionError" in result.reason


# --- anything ----------------------------------------------------------------------------------------------

EXAMPLES = [file.read_text("utf-8") for file in (files("coworkenv.worlds") / "examples").iterdir()]
WORD = re.compile(r"[\w.$@-]+")


def dropped(text, places):
    lines = text.splitlines(keepends=True)
    gone = {place % len(lines) for place in places}
    return "".join(line for number, line in enumerate(lines) if number not in gone)


def swapped(text, pairs):
    """Each word at a place gives way to a value, or to the word at another place."""
    for place, value in pairs:
        words = list(WORD.finditer(text)) or [re.match("", text)]
        old = words[place % len(words)]
        new = value if isinstance(value, str) else words[value % len(words)][0]
        text = text[: old.start()] + new + text[old.end() :]
    return text


def inserted(text, at, more):
    place = at % (len(text) + 1)
    return text[:place] + more + text[place:]


VALUES = st.sampled_from(
    [
        "",
        "7",
        "-1",
        "true",
        "null",
        "[]",
        "{}",
        "[1, {a: b}]",
        "1e400",
        '"',
        "*x",
        "&x 1",
        "!!python/object x",
        "$t1",
        "=1/0",
        "@deed",
        "99999999999999999999",
        "9" * 200,
    ]
)
PLACES = st.integers(0, 100_000)
BASES = st.sampled_from([SOUND, SOUND, SOUND, *EXAMPLES])
MUTANTS = st.one_of(
    st.builds(dropped, BASES, st.sets(PLACES, min_size=1, max_size=5)),
    st.builds(swapped, BASES, st.lists(st.tuples(PLACES, VALUES | PLACES), min_size=1, max_size=4)),
    st.builds(lambda text, end: text[: end % len(text)], BASES, PLACES),
    st.builds(inserted, BASES, PLACES, st.text(max_size=30)),
    st.text(max_size=200),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MUTANTS)
async def test_whatever_a_draft_is_it_leaves_with_a_receipt_or_a_reason(text):
    result, _ = await drafted(fenced(text), rounds=0)
    if result.environment is None:
        assert result.reason
        assert result.receipt is None
        assert "cannot be examined" not in result.reason
    else:
        assert result.receipt.sound
        assert result.receipt.measured is not None
        assert result.receipt.digest == digest(result.environment)
        assert problems(write(result.environment)) == []
        assert read_environment(write(result.environment)) == result.environment
