"""An environment while it is composed: what fragments add to, and what they can build on.

Knows the parts that every job has (things in a register, what is done to them, people, a handbook, a request, a report)
and holds what fragments add to each. Does not know any capability, nor how the parts become a file (`assembling`).

Everything is written with references: `$t1.id` is the author's side of a thing's id, `it.id` the agent's side of it in
a step that goes over the things. Values come last, all at once (`solving`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, TypeAlias, TypeVar

import msgspec

from ...events.event import Json
from .family import Family, Guise, Lexicon, Pool, Store, Words, cents, guises, lexicon, stores
from .grammar import LANGUAGES, Grammar, capital, halved
from .origin import Draw, Origin
from .pieces import Ask, Column, Guard, Slot, System, Tell, Thing
from .solving import Facts

T = TypeVar("T")

Phrases: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]
"""By language and name: alternatives of one phrase."""

# Phases of the oracle's steps, in order. Within one, steps stay in the order in which they were added.
SOURCE, FILTER, LOOK, ASK, LATE, APPROVE, CLOSE, DEED, VERIFY, REACT, REPORT = range(10, 120, 10)

NO_WORDS = (
    "not", "cannot", "can't", "couldn't", "could not", "didn't", "isn't", "wasn't", "won't", "no", "none", "refused",
    "rejected", "declined", "failed", "without", "unable", "missing",
    "nicht", "kein", "keine", "keinen", "abgelehnt", "verweigert", "fehlgeschlagen", "ohne", "fehlt",
)  # fmt: skip
"""Words by which a report says that something is not so."""


class Knob(msgspec.Struct, frozen=True):
    """One dimension of difficulty that can be asked for."""

    usual: int
    most: int


KNOBS: Mapping[str, Knob] = {"rows": Knob(5, 60), "near": Knob(0, 10), "articles": Knob(2, 4)}
"""Records that have nothing to do with the job; of them, such as differ from one of the job in name and number only;
articles of the handbook that have nothing to do with it."""
SUFFIXES = {
    "company": ("Group", "Partners", "Systems", "Holding", "Service"),
    "item": ("A4", "B7", "C2", "D9", "E3"),
    "project": ("Alpha", "Beta", "Gamma", "Delta", "Omega"),
}
"""What follows an invented name, so that there are enough, some of them near misses."""
OTHER_NUMBERS = "other-numbers"
"""The twin that every environment has."""


class Draft:
    """What a workflow comes to, so far."""

    def __init__(self, origin: Origin, family: Family) -> None:
        self.origin = origin
        self.family = family
        self.lexicon: Lexicon = lexicon()
        self.facts = Facts()
        self.grammar = Grammar(origin.draw("phrases"), origin.half, origin.language, origin.style)
        self._names = origin.draw("interface")
        self._people = origin.draw("people")
        self._values = origin.draw("values")
        self._guises = origin.draw("guises").shuffled(guises())
        self.words: dict[str, str] = _words(family.words[origin.language])
        """What `{name}`s stand for in phrases."""
        self.start = _monday(origin.draw("start"))
        self.zone = "Europe/Berlin" if origin.language == "de" else "Europe/London"

        self.people: dict[str, dict[str, Any]] = {}
        self.roles: dict[str, str] = {}
        self.systems: dict[str, System] = {}
        self.handbook_articles: list[dict[str, Json]] = []
        self.timeline: list[dict[str, Json]] = []
        self.faults: list[dict[str, Json]] = []
        self.checks: dict[str, dict[str, Json]] = {}
        self.traps: dict[str, dict[str, Json]] = {}
        self.twins: dict[str, dict[str, Json]] = {}
        self._steps: list[tuple[int, int, dict[str, Json]]] = []
        self.sentences: list[str] = []
        """Of the request: what is to be done."""
        self.details: list[str] = []
        """Of the request: what else it says."""
        self.things: list[Thing] = []
        self.owners: list[str] = self.names(3)
        """Who looks after things."""
        self.columns: list[Column] = []
        self.slots: list[Slot] = []
        self.asks: list[Ask] = []
        self.tells: list[Tell] = []
        self.guards: list[Guard] = []
        self.sources: list[str] = []
        """Expressions over steps, each a list of things that the request is about."""
        self.again: list[dict[str, Json]] = []
        """Steps that do the deed once more."""
        self.retry_twin = ""
        """The twin, if any, in which the deed is done once more because it was lost."""
        self.copies: list[dict[str, Json]] = []
        """Steps that make an entry anew from an old one, `it`."""
        self.targets = "@targets"
        """Expression for the list of things that it is done for; filters put their own in its place."""
        self.done = "where(@deed as entry, entry)"
        """Expression for the list of entries (things, in mode `update`) that the oracle has made."""
        self.minutes = 80
        """How long the oracle may take; the deadline is three times as much."""
        self.final: tuple[str, str] | None = None
        """In mode `update`: the field of a thing that shows that it is done, and its value then."""
        self.deed_tool = self.amend_tool = ""
        self.deed_key = "id"
        """The argument of the deed that names the thing; in mode `create` also a field of the entry."""

        self.requester = self.person("requester")
        self.register = self.systems["register"] = self._register()
        self.book = self._book()
        """Where it is seen what was done; the register itself, in mode `update`."""
        self.systems.setdefault("book", self.book)

    # --- names ---------------------------------------------------------------------------------------------

    def name(self, pool: Pool) -> str:
        """One of a pool's names, known or unseen as the origin says."""
        return self._names.choice(pool.known if self.origin.interface == "known" else pool.unseen)

    def half(self, names: Sequence[str]) -> Sequence[str]:
        """The half of some names that this environment may use."""
        return halved(names, self.origin.half)

    def text(self, phrases: Phrases, name: str, **words: str) -> str:
        """A phrase of a capability in the language of the environment, filled; it starts with a capital."""
        return capital(self.grammar.phrase(phrases[self.origin.language][name], {**self.words, **words}))

    def guise(self, *kinds: str) -> Guise:
        """A kind of value that no other slot has. Raises `NoGuise` if none of these kinds is left."""
        for guise in self._guises:
            if guise.kind in kinds:
                self._guises.remove(guise)
                return guise
        raise NoGuise(f"no other kind of value is left of {', '.join(kinds)}")

    def domain(self, guise: Guise, count: int = 24) -> list[Json]:
        """Values that a guise may have."""
        draw = self._values
        if guise.kind == "code":
            return list(dict.fromkeys(_code(guise.pattern, draw) for _ in range(count)))
        if guise.kind == "date":
            return [day.isoformat() for day in draw.sample(self.workdays(4, 60), count)]
        if guise.kind == "quantity":
            return list(range(guise.low, guise.high))
        if guise.kind == "person":
            return list(self.half(self.lexicon.surnames))
        return list(guise.values)

    def field(self, guise: Guise) -> dict[str, Json]:
        """How a field of this guise is declared."""
        types = {"code": "id", "date": "date", "quantity": "integer", "choice": "choice"}
        spec: dict[str, Json] = {"type": types.get(guise.kind, "text"), "about": guise.about}
        return {**spec, "of": list(guise.values)} if guise.kind == "choice" else spec

    def called(self, guise: Guise) -> dict[str, str]:
        """Words for a guise in phrases: `{the}` (as an object) and `{noun}`."""
        return {"the": guise.the[self.origin.language], "noun": guise.noun[self.origin.language]}

    def keywords(self, guise: Guise) -> list[Json]:
        """Keywords of a guise in all languages, and what its field may be called."""
        words = [word for language in LANGUAGES for word in guise.words[language]]
        more = [word.replace("Zahl der", "Anzahl der") for word in words if word.startswith("Zahl der")]
        return [*words, *more, *(name for name in (*guise.field.known, *guise.field.unseen) if "_" in name)]

    def workdays(self, first: int, last: int) -> list[date]:
        """Mondays to Fridays between so many days after the start."""
        days = [self.start + timedelta(days=n) for n in range(first, last)]
        return [day for day in days if day.weekday() < 5]

    # --- people --------------------------------------------------------------------------------------------

    def person(self, role: str) -> str:
        """A person for this role, the same one each time: their key. Phrases call them `{role}`."""
        if role in self.roles:
            return self.roles[role]
        free = [name for name in self.half(self.lexicon.given) if name.lower() not in self.people]
        owners = [owner.partition(" ")[0] for owner in self.owners]  # who would be found by the first name as well
        key = self._people.choice([name for name in free if name not in owners] or free).lower()
        titles = self.family.words[self.origin.language].roles.get(role)
        titles = titles or self.lexicon.roles[self.origin.language].get(role, ("colleague",))
        self.people[key] = {"role": self._people.choice(self.half(titles)), "replies": []}
        self.words[role] = key.capitalize()
        self.roles[role] = key
        return key

    def otherwise(self, person: str, text: str) -> None:
        """What a person says to what they do not understand."""
        self.people[person].setdefault("otherwise", text)

    def rule(self, person: str, **reply: Json) -> dict[str, Json]:
        """A rule by which a person answers; see `environment.Reply`."""
        rules: list[Json] = self.people[person]["replies"]
        rules.append(reply)
        return reply

    def ask(
        self, name: str, person: str, text: str, gives: Mapping[str, Json], words: Sequence[Json], say: str,
        after: str = "4m", phase: int = ASK, step: str | None = None, **more: Json,
    ) -> Ask:  # fmt: skip
        """A question of the oracle, and the rule that answers it; its value is what the answer gives."""
        step = step or f"{name}_answer"
        heard: dict[str, Json] = {"any": list(words)} if words else {}
        reply = self.rule(person, **heard, say=say, gives=dict(gives), after=after, **more)
        oracle = self.step(phase, step, ask=person, text=text)
        asked = Ask(name, step, person, tuple(gives), reply, oracle)
        self.asks.append(asked)
        return asked

    # --- systems -------------------------------------------------------------------------------------------

    def store(self, name: str, fields: Mapping[str, dict[str, Json]], can: Sequence[str] = ("find",)) -> System:
        """A system of `lexicon/stores.yaml` (`handbook`, `directory`, …) with one collection; the same each time."""
        if name not in self.systems:
            self.systems[name] = self._system(stores()[name], fields, can)
        return self.systems[name]

    def _system(self, store: Store, fields: Mapping[str, dict[str, Json]], can: Sequence[str]) -> System:
        service, collection = self.name(store.service), self.name(store.collection)
        if any(system.service == service for system in self.systems.values()):
            service = f"{service}_{collection}"
        shape: dict[str, Any] = {"can": list(can), "fields": dict(fields)}
        return System(service, collection, self.name(store.id), store.about, shape)

    def _register(self) -> System:
        register = self.family.register
        parts = {"label": register.label, "amount": register.amount, "category": register.category}
        parts |= {"owner": register.owner, "due": register.due}
        types = {"amount": "number" if register.amount.cents else "integer", "due": "date"}
        names = {key: self.name(part.field) for key, part in parts.items()}
        fields: dict[str, dict[str, Json]] = {"id": {"type": "id", "required": True}}
        for key, part in parts.items():
            fields[names[key]] = {"type": types.get(key, "text"), **({"about": part.about} if part.about else {})}
        system = self._system(register, fields, ("find",))
        system.names = {"id": "id", **names}
        self.words["category_field"] = names["category"]
        return system

    def _book(self) -> System:
        """Where the job is done, and by which tool."""
        family = self.family
        if family.mode == "update":
            assert family.final is not None
            final = family.final
            field, tool = self.name(final.field), self.name(final.tool)
            self.register.fields[field] = {"type": "choice", "of": [*final.before, final.after]}
            before = self._values.choice(final.before)
            self.columns.append(Column(field, self.register.fields[field], lambda thing: before))
            self.final = (field, final.after)
            self.deed_tool = self.amend_tool = f"{self.register.service}.{tool}"
            self.register.tools[tool] = {"verb": "update", "set": {field: final.after}}
            return self.register
        book = family.book
        assert book is not None
        self.deed_key, tool = self.name(book.thing), self.name(book.create)
        system = self._system(book, {}, ("find", "update", "delete"))
        system.fields["id"] = {"type": "id", "new": f"{system.prefix}-{{n}}"}
        about = f"What it is for: an id of {self.register.path}."
        system.fields[self.deed_key] = {"type": "id", "required": True, "about": about}
        self.amend_tool = f"{system.path}.update"
        if tool == "create":
            system.shape["can"] = ["find", "create", "update", "delete"]
            self.deed_tool = f"{system.path}.create"
        else:
            system.tools[tool] = {"verb": "create"}
            self.deed_tool = f"{system.service}.{tool}"
        return system

    def article(self, name: str, text: str, title: str = "", **more: Json) -> str:
        """An article of the handbook about the topic `name`; the oracle has it as this expression."""
        german = self.lexicon.titles.get(name, "") if self.origin.language == "de" else ""
        title = title or german or (name if " " in name else name.replace("-", " ")).capitalize()
        topic = title.lower()
        self.handbook_articles.append({"topic": topic, "title": title, "text": text, **more})
        return f"first(where(@rules as rule, rule.topic == '{topic}')).text"

    # --- things --------------------------------------------------------------------------------------------

    def thing(self, wanted: bool = False, group: str = "") -> Thing:
        """One more record of the register; with `wanted`, one that the job is about."""
        thing = Thing(f"t{len(self.things) + 1}")
        thing.group = group
        thing.wanted = [] if wanted else None
        register, facts = self.family.register, self.facts
        facts.choose(f"{thing.name}.id", self.ids(self.register), "id")
        if wanted:
            self.vary_number(thing)
        facts.choose(f"{thing.name}.label", self.labels(), "label")
        facts.choose(f"{thing.name}.amount", self.amounts(register.amount.low, register.amount.high), "number")
        facts.choose(f"{thing.name}.category", register.category.values[1:])
        facts.choose(f"{thing.name}.owner", self.owners)
        last = 40 + 2 * max(self.knob("rows") - KNOBS["rows"].usual, 0)  # days enough for all to differ
        facts.choose(f"{thing.name}.due", [day.isoformat() for day in self.workdays(5, last)], "date")
        self.things.append(thing)
        return thing

    def sure(self) -> Thing:
        """A thing that the job is about in all variants (or in the base, if there is none)."""
        wanted = [thing for thing in self.things if thing.wanted is not None]
        return next((thing for thing in wanted if not thing.flips and not thing.possible), wanted[0])

    def may_vary(self, thing: Thing) -> bool:
        """Whether it may be that nothing is done for a thing of the job."""
        return bool(thing.flips or thing.possible or self.guards)

    def vary_number(self, thing: Thing) -> None:
        """In a twin the thing has another id: nobody can know it without looking."""
        self.facts.choose(f"{thing.name}.id", self.ids(self.register), "id", twin=OTHER_NUMBERS)

    def limit(self, name: str, twin: str) -> str:
        """A limit under the amount of a thing that the job is about, and above it in the twin; none is near to it."""
        register, sure = self.family.register.amount, self.sure()
        width = register.high - register.low
        domain = [register.low + width * percent // 100 for percent in range(20, 80, 5)]
        self.facts.choose(name, domain, "number")
        self.facts.choose(name, domain, "number", twin=twin)
        self.facts.require(lambda limit, amount: amount > limit, name, f"{sure.name}.amount")
        self.facts.require(lambda limit, amount: amount < limit, (name, twin), f"{sure.name}.amount")
        for thing in self.things:
            if thing.wanted is not None:
                for limit in (name, (name, twin)):
                    self.facts.require(
                        lambda limit, amount: abs(amount - limit) * 50 > width, limit, f"{thing.name}.amount"
                    )
        return f"${name}"

    def ids(self, system: System) -> list[Json]:
        """Ids that a record of a system may have."""
        return [f"{system.prefix}-{1000 + self._values.below(9000)}" for _ in range(40)]

    def labels(self) -> list[Json]:
        """What a thing may be called."""
        lexicon, kind = self.lexicon, self.family.register.label.kind
        if kind == "person":
            return list(self.names(40))
        names = {"company": lexicon.companies, "item": lexicon.items, "project": lexicon.projects}[kind]
        return [f"{name} {more}" for name in self.half(names) for more in SUFFIXES[kind]]

    def names(self, count: int) -> list[str]:
        """Names of people who take no part."""
        given = [name for name in self.half(self.lexicon.given) if name.lower() not in self.people]
        surnames = self.half(self.lexicon.surnames)
        return [f"{self._values.choice(given)} {self._values.choice(surnames)}" for _ in range(count)]

    def amounts(self, low: int, high: int, count: int = 40) -> list[Json]:
        """Sums or numbers in the register's kind."""
        kind = self.money if self.family.register.amount.cents else self.numbers
        return kind(low, high, count)

    def money(self, low: int, high: int, count: int = 40) -> list[Json]:
        """Sums of money with two places."""
        return list(self._values.sample(cents(low, high), count))

    def numbers(self, low: int, high: int, count: int = 40) -> list[Json]:
        """Whole numbers in [low, high)."""
        return list(self._values.sample(range(low, high), min(count, high - low)))

    def pick(self, items: Sequence[Any], count: int) -> list[Any]:
        """Some of these items, drawn."""
        return self._values.sample(items, count)

    def arranged(self, items: Sequence[T], purpose: str) -> list[T]:
        """Records in the order in which they lie, which says nothing."""
        return self.origin.draw(purpose).shuffled(items)

    def half_articles(self) -> list[dict[str, Json]]:
        """Articles of the handbook that have nothing to do with the job."""
        articles = halved(self.lexicon.articles[self.origin.language], self.origin.half)
        some = articles[: self.knob("articles")]
        return [{"topic": title.lower(), "title": title, "text": text} for title, text in some]

    def knob(self, name: str) -> int:
        """How far a knob of difficulty is turned."""
        return self.origin.knobs.get(name, KNOBS[name].usual)

    def near_miss(self) -> Thing:
        """One more record that nobody asked about, and that is like one of the job in all but its name and number."""
        like, thing = self.sure(), self.thing()
        for attribute in ("category", "owner"):
            self.facts.same(f"{thing.name}.{attribute}", like.ref(attribute))
        return thing

    def column(self, field: str, spec: dict[str, Json], value: Callable[[Thing], Json]) -> None:
        """One more field of all things, those that come later too."""
        self.register.fields[field] = spec
        self.columns.append(Column(field, spec, value))

    def name_thing(self, group: str = "") -> Thing:
        """One more thing that the request names by its label, and that the oracle looks up."""
        thing = self.thing(wanted=True, group=group)
        self.name_in_request(thing.label)
        self.look_up(f"found_{thing.name}", {self.register.names["label"]: thing.label})
        return thing

    def name_in_request(self, label: str) -> None:
        """A sentence of the request that wants it done for what has this label, a reference such as `$t1.label`."""
        phrases = self.family.words[self.origin.language]
        alternatives = phrases.do_more if self.sources else phrases.do_one
        self.sentences.append(self.grammar.phrase(alternatives, {**self.words, "label": f"${{{label[1:]}}}"}))

    def look_up(self, step: str, args: Mapping[str, Json], phase: int = SOURCE) -> str:
        """A step that finds things; what it finds is one more source of what the job is about."""
        self.step(phase, step, call=f"{self.register.path}.find", args=dict(args))
        expression = self.items(f"@{step}")
        self.sources.append(expression)
        return expression

    def items(self, step: str) -> str:
        """The records in what a `find` of the register gave, in pages or not."""
        return f"{step}.items" if "pages" in self.register.shape else step

    # --- the oracle ----------------------------------------------------------------------------------------

    def step(self, phase: int, name: str, **step: Json) -> dict[str, Json]:
        """A step of the oracle; `condition` stands for `if`."""
        made = {"as": name, **_spelt(step)}
        self._steps.append((phase, len(self._steps), made))
        return made

    def steps(self) -> list[dict[str, Json]]:
        """All steps in order."""
        return [step for _, _, step in sorted(self._steps, key=lambda entry: entry[:2])]

    def slot(self, name: str, guise: Guise, truth: str | Callable[[Thing], str], seen: str, **more: Any) -> Slot:
        """A field of what is done, in a guise. `truth` is an expression over facts, for all things or for one."""
        return self.add_slot(name, self.name(guise.field), self.field(guise), truth, seen, guise=guise, **more)

    def add_slot(
        self, name: str, field: str, spec: dict[str, Json], truth: str | Callable[[Thing], str], seen: str, **more: Any
    ) -> Slot:
        """A field of what is done that has no guise."""
        value = truth if callable(truth) else lambda thing: truth
        made = Slot(name, field, spec, value, seen, **more)
        self.book.fields[field] = spec
        self.slots.append(made)
        return made

    def board(self) -> System:
        """The system of figures that others keep: each has a `name` and a `value`."""
        fields: dict[str, dict[str, Json]] = {"id": {"type": "id"}, "name": {"type": "text"}, "value": {"type": "any"}}
        return self.store("board", fields)

    def mail(self, sender: str, subject: str, text: str) -> System:
        """A mail that has come in; the system of all of them."""
        fields = {"id": "id", "sender": "text", "subject": "text", "text": "text"}
        system = self.store("mailbox", {field: {"type": kind} for field, kind in fields.items()})
        number = f"{system.prefix}-{201 + 3 * len(system.records)}"
        system.records.append({"id": number, "sender": sender, "subject": subject, "text": text})
        return system

    def deed_again(self, phase: int, step: str, each: str) -> None:
        """A step that does the deed again, for these things; its arguments are filled in last."""
        self.again.append(self.step(phase, step, each=each, call=self.deed_tool))

    def amend(self, phase: int, step: str, field: str, value: str, condition: str) -> None:
        """A step that changes a field of everything that was done."""
        args = {"id": "=it.id", field: f"={value}"}
        self.step(phase, step, each=self.done, condition=condition, call=self.amend_tool, args=args)

    # --- what is graded ------------------------------------------------------------------------------------

    def check(self, name: str, **check: Json) -> None:
        """A check; `condition` stands for `if`."""
        self.checks[name] = _spelt(check)

    def trap(self, name: str, loses: int = 0, **trap: Json) -> None:
        """A plausible bad agent. In some variant it trips a gate, or it loses checks of at least this weight."""
        self.traps[name] = {"loses": loses, **trap}

    def twin(self, name: str, **patch: Json) -> None:
        """A twin: the facts that were chosen for it, and perhaps a patch of other parts."""
        self.twins[name] = dict(patch)

    def request(self, phrases: Phrases, name: str, **words: str) -> None:
        """A sentence of the request."""
        self.details.append(self.text(phrases, name, **words))

    def tell(self, name: str, phrases: Phrases, phrase: str, mentions: Sequence[Json] = (), **more: Any) -> Tell:
        """A sentence of the report."""
        words = more.pop("words", {})
        made = Tell(name, self.text(phrases, phrase, **words), tuple(mentions), **more)
        self.tells.append(made)
        return made

    def guard(self, truth: str, seen: str) -> None:
        """Nothing is done unless this holds."""
        self.guards.append(Guard(truth, seen))

    def event(self, **entry: Json) -> None:
        """An entry of the timeline; `sender` stands for `from`."""
        self.timeline.append(_spelt(entry))


def read_off(article: str, text: str, fact: str) -> str:
    """An expression for what stands at `${fact}` in the text of an article: what is between the words around it.

    `article` is the expression for its text. Raises ValueError unless the fact is there once, with words on both sides.
    """
    before, after = text.split(f"${{{fact}}}")
    starts = (n for n in range(len(before) - 4, 0, -1) if before[n - 1] == " " and text.find(before[n:]) == n)
    words = (before[next(starts, 0) :], after.split("$")[0][:3])
    if "}" in words[0] or not all(words):
        raise ValueError(f"nothing marks where {fact} stands in {text!r}")
    quoted = ("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)
    return f"between({article}, {', '.join(quoted)})"


class NoGuise(ValueError):
    """A workflow needs more kinds of values than there are."""


def _spelt(part: Mapping[str, Json]) -> dict[str, Json]:
    """A part as the file spells it: without what is None, and with keys that Python keeps for itself."""
    keys = {"condition": "if", "sender": "from"}
    return {keys.get(key, key): value for key, value in part.items() if value is not None}


def _words(words: Words) -> dict[str, str]:
    plain = msgspec.to_builtins(words)
    return {key: value for key, value in plain.items() if isinstance(value, str)}


def _monday(draw: Draw) -> date:
    """A Monday to Thursday of 2026, so that the next day is a working day."""
    return date(2026, 1, 12) + timedelta(days=7 * draw.below(44) + draw.below(4))


def _code(pattern: str, draw: Draw) -> str:
    kinds = {"#": "123456789", "@": "ABCDEFHKLMNPRTUVWX"}
    return "".join(draw.choice(kinds[sign]) if sign in kinds else sign for sign in pattern)
