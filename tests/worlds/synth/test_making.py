"""An origin is all that an environment depends on: the same one again and in any process, another one otherwise."""

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coworkenv.worlds.compiling import with_twin
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.facts import resolve
from coworkenv.worlds.reading import problems
from coworkenv.worlds.synth.capabilities.registry import FRAGMENTS
from coworkenv.worlds.synth.draft import KNOBS
from coworkenv.worlds.synth.family import families, lexicon
from coworkenv.worlds.synth.grammar import LANGUAGES, STYLES
from coworkenv.worlds.synth.making import Impossible, identity, make
from coworkenv.worlds.synth.origin import Half, Origin
from coworkenv.worlds.synth.producing import wanted
from coworkenv.worlds.synth.solving import Unsolvable
from coworkenv.worlds.writing import plain, write

COMPATIBLE = wanted()
few = settings(max_examples=25)


@st.composite
def origins(draw: st.DrawFn, most: int = 3) -> Origin:
    """Requirements that can be fulfilled, with up to so many capabilities."""
    family = draw(st.sampled_from(COMPATIBLE.families))
    chosen: set[str] = set()
    for name in draw(st.lists(st.sampled_from(COMPATIBLE.capabilities), min_size=1, max_size=most, unique=True)):
        more = frozenset({*chosen, name})
        if COMPATIBLE.compatible(more) and COMPATIBLE.fits(family, more):
            chosen.add(name)
    return Origin(
        seed=draw(st.integers(0, 1 << 32)),
        family=family,
        capabilities=tuple(name for name in FRAGMENTS if name in (chosen or {"A1"})),
        language=draw(st.sampled_from(LANGUAGES)),
        style=draw(st.sampled_from(STYLES)),
        half=draw(st.sampled_from(["first", "second"])),
        interface=draw(st.sampled_from(["known", "unseen"])),
        knobs=draw(st.dictionaries(st.sampled_from(list(KNOBS)), st.integers(0, 4))),
    )


def made(origin: Origin) -> str:
    try:
        return write(make(origin))
    except Unsolvable as error:
        return str(error)


def refund(*capabilities: str, seed: int = 5, **more: Any) -> Origin:
    return Origin(seed=seed, family="refunds", capabilities=capabilities, **more)


@few
@given(origins())
def test_the_same_origin_gives_the_same_bytes_and_they_read_without_problems(origin: Origin) -> None:
    text = made(origin)
    again = msgspec.json.decode(msgspec.json.encode(origin), type=Origin)
    assert made(again) == text
    assert not text.startswith("environment:") or problems(text) == []


@few
@given(origins(most=2))
def test_another_attempt_has_other_facts_and_the_same_name(origin: Origin) -> None:
    other = msgspec.structs.replace(origin, attempt=origin.attempt + 1)
    assert identity(other) == identity(origin)
    assert made(other) != made(origin)


@given(origins(), st.sampled_from(["seed", "index", "language", "style", "half", "interface", "knobs"]))
def test_the_name_tells_all_else_apart(origin: Origin, field: str) -> None:
    values: dict[str, Any] = {
        "seed": origin.seed + 1,
        "index": origin.index + 1,
        "language": "de" if origin.language == "en" else "en",
        "style": next(style for style in STYLES if style != origin.style),
        "half": "first" if origin.half == "second" else "second",
        "interface": "known" if origin.interface == "unseen" else "unseen",
        "knobs": {**origin.knobs, "rows": origin.knobs.get("rows", 0) + 1},
    }
    assert identity(msgspec.structs.replace(origin, **{field: values[field]})) != identity(origin)


def test_knobs_in_another_order_are_the_same_requirement() -> None:
    one, two = ({"rows": 3, "near": 1}, {"near": 1, "rows": 3})
    assert identity(refund("A1", knobs=one)) == identity(refund("A1", knobs=two))
    assert made(refund("A1", knobs=one)) == made(refund("A1", knobs=two))


def test_the_name_says_area_and_family() -> None:
    area, _, rest = make(refund("A1")).id.partition(".")
    assert area == families()["refunds"].area
    assert rest.startswith("refunds/")


SCRIPT = """
from coworkenv.worlds.synth.making import make
from coworkenv.worlds.synth.origin import Half, Origin
from coworkenv.worlds.compiling import digest
for family, capabilities in (("refunds", ("A1", "B1", "D1", "H1")), ("leave", ("A3", "C4", "E4", "G2"))):
    print(digest(make(Origin(seed=8, family=family, capabilities=capabilities, language="de", style="chatty"))))
"""


