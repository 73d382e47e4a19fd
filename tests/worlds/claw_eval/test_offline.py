"""A folder of a user's pages stands in for the live web: what is read of it, found in it, and refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.claw_eval import OfflineWeb, from_document, load_task, load_tasks
from coworkenv.worlds.claw_eval.hypertext import page_of
from coworkenv.worlds.claw_eval.offline import LARGEST, OfflineError, place_of
from coworkenv.worlds.claw_eval.ranking import ranked, snippet, words

from .playing import Play

TASKS = Path(__file__).parent / "tasks"
LOOKED = "K05_look_it_up"
CHAINS = "https://bikes.example/chains"
PAGES: dict[str, Any] = {
    CHAINS: {"file": "chains.html", "published_at": "2026-01-05"},
    "https://bikes.example/oil": {"file": "oil.md"},
    "https://garden.example/?p=roses": {"file": "sub/roses.txt", "title": "Roses"},
}
FILES = {
    "chains.html": "<title>Chains</title><h1>Chains</h1><p>Oil a chain every 200 km.<p><a href=oil>Which oil</a>",
    "oil.md": "# Which oil\n\nAny oil is better than no oil.\n",
    "sub/roses.txt": "Roses want no oil, and no chain.\nThey want water.",
}


def folder_of(root: Path, index: Any = None, files: dict[str, Any] | None = None) -> Path:
    """A folder with an index, and files beside it."""
    for name, content in {**FILES, **(files or {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    text = index if isinstance(index, str) else json.dumps({"pages": PAGES} if index is None else index)
    (root / "index.yaml").write_text(text)
    return root


def browser(root: Path, index: Any = None) -> Play:
    task = load_task(TASKS / LOOKED, web=OfflineWeb(folder_of(root, index)))
    assert from_document(task.document()) == task
    return Play(task)


# --- searching and fetching ------------------------------------------------------------------------------


def test_pages_are_found_by_their_words_and_fetched_as_text(tmp_path: Path) -> None:
    browse = browser(tmp_path)
    found = browse("web_search", query="How often is a CHAIN oiled, with oil?").result
    places = [CHAINS, "https://bikes.example/oil", "https://garden.example/?p=roses"]
    assert [row["url"] for row in found["results"]] == places
    assert found["total"] == 3
    assert found["results"][0] == {
        "url": CHAINS,
        "title": "Chains",
        "snippet": "Oil a chain every 200 km.",
        "source": "",
        "published_at": "2026-01-05",
    }
    assert browse("web_search", query="oil chain", max_results=1).result["total"] == 1
    assert browse("web_search", query="tulips").result == {"results": [], "total": 0, "query": "tulips"}
    assert browse("web_fetch", url=CHAINS).result == {
        "status_code": 200,
        "url": CHAINS,
        "title": "Chains",
        "content": "Chains\nOil a chain every 200 km.\n[Which oil](https://bikes.example/oil)",
        "content_type": "text/html",
        "fetched_at": "2026-03-02T09:00:00+00:00",
    }
    again = browse("web_fetch", url="http://BIKES.example/chains/#top").result
    assert (again["url"], again["title"]) == ("http://BIKES.example/chains/#top", "Chains")
    gone = browse("web_fetch", url="https://bikes.example/gone").result
    assert gone == {"status_code": 404, "url": "https://bikes.example/gone", "error": "HTTP 404", "content": None}


def test_recorded_results_come_before_a_search(tmp_path: Path) -> None:
    results = [{"url": f"https://{n}.example", "title": f"{n}", "published_at": "2026-01-05"} for n in range(12)]
    browse = browser(tmp_path, {"pages": PAGES, "searches": {"Chain oil": results}})
    found = browse("web_search", query="chain  OIL", max_results=50).result
    assert [row["title"] for row in found["results"]] == [f"{n}" for n in range(10)]
    first = {"url": "https://0.example", "title": "0", "snippet": "", "source": "", "published_at": "2026-01-05"}
    assert found["results"][0] == first
    assert browse("web_search", query="chain", max_results=-1).result["results"] == []
    assert browse("web_search", query="roses").result["total"] == 1


def test_a_session_is_stopped_where_upstream_stops_it(tmp_path: Path) -> None:
    browse = browser(tmp_path)
    for number in range(39):
        assert "error" not in browse("web_search", query=f"oil {number // 2}").result
    assert browse("web_search", query="oil 0").result == {
        "results": [],
        "total": 0,
        "query": "oil 0",
        "error": "Session search limit reached (20)",
    }
    for _ in range(29):
        assert browse("web_fetch", url="https://gone.example").result["status_code"] == 404
    assert browse("web_fetch", url=CHAINS).result["status_code"] == 200
    assert browse("web_fetch", url=CHAINS).result["error"] == "Session fetch limit reached (30)"


def test_a_long_page_is_cut(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, files={"oil.md": "# Oil\n" + "x" * 60_000})
    browse = Play(load_task(TASKS / LOOKED, web=OfflineWeb(folder)))
    assert len(browse("web_fetch", url="https://bikes.example/oil").result["content"]) == 50_000


def test_a_task_may_have_an_index_of_its_own(tmp_path: Path) -> None:
    common, own = folder_of(tmp_path), tmp_path / "tasks" / LOOKED
    folder_of(own, "pages: {https://own.example: {file: oil.md}}")
    web = OfflineWeb(common)
    rows = web.rows(LOOKED)
    assert rows is not None
    assert [row["url"] for row in rows["pages"]] == ["https://own.example"]
    assert web.rows("other") is web.rows("another")
    (tmp_path / "index.yaml").unlink()
    assert OfflineWeb(tmp_path).rows("other") is None


def test_pages_change_neither_when_a_task_takes_place_nor_upstreams_mode(tmp_path: Path) -> None:
    web = OfflineWeb(folder_of(tmp_path))
    assert load_task(TASKS / LOOKED, web=web).start == load_task(TASKS / LOOKED).start
    assert load_task(TASKS / LOOKED, "upstream", web=web) == load_task(TASKS / LOOKED, "upstream")
    others, without = load_tasks(TASKS, web=web)[0], load_tasks(TASKS)[0]
    assert [one.id for one, other in zip(others, without, strict=True) if one != other] == [LOOKED]


# --- what is wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("pages: [", "index.yaml: It cannot be read"),
        ("- a\n", "index.yaml: It is no index of web pages: Expected `object`"),
        ("{}", "index.yaml: It names neither pages nor searches"),
        ("pages: {'https://a.example': {fil: x}}", "index.yaml: It is no index of web pages"),
        ("pages: {a.example: {file: oil.md}}", "'a.example' is no address of a page"),
        ("pages: {'https://a/': {file: oil.md}, 'http://A': {file: oil.md}}", "are the same place; name one of them"),
        ("pages: {'https://a': {file: ../oil.md}}", "The path '../oil.md' leads out of"),
        ("pages: {'https://a': {file: /etc/hostname}}", "The path '/etc/hostname' leads out of"),
        ("pages: {'https://a': {file: link.txt}}", "The path 'link.txt' leads out of"),
        ("pages: {'https://a': {file: gone.md}}", "gone.md: There is no such file"),
        ("pages: {'https://a': {file: sub}}", "sub: Pages are html"),
        ("pages: {'https://a': {file: paper.pdf}}", "paper.pdf: Pages are html, htm, xhtml, md, markdown, txt"),
        ("pages: {'https://a': {file: binary.txt}}", "binary.txt: It is not UTF-8 (byte 0); save it"),
        ("pages: {'https://a': {file: nul.html}}", "nul.html: It is no text"),
        ("pages: {'https://a': {file: huge.txt}}", f"huge.txt: It has {LARGEST + 1} bytes; at most {LARGEST}"),
        (json.dumps({"pages": {f"https://{n}.example": {"file": "oil.md"} for n in range(501)}}), "501 pages; at most"),
        (
            json.dumps({"pages": {f"https://{n}.example": {"file": "long.txt"} for n in range(81)}}),
            " characters; at most 4,000,000 are read. Give each task an index of its own, in tasks/TASK.",
        ),
    ],
)
def test_each_fault_of_a_folder_is_one_sentence(tmp_path: Path, index: str, says: str) -> None:
    files = {
        "binary.txt": b"\xff\xfe",
        "nul.html": b"a\0b",
        "huge.txt": b"x" * (LARGEST + 1),
        "long.txt": b"x" * 60_000,
    }
    folder = folder_of(tmp_path / "web", index, {**files, "paper.pdf": b"%PDF"})
    (tmp_path / "out.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "out.txt")
    with pytest.raises(OfflineError) as caught:
        load_tasks(TASKS, web=OfflineWeb(folder))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "gone", "no such folder"), (tmp_path, "no index.yaml in it")):
        with pytest.raises(OfflineError, match=says):
            OfflineWeb(path)
    (folder_of(tmp_path) / "index.json").write_text("{}")
    with pytest.raises(OfflineError, match=r"both index\.yaml and index\.json"):
        OfflineWeb(tmp_path).rows(LOOKED)


def test_an_index_may_be_no_link_out_of_its_folder(tmp_path: Path) -> None:
    folder_of(tmp_path / "other")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "index.yaml").symlink_to(tmp_path / "other" / "index.yaml")
    with pytest.raises(OfflineError, match="leads out of"):
        OfflineWeb(tmp_path / "web").rows(LOOKED)


# --- text of pages, and their order ----------------------------------------------------------------------


def test_a_page_becomes_lines_and_links() -> None:
    markup = """<!doctype html><html><head><title> A &amp; B </title><style>p {}</style></head><body class="x>y">
    <h1>Head<br>line</h1><script>if (a < b) document.write("<p>no</p>")</script><p>One&nbsp;two
    three <b>four</b>.</p><ul><li>x<li>y</ul><table><tr><td>a</td><td>b</td></tr></table><!-- no <p> -->
    <a href="/up?a=1&amp;b=2">up</a> <a href='#here'>here</a> <a href=javascript:x>run</a> <a href=//c.example>c</a>
    <a href="http://[">broken</a> <a href=x></a> 1 < 2 <noscript>no</noscript>end"""
    assert page_of(markup, "https://a.example/b/c") == (
        "A & B",
        'y">\nHead\nline\nOne two three four.\nx\ny\na b\n'
        "[up](https://a.example/up?a=1&b=2) here run [c](https://c.example) broken 1 < 2 end",
    )


@given(st.text(alphabet="<>/!-ap script=\"'&#9;titlehrf \n", max_size=200))
def test_no_page_is_too_broken(markup: str) -> None:
    title, text = page_of(markup, "https://a.example")
    assert isinstance(title, str)
    assert "\n\n" not in text


@pytest.mark.parametrize(
    "piece", ["<!--", '<a href="', "<script>", "<", "<a ", "&#9", "<title>", "<a href=x>t</a>", "</a"]
)
def test_a_hostile_page_takes_no_longer_than_others(piece: str) -> None:
    markup = piece * (LARGEST // len(piece))
    began = time.process_time()
    page_of(markup, "https://a.example")
    assert time.process_time() - began < 20


def test_what_a_query_shares_with_few_short_texts_counts_most() -> None:
    texts = ["oil and water", "oil", "water water", "oil and water", "网关故障", "网 关"]
    assert ranked("oil", texts) == [1, 0, 3]
    assert ranked("water oil", texts)[:2] == [0, 3]
    assert ranked("网关", texts) == [4]
    assert ranked("", texts) == ranked("nothing", texts) == ranked("x", []) == []
    assert list(words("API-keys, v2_x 网关故")) == ["api", "keys", "v2", "x", "网关", "关故"]


@given(st.lists(st.text(alphabet="ab c", max_size=12), max_size=8), st.text(alphabet="abc ", max_size=6))
def test_texts_that_are_the_same_keep_their_order(texts: list[str], query: str) -> None:
    found = ranked(query, texts)
    assert sorted(found) == [n for n, text in enumerate(texts) if set(words(text)) & set(words(query))]
    for text in texts:
        same = [place for place in found if texts[place] == text]
        assert same == sorted(same)


def test_a_snippet_is_the_line_that_fits_best() -> None:
    assert snippet("oil chain", "oil\nno oil for a chain\nchain oil") == "no oil for a chain"
    assert snippet("oil", "x" * 300) == "x" * 200 + "..."
    assert snippet("oil", "") == ""


def test_addresses_of_the_same_place() -> None:
    same = ("https://A.example/b?c=1", "http://a.example/b/?c=1#d", " https://a.example/b?c=1 ")
    assert len({place_of(address) for address in same}) == 1
    assert place_of("https://a.example/B") != place_of("https://a.example/b")
    assert place_of("http://[") == "http://["


# --- links that never end, what counts, what is no address -----------------------------------------------


def test_a_page_that_is_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"pages": {CHAINS: {"file": "loop.txt"}}})
    (folder / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(OfflineError, match=r"leads out|no such file|cannot be read"):
        browser(folder, {"pages": {CHAINS: {"file": "loop.txt"}}})


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ({"pages": {CHAINS: {"file": ""}}}, "names no file"),
        ({"pages": {"http://": {"file": "oil.md"}}}, "no address of a page"),
        ({"searches": {"oil": [{"url": "ftp://bikes.example/"}]}}, "no address of a page"),
        ({"searches": {"oil": [{"url": CHAINS, "snippet": "x" * 4_000_000}]}}, "pages and searches have"),
    ],
)
def test_an_index_is_refused_in_a_sentence(tmp_path: Path, index: Any, says: str) -> None:
    with pytest.raises(OfflineError, match=says):
        browser(tmp_path, index)


@pytest.mark.parametrize("tag", ["<svg/>", "<iframe src=x/>", "<template/>", "<script src=x />"])
def test_a_tag_that_closes_itself_hides_nothing(tag: str) -> None:
    assert page_of(f"{tag}Oil", CHAINS)[1] == "Oil"


def test_a_longer_name_ends_no_script() -> None:
    assert page_of("<script>a</scripty>b</script>Oil", CHAINS)[1] == "Oil"
