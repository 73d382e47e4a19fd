"""B4: policy conflict or exception: newest, most specific wins.

The handbook says three things about one value: an old article, its revision, and an exception for what one person looks
after. Which of the two is the revision, and whose the exception is, flips in a twin each.
"""

from __future__ import annotations

from ..draft import LOOK, Draft, Phrases, read_off
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Put in {the} too; what the handbook says about it has changed over time, so mind what is in force.",
            "{the} has to be in there as well. Careful, the handbook has more than one article on it.",
            "Also enter {the}, by whichever article of the handbook applies.",
            "Add {the} as well; there are several articles about that in the handbook, take the one that counts.",
        ],
        "general": [
            'For {entries} we use "{value}" as {the}.',
            '{the} is always "{value}" in our house.',
            'Enter "{value}" as {the}.',
            'With {entries}, {the} has to be "{value}" from now on.',
        ],
        "special": [
            'If {owner_field} is {person}, then {the} is "{value}" instead.',
            'For {things} that have {person} under {owner_field}, enter "{value}" as {the}.',
            'Exception: whatever lies with {person} (see {owner_field}) gets "{value}" as {the}.',
            'Where you find {person} in {owner_field}, use "{value}" as {the}.',
        ],
        "precedence": [
            "When articles differ, one about particular {things} goes before one about all. Between two about all, the later {dated} counts.",
            "Articles may disagree. An exception for some {things} always beats what is said in general; of two general articles, only the one that was revised last ({dated}) is in force.",
            "If two articles do not fit together: the more specific one wins, whatever its date. If both are general, the newer one wins, by {dated}.",
            "An article that is for certain {things} only has priority over general ones, old or not. A general article is replaced by any other on the same topic with a later {dated}.",
        ],
    },
    "de": {
        "request": [
            "Trag auch {the} ein; was das Handbuch dazu sagt, hat sich mit der Zeit geändert, achte also darauf, was gilt.",
            "Hinein gehört außerdem {the}. Vorsicht, im Handbuch steht dazu mehr als ein Artikel.",
            "Gib außerdem {the} an, nach dem Artikel des Handbuchs, der dafür gilt.",
            "Ergänze noch {the}; im Handbuch stehen dazu mehrere Artikel, nimm den maßgeblichen.",
        ],
        "general": [
            'Als {noun} nehmen wir "{value}" für {entries}.',
            'Bei uns gilt immer "{value}" als {noun}.',
            'Als {noun} ist "{value}" einzutragen.',
            'Für {entries} gilt ab jetzt "{value}" als {noun}.',
        ],
        "special": [
            'Steht {person} unter {owner_field}, gilt stattdessen "{value}" als {noun}.',
            'Wo unter {owner_field} der Name {person} steht, ist "{value}" einzutragen, was {the} angeht.',
            'Ausnahme: Was bei {person} liegt (siehe {owner_field}), bekommt "{value}" als {noun}.',
            'Findest du {person} unter {owner_field}, nimm "{value}" als {noun}.',
        ],
        "precedence": [
            "Wenn Artikel sich widersprechen, geht einer für bestimmte {things} dem für alle vor. Von zwei Artikeln für alle gilt der mit dem späteren {dated}.",
            "Artikel können einander widersprechen. Eine Ausnahme für manche {things} schlägt immer das Allgemeine; von zwei allgemeinen gilt nur der zuletzt geänderte ({dated}).",
            "Passen zwei Artikel nicht zusammen: Der speziellere gewinnt, gleich von wann er ist. Sind beide allgemein, gewinnt der neuere nach {dated}.",
            "Was nur für gewisse {things} gilt, hat Vorrang vor Allgemeinem, ob alt oder nicht. Ein allgemeiner Artikel wird durch jeden anderen zum selben Thema mit späterem {dated} ersetzt.",
        ],
    },
}  # fmt: skip
DATED = "revised_on"


def build(draft: Draft) -> None:
    guise = draft.guise("place", "choice", "code")
    facts, words = draft.facts, draft.called(guise)
    for name in ("first", "second", "special"):
        facts.choose(f"b4.{name}", draft.domain(guise), guise.kind)
    _dates(draft)
    owner = draft.words["owner_field"] = draft.register.names["owner"]
    sure = draft.sure()
    facts.choose("b4.person", draft.owners)
    facts.choose("b4.person", draft.owners, twin="b4-other-exception")
    facts.require(lambda person, other: person != other, "b4.person", f"{sure.name}.owner")
    facts.require(lambda person, other: person == other, ("b4.person", "b4-other-exception"), f"{sure.name}.owner")
    draft.request(PHRASES, "request", **words)
    topic = guise.noun[draft.origin.language].lower()
    general = draft.text(PHRASES, "general", value="${b4.first}", **words)
    for name in ("first", "second"):
        draft.article(topic, general.replace("b4.first", f"b4.{name}"), **{DATED: f"$b4.{name}_on"})
    special = draft.text(PHRASES, "special", person="${b4.person}", value="${b4.special}", **words)
    draft.article(topic, special, **{DATED: "$b4.special_on"})
    draft.article(
        "precedence" if draft.origin.language == "en" else "vorrang", draft.text(PHRASES, "precedence", dated=DATED)
    )
    person = read_off("rule.text", special, "b4.person")
    _steps(draft, topic, special, person)

    def truth(thing: Thing) -> str:
        newest = "choose($b4.first_on > $b4.second_on, $b4.first, $b4.second)"
        return f"choose({thing.ref('owner')} == $b4.person, $b4.special, {newest})"

    draft.slot("b4", guise, truth, f"choose(it.{owner} == @b4_person, @b4_special, @b4_general)")
    draft.twin("b4-other-revision")
    draft.twin("b4-other-exception")
    old = {"b4_general.calc": _general("first", person)}
    draft.trap("b4-follows-the-superseded", 2, change=old, why="Follows the article as it was.")
    draft.trap(
        "b4-overlooks-the-exception", 2, change={"b4_special.calc": "@b4_general"}, why="Takes the rule for all."
    )


def _dates(draft: Draft) -> None:
    """The exception is the oldest of the three, so the newest article is not always the one that counts."""
    long_ago, ago, lately = (
        [day.isoformat() for day in draft.workdays(-first, -last)]
        for first, last in ((900, 700), (600, 400), (200, 20))
    )
    draft.facts.choose("b4.special_on", long_ago)
    draft.facts.choose("b4.first_on", ago)
    draft.facts.choose("b4.second_on", lately)
    draft.facts.choose("b4.first_on", lately, twin="b4-other-revision")
    draft.facts.choose("b4.second_on", ago, twin="b4-other-revision")


def _steps(draft: Draft, topic: str, special: str, person: str) -> None:
    """`person` is an expression for the name in the article `rule`; null where there is none."""
    draft.step(LOOK, "b4_articles", calc=f"where(@rules as rule, rule.topic == '{topic}')")
    draft.step(LOOK, "b4_general", calc=_general("last", person))
    article = f"first(where(@b4_articles as rule, {person})).text"
    draft.step(LOOK, "b4_person", calc=read_off(article, special, "b4.person"))
    draft.step(LOOK, "b4_special", calc=read_off(article, special, "b4.special"))


def _general(which: str, person: str) -> str:
    """What the articles say that name nobody: the `first` or the `last` of them."""
    articles = f"sort(where(@b4_articles as rule, not {person}), it.{DATED})"
    return f"between({which}({articles}).text, '\"', '\"')"


FRAGMENT = Fragment(
    id="B4",
    title="lets the newest and most specific rule win where rules conflict",
    failure="follows the text that was superseded",
    stage=Stage.SLOT,
    build=build,
)