def test_it_does_not_depend_on_the_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert len(said) == 1
    assert len(said.pop().splitlines()) == 2


# --- what cannot be ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, fragment in FRAGMENTS.items() if fragment.mode])
def test_a_family_of_another_mode_is_impossible_and_the_sentence_says_why(name: str) -> None:
    with pytest.raises(Impossible, match=rf"^{name} needs a family of mode create, and leave is not one$"):
        make(Origin(seed=1, family="leave", capabilities=(name,)))


def test_what_cannot_be_in_one_workflow_is_impossible() -> None:
    apart = [(name, other) for name, fragment in FRAGMENTS.items() for other in fragment.alone]
    for pair in apart:
        with pytest.raises(Impossible, match="cannot be in one workflow"):
            make(refund(*pair))


# --- knobs -------------------------------------------------------------------------------------------------


def register_rows(environment: Environment) -> list[dict[str, Any]]:
    """The records of the things that the job is about, and of those that it is not about."""
    rows = [rows for spec in environment.services.values() for rows in spec.records.values()]
    return next(list(some) for some in rows if any(row.get("id") == "$t1.id" for row in some))


@pytest.mark.parametrize("rows", [0, 3, 40])
def test_rows_are_records_that_have_nothing_to_do_with_the_job(rows: int) -> None:
    usual = len(register_rows(make(refund("A1", knobs={"rows": 0, "near": 0}))))
    assert len(register_rows(make(refund("A1", knobs={"rows": rows, "near": 0})))) == usual + rows


@pytest.mark.parametrize("family", ["refunds", "leave", "purchasing", "grants"])
@pytest.mark.parametrize("half", ["first", "second"])
def test_there_is_room_for_all_knobs_turned_up(family: str, half: Half) -> None:
    """Values of one kind differ, so there must be enough of each: days, names, numbers."""
    most = {name: knob.most for name, knob in KNOBS.items()}
    environment = make(Origin(seed=2, family=family, capabilities=("C2", "E1", "F3"), half=half, knobs=most))
    assert len(register_rows(environment)) > 70


@pytest.mark.parametrize("near", [0, 2, 6])
def test_near_misses_are_like_one_of_the_job_in_all_but_name_and_number(near: int) -> None:
    environment = make(refund("A1", knobs={"rows": 0, "near": near}))
    known = resolve({"facts": with_twin(plain(environment), None)["facts"], "all": register_rows(environment)})["all"]
    one = next(row for row in known if row["id"] == environment.facts["t1"]["id"])
    alike = [row for row in known if row is not one and sum(row[key] == one[key] for key in one) >= 2]
    assert len(alike) >= near
    assert all(row["id"] != one["id"] for row in alike)
    assert len({row["id"] for row in known}) == len(known)


@pytest.mark.parametrize("articles", [0, 1, 4])
def test_articles_are_of_the_handbook_and_have_nothing_to_do_with_the_job(articles: int) -> None:
    def count(knob: int) -> int:
        environment = make(refund("B1", knobs={"articles": knob}))
        rows = (rows for spec in environment.services.values() for rows in spec.records.values())
        return sum("topic" in row for some in rows for row in some)

    assert count(articles) == count(0) + articles


def test_a_knob_that_is_not_turned_is_as_usual() -> None:
    usual = {name: knob.usual for name, knob in KNOBS.items()}
    said, silent = make(refund("B1", knobs=usual)), make(refund("B1"))
    assert len(register_rows(said)) == len(register_rows(silent))


# --- halves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_names_of_one_half_are_in_no_environment_of_the_other(seed: int) -> None:
    words = lexicon()
    for half, taken in (("first", 1), ("second", 0)):
        text = write(make(refund("A1", "B1", "G2", seed=seed, half=half)))
        others = [*words.given[taken::2], *words.surnames[taken::2], *words.companies[taken::2]]
        assert [name for name in others if f" {name} " in text or f'"{name}"' in text or f" {name}," in text] == []


def test_unseen_interfaces_have_other_names_everywhere() -> None:
    known, unseen = (make(refund("A1", "B1", interface=interface)) for interface in ("known", "unseen"))
    assert not set(known.services) & set(unseen.services)
    for one, other in ((known, unseen), (unseen, known)):
        fields = {
            field for spec in one.services.values() for shape in spec.collections.values() for field in shape.fields
        }
        others = {
            field for spec in other.services.values() for shape in spec.collections.values() for field in shape.fields
        }
        assert fields & others <= {"id", "topic", "title", "text"}
