"""Families: the jobs that environments are about, as data, and the words they are told in.

Knows the folder `families/`, one file a family, and `lexicon/`. Does not know capabilities, nor how an environment is
put together. A family says what its things are, in which systems they lie, what is done to them, and how people speak
of it; everything else comes from the capabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

import msgspec

from ..document import parse

T = TypeVar("T")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Anything in a family's file."""


class Pool(Part, frozen=True):
    """Names for one thing in an interface: those that training may have, and those that it never has."""

    known: tuple[str, ...]
    unseen: tuple[str, ...]


class Attribute(Part, frozen=True):
    """One field that every thing of the register has."""

    field: Pool
    about: str = ""


class Label(Attribute, frozen=True):
    """What people call a thing by."""

    kind: Literal["person", "company", "item", "project"] = "person"


class Amount(Attribute, frozen=True):
    low: int = 10
    high: int = 900
    cents: bool = True
    """Whether it has two places after the point; otherwise a whole number."""


class Category(Attribute, frozen=True):
    values: tuple[str, ...] = ()
    """At least four."""


class Store(Part, frozen=True):
    """A collection in a system of record."""

    service: Pool
    collection: Pool
    id: Pool
    """Prefixes of its ids."""
    about: str = ""


class Register(Store, frozen=True, kw_only=True):
    """Where the things lie that the job is about."""

    label: Label
    amount: Amount
    category: Category
    owner: Attribute
    """Who looks after a thing; a name of the lexicon."""
    due: Attribute
    """A date."""


class Book(Store, frozen=True, kw_only=True):
    """Where the job is done. In a family of mode `create` each thing gets an entry here."""

    thing: Pool
    """The field of an entry that names its thing."""
    create: Pool
    """Names of the tool that makes an entry."""


class Final(Part, frozen=True):
    """In a family of mode `update` the thing itself changes: this field, from a value of `before` to `after`."""

    field: Pool
    before: tuple[str, ...]
    after: str
    tool: Pool


class Words(Part, frozen=True):
    """How people of one language speak of the job."""

    thing: str
    things: str
    the_thing: str
    """As a subject, article included."""
    the_thing_acc: str
    the_thing_dat: str
    the_things: str
    entry: str
    the_entry: str
    the_entry_acc: str
    entries: str
    do_one: tuple[str, ...]
    """Requests for one thing, which is called `{label}`: whole sentences, at least four."""
    do_all: tuple[str, ...]
    """Requests for all things of a category: `{category_field}` and `{category}`; whole sentences, at least four."""
    do_more: tuple[str, ...]
    """For one more, `{label}`, after such a request: whole sentences, at least two."""
    done: tuple[str, ...]
    """Reports: `{list}` are the numbers of the things it was done for; at least two."""
    roles: Mapping[str, tuple[str, ...]] = {}
    """Titles of people by role (`requester`, `approver`, …), where the usual ones do not fit."""


class Family(Part, frozen=True, kw_only=True):
    family: str
    area: str
    """What ids begin with: `finance`."""
    title: Mapping[str, str]
    """By language."""
    mode: Literal["create", "update"] = "create"
    register: Register
    book: Book | None = None
    final: Final | None = None
    words: Mapping[str, Words]


class Guise(Part, frozen=True, kw_only=True):
    """A kind of value that an entry can have beside its thing, and that a capability may bring."""

    name: str
    kind: Literal["code", "date", "quantity", "place", "choice", "person"]
    field: Pool
    about: str = ""
    pattern: str = ""
    """Of a code: `CC-###`, a `#` is a digit, an `@` a letter."""
    low: int = 2
    high: int = 60
    values: tuple[str, ...] = ()
    """Of a choice, or places."""
    the: Mapping[str, str]
    """By language: `the cost centre`, as an object."""
    noun: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]]
    """By language: keywords by which a question for it is understood."""


class Lexicon(Part, frozen=True):
    """Invented names, and what goes with no family in particular. The even places are the first half."""

    given: tuple[str, ...]
    surnames: tuple[str, ...]
    companies: tuple[str, ...]
    items: tuple[str, ...]
    projects: tuple[str, ...]
    teams: tuple[str, ...]
    cities: Mapping[str, str]
    """Their time zones."""
    roles: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By language and role."""
    titles: Mapping[str, str]
    """German titles of the handbook's articles, by their English names."""
    articles: Mapping[str, tuple[tuple[str, str], ...]]
    """By language: articles of a handbook that have nothing to do with it, as title and text."""


def _read(path: str, type_: type[T]) -> T:
    text = (files(__package__) / path).read_text(encoding="utf-8")
    return msgspec.convert(parse(text), type_)


@cache
def families() -> Mapping[str, Family]:
    """All families by name, sorted."""
    folder: Any = files(__package__) / "families"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    read = [_read(f"families/{name}", Family) for name in names]
    return {family.family: family for family in read}


@cache
def lexicon() -> Lexicon:
    return _read("lexicon/names.yaml", Lexicon)


@cache
def stores() -> Mapping[str, Store]:
    """Systems that a capability may need beside the family's, by name: `handbook`, `ledger`."""
    return _read("lexicon/stores.yaml", dict[str, Store])


@cache
def guises() -> tuple[Guise, ...]:
    return _read("lexicon/guises.yaml", tuple[Guise, ...])


def cents(low: int, high: int) -> list[Decimal]:
    """Sums of money between two whole numbers, with two places, none of them round."""
    return [Decimal(f"{whole}.{part}") for whole in range(low, high) for part in (35, 60, 85)]
