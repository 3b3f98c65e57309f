"""Coming home on the fake pair: nothing twice, stranded records as a person says, round and round."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import (
    FailbackRefused,
    FlowFrozen,
    StrandedDecided,
    StrandedUndecided,
    WayHomeNotPrepared,
)
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.failback_report import NOT_PREPARED, PREPARED
from airflow_provider_mm2.mirror.recovery.steps import Mode, Stage
from airflow_provider_mm2.mirror.recovery.stranded import HEADER
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from tests.fakes.cluster import FakeCluster
from tests.mirror.recovery.failover_world import order
from tests.mirror.recovery.home_world import HomeWorld


@pytest.fixture(params=["default", "identity"])
def world(request: pytest.FixtureRequest) -> HomeWorld:
    """100 records mirrored, groups at 60 and 100."""
    return HomeWorld(replication_policy=request.param)


def read_on(world: HomeWorld, cluster: FakeCluster, topic: str, group: str, offset: int) -> None:
    """Let a group go on reading."""
    cluster.commit_offsets(group, {TopicPartition(topic, 0): offset})


def test_what_was_mirrored_stays_away(world: HomeWorld) -> None:
    """K44: only what the other side took comes home, and groups come back to their exact places."""
    world.fail_over()
    world.write(world.pair.eu, world.away, 20)
    read_on(world, world.pair.eu, world.away, "idle", 111)
    seen = world.failback().look()
    assert (seen.state, seen.stranded_records) == (NOT_PREPARED, 0)
    with pytest.raises(WayHomeNotPrepared):
        world.run_home()
    world.prepare()
    assert world.home() == list(range(100))
    world.run_home()
    assert world.home() == list(range(120))
    assert world.prepare().state == PREPARED
    world.homeward().start(order(), approve=True)
    assert world.home() == list(range(120))
    groups, part = world.pair.us.groups, TopicPartition("orders", 0)
    next_of_idle = {offset: message.value for offset, message in world.pair.us.visible("orders", 0)}
    was_next = {offset: message.value for offset, message in world.pair.eu.visible(world.away, 0)}
    assert next_of_idle[groups["idle"][part]] == was_next[111]
    assert groups["app"][part] == 60
    assert world.is_runnable()
    with pytest.raises(FailbackRefused, match="its source is the active side"):
        world.failback().look()


def test_round_and_round(world: HomeWorld) -> None:
    """From us to eu and back, twice, with records written on either side and every run going on."""
    for _ in range(2):
        world.fail_over(Mode.PLANNED)
        world.write(world.pair.eu, world.away, 7)
        world.come_home()
        assert world.home() == world.values(world.pair.eu, world.away) == list(range(world.count))
        world.produce(5)
        assert [part.records for part in world.run().partitions if part.source.topic == "orders"] == [5]
        with pytest.raises(FlowFrozen):
            world.run_home()
        assert world.home() == world.values(world.pair.eu, world.away) == list(range(world.count))


@pytest.mark.parametrize("choice", list(Stranded))
def test_stranded(world: HomeWorld, choice: Stranded) -> None:
    """K45: they are listed, nothing is written before somebody has said what becomes of them."""
    world.produce(5)
    world.fail_over()
    world.write(world.pair.eu, world.away, 20)
    (stranded,) = world.failback().look().stranded
    assert (stranded.start, stranded.end, stranded.records) == (100, 105, 5)
    assert [record.offset for record in stranded.listed] == list(range(100, 105))
    ends = world.pair.eu.log(TopicPartition(world.away, 0)).end, set(world.pair.us.topics)
    with pytest.raises(StrandedUndecided) as refused:
        world.prepare()
    assert refused.value.records == 5
    assert ends == (world.pair.eu.log(TopicPartition(world.away, 0)).end, set(world.pair.us.topics))
    report = world.prepare(choice)
    assert report.copied == (0 if choice is Stranded.KEEP else 5)
    assert [note.records for note in report.notes] == [5]
    world.homeward().start(order(), approve=True)
    new = list(range(105, 125))
    stranded_values = list(range(100, 105))
    copies = stranded_values if choice is Stranded.COPY else []
    assert world.home() == [*range(100), *stranded_values, *new, *copies]
    assert world.values(world.pair.eu, world.away) == [*range(100), *new, *copies]
    if choice is Stranded.QUARANTINE:
        assert world.values(world.pair.eu, "mm2-stranded.f.orders.internal") == stranded_values
    place = {Stranded.COPY: world.away, Stranded.QUARANTINE: "mm2-stranded.f.orders.internal"}.get(choice)
    if place is not None:
        marked = [dict(message.headers) for _, message in world.pair.eu.visible(place, 0)][-5:]
        assert [headers[HEADER] for headers in marked] == [b"us/orders-0@%d" % each for each in range(100, 105)]
    world.produce(3)
    assert sum(part.records for part in world.run().partitions) == 3


def test_more_stranded_than_was_decided(world: HomeWorld) -> None:
    """Somebody writes to the old source after the choice: that has to be decided, too."""
    world.produce(5)
    world.fail_over()
    told: list[str] = []

    def late(line: str) -> None:
        told.append(line)
        if line.startswith("opening the way home"):
            world.produce(2)

    with pytest.raises(StrandedUndecided) as refused:
        world.failback(late).prepare(Stranded.KEEP)
    assert refused.value.records == 2
    with pytest.raises(FlowFrozen):
        world.run_home()
    assert world.failback().look().stranded_records == 2
    world.come_home(Stranded.KEEP)
    assert world.home() == list(range(107))


def test_interrupted_copy_goes_on(world: HomeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stranded record is copied once, however often that is interrupted; another choice is refused meanwhile."""
    monkeypatch.setattr("airflow_provider_mm2.mirror.recovery.stranded.CHUNK_RECORDS", 2)
    world.produce(5)
    world.fail_over()

    def die(line: str) -> None:
        if "copied to" in line:
            raise RuntimeError(line)

    for _ in range(2):
        with pytest.raises(RuntimeError):
            world.failback(die).prepare(Stranded.COPY)
        with pytest.raises(StrandedDecided):
            world.prepare(Stranded.KEEP)
    world.prepare()
    assert world.values(world.pair.eu, world.away) == list(range(105))


