"""Reading what translation needs of a flow: maps, log starts and topics, at one time."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import Mirror
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord, LedgerEntry, PartitionLedger

Ledgers = Mapping[TopicPartition, PartitionLedger]


def find_mirror(
    flow: MirrorFlow, target: ClusterReader, tick: Tick, *, source: ClusterReader | None = None
) -> Mirror | None:
    """What runs have mirrored of a flow; None where none ever did, as of one that connectors have mirrored always.

    :raises StateDamaged: gate or ledger cannot be believed.
    """
    record = find_gate(target, flow.name, tick)
    if record is None:
        return None
    never_ran = record.engine is Engine.CONNECT and not target.describe_topics([naming.ledger_topic(flow.name)])
    return None if never_ran else read_mirror(target, record, tick, source=source)


def read_mirror(
    target: ClusterReader, record: FlowRecord, tick: Tick, *, source: ClusterReader | None = None
) -> Mirror:
    """What a flow has mirrored, by its ledger as it stands.

    :param source: asked whether its topics are still those that were mirrored; None: it is not asked.
    :raises StateDamaged: the ledger cannot be believed.
    """
    return mirror_of(target, record, read_shards(target, record.flow, record.shards, tick), source=source)


def mirror_of(
    target: ClusterReader, record: FlowRecord, ledgers: Ledgers, *, source: ClusterReader | None = None
) -> Mirror:
    """What a flow has mirrored; a map whose topic is gone on either side never answers."""
    latest = [ledger.latest for ledger in ledgers.values()]
    source_topics = None if source is None else source.describe_topics(sorted({entry.topic for entry in latest}))
    target_topics = target.describe_topics(sorted({entry.target_topic for entry in latest}))
    of_source = {
        entry.topic
        for entry in latest
        if source_topics is not None and not _is_of(source_topics.get(entry.topic), entry)
    }
    recreated = of_source | {
        entry.topic for entry in latest if _is_another(target_topics.get(entry.target_topic), entry.target_topic_id)
    }
    live = {part: ledger for part, ledger in ledgers.items() if part.topic not in recreated}
    logs = target.log_offsets([ledger.latest.target for ledger in live.values()])
    counts: dict[str, int] = {}
    for part in ledgers:
        known = 0 if source_topics is None or part.topic not in source_topics else source_topics[part.topic].partitions
        counts[part.topic] = max(counts.get(part.topic, 0), part.partition + 1, known)
    names = {entry.topic: entry.target_topic for entry in latest}
    return Mirror(
        maps={part: OffsetMap.of(ledger) for part, ledger in live.items()},
        log_starts={part: log.start for part, log in logs.items()},
        topics={topic: (name, counts[topic]) for topic, name in names.items()},
        recreated=frozenset(recreated),
        source_recreated=frozenset(of_source),
        engine=record.engine,
    )


def _is_of(found: TopicInfo | None, entry: LedgerEntry) -> bool:
    return found is not None and entry.is_of(found.topic_id)


def _is_another(found: TopicInfo | None, recorded_id: str) -> bool:
    return found is None or found.topic_id != recorded_id
