"""What is compared: which partitions, from where to where on each side, read once at the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.clusters.selection import check_known
from airflow_provider_mm2.mirror.errors import (
    FlowChanged,
    NotAuthorized,
    NothingToVerify,
    RangeNotMirrored,
    SourceTopicRecreated,
    TargetTopicGone,
    TargetTopicRecreated,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.moments import to_ms
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.incidents import read_incidents
from airflow_provider_mm2.mirror.state_model import Delivery, FlowRecord, PartitionLedger
from airflow_provider_mm2.mirror.status import read_recorded
from airflow_provider_mm2.mirror.verify.findings import Mismatch, Side

Bound = int | datetime
"""An end of a range: a source offset, or a time."""

Ledgers = Mapping[TopicPartition, PartitionLedger]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOrder:
    """What is asked for.

    :param topics: source topics; empty: all.
    :param since: where to begin, ``until`` where to end (not included); None: the whole mirrored range.
    :param by_order: pair both sides by order alone, whatever map there is: for another tool's mirror.
    :param sample: how many windows of each partition are compared; None: all of it.
    :param seed: of the sample.
    """

    topics: tuple[str, ...] = ()
    since: Bound | None = None
    until: Bound | None = None
    by_order: bool = False
    sample: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One partition to be compared, ``[start, end)`` on each side.

    :param offset_map: None: by order.
    :param starts: where each log begins.
    :param compacted: sides whose topic is compacted.
    :param topic_ids: of source and target.
    :param expired: records of which the ledger says that both they and their place in the map have expired.
    :param due: source offset below which all has to be on the target; what follows may not be copied yet. None: all.
    :param repeats: written at least once, so that copies may be there again.
    :param turned: on a way home, incidents of the flow that went the other way, whose source is our target.
    """

    source: TopicPartition
    target: TopicPartition
    start: int
    end: int
    target_start: int
    target_end: int
    offset_map: OffsetMap | None
    starts: Mapping[Side, int]
    compacted: frozenset[Side]
    topic_ids: tuple[str, str]
    expired: int = 0
    due: int | None = None
    repeats: bool = False
    incidents: Sequence[Incident] = ()
    turned: Sequence[Incident] = ()

    @property
    def is_cut(self) -> bool:
        """Whether more was mirrored behind the range."""
        return self.offset_map is not None and self.end < self.offset_map.source_end


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Everything that is compared; ``absent``: partitions that have no place on the target."""

    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    absent: tuple[Mismatch, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is read of both sides for all partitions at once."""

    source_logs: Mapping[TopicPartition, LogOffsets]
    target_logs: Mapping[TopicPartition, LogOffsets]
    compacted: Mapping[Side, frozenset[str]]

    def starts(self, source: TopicPartition, target: TopicPartition) -> Mapping[Side, int]:
        """Where the logs of a partition begin."""
        return {Side.SOURCE: self.source_logs[source].start, Side.TARGET: self.target_logs[target].start}

    def compacted_sides(self, source: TopicPartition, target: TopicPartition) -> frozenset[Side]:
        """Sides on which the cleaner takes records of a partition."""
        names = {Side.SOURCE: source.topic, Side.TARGET: target.topic}
        return frozenset(side for side, name in names.items() if name in self.compacted[side])


def read_facts(pair: ClusterPair, pairs: Mapping[TopicPartition, TopicPartition]) -> Facts:
    """Read them; what may not be read of settings counts as compacted, which explains more and costs time."""
    here, there = sorted({part.topic for part in pairs}), sorted({part.topic for part in pairs.values()})
    target_logs = pair.target.log_offsets(list(pairs.values()))  # first: all below has its original at the source
    return Facts(
        pair.source.log_offsets(list(pairs)),
        target_logs,
        {Side.SOURCE: _compacted(pair.source, here), Side.TARGET: _compacted(pair.target, there)},
    )


