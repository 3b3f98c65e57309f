"""Every key of MirrorMaker 2's connectors, and what becomes of it in a flow.

Source: MirrorMaker 2, ``MirrorConnectorConfig``, ``MirrorSourceConfig``, ``MirrorCheckpointConfig``,
``MirrorHeartbeatConfig``; Kafka Connect, ``ConnectorConfig``, ``SourceConnectorConfig``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto

from airflow_provider_mm2.mirror.mm2_import import reasons


class Reader(Flag):
    """The connectors of MirrorMaker 2."""

    SOURCE = auto()
    CHECKPOINT = auto()
    HEARTBEAT = auto()
    ALL = SOURCE | CHECKPOINT | HEARTBEAT


class Kind(Enum):
    """What a value is."""

    SWITCH = "switch"
    NUMBER = "number"
    PATTERNS = "patterns"
    ALL_OR_NEW = "a switch for all topics; off, it leaves new ones"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What becomes of a key.

    :param field: the flow's key that takes its value, dotted; None: none does.
    :param kind: what the value of ``field`` is.
    :param same: values, in lower case, that ask for what a run does anyway.
    :param told: why any other value is not honoured, and what to do instead; None for a key that is always honoured
        or has code of its own.
    """

    read_by: Reader
    field: str | None = None
    kind: Kind = Kind.SWITCH
    same: frozenset[str] = frozenset()
    told: reasons.Reason | None = None


_SOURCE, _CHECKPOINT, _HEARTBEAT, _ALL = Reader.SOURCE, Reader.CHECKPOINT, Reader.HEARTBEAT, Reader.ALL
_BOTH = Reader.SOURCE | Reader.CHECKPOINT


def _honoured(read_by: Reader, field: str, kind: Kind) -> Key:
    return Key(read_by=read_by, field=field, kind=kind)


def _told(read_by: Reader, told: reasons.Reason, *same: str) -> Key:
    return Key(read_by=read_by, told=told, same=frozenset(same))


def _own_code(read_by: Reader) -> Key:
    """A key that :mod:`.options` or the reader of its kind of file takes care of by name."""
    return Key(read_by=read_by)


_MIRROR = "org.apache.kafka.connect.mirror."
_BYTES = ("org.apache.kafka.connect.converters.bytearrayconverter",)

