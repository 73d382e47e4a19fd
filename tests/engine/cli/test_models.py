"""`run` and `resume` with a model server, as people use them: options reach everybody who asks a model."""

from tests.engine.weather import LASTING, PASSING, pure, turn_of
from tests.loopback import Reply

OFFICE = """
environment: coworkenv/1
id: office
clock: {start: 2026-03-03T09:00}
people:
  lena:
    role: lead
    opens: Please order K-1.
    replies: [{any: [how many], say: "Take 3 of K-1.", gives: {n: 3}, after: 2m}]
services:
  inv:
    collections: {items: {can: [find, update]}}
    records: {items: [{id: K-1, ordered: 0}]}
"""

MODELS = ("office.yaml", "--agent", "openai:m", "--coworkers", "model:m")


def test_patience_reaches_agent_and_coworkers_and_a_suspended_episode_is_told_with_what_to_type(cli, serve, tmp_path):
    (tmp_path / "office.yaml").write_text(OFFICE)
    turns = []

    def answer(request):
        turns.append(turn_of(request))
        return PASSING["500"] if turns[-1] == "lena" else pure(request)

    server = serve(answer)
    ran = cli("run", *MODELS, "--base-url", server.url, "-o", "attempts=2", "-o", "first_wait=0.001")
    assert ran.code == 1
    assert turns.count("lena") == 2
    assert "gave no answer in 2 attempts. The last failure: HTTP 500: oops." in " ".join(ran.out.split())
    assert "coworkenv resume --all" in ran.out


def test_a_suspended_episode_is_resumed_at_another_server_and_is_identical(cli, serve, tmp_path):
    (tmp_path / "office.yaml").write_text(OFFICE)
    broken = serve(lambda request: pure(request) if turn_of(request) != 2 else LASTING["404"])
    [result, _] = cli("run", *MODELS, "--base-url", broken.url, "--json").values
    assert result["status"] == "suspended"
    assert "are the model's name and the base URL right?" in result["reason"]
    asked = len(broken.requests)

    well = serve(pure)
    [resumed, _] = cli("resume", "--all", "--base-url", well.url, "--json").values
    assert (resumed["id"], resumed["status"], resumed["reason"]) == (result["id"], "ended", "finished")
    assert len(broken.requests) == asked
    assert [turn_of(request) for request in well.requests] == [2, 3]
    assert cli("verify", "--all").code == 0


def test_the_key_is_in_nothing_that_is_printed_or_written(cli, serve, tmp_path, monkeypatch):
    (tmp_path / "office.yaml").write_text(OFFICE)
    key = "sk-never-to-be-written-down"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    server = serve(lambda request: Reply({"error": {"message": f"no such key: {key}"}}, 401))
    ran = cli("run", *MODELS, "--base-url", server.url)
    shown = cli("list", "--json"), cli("show", "--events", ran.out.split()[0])
    assert server.headers[0]["authorization"] == f"Bearer {key}"
    assert "no such key: …" in " ".join(ran.out.split())
    for words in (ran, *shown):
        assert key not in words.out + words.err
    assert all(key.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_base_url_that_holds_a_key_is_refused(cli):
    for command in (("run", "late-change", "--agent", "openai:m"), ("resume", "--all")):
        ran = cli(*command, "--base-url", "http://me:secret@127.0.0.1/v1")
        assert ran.code == 2
        assert "OPENAI_API_KEY" in ran.err
        assert "secret@" not in ran.err


def test_options_are_the_agents_unless_they_are_said_to_be_the_coworkers(cli, serve, tmp_path):
    (tmp_path / "office.yaml").write_text(OFFICE)
    server = serve(pure)
    ran = cli("run", *MODELS, "--base-url", server.url, "-o", "max_tokens=9", "-o", "coworkers.max_tokens=50")
    assert ran.code == 0
    asked = {turn_of(request) == "lena": request["max_tokens"] for request in server.requests}
    assert asked == {False: 9, True: 50}


def test_options_are_the_coworkers_where_only_they_have_a_model(cli, serve):
    server = serve(pure)
    cli("run", "refund", "--agent", "oracle", "--coworkers", "model:m", "--base-url", server.url, "-o", "max_tokens=9")
    assert {request["max_tokens"] for request in server.requests} == {9}


def test_options_of_nobody_are_refused(cli):
    assert "no model takes part" in cli("run", "refund", "--agent", "oracle", "-o", "max_tokens=9").err
    ran = cli("run", "refund", "--agent", "openai:m", "-o", "coworkers.max_tokens=9")
    assert ran.code == 2
    assert "no coworker has one" in ran.err
