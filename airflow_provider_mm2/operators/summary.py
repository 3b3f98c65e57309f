"""Results of a mirror run as bounded plain values for XCom, and what they say of topics as a whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import PartitionResult, ShardResult, total
from airflow_provider_mm2.mirror.moments import from_ms
from airflow_provider_mm2.mirror.run import partition_json
from airflow_provider_mm2.run_interval import show

PARTITIONS_LISTED = 50
TOPICS_LISTED = 500
OFFSETS_LISTED = 2_000
WARNINGS_LISTED = 20
"""Limits on what one task leaves in Airflow's database: about 100 kB at most. Totals always count everything."""


def shard_summary(
    flow: MirrorFlow, bounds: RunBounds, results: Iterable[ShardResult], partitions_of: Mapping[str, int]
) -> dict[str, Any]:
    """What one task mirrored.

    :param results: one shard, or all of them.
    :param partitions_of: partitions that each source topic has as a whole, over all shards.
    """
    shards = list(results)
    parts = sorted((part for shard in shards for part in shard.partitions), key=lambda part: part.source)
    records, size = total(parts)
    warnings = [text for shard in shards for text in shard.warnings]
    return {
        "flow": flow.name,
        "target": flow.target.alias,
        "delivery": flow.delivery.value,
        "shards": [shard.shard for shard in shards],
        "until": None if bounds.until is None else show(bounds.until),
        "records": records,
        "bytes": size,
        "transactions": sum(shard.transactions for shard in shards),
        "seconds": round(sum(shard.seconds for shard in shards), 3),
        "already_complete": records == 0,
        "partitions": [partition_json(part) for part in parts[:PARTITIONS_LISTED]],
        "partitions_left_out": max(0, len(parts) - PARTITIONS_LISTED),
        **_topics(parts, partitions_of),
        "warnings": [text[:500] for text in warnings[:WARNINGS_LISTED]],
        "warnings_left_out": max(0, len(warnings) - WARNINGS_LISTED),
    }


def _topics(parts: Iterable[PartitionResult], partitions_of: Mapping[str, int]) -> dict[str, Any]:
    """Each target topic: how much of it this task covered, and through which offsets and time."""
    listed: dict[str, dict[str, Any]] = {}
    left_out: set[str] = set()
    offsets = 0
    for part in parts:
        if part.target_topic not in listed and len(listed) == TOPICS_LISTED:
            left_out.add(part.target_topic)
            continue
        empty: dict[str, Any] = {
            "source_topic": part.source.topic,
            "of": partitions_of.get(part.source.topic),
            "covered": 0,
            "records": 0,
            "through_ms": part.through_ms,
            "offsets": {},
        }
        topic = listed.setdefault(part.target_topic, empty)
        topic["covered"] += 1
        topic["records"] += part.records
        topic["through_ms"] = _earlier(topic["through_ms"], part.through_ms)
        if offsets < OFFSETS_LISTED:
            topic["offsets"][str(part.source.partition)] = part.end
            offsets += 1
    return {"topics": listed, "topics_left_out": len(left_out)}


def topic_events(
    results: Iterable[Mapping[str, Any]], *, all_succeeded: bool
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """What can be said of each topic as a whole: extras of asset events by asset URI, and the topics left out.

    A topic whose partitions were not all covered says nothing: one of its shards failed.

    :param results: summaries of the tasks that succeeded.
    :param all_succeeded: no shard failed, so that every topic seen is covered.
    """
    merged: dict[str, dict[str, Any]] = {}
    for result in results:
        for target_topic, topic in result["topics"].items():
            known = merged.setdefault(
                f"kafka://{result['target']}/{target_topic}",
                {**topic, "flow": result["flow"], "covered": 0, "records": 0, "offsets": {}},
            )
            known["covered"] += topic["covered"]
            known["records"] += topic["records"]
            known["through_ms"] = _earlier(known["through_ms"], topic["through_ms"])
            known["offsets"].update(topic["offsets"])
    whole = {uri: topic for uri, topic in merged.items() if all_succeeded or topic["covered"] == topic["of"]}
    return {uri: _extra(topic) for uri, topic in whole.items()}, sorted(merged.keys() - whole.keys())


def _extra(topic: Mapping[str, Any]) -> dict[str, Any]:
    """An asset event's extra. ``offsets`` is by partition the source offset mirrored through, not included."""
    through = topic["through_ms"]
    return {
        "flow": topic["flow"],
        "source_topic": topic["source_topic"],
        "mirrored_through": None if through is None else show(from_ms(through)),
        "records": topic["records"],
        "partitions": topic["covered"],
        "offsets": topic["offsets"],
    }


def _earlier(first: int | None, second: int | None) -> int | None:
    """The earlier of two times; None (nothing can be claimed) is earlier than any."""
    return None if first is None or second is None else min(first, second)