KEYS: dict[str, Key] = {
    # which flow it is
    "enabled": _own_code(_BOTH),
    "name": _own_code(_ALL),
    "mm2.flow": _own_code(_ALL),
    "connector.class": _own_code(_ALL),
    "source.cluster.alias": _own_code(_ALL),
    "target.cluster.alias": _own_code(_ALL),
    # what is mirrored, and under which names
    "topics": _honoured(_BOTH, "topics", Kind.PATTERNS),
    "topics.exclude": _honoured(_BOTH, "topics_exclude", Kind.PATTERNS),
    "groups": _honoured(_CHECKPOINT, "groups", Kind.PATTERNS),
    "groups.exclude": _honoured(_CHECKPOINT, "groups_exclude", Kind.PATTERNS),
    "topic.filter.class": _told(_BOTH, reasons.FILTER, f"{_MIRROR}defaulttopicfilter"),
    "group.filter.class": _told(_CHECKPOINT, reasons.FILTER, f"{_MIRROR}defaultgroupfilter"),
    "replication.policy.class": _own_code(_ALL),
    "replication.policy.separator": _own_code(_ALL),
    "replication.policy.internal.topic.separator.enabled": _own_code(_ALL),
    # topics on the target
    "sync.topic.configs.enabled": _honoured(_SOURCE, "sync_topics.configs", Kind.ALL_OR_NEW),
    "sync.topic.configs.interval.seconds": _told(_SOURCE, reasons.SCHEDULE),
    "config.properties.exclude": _honoured(_SOURCE, "sync_topics.config_exclude", Kind.PATTERNS),
    "config.property.filter.class": _told(_SOURCE, reasons.CONFIG_FILTER, f"{_MIRROR}defaultconfigpropertyfilter"),
    "use.defaults.from": _own_code(_SOURCE),
    "sync.topic.acls.enabled": _own_code(_SOURCE),
    "sync.topic.acls.interval.seconds": _told(_SOURCE, reasons.SCHEDULE),
    "replication.factor": _own_code(_SOURCE),
    "refresh.topics.enabled": _told(_SOURCE, reasons.REFRESH, "true"),
    "refresh.topics.interval.seconds": _told(_SOURCE, reasons.SCHEDULE),
    # positions of consumer groups
    "offset.lag.max": _honoured(_SOURCE, "offset_lag_max", Kind.NUMBER),
    "emit.offset-syncs.enabled": _honoured(_BOTH, "emit_offset_syncs", Kind.SWITCH),
    "offset-syncs.topic.location": _told(_BOTH, reasons.SYNCS_ON_TARGET, "target"),
    "offset-syncs.topic.replication.factor": _own_code(_SOURCE),
    "emit.checkpoints.enabled": _honoured(_CHECKPOINT, "emit_checkpoints", Kind.SWITCH),
    "emit.checkpoints.interval.seconds": _told(_CHECKPOINT, reasons.SCHEDULE),
    "checkpoints.topic.replication.factor": _own_code(_CHECKPOINT),
    "sync.group.offsets.enabled": _honoured(_CHECKPOINT, "sync_group_offsets", Kind.SWITCH),
    "sync.group.offsets.interval.seconds": _told(_CHECKPOINT, reasons.SCHEDULE),
    "refresh.groups.enabled": _told(_CHECKPOINT, reasons.REFRESH, "true"),
    "refresh.groups.interval.seconds": _told(_CHECKPOINT, reasons.SCHEDULE),
    # heartbeats
    "emit.heartbeats.enabled": _told(_HEARTBEAT, reasons.HEARTBEATS, "true"),
    "emit.heartbeats.interval.seconds": _told(_HEARTBEAT, reasons.SCHEDULE),
    "heartbeats.topic.replication.factor": _told(_HEARTBEAT, reasons.HEARTBEATS_FACTOR),
    "heartbeats.replication.enabled": _own_code(_SOURCE),
    # exactly once
    "exactly.once.support": _told(_SOURCE, reasons.EXACTLY_ONCE, "requested", "required"),
    "transaction.boundary": _told(_SOURCE, reasons.TRANSACTIONS),
    "transaction.boundary.interval.ms": _told(_SOURCE, reasons.TRANSACTIONS),
    "offsets.storage.topic": _told(_SOURCE, reasons.WORKER),
    # the process
    "tasks.max": _told(_ALL, reasons.TASKS, "1"),
    "tasks.max.enforce": _told(_ALL, reasons.TASKS),
    "admin.timeout.ms": _told(_ALL, reasons.TIMEOUT),
    "consumer.poll.timeout.ms": _told(_BOTH, reasons.TIMEOUT),
    "forwarding.admin.class": _told(
        _ALL, reasons.ADMIN_CLASS, "org.apache.kafka.clients.admin.forwardingadmin", f"{_MIRROR}forwardingadmin"
    ),
    "metric.reporters": _told(_ALL, reasons.METRICS, "", "org.apache.kafka.common.metrics.jmxreporter"),
    "metric.names.formats": _told(_ALL, reasons.METRICS),
    "add.source.alias.to.metrics": _told(_ALL, reasons.METRICS),
    "use.incremental.alter.configs": _told(_SOURCE, reasons.INCREMENTAL, "required", "requested"),
    "task.index": _told(_ALL, reasons.WORKER),
    "task.assigned.partitions": _told(_SOURCE, reasons.WORKER),
    "task.assigned.groups": _told(_CHECKPOINT, reasons.WORKER),
    # of every source connector
    "connector.plugin.version": _told(_ALL, reasons.WORKER),
    "config.action.reload": _told(_ALL, reasons.WORKER),
    **{f"{part}.converter": _told(_ALL, reasons.BYTES, *_BYTES) for part in ("key", "value", "header")},
    **{f"{part}.converter.plugin.version": _told(_ALL, reasons.BYTES) for part in ("key", "value", "header")},
    "transforms": _told(_ALL, reasons.TRANSFORMS, ""),
    "predicates": _told(_ALL, reasons.TRANSFORMS, ""),
    "errors.tolerance": _told(_ALL, reasons.ERRORS, "none"),
    "errors.retry.timeout": _told(_ALL, reasons.ERRORS),
    "errors.retry.delay.max.ms": _told(_ALL, reasons.ERRORS),
    "errors.log.enable": _told(_ALL, reasons.ERRORS),
    "errors.log.include.messages": _told(_ALL, reasons.ERRORS),
    "topic.creation.groups": _told(_SOURCE, reasons.TOPIC_CREATION, ""),
}

OLD_NAMES = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
}
"""Names before Kafka 2.8 (KIP-629); the newer one wins where both are given."""

KEYS |= {old: KEYS[new] for old, new in OLD_NAMES.items()}

FAMILIES: dict[str, reasons.Reason] = {
    "transforms.": reasons.TRANSFORMS,
    "predicates.": reasons.TRANSFORMS,
    "topic.creation.": reasons.TOPIC_CREATION,
    "key.converter.": reasons.BYTES,
    "value.converter.": reasons.BYTES,
    "header.converter.": reasons.BYTES,
    "errors.": reasons.ERRORS,
    "metrics.": reasons.METRICS,
    "config.providers": reasons.PROVIDERS,
    "topic.filter.": reasons.FILTER,
    "group.filter.": reasons.FILTER,
    "replication.policy.": reasons.POLICY_OPTION,
    "forwarding.admin.": reasons.ADMIN_CLASS,
    "consumer.override.": reasons.OVERRIDE,
    "admin.override.": reasons.OVERRIDE,
}
"""Beginnings of keys whose rest a user chooses; their values are never shown."""


def family_reason(key: str) -> reasons.Reason | None:
    """Why a key of a family is not honoured; None where it is of none."""
    return next((reason for family, reason in FAMILIES.items() if key.startswith(family)), None)
