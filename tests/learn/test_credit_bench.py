"""`credit-bench`: which ways to assign credit come near the truth, and that it tells wrong ones from right ones."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
import trio
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from coworkenv.engine.cli import main
from coworkenv.engine.cli.failures import Told
from coworkenv.learn.cli.credit_bench import credit_bench
from coworkenv.learn.credit_bench import Judged, batches, bias_and_noise, correlation, judge, planted_last
from coworkenv.learn.credit_page import END, START, with_tables
from coworkenv.learn.freezing import Settings, freeze, logs_of, synthesised
from coworkenv.learn.frozen import BadFrozen, Frozen, joined, read_frozen, write_frozen
from coworkenv.learn.ways import Batch, Way, value_table, ways
from coworkenv.worlds.reading import read_environment

EXAMPLES = Path(__file__).parents[2] / "worlds" / "examples"
SETTINGS = Settings(rollouts=48, twins=2)


def made() -> Frozen:
    parts = []
    for name in ("tickets", "kostenstelle"):
        parts += trio.run(logs_of, read_environment(EXAMPLES / f"{name}.yaml"), SETTINGS).parts
    return joined(SETTINGS.header(), parts)


@pytest.fixture(scope="module")
def logs() -> Frozen:
    return made()


@pytest.fixture(scope="module")
def found(logs: Frozen) -> list[Judged]:
    return judge(logs, ways())


def truth(batch: Batch) -> list[list[float]]:
    return [[decision.advantage for decision in rollout.decisions] for rollout in batch.rollouts]


def of(found: Sequence[Judged], credit: str) -> Judged:
    return next(one for one in found if one.credit == credit)


def test_ways_that_are_wrong_on_purpose_come_last(found: list[Judged]) -> None:
    assert {one.credit for one in found[-2:]} == {"reversed", "shuffled"}
    assert planted_last(found)
    assert not planted_last([msgspec.structs.replace(found[0], planted=True), *found[1:]])


def test_continuations_are_nearest_to_the_truth_unbiased_and_dearest(found: list[Judged]) -> None:
    forks = of(found, "forks")
    assert found[0] is forks
    assert forks.measures.bias < 0.2
    assert forks.tokens > 10 * of(found, "uniform").tokens


def test_the_truth_is_judged_faultless_at_any_scale(logs: Frozen) -> None:
    def tripled(batch: Batch) -> list[list[float]]:
        return [[3 * value for value in row] for row in truth(batch)]

    for method in (truth, tripled):
        [judged] = judge(logs, [Way(credit="mine", method=method)])
        assert judged.measures.correlation == pytest.approx(1)
        assert judged.measures.sign == 1
        assert judged.measures.bias == pytest.approx(0, abs=1e-6)
        assert judged.measures.noise == pytest.approx(0, abs=1e-6)
        assert judged.measures.necessary is not None
        assert judged.measures.necessary > 0.9


def test_the_opposite_of_the_truth_and_silence_are_judged_so(logs: Frozen) -> None:
    def opposite(batch: Batch) -> list[list[float]]:
        return [[-value for value in row] for row in truth(batch)]

    def silence(batch: Batch) -> list[list[float]]:
        return [[0.0 for _ in row] for row in truth(batch)]

    silent, against = judge(logs, [Way(credit="against", method=opposite), Way(credit="silent", method=silence)])
    assert against.measures.correlation == pytest.approx(-1)
    assert (against.measures.sign, silent.measures.sign) == (0, 0)
    for judged in (against, silent):
        assert (judged.measures.bias, judged.measures.noise) == (pytest.approx(1), 0)
        assert judged.measures.necessary is not None
        assert judged.measures.necessary < 0.1


def test_a_method_must_say_something_of_every_decision(logs: Frozen) -> None:
    with pytest.raises(ValueError, match="mine gave 1 advantages for"):
        judge(logs, [Way(credit="mine", method=lambda batch: [row[:1] for row in truth(batch)])])


def test_batches_share_no_rollout_and_have_every_twin_equally_often(logs: Frozen) -> None:
    cut = batches(logs, 8)
    assert len(cut) == 6
    rollouts = [(one.environment, one.twin, one.number) for batch in cut for one in batch.rollouts]
    assert len(set(rollouts)) == len(rollouts) == len(logs.rollouts)
    for batch in cut:
        twins = [(one.environment, one.twin) for one in batch.rollouts]
        assert {twins.count(twin) for twin in twins} == {8}
        assert not {id(one) for one in batch.rollouts} & {id(one) for one in batch.history}
    with pytest.raises(ValueError, match="too few rollouts"):
        batches(logs, 25)


def test_what_decisions_earn_adds_up_to_the_score(logs: Frozen) -> None:
    for rollout in logs.rollouts:
        assert sum(decision.reward for decision in rollout.decisions) == pytest.approx(rollout.score)
        assert sum(decision.advantage for decision in rollout.decisions) == pytest.approx(
            rollout.score - rollout.decisions[0].value
        )


def test_a_table_of_values_says_what_is_still_earned(logs: Frozen) -> None:
    own = [rollout for rollout in logs.rollouts if rollout.environment == logs.rollouts[0].environment]
    value = value_table(own)
    starts = [rollout for rollout in own if rollout.twin == own[0].twin]
    assert value(own[0], own[0].decisions[0]) == pytest.approx(statistics.fmean(one.score for one in starts))
    assert value_table([])(own[0], own[0].decisions[0]) == 0


# --- logs --------------------------------------------------------------------------------------------------


def test_logs_are_the_same_after_a_file_and_in_any_number_of_processes(logs: Frozen, tmp_path: Path) -> None:
    write_frozen(tmp_path / "logs.jsonl", logs)
    assert read_frozen(tmp_path / "logs.jsonl") == logs
    sources = [read_environment(EXAMPLES / f"{name}.yaml") for name in ("tickets", "kostenstelle")]
    together = joined(SETTINGS.header(), [part for each in freeze(sources, SETTINGS, 2) for part in each.parts])
    assert together == logs


def test_what_is_no_frozen_log_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text('{"type": "rollout"}\n')
    with pytest.raises(BadFrozen, match="line 1"):
        read_frozen(path)
    path.write_text("")
    with pytest.raises(BadFrozen, match="does not begin with a header"):
        read_frozen(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines, lines[0]], "is a second header"),
        (lambda lines: [*lines, lines[1]], "is a twin that was there before"),
        (lambda lines: [lines[0], *lines[2:]], "line 2, is a rollout of a twin that was not there before"),
        (lambda lines: [*lines, lines[2]], "is a rollout that was there before"),
        (lambda lines: [*lines[:2], lines[2].replace(b'"point":0', b'"point":99')], "at a step that its twin does not"),
        (lambda lines: lines[1:], "does not begin with a header"),
    ],
    ids=["header", "twin", "no twin", "rollout", "point", "no header"],
)
def test_logs_that_do_not_hold_together_are_refused(
    change: Callable[[list[bytes]], list[bytes]], said: str, logs: Frozen, tmp_path: Path
) -> None:
    path = tmp_path / "logs.jsonl"
    write_frozen(path, logs)
    path.write_bytes(b"\n".join(change(path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(BadFrozen, match=said):
        read_frozen(path)


def test_where_nothing_is_decided_nothing_is_judged(logs: Frozen) -> None:
    idle = msgspec.structs.replace(
        logs, rollouts=tuple(msgspec.structs.replace(each, decisions=()) for each in logs.rollouts)
    )
    with pytest.raises(ValueError, match="nothing is decided in the rollouts of"):
        judge(idle, ways(), size=2)


def test_an_environment_that_is_named_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "credit-bench", "tickets", "tickets", "--rollouts", "4", "--batch", "2"]) == 2
    assert "is named more than once" in capsys.readouterr().err


def test_synthesised_environments_are_played_as_well() -> None:
    [origin] = synthesised(1, 0)
    logs = trio.run(logs_of, origin, Settings(rollouts=4, twins=1, continuations=1))
    assert not logs.reason
    assert len(logs.parts[0][1]) == 4


# --- measures ----------------------------------------------------------------------------------------------

numbers = st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=3, max_size=30)


@given(numbers)
def test_correlation_is_pearsons(pairs: list[tuple[float, float]]) -> None:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    try:
        expected = statistics.correlation(xs, ys)
    except statistics.StatisticsError:
        expected = 0.0
    if statistics.pvariance(xs) * statistics.pvariance(ys) > 1e-12:
        assert correlation(xs, ys) == pytest.approx(expected, abs=1e-6)
    assert -1.000001 <= correlation(xs, ys) <= 1.000001


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1, 1)), min_size=2, max_size=30), st.floats(0.1, 10))
@example([(0, -8.392644475590279e-160)] * 2, 1.0)
def test_bias_and_noise_do_not_depend_on_the_scale(pairs: list[tuple[int, float]], scale: float) -> None:
    nodes = [node for node, _ in pairs]
    truths = [(node - 1) / 2 for node in nodes]
    said = [number for _, number in pairs]
    bias, noise = bias_and_noise(nodes, truths, said)
    if max(map(abs, said)) > 1e-3:
        again = bias_and_noise(nodes, truths, [scale * number for number in said])
        assert again == (pytest.approx(bias, abs=1e-4, rel=1e-3), pytest.approx(noise, abs=1e-4, rel=1e-3))


def test_what_is_right_on_average_is_noise_and_what_is_always_wrong_is_bias() -> None:
    nodes = ["a", "b"] * 2000
    truths = [1.0, -1.0] * 2000
    fair = [truth + (1 if place % 4 < 2 else -1) for place, truth in enumerate(truths)]
    bias, noise = bias_and_noise(nodes, truths, fair)
    assert bias < 0.05
    assert noise == pytest.approx(1, abs=0.05)
    bias, noise = bias_and_noise(nodes, truths, [1.0, 0.0] * 2000)
    assert bias == pytest.approx(2**-0.5)
    assert noise == 0


# --- the command -------------------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(credit_bench, list(words), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output  # type: ignore[return-value]


def test_the_command_judges_frozen_logs_fills_a_page_and_draws(logs: Frozen, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path, page, plot = tmp_path / "logs.jsonl", tmp_path / "page.md", tmp_path / "credit.svg"
    write_frozen(path, logs)
    page.write_text(f"# Before\n\n{START}\nold\n{END}\n\nAfter.\n")
    code, output = run("--on", str(path), "--page", str(page), "--plot", str(plot))
    assert code == 0
    assert "turn-groups" in output
    text = page.read_text()
    assert text.startswith(f"# Before\n\n{START}\n192 rollouts of 4 twins of 2 environments")
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "| forks | own |" in text
    assert plot.read_text().startswith("<?xml")
    _, lines = run("--on", str(path), "--json")
    *each, summary = map(json.loads, lines.splitlines())
    assert len(each) == len(ways())
    assert summary["planted_last"] is True


def test_a_page_without_a_place_is_told_so(logs: Frozen, found: list[Judged]) -> None:
    with pytest.raises(ValueError, match="no place for the tables"):
        with_tables("# A page\n", logs, found, 8)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--on", "nowhere.jsonl"), "No such file"),
        (("tickets", "--on", "x.jsonl"), "no environment is played beside them"),
        (("tickets", "--rollouts", "8"), "not enough for two batches"),
        (("nonsense",), "there is no file, folder or example 'nonsense'"),
        (("--page", "nowhere.md"), "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(Told, match=sentence):
        run(*words)