def test_source_that_lost_records(world: HomeWorld) -> None:
    """An old source whose log ends before what was mirrored gets it back."""
    world.fail_over()
    world.write(world.pair.eu, world.away, 3)
    world.pair.us.truncate("orders", 0, 95)
    assert "has lost records, which come home again" in world.prepare().warnings[0]
    world.homeward().start(order(), approve=True)
    assert world.home() == list(range(103))
    world.produce(2)
    world.run()
    assert world.values(world.pair.eu, world.away) == list(range(105))


def test_rolled_back(world: HomeWorld) -> None:
    """A way home that is rolled back leaves the other side active, and can begin again."""
    world.fail_over()
    world.write(world.pair.eu, world.away, 4)
    world.prepare()
    held = world.homeward().start(order())
    assert held.state == Stage.AWAITING_APPROVAL.value
    world.homeward().rollback()
    assert not world.is_runnable()
    world.write(world.pair.eu, world.away, 4)
    world.homeward().start(order(), approve=True)
    assert world.home() == list(range(108))


def test_the_other_side_dies_on_the_way_home(world: HomeWorld) -> None:
    """The way home is failed over without the side it leaves, which hands over when it is there again."""
    world.fail_over()
    world.write(world.pair.eu, world.away, 4)
    world.prepare()
    world.run_home()
    world.write(world.pair.eu, world.away, 6)
    closed = world.homeward().start(order(Mode.UNPLANNED), approve=True)
    assert "mm2 failback f --prepare" in closed.steps[11].detail["forward"]
    world.produce(3)
    with pytest.raises(FlowFrozen):
        world.run()
    seen = world.failback().look()
    assert (seen.stranded_records, seen.old_side) == (6, "eu")
    with pytest.raises(StrandedUndecided):
        world.prepare()
    world.prepare(Stranded.KEEP)
    world.run()
    assert world.values(world.pair.eu, world.away) == [
        *range(100),
        *range(100, 104),
        *range(104, 110),
        *range(110, 113),
    ]
    assert world.home() == [*range(104), *range(110, 113)]
