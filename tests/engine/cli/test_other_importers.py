"""A benchmark of another package, known by its entry point alone, with services that its own code answers."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from coworkenv.engine.plan import world_from
from coworkenv.worlds import imported
from tests.engine import lanterns
from tests.loopback import Reply, completion


@pytest.fixture
def folder(tmp_path, monkeypatch):
    point = EntryPoint("lanterns", "tests.engine.lanterns:importer", imported.GROUP)
    monkeypatch.setattr(imported, "entry_points", lambda group: [point])
    monkeypatch.setattr(lanterns.CHECKOUTS, "current", None)
    made = tmp_path / "lanterns"
    made.mkdir()
    (made / "porch.lantern.json").write_text('{"id": "porch", "oil": 2}')
    (tmp_path / "thrice.yaml").write_text("[{call: light}, {call: light}, {call: light}, {finish: done}]")
    return made


def test_it_is_played_graded_driven_again_forked_and_gone_on_with(cli, folder, monkeypatch):
    ran = cli("run", folder, "--agent", "script:thrice.yaml", "--graders", folder, "--json")
    assert ran.code == 0, ran.err
    [result, _] = ran.values
    assert result["grade"]["checks"][0]["says"] == "lit 2 times"
    assert "no oil left" in cli("show", result["id"]).out
    monkeypatch.setattr(lanterns.CHECKOUTS, "current", None)
    assert cli("verify", "--all").code == 0
    told = cli("verify", "--all", "--foreign")
    assert (told.code, "Lanterns's code is in a checkout of yours" in told.out) == (2, True), told.out
    fork = ("fork", result["id"], "--at", "7", "--agent", "script:thrice.yaml")
    refused = cli(*fork)
    assert (refused.code, "Lanterns's code is in a checkout of yours" in refused.err) == (2, True), refused.err
    assert len(cli("list", "--json").values) == 1
    forked = cli(*fork, "--graders", folder, "--json")
    assert (forked.code, forked.values[0]["grade"]["checks"][0]["says"]) == (0, "lit 2 times"), forked.err
    assert cli("verify", "--all", "--foreign", "--graders", folder).code == 0


def test_what_cannot_go_on_without_its_code_says_what_to_type(cli, folder, monkeypatch, serve):
    down = serve(lambda _: Reply({"error": {"message": "no such key"}}, 401))
    model = ("--agent", "openai:m", "--base-url", down.url)
    told = cli("run", folder, *model, "--graders", folder)
    assert (told.code, f"coworkenv resume --all --graders {folder}" in told.out) == (1, True), told.out
    monkeypatch.setattr(lanterns.CHECKOUTS, "current", None)
    up = ("--base-url", serve(lambda _: completion("", [("light", {})])).url)
    for words in (("--json",), ()):
        told = cli("resume", "--all", *up, *words)
        assert (told.code, "add --graders CHECKOUT" in told.out) == (2, True), told.out
    assert cli("resume", "--all", "--base-url", down.url, "--graders", folder).code == 1
    assert cli("resume", "--all", *up, "--graders", folder).code == 0


def test_where_its_package_is_gone_its_episodes_say_so(cli, folder, monkeypatch):
    [result, _] = cli("run", folder, "--agent", "script:thrice.yaml", "--json").values
    monkeypatch.setattr(imported, "entry_points", lambda group: [])
    world_from.cache_clear()  # as in a new process
    for words in (("verify", "--all"), ("fork", result["id"], "--at", "4")):
        told = cli(*words)
        assert (told.code > 0, "lanterns/1" in told.out + told.err) == (True, True), told
    assert (cli("list").code, cli("show", result["id"]).code) == (0, 0)
