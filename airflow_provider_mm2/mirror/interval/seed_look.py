"""Reading both clusters for what a seed is judged by; nothing is decided or written here."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.carried import carried_settings
from airflow_provider_mm2.mirror.interval.facts import gather_facts
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.retention import retention_ms
from airflow_provider_mm2.mirror.interval.seed_rules import (
    SeedFacts,
    SeedRow,
    judge_seed,
    stands_at,
)
from airflow_provider_mm2.mirror.interval.survey import Survey
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition, TopicSetting
from airflow_provider_mm2.mirror.offsets.seed import NoPoint, Point, Points, Seed, SeedKind
from airflow_provider_mm2.mirror.state_model import FlowRecord, PartitionLedger

NO_LOG = LogOffsets(start=0, stable=0, end=0)
"""Stands for the log of a partition that is not there yet."""


@dataclass(slots=True)
class SeedLook:
    """Reading what a seed is judged by.

    :param copy_ends: where copies end by their own last records, where a tool's word is to be held against that.
    """

    flow: MirrorFlow
    pair: ClusterPair
    seed: Seed
    tick: Tick
    copy_ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def facts(self, survey: Survey, chosen: Collection[str]) -> dict[TopicPartition, PartitionFacts]:
        """Facts of all partitions of the chosen topics; a target topic that is not there is taken as an empty one."""
        pairs = {
            TopicPartition(name, number): TopicPartition(survey.selection.topics[name], number)
            for name in chosen
            for number in range(survey.source_topics[name].partitions)
        }
        there = {part: target for part, target in pairs.items() if _exists(target, survey.target_topics)}
        facts = self.gathered(survey.record, there, (survey.source_topics, survey.target_topics), survey.ledger)
        absent = [part for part in pairs if part not in there]
        logs = self.pair.source.log_offsets(absent)
        for part in absent:
            facts[part] = PartitionFacts(
                source=part,
                target=pairs[part],
                source_topic=survey.source_topics[part.topic],
                target_topic=TopicInfo(name=pairs[part].topic, topic_id="", partitions=0, replication_factor=0),
                ledger=survey.ledger.get(part),
                group_offset=None,
                source_log=logs[part],
                target_log=NO_LOG,
                visible=0,
            )
        return {part: facts[part] for part in sorted(facts)}

    def gathered(
        self,
        record: FlowRecord,
        pairs: Mapping[TopicPartition, TopicPartition],
        topics: tuple[Mapping[str, TopicInfo], Mapping[str, TopicInfo]],
        ledger: Mapping[TopicPartition, PartitionLedger],
    ) -> dict[TopicPartition, PartitionFacts]:
        """Facts of partitions that exist on both sides."""
        return gather_facts(self.pair, record=record, pairs=pairs, topics=topics, ledger=ledger, tick=self.tick)

    def rows(
        self, facts: Mapping[TopicPartition, PartitionFacts], points: Points, keeps: Mapping[str, int]
    ) -> dict[TopicPartition, SeedRow]:
        """What becomes of each partition.

        :param keeps: how long target topics keep records by their timestamp, in milliseconds; others for ever.
        """
        now_ms = int(time.time() * 1000)
        return {
            part: judge_seed(self._known(fact, points[part], keeps.get(fact.target.topic)), self.seed, now_ms=now_ms)
            for part, fact in facts.items()
        }

    def _known(self, fact: PartitionFacts, point: Point | NoPoint, retention_ms: int | None) -> SeedFacts:
        source, log_ = self.pair.source, fact.source_log
        visible, oldest_ms = 0, None
        if isinstance(point, Point) and point.offset <= log_.stable:
            visible = self.visible(fact, point.offset)
            first = source.first_visible(fact.source, point.offset, log_.stable) if retention_ms is not None else None
            oldest_ms = None if first is None else first[1]
        end = self.copy_ends.get(fact.source)
        astray = 0
        if isinstance(point, Point) and end is not None:
            astray = self._between(fact, end, point.offset)
        return SeedFacts(
            facts=fact,
            point=point,
            visible=visible,
            oldest_ms=oldest_ms,
            retention_ms=retention_ms,
            copy_end=end,
            astray=astray,
            accepts_gap=self.flow.on_gap == "accept" and self.seed.kind is SeedKind.CONNECTORS,
        )

    def visible(self, fact: PartitionFacts, new: int) -> int:
        """Records on the source between where a partition stands and where it is to stand."""
        old = stands_at(fact)
        if old is None:
            old = fact.source_log.start
        return self._between(fact, old, new)

    def _between(self, fact: PartitionFacts, one: int, other: int) -> int:
        """Records that the source still has between two offsets, whichever comes first."""
        start, end = sorted(max(offset, fact.source_log.start) for offset in (one, other))
        return self.pair.source.count_visible(fact.source, start, end, self.tick) if end > start else 0


def _exists(place: TopicPartition, topics: Mapping[str, TopicInfo]) -> bool:
    return place.topic in topics and place.partition < topics[place.topic].partitions


def retentions(flow: MirrorFlow, survey: Survey) -> dict[str, int]:
    """How long target topics keep records by their timestamp, in milliseconds; those that keep all are left out.

    It is what step 0 leaves them with: what their source topics override is carried over.
    """
    found: dict[str, int] = {}
    for name, target in survey.selection.topics.items():
        carried = carried_settings(flow, survey.source_settings.get(name, {}))
        new = {key: TopicSetting(name=key, value=value, overridden=True) for key, value in carried.items()}
        kept = retention_ms({**survey.target_settings.get(target, {}), **new})
        if kept is not None:
            found[target] = kept
    return found
