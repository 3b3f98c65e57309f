"""Step 0, prepare: the topics that a run needs, made before the first record.

Source: MirrorMaker 2, ``MirrorSourceConnector.computeAndCreateTopicPartitions`` and ``targetConfig`` (creation with
the source's overrides, growth, never shrinking).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.config import BATCH_BYTES
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import (
    FlowNotPrepared,
    Overtaken,
    StateTopicUnfit,
    TargetPartitionsFewer,
    TargetTopicGone,
    TargetTopicMissing,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.repeats import change_warning
from airflow_provider_mm2.mirror.interval.survey import Settings, Survey, check_record, survey_flow
from airflow_provider_mm2.mirror.model import FlowRecord, NewTopic
from airflow_provider_mm2.mirror.state.gate import read_gate, write_gate
from airflow_provider_mm2.mirror.state.lease import Lease

log = logging.getLogger(__name__)

CARRIED_WHEN_NOT_DEFAULT = {
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
}
"""Limits on what a topic takes, with Kafka's own default: where the source's differs, be it by its broker's default,
the target gets it too, else it refuses records that the source took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChanges:
    """What step 0 does on the target: topics to create, and topics to grow to a partition count."""

    create: tuple[NewTopic, ...]
    grow: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A flow whose target is ready for its shards.

    ``batch_bytes``: the smallest ``max.message.bytes`` of its topics, by which a broker judges whole batches.
    """

    record: FlowRecord
    topics: Mapping[str, str]
    left_out: Mapping[str, str]
    created: tuple[str, ...]
    grown: tuple[str, ...]
    gone: tuple[str, ...]
    max_record_bytes: int
    batch_bytes: int
    warnings: tuple[str, ...]

    @property
    def shards(self) -> int:
        """How many shards a run has."""
        return self.record.shards

    def to_json(self) -> dict[str, Any]:
        """A bounded summary of plain values."""
        return {
            "flow": self.record.flow,
            "shards": self.shards,
            "topics": len(self.topics),
            "created": list(self.created[:100]),
            "grown": list(self.grown[:100]),
            "gone": list(self.gone[:100]),
            "left_out": len(self.left_out),
            "warnings": list(self.warnings[:100]),
        }


def prepare_topics(flow: MirrorFlow, pair: ClusterPair, *, owner: str, tick: Tick) -> Prepared:
    """Step 0: internal topics, the flow record, target topics with partitions and settings. Twice changes nothing.

    :raises MirrorError: see ``survey_flow`` and ``topic_changes``; nothing has been created then.
    """
    survey = survey_flow(flow, pair, tick)
    changes = topic_changes(flow, survey)
    _ensure_internal_topics(flow, pair)
    if not survey.recorded or survey.record.delivery is not flow.delivery:
        _record_flow(flow, pair, replace(survey.record, delivery=flow.delivery), owner, tick)
    pair.target.create_topics(changes.create)
    for topic, partitions in changes.grow.items():
        pair.target.grow_topic(topic, partitions)
    for warning in (prepared := _prepared(flow, pair, survey, changes)).warnings:
        log.warning("%s", warning)
    return prepared


def recall_topics(flow: MirrorFlow, pair: ClusterPair, *, tick: Tick) -> Prepared:
    """What step 0 gave, read from the clusters again; changes nothing.

    :raises FlowNotPrepared: step 0 was never done for this flow.
    :raises Overtaken: another run recorded another way of delivery since.
    """
    survey = survey_flow(flow, pair, tick)
    if not survey.recorded:
        raise FlowNotPrepared(flow=flow.name)
    recorded = survey.record.delivery
    if recorded is not flow.delivery:
        what = f"the flow is recorded with delivery {recorded.value}, and this task has {flow.delivery.value}"
        raise Overtaken(writer=flow.name, what=f"{what}; a whole run records it anew")
    return _prepared(flow, pair, survey, TopicChanges(create=(), grow={}))


def _prepared(flow: MirrorFlow, pair: ClusterPair, survey: Survey, changes: TopicChanges) -> Prepared:
    created = tuple(topic.name for topic in changes.create)
    written = (*survey.target_topics, *created, naming.ledger_topic(flow.name))
    limits = [_number(settings, "max.message.bytes") for settings in pair.target.topic_settings(written).values()]
    changed = change_warning(survey.record, flow.delivery)
    return Prepared(
        record=replace(survey.record, delivery=flow.delivery),
        topics={name: survey.selection.topics[name] for name in survey.source_topics},
        left_out=survey.selection.left_out,
        created=created,
        grown=tuple(changes.grow),
        gone=survey.gone,
        max_record_bytes=survey.max_record_bytes,
        batch_bytes=min((limit for limit in limits if limit is not None), default=BATCH_BYTES),
        warnings=topic_warnings(survey) + (() if changed is None else (changed,)),
    )


def topic_changes(flow: MirrorFlow, survey: Survey) -> TopicChanges:
    """What is to be created and grown.

    :raises TargetTopicGone: a topic that was mirrored to does not exist any more; making it anew would hide that.
    :raises TargetTopicMissing: creation is off in the flow.
    :raises TargetPartitionsFewer: growth is off in the flow.
    """
    _check_none_gone(survey)
    missing = [name for name in survey.source_topics if survey.selection.topics[name] not in survey.target_topics]
    if missing and not flow.sync_topics.create:
        raise TargetTopicMissing(target_topics=tuple(survey.selection.topics[name] for name in missing))
    create = tuple(
        NewTopic(
            name=survey.selection.topics[name],
            partitions=survey.source_topics[name].partitions,
            replication_factor=flow.replication_factor,
            settings=carried_settings(flow, survey.source_settings.get(name, {})),
        )
        for name in missing
    )
    grow: dict[str, int] = {}
    for name, info in survey.source_topics.items():
        target = survey.target_topics.get(survey.selection.topics[name])
        if target is not None and target.partitions < info.partitions:
            if not flow.sync_topics.grow:
                raise TargetPartitionsFewer(
                    target_topic=target.name, partitions=target.partitions, needed=info.partitions
                )
            grow[target.name] = info.partitions
    return TopicChanges(create=create, grow=grow)


def carried_settings(flow: MirrorFlow, settings: Settings) -> dict[str, str]:
    """Settings of a new target topic: the source's overrides without the excluded ones, its limits, CreateTime.

    The timestamp type is set because a target that stamps records itself would not keep theirs.
    """
    carried: dict[str, str] = {}
    for name, setting in settings.items() if flow.sync_topics.configs else ():
        limit = CARRIED_WHEN_NOT_DEFAULT.get(name)
        wanted = setting.overridden or (limit is not None and setting.value != limit)
        hidden = setting.sensitive or setting.read_only or setting.value is None
        excluded = any(re.fullmatch(pattern, name) for pattern in flow.sync_topics.config_exclude)
        if wanted and not hidden and not excluded:
            carried[name] = str(setting.value)
    return {**carried, "message.timestamp.type": "CreateTime"}


def topic_warnings(survey: Survey) -> tuple[str, ...]:
    """What will not stop a run now and may hurt later."""
    found = [
        f"topic {name!r} was mirrored and is not on the source any more; its progress stays" for name in survey.gone
    ]
    for name, target_name in survey.selection.topics.items():
        is_renamed = survey.record.policy == "identity" and target_name != name
        if is_renamed and name != naming.HEARTBEATS_TOPIC:
            found.append(
                f"{name!r} becomes {target_name!r} although names are kept: it ends with 'heartbeats', as "
                "MirrorMaker 2's own topics do, and gets the name that it would give"
            )
    for name, settings in survey.source_settings.items():
        target = survey.target_settings.get(survey.selection.topics[name], {})
        largest, takes = (_number(side, "max.message.bytes") for side in (settings, target))
        if largest is not None and takes is not None and takes < largest:
            found.append(
                f"{survey.selection.topics[name]!r} takes records up to {takes} bytes (max.message.bytes), and its "
                f"source {name!r} up to {largest}: a larger one would stop the mirror"
            )
        stamp = target.get("message.timestamp.type")
        if stamp is not None and stamp.value == "LogAppendTime":
            found.append(
                f"{survey.selection.topics[name]!r} stamps records itself (message.timestamp.type=LogAppendTime): "
                "timestamps will not be those of the source"
            )
    return tuple(found)


def _number(settings: Settings, name: str) -> int | None:
    setting = settings.get(name)
    return int(setting.value) if setting is not None and setting.value else None


def _check_none_gone(survey: Survey) -> None:
    for ledger in survey.ledger.values():
        latest = ledger.latest
        if latest.topic in survey.source_topics and latest.target_topic not in survey.target_topics:
            raise TargetTopicGone(
                target_topic=latest.target_topic, recorded_id=latest.target_topic_id, records=ledger.records
            )


def _ensure_internal_topics(flow: MirrorFlow, pair: ClusterPair) -> None:
    """Create the internal topics on first use, check them on later ones."""
    partitions = {naming.gate_topic(flow.name): 1, naming.ledger_topic(flow.name): flow.shards}
    present = pair.target.describe_topics(list(partitions))
    for name, info in present.items():
        policy = pair.target.topic_settings([name])[name].get("cleanup.policy")
        if info.partitions != partitions[name]:
            problem = f"it has {info.partitions} partition(s), needed are {partitions[name]}"
            raise StateTopicUnfit(topic=name, problem=problem)
        if policy is not None and policy.value != "compact":
            raise StateTopicUnfit(topic=name, problem=f"its cleanup.policy is {policy.value!r}, needed is 'compact'")
    pair.target.create_topics(
        [
            NewTopic(
                name=name,
                partitions=count,
                replication_factor=flow.internal_replication_factor,
                settings={"cleanup.policy": "compact"},
            )
            for name, count in partitions.items()
            if name not in present
        ]
    )


def _record_flow(flow: MirrorFlow, pair: ClusterPair, record: FlowRecord, owner: str, tick: Tick) -> None:
    """Write the first flow record, unless another first run just did; or the way of delivery, which may change."""
    group = naming.lease_group(naming.control_id(flow.name))
    membership = pair.target.membership(group, naming.gate_topic(flow.name), owner, flow.lease_session_s)
    with Lease(membership, group=group, session_s=flow.lease_session_s) as lease:
        lease.acquire(flow.lease_wait_s, tick)
        standing = read_gate(pair.target, flow.name, tick)
        if standing is None:
            write_gate(pair.target, expected=None, new=record, lease=lease, tick=tick)
            return
        check_record(standing, record)
        if standing.delivery is not record.delivery:
            new = replace(standing, delivery=record.delivery)
            write_gate(pair.target, expected=standing, new=new, lease=lease, tick=tick)
