"""Comparing along the offset map: each fault is found where it is, named, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import (
    ClusterUnreachable,
    FlowChanged,
    FlowNotPrepared,
    ForeignWrites,
    KafkaFailure,
    NothingToVerify,
    NotOfTheFlow,
    RangeNotMirrored,
    SourceTopicRecreated,
    TargetTopicGone,
    TargetTopicRecreated,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import from_ms
from airflow_provider_mm2.mirror.offsets.seed import Seed, SeedKind
from airflow_provider_mm2.mirror.run import seed_progress
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.log import Entry, Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS
from tests.mirror.verify.verify_world import COPY, ORDERS, VerifyWorld, message


@pytest.fixture
def world() -> VerifyWorld:
    """Give 100 records, mirrored in three runs: 0-39 at 0, 40-69 at 41, 70-99 at 72."""
    return VerifyWorld().mirrored(40, 30, 30)


def test_clean(world: VerifyWorld) -> None:
    """A mirror without a fault: every record is counted, and both digests are the same."""
    report = world.verify()
    (row,) = report.to_json()["partitions"]
    assert (report.count, report.records, row["target_records"]) == (0, 100, 100)
    assert row["digest"] == row["target_digest"]
    assert (row["start"], row["end"], row["target_topic"]) == (0, 100, "us.orders")


def test_clean_with_holes() -> None:
    """Aborted records and markers at the source, and foreign aborted ones at the target, hinder nothing."""
    world = VerifyWorld().mirrored(10)
    world.pair.us.transaction("orders", 0, *map(message, range(3)), outcome=Outcome.ABORTED)
    world.write(10, 20)
    world.pair.us.transaction("orders", 0, *map(message, range(20, 25)))
    world.run()
    world.pair.eu.transaction(*COPY, message(0), outcome=Outcome.ABORTED)
    assert (world.found(), world.verify().records) == ([], 25)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "one byte of a value": ({"value": b"v5x"}, "value 3 bytes (sha256 "),
    "header order": ({"headers": (("b", b"50"), ("a", b"1"))}, "headers 2 (bytes: 1, 2; sha256 "),
    "null turned into empty": ({"value": b""}, "-> 0 bytes (sha256 e3b0c44298fc)"),
    "a millisecond": ({"timestamp_ms": BASE_MS + 51}, f"timestamp {BASE_MS + 50} -> {BASE_MS + 51}"),
    "the key": ({"key": None}, "key 3 bytes (sha256 "),
    "a header less": ({"headers": ()}, "headers 2 (bytes: 1, 2; sha256 "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_changed_record(world: VerifyWorld, fault: str) -> None:
    """What differs is told with its place on both sides, and nothing of what it says."""
    fields, detail = FAULTS[fault]
    world.edit_at(51, **fields)
    report = world.verify()
    assert world.found() == [("changed", 50, 51, 1)]
    assert detail in report.mismatches[0].detail
    assert "v50" not in str(report.to_json())
    (row,) = report.to_json()["partitions"]
    assert row["digest"] != row["target_digest"]


def test_an_empty_value_turned_null() -> None:
    """Nothing and an empty part are told apart, on either side."""
    world = VerifyWorld()
    world.pair.us.produce("orders", 0, Message(key=b"", value=b"", timestamp_ms=BASE_MS), Message(timestamp_ms=BASE_MS))
    world.run()
    assert world.found() == []
    world.edit_at(0, value=None)
    world.edit_at(1, key=b"")
    details = [each.detail for each in world.verify().mismatches]
    assert details == ["value 0 bytes (sha256 e3b0c44298fc) -> null", "key null -> 0 bytes (sha256 e3b0c44298fc)"]


def test_a_dropped_record_is_one_finding() -> None:
    """Where the rest of a segment has moved up, that is one missing record."""
    world = VerifyWorld().mirrored(100)
    world.plant(lambda records: records[:20] + records[21:])
    assert world.found() == [("missing", 20, None, 1)]


def test_a_doubled_record_is_one_finding() -> None:
    """Where the rest has moved down, that is one duplicate."""
    world = VerifyWorld().mirrored(100)
    world.plant(lambda records: [*records[:21], records[20], *records[21:]])
    assert world.found() == [("duplicate", 20, 21, 1)]


def test_two_swapped_records(world: VerifyWorld) -> None:
    """They are named as being in another order."""
    world.edit_at(10, **{name: getattr(message(11), name) for name in ("key", "value", "headers", "timestamp_ms")})
    world.edit_at(11, **{name: getattr(message(10), name) for name in ("key", "value", "headers", "timestamp_ms")})
    assert world.found() == [("reordered", 10, 11, 1), ("reordered", 11, 10, 1)]


def test_a_missing_tail(world: VerifyWorld) -> None:
    """Records that the ledger has and the target has not are one finding, with how many."""
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset < 90]
    assert world.found() == [("missing", 88, 90, 12)]


def test_a_hole(world: VerifyWorld) -> None:
    """A record that is not at its place, while those behind it are, is missing."""
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset not in (5, 6, 50)]
    assert world.found() == [("missing", 5, 5, 2), ("missing", 49, 50, 1)]


def test_missing_at_the_source(world: VerifyWorld) -> None:
    """A record that the source has lost from its midst is told by its place."""
    world.source_log.entries = [entry for entry in world.source_log.entries if entry.offset != 50]
    assert world.found() == [("missing at the source", 50, 51, 1)]


def test_several_faults(world: VerifyWorld) -> None:
    """Faults are told in their order, each by itself."""
    world.edit_at(0, value=b"x")
    world.edit_at(41, key=b"x")
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset != 45]
    world.edit_at(101, timestamp_ms=1)
    assert world.found() == [
        ("changed", 0, 0, 1),
        ("changed", 40, 41, 1),
        ("missing", 44, 45, 1),
        ("changed", 99, 101, 1),
    ]


def test_everything_differs(world: VerifyWorld) -> None:
    """Where nothing is alike each record is told as changed, as far as findings are listed."""
    for entry in list(world.target_log.entries):
        if entry.message is not None:
            world.edit_at(entry.offset, value=b"x")
    report = world.verify()
    assert (report.count, {each.kind.value for each in report.mismatches}) == (100, {"changed"})


def test_not_mirrored() -> None:
    """A record of the source that no segment covers was not mirrored."""
    world = VerifyWorld().mirrored(10)
    aborted = world.pair.us.transaction("orders", 0, message(10), message(11), outcome=Outcome.ABORTED)
    world.write(12, 20)
    world.run()
    aborted.outcome = Outcome.COMMITTED
    assert world.found() == [("not mirrored", 10, None, 2)]


def test_foreign(world: VerifyWorld) -> None:
    """A record of the target that no segment covers is foreign."""
    entries = world.target_log.entries
    marker = next(place for place, entry in enumerate(entries) if entry.offset == 40)
    entries[marker] = Entry(40, message(1000), None, 0)
    assert world.found() == [("foreign", None, 40, 1)]


@pytest.mark.parametrize("shift", ["", "dropped", "doubled"])
@pytest.mark.thorough
def test_foreign_behind_the_end(world: VerifyWorld, shift: str) -> None:
    """Records behind the mirrored end that nobody knows are foreign, as they are for the next run."""
    edits = {"": slice(0, 0), "dropped": slice(20, 21), "doubled": slice(0, 0)}
    world.plant_runs(
        lambda runs: [
            [each for at, each in enumerate(runs[0]) if at not in range(100)[edits[shift]]],
            *runs[1:-1],
            [*runs[-1][:5], *([runs[-1][4]] if shift == "doubled" else []), *runs[-1][5:]],
        ]
    )
    known = world.found()
    end = max(world.target_log.end, 103)
    world.target_log.end = end
    world.pair.eu.produce(*COPY, message(1000), message(1001))
    assert world.found() == [*known, ("foreign", None, end, 2)]
    assert len(known) == (1 if shift else 0)
    assert world.found(until=50) == [each for each in known if each[1] is not None and each[1] < 50]
    if not shift:
        with pytest.raises(ForeignWrites):
            world.run()


def test_behind_the_end_while_a_run_is_at_work(world: VerifyWorld) -> None:
    """Of records that a run has just committed nothing is said, and of those that it may have a warning."""
    ledger = TopicPartition(naming.ledger_topic("f"), 0)
    world.pair.eu.transaction(*ledger, message(1), outcome=Outcome.OPEN)
    world.pair.eu.produce(*COPY, message(1000))
    report = world.verify()
    assert (report.count, len(report.warnings)) == (0, 1)
    assert "a run may be at work" in report.warnings[0]


def test_behind_the_end_where_it_may_be(world: VerifyWorld) -> None:
    """A flow that lets others write is warned only."""
    world.flow = world.flow.model_copy(update={"on_foreign_writes": "accept"})
    world.pair.eu.produce(*COPY, message(1000))
    report = world.verify()
    assert (report.count, len(report.warnings)) == (0, 1)
    assert "on_foreign_writes" in report.warnings[0]


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_made_anew_meanwhile(world: VerifyWorld, fails: bool) -> None:
    """A target topic that is made anew while it is read is named, whatever reading it came to."""
    original = world.pair.target.read_columns

    def read(part: Any, *arguments: Any, **options: Any) -> Any:
        if part == COPY:
            world.pair.eu.delete_topic(COPY.topic)
            world.pair.eu.create_topic(COPY.topic)
            if fails:
                raise KafkaFailure(alias="eu", operation="read", code="_AUTO_OFFSET_RESET", problem="out of range")
        return original(part, *arguments, **options)

    world.pair.target.read_columns = read  # type: ignore[method-assign]
    with pytest.raises(TargetTopicRecreated, match=r"'us\.orders'"):
        world.verify()


def test_a_gap_on_record(world: VerifyWorld) -> None:
    """Source records that a seed passed over are counted, not missed."""
    world.write(100, 110)
    seed_progress(world.flow, world.pair, Seed(kind=SeedKind.LATEST), force=True, apply=True)
    world.write(110, 120)
    world.run()
    report = world.verify()
    assert (report.count, report.records) == (0, 120)
    assert report.to_json()["partitions"][0]["on_record"] == {"seeded": 10}


def test_repeats_at_least_once() -> None:
    """Without transactions a copy outside the map may be a repeat, and is named so."""
    world = VerifyWorld(delivery=Delivery.AT_LEAST_ONCE).mirrored(10)
    world.pair.eu.produce(*COPY, message(8), message(9))
    world.write(10, 20)
    world.run()
    assert world.found() == [("repeat or foreign", None, 10, 2)]


def test_expired_heads() -> None:
    """What retention took on either side is counted, and is no loss."""
    world = VerifyWorld().mirrored(40, 60)
    world.pair.us.advance_log_start("orders", 0, 10)
    (row,) = world.verify().to_json()["partitions"]
    assert (row["mismatches"], row["expired_source"], row["expired_target"]) == (0, 10, 0)
    world.pair.eu.advance_log_start(*COPY, 51)
    (row,) = world.verify().to_json()["partitions"]
    assert (row["mismatches"], row["expired_source"], row["expired_target"]) == (0, 0, 40)


@pytest.mark.parametrize("side", ["source", "target"])
def test_retention_that_goes_on(world: VerifyWorld, side: str) -> None:
    """What retention takes while both sides are read is no loss either."""
    calls = 0

    def tick() -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            cluster, part = (world.pair.us, ORDERS) if side == "source" else (world.pair.eu, COPY)
            cluster.topics[part.topic].logs[0].advance_start(60)

    (row,) = world.verify(tick=tick).to_json()["partitions"]
    assert row["mismatches"] == 0
    assert row[f"expired_{side}"] > 0


def keyed(world: VerifyWorld, *rows: tuple[bytes, bytes | None]) -> None:
    """Write records with keys that come again."""
    stamped = enumerate(rows, world.source_log.end)
    world.pair.us.produce(
        "orders", 0, *(Message(key=key, value=value, timestamp_ms=BASE_MS + at) for at, (key, value) in stamped)
    )


@pytest.mark.parametrize("sides", [{"source": True}, {"target": True}, {"source": True, "target": True}])
def test_compaction(sides: dict[str, bool]) -> None:
    """What a later record of its key has replaced is counted, on whichever side it was."""
    world = VerifyWorld()
    keyed(world, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"b", None), (b"a", b"3"))
    world.run()
    world.compact(**sides)
    (row,) = world.verify().to_json()["partitions"]
    assert row["mismatches"] == 0
    hidden = {"compacted_source": 3 if "source" in sides else 0, "compacted_target": 3 if "target" in sides else 0}
    if len(sides) == 2:
        hidden = {"compacted_source": 0, "compacted_target": 0}
    assert {name: row[name] for name in hidden} == hidden


def test_compaction_by_a_record_behind_the_bound() -> None:
    """A record may also be replaced by one that came after what is compared."""
    world = VerifyWorld()
    keyed(world, (b"a", b"1"), (b"b", b"1"))
    world.run()
    keyed(world, (b"a", b"2"), (b"c", b"1"))
    world.compact(source=True)
    (row,) = world.verify().to_json()["partitions"]
    assert (row["mismatches"], row["compacted_source"]) == (0, 1)


def test_loss_in_a_compacted_topic() -> None:
    """The last record of a key is missed where no later one explains it; those before it are not."""
    world = VerifyWorld()
    keyed(world, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"))
    world.run()
    world.compact(target=True)
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset != 2]
    (row,) = world.verify().to_json()["partitions"]
    assert (world.found(), row["compacted_target"]) == ([("missing", 2, 2, 1)], 1)


def test_expired_tombstones() -> None:
    """A tombstone goes in the end, and what it replaced before it; it may not go alone."""
    world = VerifyWorld()
    keyed(world, (b"a", b"1"), (b"b", b"1"), (b"a", None), (b"c", b"1"))
    world.run()
    world.compact(target=True)
    kept = world.target_log.entries
    world.target_log.entries = [entry for entry in kept if entry.offset not in (0, 2)]
    (row,) = world.verify().to_json()["partitions"]
    assert (row["mismatches"], row["compacted_target"]) == (0, 2)

    other = VerifyWorld()
    keyed(other, (b"a", b"1"), (b"b", b"1"), (b"a", None), (b"c", b"1"))
    other.run()
    other.pair.eu.topics[COPY.topic].settings["cleanup.policy"] = "compact"
    other.target_log.entries = [entry for entry in other.target_log.entries if entry.offset != 2]
    report = other.verify()
    assert other.found() == [("missing", 2, 2, 1)]
    assert "is still there" in report.mismatches[0].detail


def test_while_mirroring_goes_on(world: VerifyWorld) -> None:
    """The ends are those of the start: what is mirrored meanwhile is neither missed nor foreign."""
    reader = world.pair.source
    original = reader.read_columns

    def read(*arguments: Any, **options: Any) -> Any:
        world.write(100, 150)
        world.run()
        return original(*arguments, **options)

    reader.read_columns = read  # type: ignore[method-assign]
    report = world.verify()
    assert (report.count, report.records) == (0, 100)


def test_a_range(world: VerifyWorld) -> None:
    """Only what lies in the range is compared, be it given in offsets or in times."""
    world.edit_at(51, value=b"x")  # source offset 50
    assert world.found(since=51) == []
    assert world.found(until=50) == []
    assert world.found(since=50, until=51) == [("changed", 50, 51, 1)]
    times = {"since": from_ms(BASE_MS + 20), "until": from_ms(BASE_MS + 51)}
    assert (world.verify(**times).records, world.found(**times)) == (31, [("changed", 50, 51, 1)])


def test_a_range_that_is_not_mirrored(world: VerifyWorld) -> None:
    """It is refused where nothing of it was, and told where a part was not."""
    for order in ({"since": 100}, {"since": 60, "until": 60}, {"since": from_ms(BASE_MS + 5000)}):
        with pytest.raises(RangeNotMirrored, match=r"orders-0 \[0, 100\)"):
            world.verify(**order)
    assert world.verify(since=90, until=120).warnings == (
        "orders-0: mirrored is [0, 100), no more of the range was compared",
    )


def test_topics(world: VerifyWorld) -> None:
    """Only the topics that are named are compared; an unknown one is refused with those much like it."""
    world.pair.us.create_topic("orders-2")
    world.pair.us.produce("orders-2", 0, message(1))
    world.run()
    assert [row.part.source.topic for row in world.verify(topics=("orders-2",)).results] == ["orders-2"]
    assert len(world.verify().results) == 2
    with pytest.raises(NotOfTheFlow, match=r"no topic order .*much like it: orders"):
        world.verify(topics=("order",))


def test_nothing_mirrored() -> None:
    """A flow that never ran, or ran on nothing, has nothing to prove."""
    world = VerifyWorld()
    with pytest.raises(FlowNotPrepared):
        world.verify()
    world.pair.us.delete_topic("orders")
    world.pair.us.create_topic("other")
    world.flow = world.flow.model_copy(update={"topics": ("other",)})
    world.pair.us.topics["other"].logs.clear()
    with pytest.raises((NothingToVerify, FlowNotPrepared)):
        world.verify()


def test_an_empty_partition() -> None:
    """A partition without a record is clean, and its digests are those of nothing."""
    world = VerifyWorld()
    world.run()
    (row,) = world.verify().to_json()["partitions"]
    assert (row["records"], row["mismatches"], row["digest"]) == (0, 0, "0" * 64)


def test_recreated_topics(world: VerifyWorld) -> None:
    """A topic that was made anew on either side is refused by its name, one that is gone as well."""
    world.pair.eu.delete_topic(COPY.topic)
    with pytest.raises(TargetTopicGone):
        world.verify()
    world.pair.eu.create_topic(COPY.topic)
    with pytest.raises(TargetTopicRecreated, match=r"'us\.orders'"):
        world.verify()
    world.pair.us.delete_topic("orders")
    with pytest.raises(TopicDeleted):
        world.verify(topics=("orders",))
    with pytest.raises(NothingToVerify, match="no topic is on the source any more: orders"):
        world.verify()
    world.pair.us.create_topic("orders")
    with pytest.raises(SourceTopicRecreated, match="'orders'"):
        world.verify()


def test_other_clusters(world: VerifyWorld) -> None:
    """A flow is compared between the clusters it has mirrored between, and both must answer."""
    world.pair.us.alias = "elsewhere"
    with pytest.raises(FlowChanged, match="source cluster id"):
        world.verify()
    world.pair.us.alias = "us"
    world.pair.us.reachable = False
    with pytest.raises(ClusterUnreachable):
        world.verify()
