"""Which importers there are, by the names of their benchmarks.

Knows those that come with coworkenv, and asks for those of other packages (`worlds.imported`). Does not know what an
importer can do: `importing` says that, and `hosting` what one can whose worlds have foreign services.
"""

from __future__ import annotations

from importlib import import_module

from ..worlds.imported import Rebuilding, others

IMPORTERS = {
    "claw-eval": "coworkenv.engine.claw_eval.importing:importer",
    "clawmark": "coworkenv.engine.clawmark.importing:importer",
    "tau2": "coworkenv.engine.tau2.importing:importer",
}
"""Those that come with coworkenv. Only the one that is asked for is imported."""


def importer_names() -> tuple[str, ...]:
    """Of all that there are. Raises CheckoutError for one of another package that cannot be loaded."""
    return tuple(dict.fromkeys([*IMPORTERS, *others()]))


def find_importer(name: str) -> Rebuilding | None:
    """The importer of this benchmark. Raises CheckoutError for one that cannot be loaded."""
    if name in IMPORTERS:
        module, _, attribute = IMPORTERS[name].partition(":")
        ours: Rebuilding = getattr(import_module(module), attribute)
        return ours
    return others().get(name)
