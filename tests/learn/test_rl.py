"""An update of reinforcement learning: from the rollouts that its number says to new weights, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
import trio

from coworkenv.agents.building import build_coworkers
from coworkenv.events.event import AGENT, EffectResolved, EpisodeForked
from coworkenv.events.log import Log
from coworkenv.events.memory import MemoryLog
from coworkenv.learn import collecting
from coworkenv.learn.credit import gae
from coworkenv.learn.forking import written
from coworkenv.learn.models import Loaded, weights_digest
from coworkenv.learn.playing import Draft
from coworkenv.learn.policies import Settings, policy_of
from coworkenv.learn.rl import BadSettings, Experience, Learner, PolicyFailed, RlSettings, check_sampled
from coworkenv.learn.samples import microbatches, samples
from coworkenv.learn.splits import Split, base_of, read_split
from coworkenv.learn.training import Trainer
from coworkenv.worlds.world import World
from tests.learn.workshop import furnish, llama, reading

SMALL: dict[str, Any] = {"sets": 2, "rollouts": 3, "lr": 1e-3, "max_tokens": 8}


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    torch.set_num_threads(1)
    return read_split(furnish(tmp_path_factory.mktemp("workshop")) / "train.yaml")


def learner(split: Split, **given: Any) -> Learner:
    settings = RlSettings(**{**SMALL, **given})
    trainer = Trainer(llama(), settings)
    loaded = Loaded(trainer.model, reading(), "tiny", weights_digest(trainer.model), 1024, {})
    asked = Settings(temperature=settings.temperature, max_tokens=settings.max_tokens)
    return Learner(trainer, policy_of(loaded, asked), split, settings)


def lived(given: Learner, update: int = 0, log: Log | None = None) -> Experience:
    async def living(log: Log) -> Experience:
        async with log.writing():
            return await given.live(update, log)

    return trio.run(living, log or MemoryLog())


# --- what is sampled, and what of ------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", ["1", "0.7"])
def test_before_the_first_step_the_policy_is_the_one_that_sampled(split: Split, temperature: str) -> None:
    given = learner(split, temperature=Decimal(temperature))
    parts = [part for each in lived(given).lived for part in samples(each.rollout.trajectory)]
    for batch in microbatches(parts, 2048):
        old = [value for sample in batch for span in sample.spans for value in span.logprobs or ()]
        now = given.trainer.score(batch, float(temperature)).logprobs
        assert len(old) == len(now) > 0
        assert float((now - torch.tensor(old)).exp().sub(1).abs().max()) < 1e-3


def test_every_twin_of_a_set_is_played_as_often_and_no_episode_twice(split: Split) -> None:
    given = learner(split)
    drafts = [draft for update in range(3) for draft in given.drafts(update)]
    assert len(drafts) == 3 * 2 * 2 * 3
    for update in range(3):
        played = [draft.world.id for draft in given.drafts(update)]
        for world in split.worlds:
            twins = {played.count(other.id) for other in split.worlds if base_of(other.id) == base_of(world.id)}
            assert len(twins) == 1
            assert twins <= {0, 3, 6}  # Where one round of all sets ends and the next begins, a set may come twice.
    assert len({(draft.world.id, draft.seed) for draft in drafts}) == len(drafts)


def test_the_episodes_of_several_processes_are_those_of_one(split: Split) -> None:
    one = learner(split)
    wanted = one.drafts(4)
    found: list[Draft] = []
    for place in range(2):
        one.trainer.accelerator = SimpleNamespace(num_processes=2, process_index=place)  # type: ignore[assignment]
        part = one.drafts(4)
        assert len({base_of(draft.world.id) for draft in part}) == 1
        found += part
    assert sorted(found, key=lambda draft: draft.seed) == wanted


def test_the_weights_change_and_the_policy_is_named_by_the_new_ones(split: Split) -> None:
    given = learner(split)
    before = given.policy.options.weights
    told = given.learn(lived(given))
    assert given.policy.options.weights == weights_digest(given.trainer.model) != before
    assert len(told["episodes"]) == 12
    assert told["gradient"] > 0


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"temperature": Decimal(0)}, "sample above temperature 0"),
        ({"rollouts": 1}, "at least two rollouts"),
        ({"processing": "guess"}, "there is no processing 'guess'"),
        ({"credit": "guess"}, "there is no credit 'guess'; there are uniform"),
    ],
)
def test_settings_with_which_nothing_can_be_learnt_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(BadSettings, match=says):
        RlSettings(**given)


@pytest.mark.parametrize("extra", [{"top_k": 5}, {"top_p": Decimal("0.9")}])
def test_samplers_that_leave_tokens_out_are_refused(split: Split, extra: Mapping[str, Any]) -> None:
    given = learner(split)
    given.policy.options = msgspec.structs.replace(given.policy.options, extra=extra)
    with pytest.raises(BadSettings, match="top_k and top_p leave tokens out"):
        Learner(given.trainer, given.policy, split, given.settings)


@pytest.mark.parametrize("change", [{"logprobs": None}, {"sampler": None}])
def test_decisions_whose_probabilities_nobody_knows_are_refused(split: Split, change: dict[str, None]) -> None:
    found = lived(learner(split)).lived
    check_sampled(found)
    trajectory = found[0].rollout.trajectory
    first, *rest = trajectory.decisions
    decisions = (msgspec.structs.replace(first, **change), *rest)
    rollout = msgspec.structs.replace(
        found[0].rollout, trajectory=msgspec.structs.replace(trajectory, decisions=decisions)
    )
    with pytest.raises(BadSettings, match=f"the decision at event {first.seq} of {found[0].score.environment}"):
        check_sampled([msgspec.structs.replace(found[0], rollout=rollout), *found[1:]])


# --- what goes wrong -------------------------------------------------------------------------------------------


class Broken:
    """A coworker that raises as soon as it lives."""

    @property
    def specification(self) -> dict[str, Any]:
        return {"kind": "rules"}

    async def act(self, context: object) -> str:
        raise RuntimeError("somebody's code is broken")


def break_coworkers(monkeypatch: pytest.MonkeyPatch, which: Any, players: Any = collecting) -> None:
    """Have the coworkers of certain worlds raise, for the players of a module."""

    def build(world: World) -> Any:
        return {name: Broken() for name in world.people} if which(world.id) else build_coworkers(world)

    monkeypatch.setattr(players, "build_coworkers", build)


def test_a_twin_set_of_which_one_raises_is_left_out_whole_and_counted(
    split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = learner(split)
    broken = given.drafts(0)[0].world.id
    break_coworkers(monkeypatch, lambda name: name == broken)
    told = given.learn(lived(given))
    assert told["failed"] == 3
    assert len(told["episodes"]) == 6
    assert told["gradient"] > 0


def test_where_everything_raises_there_is_nothing_to_learn_and_that_is_said(
    split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = learner(split)
    break_coworkers(monkeypatch, lambda name: True)
    before = weights_digest(given.trainer.model)
    with pytest.raises(
        PolicyFailed, match=r"none of the episodes .* 12 failed, first: office\.letters/.*: ann failed: RuntimeError"
    ):
        given.learn(lived(given))
    assert weights_digest(given.trainer.model) == before


def test_a_policy_whose_weights_are_no_numbers_is_not_the_environments_fault(split: Split) -> None:
    given = learner(split)
    with torch.no_grad():
        given.trainer.model.model.norm.weight[0] = float("nan")
    with pytest.raises(PolicyFailed, match=r"the policy failed in office\.letters/"):
        lived(given)


def test_a_continuation_that_raises_takes_its_twin_set_out(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    given, real = learner(split, credit="forks", forks=1), collecting.fork_episode
    broken = base_of(given.drafts(0)[0].world.id)

    async def fork(log: Log, stream: str, *more: Any) -> Any:
        if log.row(stream).environment == broken:
            raise RuntimeError("somebody's code is broken")
        return await real(log, stream, *more)

    monkeypatch.setattr(collecting, "fork_episode", fork)
    found = lived(given)
    assert found.failed > 0
    assert {each.score.environment for each in found.lived} == {base_of(given.drafts(0)[-1].world.id)}
    assert found.advantages is not None
    assert len(found.advantages) == len(found.lived) == 6


# --- credit that plays or learns more --------------------------------------------------------------------------


def test_tokens_of_continuations_are_in_the_budget_and_said(split: Split) -> None:
    given, log = learner(split, credit="forks", forks=2), MemoryLog()
    found = lived(given, log=log)
    told = given.learn(found)
    decisions = [each.rollout.trajectory.decisions for each in found.lived]
    forks = [row for row in log.rows(kind="episode") if row.parent]
    assert len(forks) == 2 * sum(len(each) - 1 for each in decisions)
    paid = 0
    for row in forks:
        events = list(log.read(row.id))
        start = next(event.seq for event in events if isinstance(event.body, EpisodeForked))
        paid += sum(
            event.body.tokens or 0
            for event in events[start:]
            if event.actor == AGENT and isinstance(event.body, EffectResolved)
        )
    own = sum(each.rollout.trajectory.tokens for each in found.lived)
    assert written(log) == (own, paid)
    assert (told["sampled"], told["forked"]) == (own + paid, paid)
    assert paid > 0


def test_a_continuation_keeps_the_decision_and_decides_the_rest_anew(split: Split) -> None:
    from coworkenv.learn.trajectories import read_trajectory

    given, log = learner(split, credit="forks", forks=1), MemoryLog()
    found = lived(given, log=log)
    parents = {each.score.episode: each.rollout.trajectory for each in found.lived}
    others = 0
    for row in (row for row in log.rows(kind="episode") if row.parent):
        parent = parents[str(row.parent)]
        fork = read_trajectory(log, row.id, reading())
        start = next(event.seq for event in log.read(row.id) if isinstance(event.body, EpisodeForked))
        kept = [decision for decision in parent.decisions if decision.seq < start]
        assert [fork.written(each) for each in fork.decisions[: len(kept)]] == [parent.written(each) for each in kept]
        rest = [fork.written(each) for each in fork.decisions[len(kept) :]]
        others += rest != [parent.written(each) for each in parent.decisions[len(kept) :]]
    assert others > 0


def test_advantages_of_forks_add_up_to_how_much_better_it_ended_than_the_others(split: Split) -> None:
    found = lived(learner(split, credit="forks", forks=1))
    assert found.advantages is not None
    for each, row in zip(found.lived, found.advantages, strict=True):
        twins = [
            float(other.exact)
            for other in found.lived
            if (other.score.environment, other.score.twin) == (each.score.environment, each.score.twin)
            and other is not each
        ]
        assert sum(row) == pytest.approx(float(each.exact) - sum(twins) / len(twins))
        assert len(row) == len(each.rollout.rewards)


def test_values_are_learnt_and_then_are_the_baseline(split: Split) -> None:
    given = learner(split, credit="gae", value_lr=0.05)
    first = lived(given)
    _, before = given._judged(first)
    assert all(value == 0 for row in before for value in row)  # A head that knows nothing says so.
    told = given.learn(first)
    assert told["gradient"] > 0
    second = lived(given, 1)
    _, values = given._judged(second)
    assert [len(row) for row in values] == [len(each.rollout.rewards) for each in second.lived]
    assert any(value != 0 for row in values for value in row)
    credit = given._credit([*second.lived], [second], values)
    for each, row, found in zip(second.lived, values, credit.advantages, strict=True):
        assert found == gae(each.rollout.rewards, row, 1.0, 0.95)


def test_the_value_before_a_decision_depends_on_nothing_that_comes_later(split: Split) -> None:
    given = learner(split, credit="gae", value_lr=0.05)
    found = lived(given)
    given.learn(found)
    trajectory = found.lived[0].rollout.trajectory
    last = trajectory.decisions[-1]
    cut = msgspec.structs.replace(
        trajectory,
        segments=(*trajectory.segments[:-1], (*trajectory.segments[-1][: last.start], *[9] * last.tokens)),
    )
    lives = [msgspec.structs.replace(found.lived[0].rollout, trajectory=each) for each in (trajectory, cut)]
    experience = found._replace(lived=[msgspec.structs.replace(found.lived[0], rollout=each) for each in lives])
    _, (one, other) = given._judged(experience)
    assert one == pytest.approx(other, abs=1e-6)
