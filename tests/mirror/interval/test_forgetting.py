"""Forgetting topics and flows, on the in-memory pair."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import LeaseHeld, NothingRecorded, NothingToForget, ProgressUnknown
from airflow_provider_mm2.mirror.incident_model import IncidentKind
from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.run import forget_progress
from airflow_provider_mm2.mirror.state import lease
from tests.mirror.interval.seed_world import GROUP, KEPT, SeedWorld


@pytest.fixture(autouse=True)
def _short_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.01)


@pytest.fixture
def world() -> SeedWorld:
    """Give a flow that has mirrored two topics."""
    world = SeedWorld()
    world.pair.us.create_topic("orders2", 1, KEPT)
    world.pair.us.produce("orders2", 0, *world.numbered(4))
    world.write(10)
    world.run()
    return world


def test_shown_only(world: SeedWorld) -> None:
    """Without being applied nothing is removed, and all that would be is told."""
    before = dict(world.pair.eu.groups[GROUP])
    report = forget_progress(world.flow, world.pair, topics=["orders"])
    assert [(part, ledger.records) for part, ledger in report.ledgers.items()] == [(TopicPartition("orders", 0), 10)]
    assert report.topics_deleted == ()
    assert world.pair.eu.groups[GROUP] == before
    assert world.run().warnings == ()


def test_a_topic_that_is_gone_from_the_source(world: SeedWorld) -> None:
    """A deleted topic's progress stays and is reported until it is forgotten; its records stay on the target."""
    world.pair.us.delete_topic("orders2")
    assert any("'orders2' was mirrored and is not on the source" in text for text in world.run().warnings)
    forget_progress(world.flow, world.pair, topics=["orders2"], apply=True, owner="me")
    world.write(2, first=10)
    assert world.run().warnings == ()
    assert world.values() == list(range(12))
    assert len(world.pair.eu.visible("us.orders2", 0)) == 4
    assert set(world.pair.eu.groups[GROUP]) == {TopicPartition("us.orders", 0)}
    assert world.incidents() == [(IncidentKind.FORGOTTEN, 0, 4, 4)]


def test_a_topic_taken_out_of_the_flow(world: SeedWorld) -> None:
    """A topic that the flow leaves out now is reported, with the rule, until it is forgotten."""
    without = {"topics_exclude": ("orders2",)}
    (warning,) = world.run(**without).warnings
    assert "'orders2' was mirrored and is left out now (topics_exclude: orders2)" in warning
    flow = world.flow.model_copy(update=without)
    forget_progress(flow, world.pair, topics=["orders2"], apply=True)
    assert world.run(**without).warnings == ()


def test_a_forgotten_topic_that_is_still_selected(world: SeedWorld) -> None:
    """A run does not begin anew beside the records that are there: it stops, and a seed can find the place again."""
    forget_progress(world.flow, world.pair, topics=["orders"], apply=True)
    with pytest.raises(ProgressUnknown):
        world.run()
    world.seed("match", topics=("orders",))
    world.write(3, first=10)
    world.run()
    assert world.values() == list(range(13))


def test_a_whole_flow(world: SeedWorld) -> None:
    """All of a flow is forgotten: its own topics and its progress group; what it mirrored stays."""
    report = forget_progress(world.flow, world.pair, apply=True)
    assert report.topics_deleted == ("mm2-groups.f.internal", "mm2-offset-map.f.internal", "mm2-flow.f.internal")
    assert not [name for name in world.pair.eu.topics if ".f." in name]
    assert GROUP not in world.pair.eu.groups
    assert world.values() == list(range(10))
    with pytest.raises(NothingRecorded, match="nothing is recorded of flow 'f'") as caught:
        forget_progress(world.flow, world.pair, apply=True)
    assert caught.value.exit_code == 2
    assert "forgotten before" in str(caught.value)


def test_what_is_not_there(world: SeedWorld) -> None:
    """A topic of which nothing is recorded is refused; the target's name is not the source's."""
    with pytest.raises(NothingToForget, match="it has of: orders, orders2"):
        forget_progress(world.flow, world.pair, topics=["us.orders"], apply=True)


def test_while_a_run_is_at_work(world: SeedWorld) -> None:
    """A run that holds a shard is waited for, and after that the command gives up; nothing is removed."""
    membership = world.pair.target.membership("mm2.f.0.lease", "mm2-flow.f.internal", "a run", 6)
    membership.poll(0.1)
    assert membership.held
    flow = world.flow.model_copy(update={"lease_wait_s": 0.1})
    with pytest.raises(LeaseHeld, match="a run"):
        forget_progress(flow, world.pair, topics=["orders"], apply=True)
    membership.leave()
    assert world.run().warnings == ()


@pytest.mark.parametrize("call", range(6))
def test_killed_anywhere(world: SeedWorld, call: int) -> None:
    """Killed between any two of its writes, it leaves a state that a run goes on from without loss or repeats."""
    from tests.mirror.offsets.group_world import Killed, Trapped

    left = call

    def hit() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    real = world.pair.target
    world.pair.target = Trapped(real, hit, after=False)  # type: ignore[assignment]
    try:
        forget_progress(world.flow, world.pair, topics=["orders2"], apply=True)
    except Killed:
        world.pair.eu.expire_member("mm2.f.0.lease")
    world.pair.target = real
    world.write(2, first=10)
    without = {"topics_exclude": ("orders2",)}
    world.run(**without)
    forget_progress(world.flow.model_copy(update=without), world.pair, topics=[], apply=False)
    assert world.values() == list(range(12))
