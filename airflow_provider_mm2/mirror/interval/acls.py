"""Access rules that target topics get from their source's, where the flow asks for it.

Source: MirrorMaker 2, ``MirrorSourceConnector.syncTopicAcls``. There all are written again and again, and nobody is
told of those that are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.errors import AccessNotChecked
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicAcl


@dataclass(frozen=True, slots=True, kw_only=True)
class AclPlan:
    """Access rules to create on the target, and the source's that are left out with the reason; nothing is deleted."""

    create: tuple[TopicAcl, ...] = ()
    left_out: tuple[tuple[TopicAcl, str], ...] = ()
    warnings: tuple[str, ...] = ()


def survey_acls(flow: MirrorFlow, pair: ClusterPair, topics: Mapping[str, str]) -> AclPlan:
    """What is missing on the target; nothing where the flow does not ask for it.

    :param topics: target name by source name.
    :raises NotAuthorized: a cluster does not let its rules be seen.
    """
    if not flow.sync_topics.acls:
        return AclPlan()
    source = pair.source.topic_acls()
    if not source:
        warning = f"{pair.source.alias!r} has no access rules of topics to carry over, or checks no access"
        return AclPlan(warnings=(warning,))
    return plan_acls(topics, source, pair.target.topic_acls())


def create_missing(pair: ClusterPair, plan: AclPlan) -> AclPlan:
    """Create what is missing; a target that keeps no access rules is told, and hinders nothing.

    :raises NotAuthorized: the target does not let rules be created.
    """
    if not plan.create:
        return plan
    try:
        pair.target.create_acls(plan.create)
    except AccessNotChecked as error:
        return replace(plan, create=(), warnings=(*plan.warnings, error.first_line))
    return plan


def plan_acls(topics: Mapping[str, str], source: Collection[TopicAcl], target: Collection[TopicAcl]) -> AclPlan:
    """Hold the source's rules against the target's.

    Write is not carried over, since the mirror alone writes to a target topic; all rights on a topic become the right
    to read it.
    """
    wanted: dict[TopicAcl, None] = {}
    left_out: list[tuple[TopicAcl, str]] = []
    for acl in sorted(source):
        reason = _reason_against(topics, acl)
        if reason is not None:
            left_out.append((acl, reason))
        elif not acl.prefixed and acl.name in topics and not _is_allowed(acl, "WRITE"):
            operation = "READ" if _is_allowed(acl, "ALL") else acl.operation
            wanted[replace(acl, name=topics[acl.name], operation=operation)] = None
    missing = tuple(acl for acl in wanted if acl not in set(target))
    return AclPlan(create=missing, left_out=tuple(left_out))


def _reason_against(topics: Mapping[str, str], acl: TopicAcl) -> str | None:
    """Why a rule that bears on mirrored topics is not carried over."""
    if acl.prefixed and any(topic.startswith(acl.name) for topic in topics):
        return "for all topics that begin so, of which the target has others than the source"
    if not acl.prefixed and acl.name == "*":
        return "for all topics, of which the target has others than the source"
    return None


def _is_allowed(acl: TopicAcl, operation: str) -> bool:
    return acl.permission == "ALLOW" and acl.operation == operation


def acl_row(acl: TopicAcl) -> dict[str, Any]:
    """One rule as plain values."""
    return {
        "topic": acl.name,
        "prefixed": acl.prefixed,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission": acl.permission,
    }
