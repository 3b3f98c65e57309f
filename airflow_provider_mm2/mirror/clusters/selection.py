"""Which of a cluster's topics a flow takes, and what they are called on the target. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from airflow_provider_mm2.mirror.clusters.mm2_topics import Release, is_mm2_internal_topic
from airflow_provider_mm2.mirror.clusters.naming import ReplicationPolicy, is_cycle, is_drill, is_internal, is_of_drills
from airflow_provider_mm2.mirror.errors import NotOfTheFlow
from airflow_provider_mm2.mirror.flow import MirrorFlow

NEVER = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The topics of a flow: ``topics`` is source name to target name, ``left_out`` name to the rule that hit."""

    topics: Mapping[str, str]
    left_out: Mapping[str, str]


def select_topics(flow: MirrorFlow, policy: ReplicationPolicy, names: Iterable[str]) -> Selection:
    """Hold every source topic against the flow's rules.

    A topic that the flow names in full, and does not exclude, is taken although its name looks internal.

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


def _is_a_mirrors_own(policy: ReplicationPolicy, name: str) -> bool:
    """Whether a mirror, MirrorMaker 2 or this one, keeps its state in a topic of this name."""
    ours = name.startswith("mm2-") and name.endswith(".internal")
    return ours or is_mm2_internal_topic(policy, name, Release.V4)


def _rule_against(flow: MirrorFlow, policy: ReplicationPolicy, name: str) -> str | None:
    if name in NEVER:
        return "Kafka's own topic, never mirrored"
    if not any(re.fullmatch(pattern, name) for pattern in flow.topics):
        return "not in topics"
    excluded = next((pattern for pattern in flow.topics_exclude if re.fullmatch(pattern, name)), None)
    if excluded is not None:
        return f"topics_exclude: {excluded}"
    if _is_a_mirrors_own(policy, name):
        return "a mirror's own topic, never mirrored"
    if is_of_drills(name, flow.separator) and not is_drill(flow.name):
        return "a drill's topic, there for a moment: only the drill mirrors it"
    if is_internal(name, flow.separator) and name not in flow.topics:
        return "internal by its name (starts with __ or ., or ends with 'internal' behind -, . or the separator)"
    if is_cycle(policy, name, flow.target.alias):
        return f"came from {flow.target.alias!r} itself (a cycle)"
    return None


def check_known(flow: str, what: str, asked: Collection[str], known: Collection[str]) -> None:
    """Refuse names that are asked for and that a flow does not have.

    :param what: kind of thing that they name, such as ``topic``.
    :raises NotOfTheFlow: with names much like theirs.
    """
    strange = tuple(name for name in asked if name not in known)
    if strange:
        near = tuple(name for each in strange for name in get_close_matches(each, known, n=3))
        raise NotOfTheFlow(flow=flow, what=what, names=strange, near=near)
