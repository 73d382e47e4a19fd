"""The commands at the top of the command line: the verbs of an episode.

Knows which there are and in which order they are listed.
"""

from __future__ import annotations

import click

from .checking import grade, verify_
from .comparing import diff, stats
from .demo import demo
from .exchanging import export, import_
from .forking import fork
from .looking import list_, show
from .reporting import report
from .running import resume, run

commands: list[click.Command] = [
    run,
    show,
    list_,
    verify_,
    grade,
    report,
    fork,
    resume,
    diff,
    stats,
    export,
    import_,
    demo,
]
