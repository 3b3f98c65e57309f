"""A flow as MirrorMaker 2's connectors: the reverse of an import. Pure.

Importing what is made here gives the flow again, but for what an import has no place for: ``limits.OF_RUNS``,
``limits.OF_OTHERS``, ``connect``, ``delivery``, ``transaction_timeout_s``, and what a connector says that is left out
(``emit_heartbeats: false``; ``groups`` with ``emit_checkpoints: false``).

Source: MirrorMaker 2, ``MirrorConnectorConfig``, ``MirrorSourceConfig``, ``MirrorCheckpointConfig``,
``MirrorHeartbeatConfig``; KIP-618 (exactly once).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from airflow_provider_mm2.mirror.connect.java_settings import java_settings
from airflow_provider_mm2.mirror.connect.limits import Difference, refused_keys
from airflow_provider_mm2.mirror.connect.patterns_for_java import as_list, fault_for_java
from airflow_provider_mm2.mirror.errors import NotOnConnect
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.mm2_import.cluster_settings import Side
from airflow_provider_mm2.mirror.mm2_import.naming_keys import POLICY, SEPARATOR
from airflow_provider_mm2.mirror.mm2_import.patterns import dropped_names
from airflow_provider_mm2.mirror.state_model import Delivery

OWNER = "mm2.flow"
"""Key of a connector's configuration that names the flow it is of. Connect keeps it; MirrorMaker 2 does not read it."""

ALIASES = ("source.cluster.alias", "target.cluster.alias")
PACKAGE = "org.apache.kafka.connect.mirror."
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_POLICIES = {"default": f"{PACKAGE}DefaultReplicationPolicy", "identity": f"{PACKAGE}IdentityReplicationPolicy"}
_BROKERS_DEFAULT = "-1"
_LISTS = ("topics", "topics_exclude", "groups", "groups_exclude")


class Part(Enum):
    """The connectors of a flow, in the order in which they are put."""

    SOURCE = "MirrorSourceConnector"
    CHECKPOINT = "MirrorCheckpointConnector"
    HEARTBEAT = "MirrorHeartbeatConnector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """One connector as it is to be.

    :param config: with secrets in it, unless the worker fills them in.
    """

    part: Part
    name: str
    config: Mapping[str, str] = field(repr=False)


def name_of(flow: MirrorFlow, part: Part) -> str:
    """What a connector of a flow is called; a dot is in no flow's name."""
    return f"{flow.name}.{part.value}"


def parts_of(flow: MirrorFlow) -> tuple[Part, ...]:
    """The connectors that a flow has."""
    asked = {Part.SOURCE: True, Part.CHECKPOINT: flow.emit_checkpoints, Part.HEARTBEAT: flow.emit_heartbeats}
    return tuple(part for part, is_asked in asked.items() if is_asked)


def connectors_of(flow: MirrorFlow, settings: Mapping[str, Mapping[str, object]]) -> tuple[Connector, ...]:
    """The connectors of a flow.

    :param settings: librdkafka's, of both clusters by alias, as the worker is to have them.
    :raises NotOnConnect: the flow asks what MirrorMaker 2 cannot do; each key is named.
    """
    sides = {Side.SOURCE: ("source", flow.source.alias), Side.TARGET: ("target", flow.target.alias)}
    clients: dict[str, str] = {}
    problems = [*refused_keys(flow), *_pattern_problems(flow)]
    for side, (place, alias) in sides.items():
        found, faults = java_settings(side, settings[alias])
        clients |= found
        problems += [Difference(key=f"{place}.settings.{key}", text=text) for key, text in sorted(faults.items())]
    if problems:
        raise NotOnConnect(flow=flow.name, problems=tuple(f"{each.key}: {each.text}" for each in problems))
    makers = {Part.SOURCE: _source, Part.CHECKPOINT: _checkpoint, Part.HEARTBEAT: _heartbeat}
    return tuple(
        Connector(
            part=part,
            name=name_of(flow, part),
            config={**_common(flow, part), **clients, **makers[part](flow)},
        )
        for part in parts_of(flow)
    )


