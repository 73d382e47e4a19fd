"""Contamination: words or names that an environment has in common with benchmark tasks are found, with their file."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.environment import Environment
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.contamination import LARGEST, contamination, entities, read_benchmark

REQUEST = "Please refund Ms Amara Okafor for the lamp that arrived broken, and tell the warehouse in Lyon."
SHARED = Path(__file__).parents[3].parent / "shared" / "claw-eval"
EXAMPLES = Path(__file__).parents[3] / "worlds" / "examples"


def environment(request: str = "Do it.", records: list[dict[str, Any]] | None = None) -> Environment:
    return msgspec.convert(
        {
            "environment": "coworkenv/1",
            "id": "small",
            "clock": {"start": "2026-03-02T09:00"},
            "facts": {"request": request},
            "people": {"lena": {"opens": "$request"}},
            "services": {"crm": {"records": {"customers": records or []}}},
        },
        Environment,
    )


def test_a_request_said_before_is_found_whatever_the_file_looks_like(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    said = REQUEST.replace("broken", "bent").upper()
    (tmp_path / "a.yaml").write_text(f"task:\n  prompt: >-\n    {said}\n  other: 7\n", encoding="utf-8")
    (tmp_path / "deep" / "b.json").write_text(json.dumps({"turns": [{"text": said}]}), encoding="utf-8")
    (tmp_path / "c.jsonl").write_text(json.dumps({"x": 1}) + "\n" + json.dumps({"text": said}) + "\n", encoding="utf-8")
    (tmp_path / "d.md").write_text(f"# A task\n\n{said}\n\nSomething else altogether.", encoding="utf-8")
    (tmp_path / "e.yaml").write_text(
        "prompt: Book a hotel in Ghent, near the station and not too dear, please.", "utf-8"
    )
    found = contamination({"mine": environment(REQUEST)}, read_benchmark(tmp_path))
    assert sorted(each.file for each in found) == ["a.yaml", "c.jsonl", "d.md", "deep/b.json"]
    assert all(each.environment == "mine" and each.words > 0.8 and each.text == REQUEST for each in found)


def test_names_ids_addresses_and_amounts_of_a_benchmark_are_found(tmp_path: Path) -> None:
    records = [{"id": "C-3117", "name": "Amara Okafor", "mail": "amara@lindwurm.example", "owed": 1840.5}]
    (tmp_path / "fixture.json").write_text(
        json.dumps([{"nr": "C-3117", "who": "Amara Okafor", "sum": "1,840.50"}]), encoding="utf-8"
    )
    (tmp_path / "other.json").write_text(json.dumps([{"nr": "C-3118", "sum": 18405}]), encoding="utf-8")
    (found,) = contamination({"mine": environment("Do it.", records)}, read_benchmark(tmp_path))
    assert found.file == "fixture.json"
    assert found.shared == ("1840.5", "amara okafor", "c-3117")
    assert found.entities == 0.75
    assert found.words == 0


def test_the_limit_is_what_must_be_exceeded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("C-3117", encoding="utf-8")
    mine = {"mine": environment("Do it.", [{"id": f"C-{number}"} for number in range(3117, 3121)])}
    assert contamination(mine, read_benchmark(tmp_path), 0.25) == []
    assert [each.entities for each in contamination(mine, read_benchmark(tmp_path), 0.24)] == [0.25]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Refund O-5512 to Amara Okafor today.", {"o-5512", "amara okafor"}),
        ("Ask lena@shop.example about RMA_77A1 and about Kenji.", {"lena@shop.example", "rma_77a1", "kenji"}),
        ("It was 1,840.50 in 2026, on 2026-03-12 at 2026-03-12T09:30, for 120 or 12:45.", {"1840.5"}),
        ("Please do it. Then call us on Monday.", set()),
        ("10000 or 10,000.00 or 12345678", {"10000", "12345678"}),
        ("a 3rd of it, in 30min", set()),
    ],
)
def test_what_names_a_thing(text: str, found: set[str]) -> None:
    assert entities([text]) == found


def test_files_that_are_no_tasks_are_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / "zeros").write_bytes(b"text\0text")
    (tmp_path / "huge.json").write_text(" " * (LARGEST + 1), encoding="utf-8")
    (tmp_path / "task.txt").write_text(REQUEST, encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "task.txt")
    benchmark = read_benchmark(tmp_path)
    assert benchmark.skipped == {"binary": 2, "large": 1}
    assert benchmark.files == {"task.txt": (REQUEST,)}


@pytest.mark.parametrize(
    "text", ["a: [", "&a [*a, *a]", "{'x': !!python/object:os.system 1}", "\t- x", "[" * 5_000, "a: 1\n---\nb: 2"]
)
def test_files_that_are_not_what_they_seem_are_read_as_text(tmp_path: Path, text: str) -> None:
    for name in ("x.yaml", "x.json", "x.jsonl"):
        (tmp_path / name).write_text(f"{text}\n\n{REQUEST}", encoding="utf-8")
    found = contamination({"mine": environment(REQUEST)}, read_benchmark(tmp_path))
    assert len(found) == 3


def test_what_is_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="no folder of benchmark tasks"):
        read_benchmark(tmp_path / "nowhere")


@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_text_can_be_looked_at_and_has_what_it_has(texts: list[str]) -> None:
    found = entities(texts)
    assert all(entity for entity in found)
    assert entities(texts + texts) == found


@pytest.mark.skipif(not SHARED.is_dir(), reason="the benchmark is not here")
def test_the_examples_have_nothing_of_claw_eval() -> None:
    examples = {path.name: read_environment(path) for path in sorted(EXAMPLES.glob("*.yaml"))}
    assert contamination(examples, read_benchmark(SHARED)) == []
