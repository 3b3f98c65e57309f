"""What a seed makes of the map of a partition that was mirrored already: kept, or begun anew behind other copies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.seed_rules import SeedFacts, judge_seed, rebased_by
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.seed import Point, Seed, SeedKind
from airflow_provider_mm2.mirror.offsets.translate import Policy, Reason, Translated, Untranslated, translate
from airflow_provider_mm2.mirror.state_model import Delivery, PartitionLedger
from tests.mirror.interval.seed_world import SeedWorld
from tests.mirror.state.ledger_entries import entry

FACTS_OF_RUNS = PartitionFacts(
    source=TopicPartition("orders", 0),
    target=TopicPartition("us.orders", 0),
    source_topic=TopicInfo(name="orders", topic_id="id-1", partitions=1, replication_factor=1),
    target_topic=TopicInfo(name="us.orders", topic_id="id-2", partitions=1, replication_factor=1),
    ledger=PartitionLedger(entries=(entry(10),)),
    group_offset=11,
    source_log=LogOffsets(start=0, stable=50, end=50),
    target_log=LogOffsets(start=0, stable=31, end=31),
    visible=20,
)
"""Ten records that runs have copied, and what another engine has copied behind them."""

COPIED = ("match", "connect:offsets", "source-group:g", "offsets:f", "progress-group", "failover")


def map_after(seed: str, *, new: int, copies: int, visible: int, source_start: int = 0) -> OffsetMap:
    """The map of a partition with ten records and a marker on both sides, set ahead to ``new`` by a seed.

    :param copies: records on the target behind those of the flow; ``visible``: on the source up to ``new``.
    """
    facts = PartitionFacts(
        source=TopicPartition("orders", 0),
        target=TopicPartition("us.orders", 0),
        source_topic=TopicInfo(name="orders", topic_id="id-1", partitions=1, replication_factor=1),
        target_topic=TopicInfo(name="us.orders", topic_id="id-2", partitions=1, replication_factor=1),
        ledger=PartitionLedger(entries=(entry(10),)),
        group_offset=11,
        source_log=LogOffsets(start=source_start, stable=50, end=50),
        target_log=LogOffsets(start=0, stable=11 + copies, end=11 + copies),
        visible=copies,
    )
    point = Point(offset=new, why="it says so")
    given = SeedFacts(facts=facts, point=point, visible=visible, oldest_ms=None, retention_ms=None)
    row = judge_seed(given, Seed.parse(seed), now_ms=0)
    ledger = rebased_by(row, facts, "cluster", Delivery.EXACTLY_ONCE).ledger
    assert ledger.latest.next_offset == new
    return OffsetMap.of(ledger)


def at(offset_map: OffsetMap, position: int) -> Any:
    """Where a group stands."""
    return translate(offset_map, position, target_log_start=0, policy=Policy())


@pytest.mark.parametrize("seed", COPIED)
def test_behind_copies_of_another_tool(seed: str) -> None:
    """A group among records that another tool has copied gets no place by the map, so it cannot skip a copy."""
    offset_map = map_after(seed, new=31, copies=20, visible=20)
    assert [at(offset_map, position) for position in (5, 11, 20, 30)] == [
        Untranslated(reason=Reason.BEHIND_START, distance=31 - position) for position in (5, 11, 20, 30)
    ]
    assert at(offset_map, 31) == Translated(offset=31)


def test_copies_whose_originals_have_expired() -> None:
    """What lies in between is gone from the source and its copies are not: a group stands before those all the same."""
    offset_map = map_after("match", new=31, copies=20, visible=0, source_start=31)
    assert at(offset_map, 20) == Untranslated(reason=Reason.BEHIND_START, distance=11)


@pytest.mark.parametrize("seed", ["latest", "timestamp:0", *COPIED])
def test_where_nothing_was_copied(seed: str) -> None:
    """Nobody has copied what is passed over: the map stays, and a group among it goes on behind it."""
    new = 31 if seed != "match" and not seed.startswith("connect") else 11
    offset_map = map_after(seed, new=new, copies=0, visible=0 if new == 11 else 20)
    assert [at(offset_map, position) for position in (5, 11)] == [Translated(offset=5), Translated(offset=10)]
    assert at(offset_map, new) == Translated(offset=10)


def test_no_group_is_put_behind_a_copy_that_it_has_not_read() -> None:
    """A flow set ahead behind another tool's copies: wherever a group stands, it reads on with all it has not read."""
    world = SeedWorld()
    world.write(10)
    world.run()
    world.write(20, first=10)
    world.copy_by_hand(*world.numbered(10, 10))
    world.seed("match")
    for position in range(31):
        world.commit(f"g{position}", position)
    world.run(sync_group_offsets=True)
    assert world.values() == list(range(30))
    skipped = {
        position: sorted({*range(position, 30)} - {*world.values_from(world.target_offsets(f"g{position}")[0])})
        for position in range(31)
        if world.target_offsets(f"g{position}")
    }
    assert {position: records for position, records in skipped.items() if records} == {}
    assert [world.values_from(world.target_offsets(f"g{position}")[0])[:1] for position in (20, 25)] == [[20], [25]]


@pytest.mark.parametrize(("copies", "visible"), [(20, 20), (5, 20), (20, 5), (0, 20)])
def test_what_connectors_have_copied(copies: int, visible: int) -> None:
    """Compaction and retention may have left more or less of it on either side: nothing of it is lost or foreign."""
    facts = replace(FACTS_OF_RUNS, visible=copies)
    point = Point(offset=31, why="the connectors have copied up to here")
    given = SeedFacts(facts=facts, point=point, visible=visible, oldest_ms=None, retention_ms=None)
    row = judge_seed(given, Seed(kind=SeedKind.CONNECTORS), now_ms=0)
    assert (row.refusal(force=False), row.new, row.foreign) == (None, 31, None)
    ledger = rebased_by(row, facts, "cluster", Delivery.EXACTLY_ONCE).ledger
    assert (ledger.entries[0].first, ledger.latest.generation) == (31, 2)


def test_connectors_that_went_on_behind_a_gap() -> None:
    """What the source lost before they had copied it refuses a hand-over, unless the flow accepts gaps; it is told."""
    facts = replace(FACTS_OF_RUNS, source_log=LogOffsets(start=40, stable=50, end=50))
    point = Point(offset=20, why="the connectors have copied up to here")
    given = SeedFacts(facts=facts, point=point, visible=0, oldest_ms=None, retention_ms=None)
    refused = judge_seed(given, Seed(kind=SeedKind.CONNECTORS), now_ms=0)
    assert "[20, 40) are gone and are never copied" in str(refused.refusal(force=False))
    taken = judge_seed(replace(given, accepts_gap=True), Seed(kind=SeedKind.CONNECTORS), now_ms=0)
    assert (taken.refusal(force=False), taken.lost, taken.new) == (None, (20, 40), 40)
