"""What every capability has, whatever it is about."""

import re
from importlib import import_module
from string import Formatter

import pytest

from coworkenv.worlds.synth.capabilities.fragment import Fragment
from coworkenv.worlds.synth.capabilities.registry import FRAGMENTS
from coworkenv.worlds.synth.draft import Phrases
from coworkenv.worlds.synth.grammar import LANGUAGES

from .trying import settings, tried

each_fragment = pytest.mark.parametrize("name", FRAGMENTS)
OWN_TRAPS = {"A1": 1, "B1": 1, "C2": 1, "E1": 1, "H1": 1}
"""Capabilities with one way to fail that is plausible; all others have two and more."""
SILENT = {"C2", "H3"}
"""Capabilities that say nothing of their own."""
INTERFACE = {("F1", "about"), ("F2", "percent"), ("F2", "price")}
"""What fields are called or described by: nobody says it, so the halves need not differ."""

NOUNS = {"the", "noun", "thing", "things", "entry", "entries", "the_thing", "the_things", "the_entry"}
"""A thing can be called in several ways."""
ROLES = {"approver", "expert", "keeper", "deputy", "clerk", "partner", "requester"}
"""A person may be named in some alternatives only, where it is clear who is meant."""


def phrases(name: str) -> Phrases:
    """All phrases of a capability that people say; none where it says nothing of its own."""
    found: Phrases = getattr(import_module(f"coworkenv.worlds.synth.capabilities.{name.lower()}"), "PHRASES", {})
    return {
        language: {phrase: texts for phrase, texts in said.items() if (name, phrase) not in INTERFACE}
        for language, said in found.items()
    }


def test_there_are_the_32_of_the_taxonomy_in_its_order() -> None:
    assert list(FRAGMENTS) == [f"{group}{number}" for group in "ABCDEFGH" for number in range(1, 5)]


@each_fragment
def test_id_and_module_agree(name: str) -> None:
    module = import_module(f"coworkenv.worlds.synth.capabilities.{name.lower()}")
    assert module.FRAGMENT is FRAGMENTS[name]
    assert (module.__doc__ or "").startswith(f"{name}: ")


@each_fragment
def test_title_and_failure_are_clauses(name: str) -> None:
    """`The agent ….` and `One that lacks it ….` are sentences."""
    fragment: Fragment = FRAGMENTS[name]
    for clause in (fragment.title, fragment.failure):
        assert re.fullmatch(r"[a-z][^.;\n]*[a-z0-9]", clause), clause
        verb = clause.split()[0].rstrip(",")
        assert verb.endswith("s") or verb in ("never", "either", "only"), clause


@each_fragment
def test_what_cannot_be_together_exists(name: str) -> None:
    assert all(other in FRAGMENTS and other != name for other in FRAGMENTS[name].alone)


@each_fragment
def test_both_languages_say_the_same_things_in_at_least_four_ways_each(name: str) -> None:
    """So that each half has two; a phrase takes the same words and facts in all its alternatives."""
    said = phrases(name)
    assert (not said) == (name in SILENT)
    if not said:
        return
    assert set(said) == set(LANGUAGES)
    assert set(said["en"]) == set(said["de"])
    for language in LANGUAGES:
        for phrase, alternatives in said[language].items():
            assert len(alternatives) == len(set(alternatives)) >= 4, (language, phrase)
            assert all(text and text == text.strip() for text in alternatives)


@each_fragment
def test_halves_say_it_in_words_of_their_own(name: str) -> None:
    for language, said in phrases(name).items():
        for phrase, alternatives in said.items():
            assert set(alternatives[::2]).isdisjoint(alternatives[1::2]), (language, phrase)


@each_fragment
def test_what_is_said_for_certain_is_said_in_every_alternative(name: str) -> None:
    """The values that a phrase is filled with (`{value}`, `{sum}`, …) are in all of its alternatives, or the oracle
    of one half would say less than that of the other."""
    for language, said in phrases(name).items():
        for phrase, alternatives in said.items():
            values = [_words(text) - ROLES - NOUNS for text in alternatives]
            assert all(found == values[0] for found in values), (language, phrase, values)


def _words(text: str) -> set[str]:
    plain = re.sub(r"[$@]\{[^{}]*\}", "", text)
    return {field.partition("_acc")[0].partition("_dat")[0] for _, field, *_ in Formatter().parse(plain) if field}


@each_fragment
async def test_an_environment_has_its_name_where_it_is_its_own(name: str) -> None:
    capabilities, family, language = settings(name)[0]
    environment = (await tried(*capabilities, family=family, language=language)).environment
    own = f"{name.lower()}-"
    traps = [trap for trap in environment.traps if trap.startswith(own)]
    assert len(traps) >= OWN_TRAPS.get(name, 2)
    assert len(environment.traps) >= 2 + len(traps)
    assert set(environment.twins) > {"other-numbers"} or name in ("A4", "D2")
    others = {f"{other.lower()}-" for other in FRAGMENTS} - {own}
    for part in (environment.checks, environment.traps, environment.twins):
        assert not [entry for entry in part if entry[:3] in others]
