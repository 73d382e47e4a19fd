"""G4: a complete hand-off.

At the end somebody takes over: of a list of small jobs, each that is not done yet has to be passed on, with its number
and whose it is. Some are called open, some waiting; what is done is not to be passed on.
"""

from __future__ import annotations

from ....events.event import Json
from ..draft import REPORT, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            'When all that is finished, {successor} takes over. Please pass on everything in {service} that is not "done" yet: the number of each item, and the name of whoever owns it.',
            'After that, brief {successor} for tomorrow: every item of {service} whose status is anything but "done", each with its number and its owner\'s name.',
            'At the end {successor} needs a hand-over from you: all items in {service} that are not "done", with number and owner. What is done is of no interest.',
            'And then write {successor} what is left in {service}: number and owner of every single item that is not "done".',
        ],
        "hand_over": ["Still to be done: {list}.", "This is left for you: {list}.", "What remains: {list}.", "Handing over to you: {list}."],
        "thanks": ["Thanks, I have it.", "Got it, I'll take over from here.", "All clear, thank you.", "Right, I'm in the picture."],
    },
    "de": {
        "request": [
            'Wenn das alles fertig ist, übernimmt {successor}. Gib bitte weiter, was in {service} noch nicht auf "done" steht: zu jedem Punkt die Nummer und den Namen dessen, dem er gehört.',
            'Danach bring {successor} für morgen auf Stand: jeder Punkt in {service}, dessen Status nicht "done" ist, mit Nummer und Namen unter "owner".',
            'Am Ende braucht {successor} eine Übergabe von dir: alle Punkte in {service}, die nicht auf "done" stehen, mit Nummer und "owner". Was erledigt ist, interessiert nicht.',
            'Und dann schreib {successor}, was in {service} übrig ist: Nummer und "owner" von jedem einzelnen Punkt, der nicht "done" ist.',
        ],
        "hand_over": ["Noch zu tun: {list}.", "Das bleibt für dich: {list}.", "Übrig ist: {list}.", "Ich übergebe dir: {list}."],
        "thanks": ["Danke, ich habe es.", "Alles klar, ich übernehme.", "Gut, danke dir.", "Ist angekommen, ich bin im Bild."],
    },
}  # fmt: skip
JOBS = ("archive boxes", "badge list", "key cabinet", "label printer", "phone list", "stamp order", "spare chairs",
        "notice wall", "first-aid box", "van keys")  # fmt: skip
NAMES = 48
STATES = ("open", "waiting", "done", "open", "done", "waiting")
FINISHED, REOPENED = 0, 2
"""Items that are done in the twin only, and in the base only."""


def build(draft: Draft) -> None:
    successor = draft.person("successor")
    draft.otherwise(successor, draft.text(PHRASES, "thanks"))
    fields: dict[str, dict[str, Json]] = {
        "id": {"type": "id"},
        "job": {"type": "text"},
        "owner": {"type": "text", "about": "Who looks after it."},
        "status": {"type": "choice", "of": ["open", "waiting", "done"]},
    }
    store = draft.store("worklist", fields)
    ids, names, items = draft.ids(store), draft.names(NAMES), []
    for number, (state, job) in enumerate(zip(STATES, draft.pick(JOBS, len(STATES)), strict=True), start=1):
        name = f"g4.i{number}"
        draft.facts.choose(f"{name}.id", ids, "id")
        draft.facts.choose(f"{name}.owner", names, "person")
        draft.facts.set(f"{name}.status", state)
        items.append({"id": f"${name}.id", "job": job, "owner": f"${name}.owner", "status": f"${name}.status"})
    store.records += draft.arranged(items, "worklist")
    draft.request(PHRASES, "request", service=store.service)
    _steps(draft, successor, store.path)
    _checks(draft, successor)
    flipped = {f"i{FINISHED + 1}": {"status": "done"}, f"i{REOPENED + 1}": {"status": "open"}}
    draft.twin("g4-other", facts={"g4": flipped})


def _steps(draft: Draft, successor: str, path: str) -> None:
    draft.step(REPORT + 5, "g4_items", call=f"{path}.find", args={})
    phrase = draft.text(PHRASES, "hand_over", list="{list}")

    def text(items: str, shown: str = "it.id + ' (' + it.owner + ')'") -> str:
        return phrase.replace("{list}", f"@{{=join(each({items}, {shown}), ', ')}}")

    left = "where(@g4_items as item, item.status != 'done')"
    opened = "where(@g4_items as item, item.status == 'open')"
    draft.step(REPORT + 5, "g4_hand_over", say=successor, text=text(left))
    change = "g4_hand_over.text"
    draft.trap("g4-all-done", 4, drop=["g4_hand_over"], why="Hands nothing over.")
    draft.trap("g4-without-owners", 4, change={change: text(left, "it.id")}, why="Says what, and not whose.")
    draft.trap("g4-forgets-what-waits", 1, change={change: text(opened)}, why="Takes what waits for somebody for done.")
    draft.trap("g4-passes-on-everything", 4, change={change: text("@g4_items")}, why="Does not look at what is done.")


def _checks(draft: Draft, successor: str) -> None:
    for place, state in enumerate(STATES):
        name, flips = f"g4.i{place + 1}", place in (FINISHED, REOPENED)
        if flips or state != "done":
            draft.check(
                f"g4-handed-over-{place + 1}", weight=1, condition=f"${name}.status != 'done'" if flips else None,
                expect={"said": successor, "mentions": [f"${name}.id", f"${name}.owner"]},
                why="What is left is passed on, with its owner.",
            )  # fmt: skip
        if flips or state == "done":
            draft.check(
                f"g4-not-done-{place + 1}", weight=2, condition=f"${name}.status == 'done'" if flips else None,
                never={"said": successor, "mentions": [f"${name}.id"]}, why="What is done is not passed on.",
            )  # fmt: skip


FRAGMENT = Fragment(
    id="G4",
    title="hands over completely, with whose each item is",
    failure='says "all done", or forgets what waits',
    stage=Stage.REPORT,
    order=5,
    build=build,
)
