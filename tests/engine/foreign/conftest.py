"""Whether foreign code can be confined on this machine: tests that need it are skipped, with the reason, where not."""

from __future__ import annotations

import pytest
import trio

from coworkenv.engine.foreign import refusal


@pytest.fixture(scope="session")
def confined() -> None:
    if reason := trio.run(refusal):
        pytest.skip(reason)


@pytest.fixture(params=["confined", "unsafe"])
def unsafe(request: pytest.FixtureRequest) -> bool:
    """Tests that ask for this run in the sandbox, where there is one, and without it."""
    if request.param == "confined":
        request.getfixturevalue("confined")
    return bool(request.param == "unsafe")
