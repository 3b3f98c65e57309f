"""Coming home on the fake pair: nothing twice, stranded records as a person says, round and round."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import (
    FailbackRefused,
    FlowFrozen,
    NotReopenable,
    StrandedDecided,
    StrandedUndecided,
    WayHomeNotPrepared,
)
from airflow_provider_mm2.mirror.flow import ClusterSettings
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.translate import Translated
from airflow_provider_mm2.mirror.recovery.failback_report import NOT_PREPARED, PREPARED
from airflow_provider_mm2.mirror.recovery.steps import Mode, Stage
from airflow_provider_mm2.mirror.recovery.stranded_work import HEADER, StrandedWork
from airflow_provider_mm2.mirror.reverse_flow import reverse_of
from airflow_provider_mm2.mirror.run import forget_progress
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld
from tests.mirror.recovery.failover_world import order
from tests.mirror.recovery.home_world import HomeWorld


@pytest.fixture(params=["default", "identity"])
def world(request: pytest.FixtureRequest) -> HomeWorld:
    """100 records mirrored, groups at 60 and 100."""
    return HomeWorld(replication_policy=request.param)


def read_on(world: HomeWorld, cluster: FakeCluster, topic: str, group: str, offset: int) -> None:
    """Let a group go on reading."""
    cluster.commit_offsets(group, {TopicPartition(topic, 0): offset})


class AbortedFirst(HomeWorld):
    """On both sides an aborted transaction lies before the first record."""

    def __init__(self, **options: Any) -> None:
        GroupWorld.__init__(self, **options)
        self.pair.eu.create_topic(self.away, 1)
        for cluster, topic in ((self.pair.us, "orders"), (self.pair.eu, self.away)):
            gone = [Message(key=b"k", value=b"-1", timestamp_ms=BASE_MS)] * 16
            cluster.transaction(topic, 0, *gone, outcome=Outcome.ABORTED)
        self.produce(50)
        self.commit("app", 60)
        self.run()


@pytest.mark.parametrize("stands", [0, 5, 17])
def test_a_group_on_what_was_aborted_before_the_first_record(stands: int) -> None:
    """It has read nothing, and so it stands at the first record at home too, not where it once was there."""
    world = AbortedFirst(allow_rewind=True)
    world.fail_over()
    world.pair.eu.commit_offsets("app", {TopicPartition(world.away, 0): stands})
    world.write(world.pair.eu, world.away, 10)
    world.come_home()
    assert world.home() == list(range(60))
    assert world.pair.us.groups["app"] == {TopicPartition("orders", 0): 17}
    world.commit("app", stands)
    assert [each.position for each in world.locate().positions["app"]] == [Translated(offset=17)]
    assert world.run().to_json()["records"] == 0


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
def test_a_single_stranded_record(world: HomeWorld, choice: Stranded) -> None:
    """It lies where the marker of a transaction of ours would, and is no stranger's for that; on either way."""
    world.produce(1)
    world.fail_over()
    world.write(world.pair.eu, world.away, 1)
    world.come_home(choice)
    assert world.home()[:102] == list(range(102))
    world.produce(1)
    world.run()
    assert world.values(world.pair.eu, world.away)[-1] == 102


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
    with pytest.raises(WayHomeNotPrepared):
        world.run_home()
    assert world.failback().look().stranded_records == 2
    world.come_home(Stranded.KEEP)
    assert world.home() == list(range(107))


def test_interrupted_copy_goes_on(world: HomeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stranded record is copied once, however often that is interrupted; another choice is refused meanwhile."""
    monkeypatch.setattr("airflow_provider_mm2.mirror.recovery.stranded_work.CHUNK_RECORDS", 2)
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


def test_two_people_prepare(world: HomeWorld) -> None:
    """The second one finds the way home open, also when it slept while the first one brought something home."""
    world.fail_over()
    world.write(world.pair.eu, world.away, 5)

    def other(line: str) -> None:
        if line.startswith("opening the way home"):
            world.prepare()
            world.run_home()

    assert world.failback(other).prepare(None).state == PREPARED
    world.run_home()
    assert world.home() == list(range(105))


def test_an_alias_with_the_separator_in_it() -> None:
    """The whole alias is taken away from the names, not what stands before the first separator."""
    world = HomeWorld(separator="-", source=ClusterSettings(alias="us-1", settings={"bootstrap.servers": "nowhere:1"}))
    world.fail_over()
    world.write(world.pair.eu, "us-1-orders", 3)
    world.come_home()
    assert world.home() == list(range(103))


def test_a_topic_that_is_gone_or_made_anew_away(world: HomeWorld) -> None:
    """A topic that was deleted on the active side is left out; one that was made anew comes home whole, behind."""
    world.pair.us.create_topic("orders2", 1)
    world.produce(5, topic="orders2")
    world.run()
    world.fail_over()
    other = world.away + "2"
    world.pair.eu.delete_topic(other)
    assert f"topic {other!r} is gone from 'eu'" in world.failback().look().warnings[0]
    world.pair.eu.create_topic(other, 1)
    world.write(world.pair.eu, other, 2)
    world.write(world.pair.eu, world.away, 1)
    assert "was made anew: all of it comes home" in world.failback().look().warnings[0]
    world.come_home()
    assert world.home() == [*range(100), 107]
    assert world.values(world.pair.us, "orders2") == list(range(100, 107))


def test_both_sides_have_what_was_never_mirrored(world: HomeWorld) -> None:
    """Records on either side of a new topic: what is at home is decided on, what is away comes behind it."""
    world.fail_over()
    world.pair.us.create_topic("orders3", 1)
    world.produce(2, topic="orders3")
    world.pair.eu.create_topic(world.away + "3", 1)
    world.write(world.pair.eu, world.away + "3", 3)
    seen = world.failback().look()
    assert (seen.stranded_records, {each.target.topic for each in seen.coming}) == (2, {"orders3"})
    world.come_home(Stranded.KEEP)
    assert world.values(world.pair.us, "orders3") == list(range(100, 105))
    world.produce(1, topic="orders3")
    world.run()
    assert world.values(world.pair.eu, world.away + "3")[-1] == 105


def test_another_choice_before_anything_is_copied(world: HomeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice that could not be carried out at all may be changed."""
    world.produce(5)
    world.fail_over()

    def broken(*_: object) -> int:
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(StrandedWork, "carry_out", broken)
        with pytest.raises(RuntimeError):
            world.prepare(Stranded.QUARANTINE)
    world.come_home(Stranded.KEEP)
    assert world.home() == list(range(105))
    assert "mm2-stranded.f.orders.internal" not in world.pair.eu.topics


def test_what_a_way_home_does_not_take(world: HomeWorld) -> None:
    """While it is open its progress is not forgotten; once all is home its failover is not taken back."""
    world.fail_over()
    world.prepare()
    with pytest.raises(FailbackRefused, match="its way home is open"):
        forget_progress(reverse_of(world.flow), world.pair.turned(), apply=True)
    world.homeward().start(order(), approve=True)
    with pytest.raises(NotReopenable, match="all is home"):
        world.homeward().reopen()


def test_a_new_topic_when_the_other_side_died(world: HomeWorld) -> None:
    """What was stranded there in a topic that never came home stops nothing afterwards."""
    world.fail_over()
    world.prepare()
    world.run_home()
    world.pair.eu.create_topic(world.away + "4", 1)
    world.write(world.pair.eu, world.away + "4", 2)
    world.homeward().start(order(Mode.UNPLANNED), approve=True)
    world.prepare(Stranded.COPY)
    world.produce(1)
    world.run()
    assert world.values(world.pair.us, "orders4") == [100, 101]
