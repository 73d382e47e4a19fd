"""Families and the lexicon: what every one of them promises to those that compose environments of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations, permutations, product
from zoneinfo import ZoneInfo

import msgspec
import pytest

from coworkenv.worlds.matching import mentions
from coworkenv.worlds.reading import problems
from coworkenv.worlds.synth.draft import NO_WORDS
from coworkenv.worlds.synth.family import Family, Guise, Pool, Words, families, guises, lexicon, stores
from coworkenv.worlds.synth.grammar import LANGUAGES, STYLES, halved
from coworkenv.worlds.synth.making import make
from coworkenv.worlds.synth.near import NEAR, overlap
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.writing import write

FAMILIES = tuple(families())
EVERYTHING = ("A1", "B1", "C2", "E1", "H1")
RESERVED = {"id", "mark", "flag", "remark", "note_code", "note"}
"""Fields that capabilities bring themselves."""
SENTENCES = ("do_one", "do_all", "do_more", "done")
NEEDS = {
    "do_one": ("{label}",),
    "do_all": ("{category_field}", "{category}"),
    "do_more": ("{label}",),
    "done": ("{list}",),
}
AS_LIKE_AS_TWO_SENTENCES_MAY_BE = 0.4

each_family = pytest.mark.parametrize("name", FAMILIES)
each_language = pytest.mark.parametrize("language", LANGUAGES)


def pools(part: object) -> Iterator[tuple[str, Pool]]:
    """The pools of names in a family or a part of one, with the fields they stand in: `register.label.field`."""
    if isinstance(part, Pool):
        yield "", part
    elif isinstance(part, msgspec.Struct):
        for field in part.__struct_fields__:
            for place, pool in pools(getattr(part, field)):
                yield f"{field}.{place}".rstrip("."), pool


def every_pool() -> Iterator[tuple[str, str, Pool]]:
    for owner, part in [*families().items(), *stores().items(), *((guise.name, guise) for guise in guises())]:
        for place, pool in pools(part):
            yield owner, place, pool


def names(pool: Pool) -> tuple[str, ...]:
    return (*pool.known, *pool.unseen)


def is_prefix(place: str) -> bool:
    """Whether a pool holds beginnings of ids rather than names of the interface."""
    return place.rpartition(".")[2] == "id"


def fields(family: Family) -> list[str]:
    """All names that fields of the register can have."""
    register = family.register
    parts = [register.label, register.amount, register.category, register.owner, register.due]
    found = [part.field for part in parts] + ([family.final.field] if family.final else [])
    return [name for pool in found for name in names(pool)]


def sentences(words: Words) -> Iterator[tuple[str, Sequence[str]]]:
    for name in SENTENCES:
        yield name, getattr(words, name)


def all_texts() -> Iterator[str]:
    for family, language in product(families().values(), LANGUAGES):
        for _, alternatives in sentences(family.words[language]):
            yield from alternatives
    for language in LANGUAGES:
        for title, text in lexicon().articles[language]:
            yield from (title, text)


# --- the set -----------------------------------------------------------------------------------------------


def test_there_are_24_families_and_many_kinds_of_them() -> None:
    assert len(FAMILIES) >= 24
    assert sum(family.mode == "update" for family in families().values()) >= 8
    kinds = Counter(family.register.label.kind for family in families().values())
    assert set(kinds) == {"person", "company", "item", "project"}
    assert min(kinds.values()) >= 4
    assert len({family.area for family in families().values()}) >= 16


def test_a_family_has_no_key_that_nobody_reads() -> None:
    data = msgspec.to_builtins(families()["refunds"])
    assert msgspec.convert(data, Family) == families()["refunds"]
    data["register"]["label"]["colour"] = "red"
    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.convert(data, Family)


def test_unseen_names_are_never_known_anywhere() -> None:
    for prefixes in (False, True):
        found = [(owner, pool) for owner, place, pool in every_pool() if is_prefix(place) is prefixes]
        known = {name: owner for owner, pool in found for name in pool.known}
        assert [(owner, name, known[name]) for owner, pool in found for name in pool.unseen if name in known] == []


def test_every_pool_has_two_known_names_and_two_unseen() -> None:
    few = [
        (owner, place) for owner, place, pool in every_pool() if len(set(pool.known)) < 2 or len(set(pool.unseen)) < 2
    ]
    assert few == []


def test_a_known_service_means_one_thing() -> None:
    services = Counter(
        name
        for place, pool in [
            *((p, q) for f in families().values() for p, q in pools(f)),
            *((p, q) for s in stores().values() for p, q in pools(s)),
        ]
        if place.rpartition(".")[2] == "service"
        for name in set(pool.known)
    )
    assert [name for name, count in services.items() if count > 1] == []


def test_ids_show_where_a_record_lies() -> None:
    """So that no id of one collection can be one of another in the same environment."""
    shared = {prefix: store for store in stores() for prefix in names(stores()[store].id)}
    for family in families().values():
        own = [*names(family.register.id), *(names(family.book.id) if family.book else ())]
        assert len(set(own)) == len(own), family.family
        assert [prefix for prefix in own if prefix in shared] == [], family.family
        assert not {guise.pattern.partition("-")[0] for guise in guises() if guise.pattern} & set(own), family.family


# --- one family --------------------------------------------------------------------------------------------


@each_family
def test_a_family_is_named_as_its_file_and_complete(name: str) -> None:
    family = families()[name]
    assert family.family == name
    assert set(family.title) == set(family.words) == set(LANGUAGES)
    assert (family.book is None) == (family.mode == "update") == (family.final is not None)


@each_family
def test_a_field_has_one_meaning(name: str) -> None:
    family = families()[name]
    own = fields(family)
    assert len(set(own)) == len(own)
    brought = {field for guise in guises() for field in names(guise.field)}
    book = set(names(family.book.thing)) if family.book else set()
    assert not (set(own) | book) & (RESERVED | brought)


@each_family
def test_tools_and_collections_of_a_service_have_different_names(name: str) -> None:
    family = families()[name]
    store, tools = (
        (family.register, family.final.tool) if family.final else (family.book, family.book and family.book.create)
    )
    assert store is not None
    assert tools is not None
    assert not set(names(store.collection)) & set(names(tools))


@each_family
def test_categories_are_many_and_no_values_of_a_guise(name: str) -> None:
    register = families()[name].register
    values = register.category.values
    assert len(set(values)) == len(values) >= 5
    assert not {value.lower() for value in values} & {value.lower() for guise in guises() for value in guise.values}


@each_family
def test_whole_numbers_of_things_are_no_quantity_of_a_guise(name: str) -> None:
    amount = families()[name].register.amount
    assert amount.high - amount.low >= 60, "a dozen things must have different ones"
    if not amount.cents:
        assert amount.low >= max(guise.high for guise in guises())


@each_family
def test_a_thing_that_changes_ends_as_something_else(name: str) -> None:
    final = families()[name].final
    if final is not None:
        assert len({*final.before, final.after}) == len(final.before) + 1 >= 3


# --- words -------------------------------------------------------------------------------------------------


@each_language
@each_family
def test_words_are_whole_sentences_with_what_they_are_about(name: str, language: str) -> None:
    words = families()[name].words[language]
    for place, alternatives in sentences(words):
        assert len(set(alternatives)) == len(alternatives) >= (4 if place.startswith("do_") else 2)
        for text in alternatives:
            assert re.fullmatch(r"[^—–!]+[.?]", text), text
            assert sorted(re.findall(r"\{[a-z_]+\}", text)) == sorted(NEEDS[place]), text
    for roles in words.roles.values():
        assert len(set(roles)) == len(roles) >= 4


@each_language
@each_family
def test_the_halves_say_it_in_other_words(name: str, language: str) -> None:
    for _, alternatives in sentences(families()[name].words[language]):
        first, second = (
            halved([re.sub(r"\{\w+\}", "", text) for text in alternatives], half) for half in ("first", "second")
        )
        for one, other in product(first, second):
            assert overlap(one, other) < AS_LIKE_AS_TWO_SENTENCES_MAY_BE, (one, other)


@each_language
@each_family
def test_a_report_of_what_was_done_does_not_sound_like_a_refusal(name: str, language: str) -> None:
    for text in families()[name].words[language].done:
        assert [word for word in NO_WORDS if mentions(text, word)] == [], text


@each_family
def test_german_things_and_entries_are_feminine_so_that_phrases_can_say_keine(name: str) -> None:
    words = families()[name].words["de"]
    for subject in (words.the_thing, words.the_thing_acc, words.the_entry, words.the_entry_acc):
        assert subject.startswith("die ")
    assert words.the_thing_dat.startswith("der ")


# --- the lexicon -------------------------------------------------------------------------------------------


def test_there_are_names_enough_for_both_halves() -> None:
    words = lexicon()
    least = {"given": 28, "surnames": 40, "companies": 28, "items": 28, "projects": 28, "teams": 12, "cities": 14}
    for field, count in least.items():
        found = list(getattr(words, field))
        assert len({name.lower() for name in found}) == len(found) >= count, field
    for language in LANGUAGES:
        assert len(words.articles[language]) >= 8
        assert all(len(titles) >= 4 for titles in words.roles[language].values())
    assert words.roles["en"].keys() == words.roles["de"].keys()


def test_no_name_is_part_of_another_kind_of_name() -> None:
    kinds = [
        lexicon().given,
        lexicon().surnames,
        lexicon().companies,
        lexicon().items,
        lexicon().projects,
        lexicon().teams,
    ]
    places = [value for guise in guises() for value in guise.values]
    for some, others in permutations([*kinds, lexicon().cities, places], 2):
        assert [(name, other) for name, other in product(some, others) if mentions(other, name)] == []


def test_given_names_and_projects_are_no_words_of_a_text() -> None:
    texts = [
        *all_texts(),
        *(title for roles in lexicon().roles.values() for titles in roles.values() for title in titles),
    ]
    said = " \n ".join(texts)
    assert [name for name in (*lexicon().given, *lexicon().projects) if mentions(said, name)] == []


def test_both_halves_of_the_cities_have_some_with_summer_time_and_some_without() -> None:
    cities = list(lexicon().cities.items())
    for half in (cities[::2], cities[1::2]):
        assert {has_summer_time(zone) for _, zone in half} == {True, False}


def has_summer_time(zone: str) -> bool:
    return len({datetime(2026, month, 10, tzinfo=ZoneInfo(zone)).utcoffset() for month in (1, 7)}) == 2


# --- guises ------------------------------------------------------------------------------------------------


def test_there_are_guises_enough_for_a_workflow_of_eight() -> None:
    kinds = Counter(guise.kind for guise in guises())
    least = {"code": 8, "date": 5, "quantity": 5, "place": 5, "choice": 4, "person": 3}
    assert all(kinds[kind] >= count for kind, count in least.items()), kinds
    assert len({guise.name for guise in guises()}) == len(guises())


def test_no_two_guises_share_a_field_a_pattern_or_a_value() -> None:
    for one, other in combinations(guises(), 2):
        assert not set(names(one.field)) & set(names(other.field))
        assert not one.pattern or one.pattern != other.pattern
        assert not {value.lower() for value in one.values} & {value.lower() for value in other.values}


def test_a_question_for_one_guise_is_not_one_for_another() -> None:
    keywords = [(guise, word) for guise in guises() for language in LANGUAGES for word in guise.words[language]]
    for (one, word), (other, phrase) in permutations(keywords, 2):
        if one is not other:
            assert word.lower() not in phrase.lower()


def test_keywords_of_guises_are_nothing_that_people_say_anyway() -> None:
    said = " \n ".join(all_texts())
    words = [word for guise in guises() for language in LANGUAGES for word in guise.words[language]]
    assert [word for word in words if mentions(said, word)] == []


@pytest.mark.parametrize("guise", guises(), ids=lambda guise: guise.name)
def test_a_guise_is_understood_by_its_own_words(guise: Guise) -> None:
    for language in LANGUAGES:
        for text in (guise.the[language], guise.noun[language]):
            assert any(mentions(text, word) for word in guise.words[language])
    assert guise.the["de"].startswith(("die ", "das ")), "subject and object must read the same"
    if guise.kind == "quantity":
        assert 11 <= guise.low < guise.high - 24
    if guise.kind in ("place", "choice"):
        assert len(guise.values) >= (8 if guise.kind == "place" else 5)


# --- environments ------------------------------------------------------------------------------------------


@each_language
@each_family
def test_an_environment_of_everything_reads_without_problems(name: str, language: str) -> None:
    requests = []
    for number, (half, interface) in enumerate((("first", "known"), ("second", "unseen"))):
        style = STYLES[(2 * FAMILIES.index(name) + number) % len(STYLES)]
        environment = make(origin(name, language, style, half, interface))
        assert problems(write(environment)) == []
        [request] = [person.opens for person in environment.people.values() if person.opens]
        assert "{" not in re.sub(r"[$@]\{[^{}]*\}", "", request)
        requests.append(request)
    assert overlap(*requests) < NEAR


def origin(name: str, language: str, style: str, half: str, interface: str) -> Origin:
    data = {"seed": 3, "family": name, "capabilities": EVERYTHING, "language": language, "style": style}
    return msgspec.convert({**data, "half": half, "interface": interface}, Origin)