def _pattern_problems(flow: MirrorFlow) -> Iterator[Difference]:
    lists = {key: getattr(flow, key) for key in _LISTS}
    for key, patterns in {**lists, "sync_topics.config_exclude": flow.sync_topics.config_exclude}.items():
        fault = fault_for_java(patterns)
        if fault is not None:
            yield Difference(key=key, text=fault)
    for name in dropped_names(flow.topics, flow.topics_exclude, flow.separator):
        yield Difference(
            key="topics", text=f"{name!r} is named in full, and MirrorMaker 2 leaves it out by an exclusion"
        )


def _common(flow: MirrorFlow, part: Part) -> dict[str, str]:
    return {
        "name": name_of(flow, part),
        "connector.class": PACKAGE + part.value,
        OWNER: flow.name,
        ALIASES[0]: flow.source.alias,
        ALIASES[1]: flow.target.alias,
        POLICY: _POLICIES.get(flow.replication_policy, flow.replication_policy),
        SEPARATOR: flow.separator,
        "tasks.max": "1" if part is Part.HEARTBEAT else str(flow.connect.tasks),
        **{f"{kind}.converter": _BYTES for kind in ("key", "value", "header")},
    }


def _source(flow: MirrorFlow) -> dict[str, str]:
    refresh = str(flow.connect.refresh_s)
    sync = flow.sync_topics
    is_exact = flow.delivery is Delivery.EXACTLY_ONCE
    config = {
        "topics": as_list(flow.topics),
        "topics.exclude": as_list(flow.topics_exclude),
        "refresh.topics.interval.seconds": refresh,
        "sync.topic.configs.enabled": _switch(sync.configs is True),
        "sync.topic.configs.interval.seconds": refresh,
        "sync.topic.acls.enabled": _switch(sync.acls),
        "sync.topic.acls.interval.seconds": refresh,
        "config.properties.exclude": as_list(sync.config_exclude),
        "use.defaults.from": sync.use_defaults_from,
        "replication.factor": _factor(flow.replication_factor),
        "heartbeats.replication.enabled": "false",  # as in a run: only where topics has them
        "emit.offset-syncs.enabled": _switch(flow.emit_offset_syncs),
        "exactly.once.support": "required" if is_exact else "requested",
        "source.consumer.isolation.level": "read_committed",
    }
    if is_exact and flow.transaction_timeout_s != MirrorFlow.model_fields["transaction_timeout_s"].default:
        config["producer.override.transaction.timeout.ms"] = str(flow.transaction_timeout_s * 1000)
    if flow.emit_offset_syncs:  # MirrorMaker 2 refuses these beside a switch that is off
        config |= {
            "offset.lag.max": str(flow.offset_lag_max),
            "offset-syncs.topic.location": "target",  # nothing is written to the source
            "offset-syncs.topic.replication.factor": _factor(flow.internal_replication_factor),
        }
    return config


def _checkpoint(flow: MirrorFlow) -> dict[str, str]:
    refresh = str(flow.connect.refresh_s)
    return {
        "topics": as_list(flow.topics),
        "topics.exclude": as_list(flow.topics_exclude),
        "groups": as_list(flow.groups),
        "groups.exclude": as_list(flow.groups_exclude),
        "refresh.groups.interval.seconds": refresh,
        "emit.checkpoints.enabled": "true",
        "emit.checkpoints.interval.seconds": refresh,
        "sync.group.offsets.enabled": _switch(flow.sync_group_offsets),
        "sync.group.offsets.interval.seconds": refresh,
        "offset-syncs.topic.location": "target",
        "checkpoints.topic.replication.factor": _factor(flow.internal_replication_factor),
    }


def _heartbeat(flow: MirrorFlow) -> dict[str, str]:
    factor = _factor(flow.internal_replication_factor)
    return {"emit.heartbeats.enabled": "true", "heartbeats.topic.replication.factor": factor}


def _switch(is_on: bool) -> str:
    return "true" if is_on else "false"


def _factor(given: int | None) -> str:
    return _BROKERS_DEFAULT if given is None else str(given)
