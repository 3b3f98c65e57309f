"""What a run would do, without doing any of it: the document behind ``mm2 plan``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import MirrorError, TargetTransactionOpen
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident
from airflow_provider_mm2.mirror.interval.acls import AclPlan, acl_row, survey_acls
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.interval.carried import Settings
from airflow_provider_mm2.mirror.interval.change_topics import unknown_settings
from airflow_provider_mm2.mirror.interval.facts import gather_facts
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.policies import decide, made_anew
from airflow_provider_mm2.mirror.interval.repeats import change_warning, found_warnings
from airflow_provider_mm2.mirror.interval.retention import partitions_of
from airflow_provider_mm2.mirror.interval.survey import Survey, survey_flow
from airflow_provider_mm2.mirror.interval.topic_warnings import old_record_warnings, topic_warnings
from airflow_provider_mm2.mirror.interval.topics import TopicChanges, gone_targets, setting_rows, topic_changes
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition, TopicSetting
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.positions import select_groups
from airflow_provider_mm2.mirror.state.incidents import describe
from airflow_provider_mm2.mirror.state_model import Delivery, PartitionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a run of a flow would do as things stand; ``problems`` are what would stop it."""

    flow: str
    bounds: RunBounds
    survey: Survey
    changes: TopicChanges
    partitions: tuple[dict[str, Any], ...]
    problems: tuple[MirrorError, ...]
    warnings: tuple[str, ...]
    acls: AclPlan
    groups_left_out: Mapping[str, str]
    delivery: Delivery = Delivery.EXACTLY_ONCE

    @property
    def to_copy(self) -> int:
        """Offsets between progress and the last stable offset, an upper bound of the records to copy."""
        return sum(part["to_copy"] for part in self.partitions)

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 plan --json``."""
        survey = self.survey
        created = {topic.name for topic in self.changes.create}
        return {
            "flow": self.flow,
            "until": None if self.bounds.until is None else self.bounds.until.isoformat(),
            "source": {"alias": survey.record.source_alias, "cluster_id": survey.record.source_cluster_id},
            "target": {"alias": survey.record.target_alias, "cluster_id": survey.record.target_cluster_id},
            "shards": survey.record.shards,
            "delivery": self.delivery.value,
            "delivery_cost": self.delivery.cost,
            "first_run": not survey.recorded,
            "to_copy": self.to_copy,
            "topics": [self._topic(name, created) for name in survey.source_topics],
            "left_out": [{"topic": name, "rule": rule} for name, rule in survey.selection.left_out.items()],
            "groups_left_out": [{"group": name, "rule": rule} for name, rule in self.groups_left_out.items()],
            "settings": setting_rows(self.changes.altered),
            "acls": {
                "create": [acl_row(acl) for acl in self.acls.create],
                "left_out": [{**acl_row(acl), "reason": reason} for acl, reason in self.acls.left_out],
            },
            "gone": list(survey.gone),
            "partitions": list(self.partitions),
            "problems": [
                {"kind": type(problem).__name__, "retriable": problem.retriable, "message": str(problem)}
                for problem in self.problems
            ],
            "warnings": list(self.warnings),
        }

    def _topic(self, name: str, created: set[str]) -> dict[str, Any]:
        target = self.survey.selection.topics[name]
        action = "create" if target in created else "grow" if target in self.changes.grow else "none"
        partitions = self.survey.source_topics[name].partitions
        return {"topic": name, "target_topic": target, "partitions": partitions, "action": action}


def foresee(flow: MirrorFlow, pair: ClusterPair, *, bounds: RunBounds, tick: Tick) -> Outlook:
    """Look at both clusters and tell what a run would do; touches nothing.

    :raises MirrorError: the flow as a whole cannot run (see ``survey_flow`` and ``topic_changes``).
    """
    bounds.check()
    survey = survey_flow(flow, pair, tick)
    changes = topic_changes(flow, survey, tolerant=True)
    acls = survey_acls(flow, pair, {name: survey.selection.topics[name] for name in survey.source_topics})
    every = list(partitions_of((name, info.partitions) for name, info in sorted(survey.source_topics.items())))
    facts = _facts(pair, survey, every, tick)
    new = [part for part in every if part not in facts]
    logs = pair.source.log_offsets(new)
    ledgers = {part: survey.ledger.get(part) for part in every}
    now_ms, shards = int(time.time() * 1000), survey.record.shards
    decisions = {part: decide(flow, fact, survey.record.source_cluster_id, now_ms) for part, fact in facts.items()}
    ledgers.update({part: decision.facts.ledger for part, decision in decisions.items()})
    found = [decision.problem for decision in decisions.values() if decision.problem is not None]
    accepted = [incident for decision in decisions.values() for incident in decision.incidents]
    anew, missing = _of_gone_targets(flow, survey, now_ms)
    ledgers.update(dict.fromkeys(anew))
    accepted, found = [*accepted, *anew.values()], [*found, *missing]
    return Outlook(
        flow=flow.name,
        bounds=bounds,
        survey=survey,
        changes=changes,
        partitions=tuple(
            _row(part, facts[part].source_log if part in facts else logs[part], ledgers[part], shards) for part in every
        ),
        problems=tuple(problem for problem in found if not isinstance(problem, TargetTransactionOpen)),
        warnings=(
            *_topic_warnings(pair, survey, changes),
            *acls.warnings,
            *_delivery_warnings(flow, survey, facts.values()),
            *_open_transactions(found),
            *(f"a run would accept this: {describe(incident)}" for incident in accepted),
        ),
        acls=acls,
        groups_left_out=select_groups(flow, pair.source.list_groups(every_kind=True))[1],
        delivery=flow.delivery,
    )


def _of_gone_targets(
    flow: MirrorFlow, survey: Survey, now_ms: int
) -> tuple[dict[TopicPartition, Incident], list[MirrorError]]:
    """Partitions whose target topic is gone: those that are copied anew, or the problems that they are."""
    gone = gone_targets(survey)
    if flow.on_recreated != "restart":
        return {}, list(gone.values())
    return {part: made_anew(survey.ledger[part], now_ms) for part in gone}, []


def _topic_warnings(pair: ClusterPair, survey: Survey, changes: TopicChanges) -> Iterator[str]:
    """What is worth knowing of the target topics as they will be."""
    settings = _settings_to_be(survey, changes)
    replicas = {name: info.replication_factor for name, info in survey.target_topics.items()}
    yield from topic_warnings(survey, replicas, settings)
    yield from unknown_settings(changes.settings)
    yield from old_record_warnings(pair, survey, settings)


def _settings_to_be(survey: Survey, changes: TopicChanges) -> dict[str, Settings]:
    """Effective settings of the target topics once a run has altered and created them, as far as they can be told.

    What a new topic has from its brokers shows on the topics that are there.
    """
    defaults = {
        name: setting
        for settings in survey.target_settings.values()
        for name, setting in settings.items()
        if not setting.overridden
    }
    found: dict[str, Settings] = {}
    for topic, settings in survey.target_settings.items():
        altered = changes.altered.get(topic, {})
        removed = {name: defaults[name] for name, value in altered.items() if value is None and name in defaults}
        found[topic] = {**settings, **removed, **_overrides(altered)}
    for new in changes.create:
        found[new.name] = {**defaults, **_overrides(new.settings)}
    return found


def _overrides(settings: Mapping[str, str | None]) -> Settings:
    return {
        name: TopicSetting(name=name, value=value, overridden=True)
        for name, value in settings.items()
        if value is not None
    }


def _delivery_warnings(flow: MirrorFlow, survey: Survey, facts: Iterable[PartitionFacts]) -> tuple[str, ...]:
    return change_warning(survey.record, flow.delivery) + tuple(found_warnings(facts))


def _open_transactions(found: list[MirrorError]) -> tuple[str, ...]:
    """A plan fences nothing, so an open transaction on the target may well be a run of this flow at work."""
    return tuple(
        f"{problem.target_topic}-{problem.partition} has an open transaction at offset {problem.stable}: a run is at "
        "work, or somebody else writes there"
        for problem in found
        if isinstance(problem, TargetTransactionOpen)
    )


def _facts(
    pair: ClusterPair, survey: Survey, every: list[TopicPartition], tick: Tick
) -> dict[TopicPartition, PartitionFacts]:
    """Facts of the partitions that have their place on the target already."""
    pairs: dict[TopicPartition, TopicPartition] = {}
    for part in every:
        target = survey.target_topics.get(survey.selection.topics[part.topic])
        if target is not None and part.partition < target.partitions:
            pairs[part] = TopicPartition(target.name, part.partition)
    topics = (survey.source_topics, survey.target_topics)
    return gather_facts(pair, record=survey.record, pairs=pairs, topics=topics, ledger=survey.ledger, tick=tick)


def _row(part: TopicPartition, log: LogOffsets, ledger: PartitionLedger | None, shards: int) -> dict[str, Any]:
    progress = log.start if ledger is None else ledger.latest.next_offset
    return {
        "topic": part.topic,
        "partition": part.partition,
        "shard": naming.shard_of(part, shards),
        "progress": progress,
        "source_start": log.start,
        "source_end": log.stable,
        "to_copy": max(0, log.stable - progress),
        "mirrored_through": None if ledger is None else show(ledger.latest.through_ms),
    }
