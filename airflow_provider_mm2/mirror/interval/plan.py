"""What forbids a run: a selection that cannot be mirrored, a partition that is not as the ledger says. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.selection import Selection
from airflow_provider_mm2.mirror.errors import (
    ForeignWrites,
    MirroredRecordsHidden,
    MirrorError,
    NameClash,
    NamedTopicLeftOut,
    NameTooLong,
    NothingSelected,
    ProgressDisagrees,
    ProgressLost,
    ProgressUnknown,
    SourceGap,
    SourceTopicRecreated,
    SourceTruncated,
    TargetLostData,
    TargetTopicRecreated,
    TargetTransactionOpen,
    TopicDeleted,
    TopicMissing,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.rebase import Place
from airflow_provider_mm2.mirror.state_model import Delivery, PartitionLedger
from airflow_provider_mm2.mirror.topic_names import TOPIC_NAME_LIMIT, is_plain_name


def check_named(flow: MirrorFlow, selection: Selection) -> None:
    """Refuse to leave out what the flow names in full: somebody counts on it.

    :raises NamedTopicLeftOut: all such topics, each with the rule that hit it.
    """
    named = tuple(f"{name} ({rule})" for name, rule in sorted(selection.left_out.items()) if name in flow.topics)
    if named:
        raise NamedTopicLeftOut(topics=named)


def check_selection(flow: MirrorFlow, selection: Selection, recorded: Collection[str]) -> None:
    """Refuse a selection that cannot be mirrored; nothing has been created yet.

    :param recorded: source topics that the flow has mirrored before (one that is gone is reported, not an error, as
        long as another is left).
    :raises MirrorError: a literal topic is missing, nothing is selected, names clash or are too long.
    """
    known = (*selection.topics, *selection.left_out, *recorded)
    literal = {pattern for pattern in flow.topics if is_plain_name(pattern)}
    missing = {pattern for pattern in literal if not any(re.fullmatch(pattern, name) for name in known)}
    if missing:
        raise TopicMissing(alias=flow.source.alias, topics=tuple(sorted(missing)))
    gone = sorted(set(recorded) - set(selection.left_out))
    if not selection.topics and gone:
        raise TopicDeleted(alias=flow.source.alias, topic=gone[0])
    if not selection.topics:
        hit = {rule for rule in selection.left_out.values() if rule != "not in topics"}
        raise NothingSelected(
            alias=flow.source.alias,
            patterns=flow.topics,
            topics=len(selection.left_out),
            rules=tuple(sorted(hit)) or ("no pattern matched",),
            names=_some(name for name, rule in selection.left_out.items() if rule == "not in topics"),
        )
    too_long = tuple(name for name in selection.topics.values() if len(name) > TOPIC_NAME_LIMIT)
    if too_long:
        raise NameTooLong(names=too_long, limit=TOPIC_NAME_LIMIT)
    by_target: dict[str, list[str]] = {}
    for source, target in selection.topics.items():
        by_target.setdefault(target.replace("_", "."), []).append(source)
    for sources in by_target.values():
        if len(sources) > 1:
            raise NameClash(target_topic=selection.topics[sources[0]], topics=tuple(sources))


def _some(names: Iterable[str], most: int = 20) -> tuple[str, ...]:
    """The first few names, and how many more there are."""
    every = sorted(names)
    return (*every[:most], *([f"and {len(every) - most} more"] if len(every) > most else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """All that is known of one partition when its part of a run is decided.

    ``visible`` counts the records that a reader sees on the target beyond the recorded end (the whole log where
    nothing is recorded); ``hidden``: the last record that the ledger counts is there but was aborted.
    """

    source: TopicPartition
    target: TopicPartition
    source_topic: TopicInfo
    target_topic: TopicInfo
    ledger: PartitionLedger | None
    group_offset: int | None
    source_log: LogOffsets
    target_log: LogOffsets
    visible: int
    hidden: bool = False

    @property
    def progress(self) -> int:
        """Next source offset to copy."""
        return self.source_log.start if self.ledger is None else self.ledger.latest.next_offset

    @property
    def may_repeat(self) -> bool:
        """Whether an attempt with ``at_least_once`` may have left more than it recorded."""
        return self.ledger is not None and self.ledger.latest.delivery is Delivery.AT_LEAST_ONCE

    @property
    def lags(self) -> bool:
        """Whether the progress group is behind the ledger as such an attempt leaves it that dies between the two."""
        return self.may_repeat and self.group_offset is not None and self.group_offset < self.progress

    @property
    def recorded_end(self) -> int:
        """Target end that the flow knows of; of a topic that was made anew it knows nothing."""
        if self.ledger is None or self.ledger.latest.target_topic_id != self.target_topic.topic_id:
            return self.target_log.start
        return self.ledger.latest.target_end


def place_at(facts: PartitionFacts, offset: int, source_cluster_id: str, delivery: Delivery) -> Place:
    """A partition going on at a source offset, with both topics as they were found."""
    return Place(
        source=facts.source,
        target=facts.target,
        source_topic=facts.source_topic,
        target_topic=facts.target_topic,
        source_cluster_id=source_cluster_id,
        offset=offset,
        target_end=facts.target_log.end,
        delivery=delivery,
    )


def judge(facts: PartitionFacts) -> MirrorError | None:
    """The reason why a partition must not be copied as things stand, None when it may.

    Only a run that still holds its lease may believe it: every fact here also looks wrong to an attempt that a
    successor has overtaken.
    """
    if facts.ledger is None:
        return _judge_unknown(facts) or _judge_open(facts)
    return _judge_identity(facts, facts.ledger) or _judge_offsets(facts, facts.ledger) or _judge_open(facts)


def _judge_open(facts: PartitionFacts) -> MirrorError | None:
    """After our fence no transaction of ours is open, so one that is would slip uncounted into the mirrored range."""
    target, log = facts.target, facts.target_log
    if log.stable == log.end:
        return None
    return TargetTransactionOpen(target_topic=target.topic, partition=target.partition, stable=log.stable, end=log.end)


def _judge_unknown(facts: PartitionFacts) -> MirrorError | None:
    target = facts.target
    if facts.group_offset is not None:
        return ProgressLost(target_topic=target.topic, partition=target.partition, group_offset=facts.group_offset)
    if facts.visible:
        return ProgressUnknown(
            target_topic=target.topic,
            partition=target.partition,
            records=facts.visible,
            start=facts.target_log.start,
            end=facts.target_log.end,
        )
    return None


def _judge_identity(facts: PartitionFacts, ledger: PartitionLedger) -> MirrorError | None:
    latest = ledger.latest
    if not latest.is_of(facts.source_topic.topic_id):
        return SourceTopicRecreated(
            topic=facts.source.topic,
            recorded_id=latest.source_topic_id,
            found_id=facts.source_topic.topic_id,
            progress=latest.next_offset,
        )
    if latest.target_topic_id != facts.target_topic.topic_id:
        return TargetTopicRecreated(
            topic=facts.source.topic,
            target_topic=facts.target.topic,
            recorded_id=latest.target_topic_id,
            found_id=facts.target_topic.topic_id,
            records=ledger.records,
        )
    return None


def _judge_offsets(facts: PartitionFacts, ledger: PartitionLedger) -> MirrorError | None:
    source, target, progress = facts.source, facts.target, ledger.latest.next_offset
    if facts.group_offset is not None and facts.group_offset != progress and not facts.lags:
        return ProgressDisagrees(
            target_topic=target.topic,
            partition=target.partition,
            ledger_offset=progress,
            group_offset=facts.group_offset,
        )
    if facts.source_log.start > progress:
        return SourceGap(topic=source.topic, partition=source.partition, start=progress, end=facts.source_log.start)
    if facts.source_log.stable < progress:
        return SourceTruncated(
            topic=source.topic, partition=source.partition, progress=progress, end=facts.source_log.stable
        )
    if facts.target_log.end < facts.recorded_end:
        return TargetLostData(
            topic=source.topic,
            target_topic=target.topic,
            partition=target.partition,
            recorded_end=facts.recorded_end,
            end=facts.target_log.end,
        )
    if facts.hidden:
        last = ledger.latest.segments[-1]
        return MirroredRecordsHidden(
            topic=source.topic,
            target_topic=target.topic,
            partition=target.partition,
            records=last.count,
            start=last.target_start,
            end=last.target_end,
        )
    return _foreign_writes(facts) if facts.visible and not facts.may_repeat else None


def _foreign_writes(facts: PartitionFacts) -> ForeignWrites:
    return ForeignWrites(
        topic=facts.source.topic,
        target_topic=facts.target.topic,
        partition=facts.target.partition,
        records=facts.visible,
        start=facts.recorded_end,
        end=facts.target_log.end,
    )
