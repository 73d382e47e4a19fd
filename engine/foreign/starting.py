"""The first thing that runs in a worker process: it goes into its confines, then answers.

Run as a script, by its path, with the number of the descriptor on which the parent speaks. Knows in which order things
happen. Does not know how a process is confined (`confining`), nor what it answers (`inside`).
"""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType
from typing import Any


def main() -> None:
    line = int(sys.argv[1])
    (order,) = json.loads(_exactly(line, int.from_bytes(_exactly(line, 4), "big")))
    order["line"] = line
    sys.argv = [""]
    sys.dont_write_bytecode = True
    _without_exports(order["packages"])
    from coworkenv.engine.foreign import confining, inside

    try:
        confining.confine(order)
    except OSError as error:
        inside.refuse(line, error)
    inside.serve(line, order["target"], order["paths"], order["seconds"])


def _exactly(line: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(line, size - len(data))
        if not more:
            os._exit(0)
        data += more
    return data


def _without_exports(packages: dict[str, list[str]]) -> None:
    """Stands in for their `__init__`s, which import all that people use: that takes longer than many an answer."""
    for name, folders in packages.items():
        package: Any = ModuleType(name)
        package.__path__ = folders
        sys.modules[name] = package


if __name__ == "__main__":
    main()
