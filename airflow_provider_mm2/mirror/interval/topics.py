"""Step 0, prepare: the topics that a run needs, made before the first record.

Source: MirrorMaker 2, ``MirrorSourceConnector.computeAndCreateTopicPartitions`` (creation with the source's overrides,
growth, never shrinking).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.config import BATCH_BYTES
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import (
    FlowNotPrepared,
    Overtaken,
    TargetPartitionsFewer,
    TargetTopicGone,
    TargetTopicMissing,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.acls import AclPlan, acl_row, create_missing, survey_acls
from airflow_provider_mm2.mirror.interval.carried import SettingsPlan, carried_settings
from airflow_provider_mm2.mirror.interval.change_topics import Changed, change_topics, plan_topics
from airflow_provider_mm2.mirror.interval.repeats import change_warning
from airflow_provider_mm2.mirror.interval.replicas import check_brokers, check_replicas
from airflow_provider_mm2.mirror.interval.state_topics import ensure_state_topics
from airflow_provider_mm2.mirror.interval.survey import Survey, survey_flow
from airflow_provider_mm2.mirror.interval.topic_warnings import number_of, old_record_warnings, topic_warnings
from airflow_provider_mm2.mirror.model import NewTopic, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import FlowRecord

log = logging.getLogger(__name__)

TOLD = 100
"""Names in a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChanges:
    """What step 0 does on the target: topics to create, to grow to a partition count, and whose settings to alter."""

    create: tuple[NewTopic, ...]
    grow: Mapping[str, int]
    settings: Mapping[str, SettingsPlan] = field(default_factory=dict)

    @property
    def altered(self) -> dict[str, Mapping[str, str | None]]:
        """Settings to set (or, None, to remove), by target topic."""
        return {topic: plan.changes for topic, plan in self.settings.items() if plan.changes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A flow whose target is ready for its shards.

    ``batch_bytes``: the smallest ``max.message.bytes`` of its topics, by which a broker judges whole batches.
    ``altered``: settings that were set or (None) removed, by target topic. ``acls``: access rules that were created,
    and those of the source that were left out.
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
    altered: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    acls: AclPlan = field(default_factory=AclPlan)

    @property
    def shards(self) -> int:
        """How many shards a run has."""
        return self.record.shards

    @property
    def nothing_changed(self) -> bool:
        """Whether all was as it is to be already."""
        return not (self.created or self.grown or self.altered or self.acls.create)

    def to_json(self) -> dict[str, Any]:
        """A bounded summary of plain values."""
        return {
            "flow": self.record.flow,
            "shards": self.shards,
            "topics": len(self.topics),
            "created": list(self.created[:TOLD]),
            "grown": list(self.grown[:TOLD]),
            "altered": setting_rows(self.altered)[:TOLD],
            "acls": [acl_row(acl) for acl in self.acls.create[:TOLD]],
            "acls_left_out": len(self.acls.left_out),
            "nothing_changed": self.nothing_changed,
            "gone": list(self.gone[:TOLD]),
            "left_out": len(self.left_out),
            "warnings": list(self.warnings[:TOLD]),
        }


def setting_rows(altered: Mapping[str, Mapping[str, str | None]]) -> list[dict[str, Any]]:
    """Altered settings as plain values; a value None: what was set on the topic is removed."""
    return [
        {"topic": topic, "setting": name, "value": value}
        for topic, settings in sorted(altered.items())
        for name, value in sorted(settings.items())
    ]


def prepare_topics(
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    owner: str,
    tick: Tick,
    anew: Collection[str] | None = None,
    lease: Lease | None = None,
) -> Prepared:
    """Step 0: internal topics, the flow record, target topics with partitions, settings and access rules.

    Twice changes nothing.

    :param anew: see ``topic_changes``.
    :param lease: the control lease, where the caller holds it.
    :raises MirrorError: see ``survey_flow`` and ``topic_changes``; nothing has been created then.
    """
    survey = survey_flow(flow, pair, tick)
    changes = topic_changes(flow, survey, anew=anew)
    acls = survey_acls(flow, pair, {name: survey.selection.topics[name] for name in survey.source_topics})
    known = ensure_state_topics(flow, pair)
    create = _known_only(flow, survey, changes, known)
    plans = changes.settings
    changed = change_topics(flow, pair, survey, create=create, plans=plans, owner=owner, tick=tick, lease=lease)
    for topic, partitions in changes.grow.items():
        pair.target.grow_topic(topic, partitions)
    acls = create_missing(pair, acls)
    prepared = _prepared(flow, pair, survey, changes, changed, acls)
    for warning in prepared.warnings:
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
    return _prepared(flow, pair, survey, TopicChanges(create=(), grow={}), Changed(), AclPlan())


def _prepared(
    flow: MirrorFlow, pair: ClusterPair, survey: Survey, changes: TopicChanges, changed: Changed, acls: AclPlan
) -> Prepared:
    created = tuple(topic.name for topic in changes.create)
    targets = (*survey.target_topics, *created)
    settings = pair.target.topic_settings((*targets, naming.ledger_topic(flow.name)))
    infos = {**survey.target_topics, **pair.target.describe_topics(created)}
    check_replicas(infos, settings)
    limits = [number_of(found, "max.message.bytes") for found in settings.values()]
    replicas = {name: info.replication_factor for name, info in infos.items()}
    return Prepared(
        record=replace(survey.record, delivery=flow.delivery),
        topics={name: survey.selection.topics[name] for name in survey.source_topics},
        left_out=survey.selection.left_out,
        created=created,
        grown=tuple(changes.grow),
        gone=survey.gone,
        max_record_bytes=survey.max_record_bytes,
        batch_bytes=min((limit for limit in limits if limit is not None), default=BATCH_BYTES),
        warnings=(
            *topic_warnings(survey, replicas, settings),
            *changed.warnings,
            *acls.warnings,
            *old_record_warnings(pair, survey, settings),
            *change_warning(survey.record, flow.delivery),
        ),
        altered=changed.altered,
        acls=acls,
    )


def topic_changes(
    flow: MirrorFlow, survey: Survey, *, anew: Collection[str] | None = None, tolerant: bool = False
) -> TopicChanges:
    """What is to be created, grown and altered.

    :param anew: only these source topics are looked at, and a topic that was mirrored to is made anew when it is gone.
    :param tolerant: a topic that is gone stops nothing here; ``gone_targets`` tells of it.
    :raises TargetTopicGone: a topic that was mirrored to does not exist any more; making it anew would hide that.
    :raises TargetTopicMissing: creation is off in the flow.
    :raises TargetPartitionsFewer: growth is off in the flow.
    :raises ReplicationImpossible: the target has fewer brokers than new topics are to have replicas.
    :raises TooFewReplicas: no write to a topic could succeed.
    """
    if anew is None and flow.on_recreated != "restart" and not tolerant:
        for gone in gone_targets(survey).values():
            raise gone
    chosen = {name: info for name, info in survey.source_topics.items() if anew is None or name in anew}
    missing = [name for name in chosen if survey.selection.topics[name] not in survey.target_topics]
    if missing and not flow.sync_topics.create:
        raise TargetTopicMissing(target_topics=tuple(survey.selection.topics[name] for name in missing))
    create = _to_create(flow, survey, missing)
    wanted = {
        "replication_factor": (flow.replication_factor, [topic.name for topic in create]),
        "internal_replication_factor": (flow.internal_replication_factor, survey.state_topics_missing),
    }
    check_brokers(flow.target.alias, survey.target_brokers, wanted)
    check_replicas(survey.target_topics, survey.target_settings)
    settings = plan_topics(flow, survey, survey.target_settings, survey.own_settings)
    return TopicChanges(create=create, grow=_to_grow(flow, survey, chosen), settings=settings)


def _to_create(
    flow: MirrorFlow, survey: Survey, missing: Collection[str], known: Collection[str] | None = None
) -> tuple[NewTopic, ...]:
    return tuple(
        NewTopic(
            name=survey.selection.topics[name],
            partitions=survey.source_topics[name].partitions,
            replication_factor=flow.replication_factor,
            settings=carried_settings(flow, survey.source_settings.get(name, {}), known),
        )
        for name in missing
    )


def _known_only(
    flow: MirrorFlow, survey: Survey, changes: TopicChanges, known: Collection[str]
) -> tuple[NewTopic, ...]:
    """The topics to create, without settings that the target's brokers have no name for."""
    created = {topic.name for topic in changes.create}
    missing = [name for name in survey.source_topics if survey.selection.topics[name] in created]
    return _to_create(flow, survey, missing, known)


def _to_grow(flow: MirrorFlow, survey: Survey, chosen: Mapping[str, TopicInfo]) -> dict[str, int]:
    grow: dict[str, int] = {}
    for name, info in chosen.items():
        target = survey.target_topics.get(survey.selection.topics[name])
        if target is not None and target.partitions < info.partitions:
            if not flow.sync_topics.grow:
                raise TargetPartitionsFewer(
                    target_topic=target.name, partitions=target.partitions, needed=info.partitions
                )
            grow[target.name] = info.partitions
    return grow


def gone_targets(survey: Survey) -> dict[TopicPartition, TargetTopicGone]:
    """Partitions whose target topic is gone; a run stops for each, unless the flow says ``on_recreated: restart``."""
    return {
        part: TargetTopicGone(
            topic=part.topic,
            target_topic=ledger.latest.target_topic,
            recorded_id=ledger.latest.target_topic_id,
            records=ledger.records,
        )
        for part, ledger in survey.ledger.items()
        if part.topic in survey.source_topics and ledger.latest.target_topic not in survey.target_topics
    }
