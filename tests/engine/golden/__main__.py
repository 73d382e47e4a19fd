"""Record the golden episodes anew: `python -m tests.engine.golden`.

To be done only when re-execution is meant to give other bytes than before: raise `SEMANTICS` in `events/event.py`, say
so in the changelog, and then run this.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from coworkenv.events.exchange import SUFFIX, export_episode
from coworkenv.events.sqlite import SqliteLog

from ..damage.recording import record

FOLDER = Path(__file__).parent


def main() -> None:
    for old in FOLDER.glob(f"*{SUFFIX}"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.db"
        record(path)
        with closing(SqliteLog(path)) as log:
            for number, row in enumerate(log.rows(kind="episode"), 1):
                name = f"{number}-{row.environment.split('/')[0]}-{row.agent.split(':')[0]}"
                with (FOLDER / f"{name}{SUFFIX}").open("wb") as file:
                    export_episode(log, row.id, file)


if __name__ == "__main__":
    main()
