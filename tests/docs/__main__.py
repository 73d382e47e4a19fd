"""Bring the documentation up to date with the code.

python -m tests.docs            # say which pages are stale; exit code 1 if any is
python -m tests.docs --write    # write them anew
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.generated import with_ids, with_output, with_parts
from tests.docs.pages import ROOT, pages
from tests.docs.picture import PICTURE, picture
from tests.docs.running import checkout, demo, run_console


def fresh() -> dict[Path, str]:
    """Every file that has made parts, as it should be."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        log = demo(folder)
        found = {PICTURE: picture(log, folder / "picture.svg")}
        for path in pages():
            page = with_parts(with_ids(path.read_text(), log))
            own = folder / path.stem
            own.mkdir()
            checkout(own, log)
            found[path] = with_output(page, run_console(page, own))
    return found


def main() -> int:
    writing = "--write" in sys.argv[1:]
    stale = {path: text for path, text in fresh().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        print(path.relative_to(ROOT), "written" if writing else "stale")
        if writing:
            path.write_text(text)
    return int(bool(stale) and not writing)


if __name__ == "__main__":
    sys.exit(main())
