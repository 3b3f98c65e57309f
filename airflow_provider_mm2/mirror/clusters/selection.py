"""Which of a cluster's topics a flow takes, and what they are called on the target. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.naming import ReplicationPolicy, is_cycle, is_internal
from airflow_provider_mm2.mirror.flow import MirrorFlow

NEVER = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The topics of a flow: ``topics`` is source name to target name, ``left_out`` name to the rule that hit."""

    topics: Mapping[str, str]
    left_out: Mapping[str, str]


def select_topics(flow: MirrorFlow, policy: ReplicationPolicy, names: Iterable[str]) -> Selection:
    """Hold every source topic against the flow's rules.

    Source: MirrorMaker 2, ``MirrorSourceConnector.shouldReplicateTopic``; there nobody is told what was left out.
    """
    topics: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name in sorted(names):
        rule = _rule_against(flow, policy, name)
        if rule is None:
            topics[name] = policy.format_remote_topic(flow.source.alias, name)
        else:
            left_out[name] = rule
    return Selection(topics=topics, left_out=left_out)


def _rule_against(flow: MirrorFlow, policy: ReplicationPolicy, name: str) -> str | None:
    if name in NEVER:
        return "Kafka's own topic, never mirrored"
    if not any(re.fullmatch(pattern, name) for pattern in flow.topics):
        return "not in topics"
    excluded = next((pattern for pattern in flow.topics_exclude if re.fullmatch(pattern, name)), None)
    if excluded is not None:
        return f"topics_exclude: {excluded}"
    if is_internal(name, flow.separator):
        return "internal by its name (starts with __ or ., or ends with 'internal' behind -, . or the separator)"
    if is_cycle(policy, name, flow.target.alias):
        return f"came from {flow.target.alias!r} itself (a cycle)"
    return None