def _compacted(cluster: ClusterReader, names: Sequence[str]) -> frozenset[str]:
    try:
        settings = cluster.topic_settings(names) if names else {}
    except NotAuthorized:
        return frozenset(names)
    return frozenset(name for name in names if "compact" in (settings[name]["cleanup.policy"].value or ""))


def scope_by_map(flow: MirrorFlow, pair: ClusterPair, order: VerifyOrder, tick: Tick) -> Scope:
    """What a flow has mirrored, by its ledger as it stands now.

    :raises FlowNotPrepared: it never ran.
    :raises NothingToVerify: it has mirrored nothing.
    :raises NotOfTheFlow: a topic is named of which nothing is recorded.
    :raises FlowChanged: the clusters are not those that the flow has mirrored between.
    :raises SourceTopicRecreated: a topic is not the one that was mirrored; on the target likewise.
    :raises RangeNotMirrored: nothing of the range was mirrored.
    """
    record, recorded = read_recorded(flow.name, pair.target, tick=tick)
    _check_clusters(record, pair)
    if not recorded:
        raise NothingToVerify(flow=flow.name, problem="it has mirrored nothing yet")
    ledgers, warnings = _there(flow, pair, _named(flow.name, recorded, order.topics), order)
    facts = read_facts(pair, {part: ledger.latest.target for part, ledger in ledgers.items()})
    incidents = read_incidents(pair.target, flow.name, tick)
    turned = read_incidents(pair.source, flow.forward.name, tick) if isinstance(flow, ReverseFlow) else ()
    moments = _moments(pair.source, ledgers, order)
    parts: list[Part] = []
    for source, ledger in sorted(ledgers.items()):
        of_it = [each for each in incidents if each.source == source]
        stranded = [each for each in turned if each.source == ledger.latest.target]
        part, warning = _mapped_part(ledger, facts, of_it, (moments[0].get(source), moments[1].get(source)))
        parts += [] if part is None else [replace(part, turned=stranded)]
        warnings += [] if warning is None else [warning]
    if not parts:
        mirrored = tuple(f"{part} [{_kept(each)}, {each.latest.next_offset})" for part, each in sorted(ledgers.items()))
        raise RangeNotMirrored(flow=flow.name, asked=_asked(order), mirrored=mirrored[:10])
    return Scope(parts=tuple(parts), warnings=tuple(warnings))


def _check_clusters(record: FlowRecord, pair: ClusterPair) -> None:
    for name, recorded, cluster in (
        ("source cluster id", record.source_cluster_id, pair.source),
        ("target cluster id", record.target_cluster_id, pair.target),
    ):
        found = cluster.cluster_id()
        if found != recorded:
            raise FlowChanged(flow=record.flow, setting=name, recorded=recorded, given=found)


def _named(flow: str, ledgers: Ledgers, topics: Sequence[str]) -> Ledgers:
    check_known(flow, "topic", topics, {part.topic for part in ledgers})
    return {part: ledger for part, ledger in ledgers.items() if not topics or part.topic in topics}


def _there(
    flow: MirrorFlow, pair: ClusterPair, ledgers: Ledgers, order: VerifyOrder
) -> tuple[dict[TopicPartition, PartitionLedger], list[str]]:
    """Partitions whose topics are still those that were mirrored; of one that is gone from the source, a warning.

    :raises MirrorError: a topic is another one, is gone from the target, or is gone and was named.
    """
    here = pair.source.describe_topics(sorted({part.topic for part in ledgers}))
    there = pair.target.describe_topics(sorted({each.latest.target_topic for each in ledgers.values()}))
    kept: dict[TopicPartition, PartitionLedger] = {}
    gone: set[str] = set()
    for part, ledger in ledgers.items():
        info = here.get(part.topic)
        if info is None and not order.topics:
            gone.add(part.topic)
            continue
        if info is None:
            raise TopicDeleted(alias=flow.source.alias, topic=part.topic)
        _check_ids(ledger, info, there.get(ledger.latest.target_topic))
        kept[part] = ledger
    if not kept:
        raise NothingToVerify(flow=flow.name, problem=f"no topic is on the source any more: {', '.join(sorted(gone))}")
    return kept, [f"topic {name!r} is not on the source any more and was not compared" for name in sorted(gone)]


