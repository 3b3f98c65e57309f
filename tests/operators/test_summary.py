"""Summaries: bounded plain values, and what can be said of topics as a whole."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import PartitionResult, RangeEnd, ShardResult, TopicPartition
from airflow_provider_mm2.operators.summary import OFFSETS_LISTED, TOPICS_LISTED, shard_summary, topic_events

FLOW = MirrorFlow.model_validate(
    {
        "name": "orders",
        "source": {"alias": "us", "settings": {"bootstrap.servers": "us:9092", "sasl.password": "hunter2"}},
        "target": {"alias": "eu", "settings": {"bootstrap.servers": "eu:9092"}},
        "topics": [".*"],
    }
)
NOW = datetime(2026, 1, 1, 2, tzinfo=timezone.utc)
BOUNDS = RunBounds(until=datetime(2026, 1, 1, 1, tzinfo=timezone.utc), since=None, started=NOW)
ONE_MS = 1_767_229_200_000
"""01:00 of that day."""


def partition(topic: str, number: int, records: int = 10, through_ms: int | None = ONE_MS) -> PartitionResult:
    """Make a partition that was mirrored from its start."""
    return PartitionResult(
        source=TopicPartition(topic, number),
        target_topic=f"us.{topic}",
        start=0,
        end=records,
        bound=records,
        records=records,
        bytes=records * 10,
        ended=RangeEnd.CUT,
        target_start=0,
        target_end=records,
        through_ms=through_ms,
    )


def shard(number: int, *partitions: PartitionResult, warnings: tuple[str, ...] = ()) -> ShardResult:
    """Make a shard's result."""
    return ShardResult(
        shard=number, partitions=partitions, transactions=1, seconds=2.0, copy_seconds=1.0, warnings=warnings
    )


def summary(*shards: ShardResult, **partitions_of: int) -> dict[str, Any]:
    """Make a summary and hold it against what XCom takes."""
    made = shard_summary(FLOW, BOUNDS, shards, partitions_of)
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_summary_is_plain_and_complete() -> None:
    """Totals, partitions as the command line gives them, and each topic with its share."""
    made = summary(shard(0, partition("orders", 1), partition("orders", 0, records=5), warnings=("late",)), orders=2)
    assert (made["records"], made["bytes"], made["transactions"], made["already_complete"]) == (15, 150, 1, False)
    assert made["until"] == "2026-01-01T01:00:00Z"
    assert [(part["topic"], part["partition"], part["end"]) for part in made["partitions"]] == [
        ("orders", 0, 5),
        ("orders", 1, 10),
    ]
    assert made["topics"]["us.orders"] == {
        "source_topic": "orders",
        "of": 2,
        "covered": 2,
        "records": 15,
        "through_ms": ONE_MS,
        "offsets": {"0": 5, "1": 10},
    }
    assert made["warnings"] == ["late"]
    assert "hunter2" not in json.dumps(made)


def test_a_summary_is_bounded_and_its_totals_are_not() -> None:
    """K61: 1,200 topics of 60 partitions leave a bounded XCom; what does not fit is counted."""
    parts = [partition(f"t{number:04}", index, records=1) for number in range(1200) for index in range(60)]
    made = summary(shard(0, *parts, warnings=("x" * 1000,) * 30))
    assert made["records"] == 72_000
    assert made["partitions_left_out"] == 72_000 - len(made["partitions"])
    assert len(made["topics"]) == TOPICS_LISTED
    assert made["topics_left_out"] == 1200 - TOPICS_LISTED
    assert sum(len(topic["offsets"]) for topic in made["topics"].values()) == OFFSETS_LISTED
    assert made["warnings_left_out"] == 10
    assert len(json.dumps(made)) < 150_000


def test_a_topic_over_two_shards_is_one_event() -> None:
    """The event tells the earliest time and every partition's offset."""
    results = [
        summary(shard(0, partition("orders", 0)), orders=2),
        summary(shard(1, partition("orders", 1, through_ms=ONE_MS - 60_000)), orders=2),
    ]
    events, partly = topic_events(results, all_succeeded=True)
    assert partly == []
    assert events == {
        "kafka://eu/us.orders": {
            "flow": "orders",
            "source_topic": "orders",
            "mirrored_through": "2026-01-01T00:59:00Z",
            "records": 20,
            "partitions": 2,
            "offsets": {"0": 10, "1": 10},
        }
    }


def test_a_topic_with_a_failed_shard_says_nothing() -> None:
    """Of two topics the one whose partitions were all covered gets its event, the other none."""
    results = [summary(shard(0, partition("orders", 0), partition("users", 0)), orders=2, users=1)]
    events, partly = topic_events(results, all_succeeded=False)
    assert list(events) == ["kafka://eu/us.users"]
    assert partly == ["kafka://eu/us.orders"]


def test_no_time_is_claimed_where_one_partition_has_none() -> None:
    """A partition that can claim no time leaves the topic without one; the event is sent for its offsets."""
    results = [summary(shard(0, partition("orders", 0), partition("orders", 1, through_ms=None)), orders=2)]
    events, _ = topic_events(results, all_succeeded=True)
    assert events["kafka://eu/us.orders"]["mirrored_through"] is None


def test_nothing_mirrored_is_already_complete() -> None:
    """K04: a run that found everything mirrored says so."""
    assert summary(shard(0, partition("orders", 0, records=0)), orders=1)["already_complete"] is True
