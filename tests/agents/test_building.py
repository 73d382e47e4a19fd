"""From names and specifications to actors."""

import msgspec
import pytest

from coworkenv.agents.agent import Answer, Outside
from coworkenv.agents.building import AGENT_KINDS, BadSpecification, build_agent, build_coworkers
from coworkenv.agents.coworker import ModelCoworker, RulesCoworker
from coworkenv.agents.naming import UnknownName
from coworkenv.agents.persona import PersonaCoworker
from coworkenv.worlds.world import Persona
from tests.agents.stage import Stage, says, world_of

OFFICE = """
environment: coworkenv/1
id: office
clock: {start: 2026-03-03T09:00}
people:
  zoe: {otherwise: Hm.}
  abe: {replies: [{any: [x], say: "y"}]}
  mute: {role: nobody, opens: Hi}
"""


def office(**personas):
    world = world_of(OFFICE)
    return msgspec.structs.replace(world, personas={name: Persona(text, "en", 2) for name, text in personas.items()})


@pytest.mark.parametrize("name", ["oracle", "noop", "readonly", "explore", "trap:no-approval", "openai:org/model:tag"])
def test_an_agent_is_built_by_name_and_again_from_its_specification(name):
    agent = build_agent(name)
    again = build_agent(agent.specification)
    assert type(again) is type(agent)
    assert again.specification == agent.specification
    assert agent.specification["kind"] == name.partition(":")[0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orcale", "did you mean `oracle`"),
        ("trap", "write `trap:NAME`"),
        ("openai:", "write `openai:MODEL`"),
        ("noop:x", "write `noop`"),
        ("script:/nowhere/x.yaml", "cannot be read: No such file"),
        ({"kind": "oracle", "x": 1}, "no options"),
        ({"kind": "openai"}, "model"),
        ({"name": "x"}, "there is no agent"),
        ({"kind": ["oracle"]}, "there is no agent"),
    ],
)
def test_what_cannot_be_built_is_said_with_what_to_write(name, message):
    with pytest.raises((UnknownName, BadSpecification), match=message):
        build_agent(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "did you mean `temperature`"),
        ({"temperature": "warm"}, "temperature"),
        ({"context": 10}, "at least 1000"),
        ({"counting": "utf8/3"}, "did you mean `utf8/4`"),
        ({"base": "fast"}, "duration"),
        ({"extra": {"messages": []}}, "may not hold messages"),
        ({"attempts": "many"}, "attempts"),
        ({"model": ""}, "name a model"),
    ],
)
def test_wrong_options_are_said(options, message):
    with pytest.raises((UnknownName, BadSpecification), match=message):
        build_agent("openai:m", options)


def test_options_may_come_as_texts_and_how_a_server_is_reached_is_in_no_specification():
    agent = build_agent("openai:m", {"seed": "7", "interruptible": "true", "timeout": "9", "attempts": 2})
    assert agent.specification["seed"] == 7
    assert agent.specification["interruptible"] is True
    assert not {"timeout", "attempts"} & set(agent.specification)


def test_the_list_of_agents_names_all_of_them():
    for kind in AGENT_KINDS:
        name = kind.partition(":")[0]
        with pytest.raises((UnknownName, BadSpecification), match="write `" + kind + "`|no options|cannot be read"):
            build_agent(name if ":" in kind else {"kind": name, "x": 1})


def test_a_script_that_is_none_is_said(tmp_path):
    file = tmp_path / "s.yaml"
    for text in ("[{cal: x}]", "{call: x}", "[{call: x", "\udcff"):
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(BadSpecification):
            build_agent(f"script:{file}")


# --- coworkers ---------------------------------------------------------------------------------------------


def test_those_who_have_something_to_say_go_by_their_rules_in_the_order_of_the_file():
    coworkers = build_coworkers(office(user="A person."))
    assert list(coworkers) == ["zoe", "abe"]
    assert all(type(coworker) is RulesCoworker for coworker in coworkers.values())


def test_a_model_may_word_the_rules_and_play_the_personas():
    coworkers = build_coworkers(office(user="A person."), "model:m", {"temperature": 0})
    assert {name: type(coworker) for name, coworker in coworkers.items()} == {
        "zoe": ModelCoworker,
        "abe": ModelCoworker,
        "user": PersonaCoworker,
    }
    coworkers = build_coworkers(office(user="A person."), "persona:m")
    assert [type(coworker) for coworker in coworkers.values()] == [RulesCoworker, RulesCoworker, PersonaCoworker]


def test_coworkers_are_built_again_from_what_the_log_says_and_nobody_else():
    world = office(user="A person.")
    coworkers = build_coworkers(world, "persona:m", {"seed": 1})
    logged = {name: coworker.specification for name, coworker in coworkers.items() if name != "abe"}
    again = build_coworkers(world, logged)
    assert {name: coworker.specification for name, coworker in again.items()} == logged


def test_each_person_may_be_asked_for_with_a_word():
    coworkers = build_coworkers(office(), {"abe": "model:m", "zoe": "rules"})
    assert [coworker.specification["kind"] for coworker in coworkers.values()] == ["rules", "model"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("rule", "did you mean `rules`"),
        ("rules:m", "write one of rules, model:MODEL, persona:MODEL"),
        ("model", "write one of"),
        ({"zoé": {"kind": "rules"}}, "did you mean `zoe`"),
        ({"zoe": {"kind": "persona", "model": "m"}}, "has no persona"),
        ({"user": {"kind": "rules"}}, "has no rules"),
        ({"zoe": {"kind": "ruels"}}, "did you mean `rules`"),
        ({"zoe": {"kind": "rules", "model": "m"}}, "no options"),
        ({"zoe": {"kind": "model"}}, "model"),
        ({"zoe": "persona:m"}, "has no persona"),
    ],
)
def test_what_cannot_be_played_is_said(wanted, message):
    with pytest.raises((UnknownName, BadSpecification), match=message):
        build_coworkers(office(user="A person."), wanted)


def test_whatever_stands_in_for_a_server_is_asked_instead():
    async def perform(request):
        return Outside(Answer())

    world = office()
    stage = Stage(world, answers=[says("", ("finish", {"summary": "ok"}))])
    asked = []
    original = stage.effect

    async def effect(request, given, **more):
        asked.append(given)
        return await original(request, given, **more)

    stage.effect = effect  # type: ignore[method-assign]
    assert stage.play(build_agent("openai:m", perform=perform)) == "ok"
    assert asked == [perform]