def _check_ids(ledger: PartitionLedger, source: TopicInfo, target: TopicInfo | None) -> None:
    latest = ledger.latest
    if not latest.is_of(source.topic_id):
        ids = {"recorded_id": latest.source_topic_id, "found_id": source.topic_id}
        raise SourceTopicRecreated(topic=latest.topic, progress=latest.next_offset, **ids)
    names = {"topic": latest.topic, "target_topic": latest.target_topic, "recorded_id": latest.target_topic_id}
    if target is None:
        raise TargetTopicGone(records=ledger.records, **names)
    if target.topic_id != latest.target_topic_id:
        raise TargetTopicRecreated(records=ledger.records, found_id=target.topic_id, **names)


Offsets = Mapping[TopicPartition, int | None]


def _moments(source: ClusterReader, ledgers: Ledgers, order: VerifyOrder) -> tuple[Offsets, Offsets]:
    """The ends that were asked for as source offsets; a partition without one has no such end."""
    return _offsets(source, ledgers, order.since), _offsets(source, ledgers, order.until)


def _offsets(source: ClusterReader, ledgers: Ledgers, bound: Bound | None) -> Offsets:
    if bound is None:
        return {}
    if isinstance(bound, int):
        return dict.fromkeys(ledgers, bound)
    found = source.offsets_at(dict.fromkeys(ledgers, to_ms(bound)))
    ends = {part: ledger.latest.next_offset for part, ledger in ledgers.items()}
    return {part: ends[part] if offset is None else offset for part, offset in found.items()}


def _kept(ledger: PartitionLedger) -> int:
    """The source offset from which the map is kept."""
    first = ledger.entries[0]
    return first.next_offset if first.expired else first.first


def _mapped_part(
    ledger: PartitionLedger, facts: Facts, incidents: Sequence[Incident], asked: tuple[int | None, int | None]
) -> tuple[Part | None, str | None]:
    """A partition with its range, and what of the range that was asked for it has not."""
    latest, offset_map = ledger.latest, OffsetMap.of(ledger)
    lowest, highest = offset_map.kept_from, offset_map.source_end
    start = lowest if asked[0] is None else max(lowest, asked[0])
    end = highest if asked[1] is None else min(highest, asked[1])
    is_whole = (start, end) == (lowest, highest)
    if start >= end and not is_whole:
        return None, f"{latest.source}: mirrored is [{lowest}, {highest}), nothing of it lies in the range"
    is_cut = (asked[0] is not None and asked[0] < lowest) or (asked[1] is not None and asked[1] > highest)
    warning = f"{latest.source}: mirrored is [{lowest}, {highest}), no more of the range was compared"
    part = Part(
        source=latest.source,
        target=latest.target,
        start=start,
        end=end,
        target_start=offset_map.to_target(start) if offset_map.counts else offset_map.target_end,
        target_end=offset_map.target_end if end == highest else offset_map.to_target(end),
        offset_map=offset_map,
        starts=facts.starts(latest.source, latest.target),
        compacted=facts.compacted_sides(latest.source, latest.target),
        topic_ids=(latest.source_topic_id, latest.target_topic_id),
        expired=sum(entry.expired for entry in ledger.entries) if start == lowest else 0,
        repeats=any(entry.delivery is Delivery.AT_LEAST_ONCE for entry in ledger.entries),
        incidents=incidents,
    )
    return part, warning if is_cut else None


def _asked(order: VerifyOrder) -> str:
    ends = ["-" if each is None else str(each) for each in (order.since, order.until)]
    return f"[{ends[0]}, {ends[1]})"
