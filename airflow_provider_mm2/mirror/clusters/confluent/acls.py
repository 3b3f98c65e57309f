"""Access rules of topics on a cluster: seeing and creating them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.failures import kafka_error
from airflow_provider_mm2.mirror.errors import AccessNotChecked, NotAuthorized
from airflow_provider_mm2.mirror.model import TopicAcl

SEE = "see the access rules of topics (Describe on the cluster)"
_ANY: Any = None
EVERY_TOPIC_ACL = AclBindingFilter(
    ResourceType.TOPIC, _ANY, ResourcePatternType.ANY, _ANY, _ANY, AclOperation.ANY, AclPermissionType.ANY
)


def topic_acls(admin: Admin) -> Sequence[TopicAcl]:
    """See :class:`ClusterReader`.

    The client (2.16.1) gives an empty list also where the broker refused, so an empty one is doubted.
    """
    future = admin.client.describe_acls(EVERY_TOPIC_ACL, request_timeout=admin.limit_s - 1)
    found = admin.result(future, SEE)
    if not found and not admin.may_describe_cluster():
        raise NotAuthorized(alias=admin.alias, operation=SEE, problem="Describe on the cluster is missing")
    return sorted(
        TopicAcl(
            name=binding.name,
            prefixed=binding.resource_pattern_type == ResourcePatternType.PREFIXED,
            principal=binding.principal,
            host=binding.host,
            operation=binding.operation.name,
            permission=binding.permission_type.name,
        )
        for binding in found
    )


def create_acls(admin: Admin, acls: Collection[TopicAcl]) -> None:
    """See :class:`TargetCluster`."""
    if not acls:
        return
    bindings = [
        AclBinding(
            ResourceType.TOPIC,
            acl.name,
            ResourcePatternType.PREFIXED if acl.prefixed else ResourcePatternType.LITERAL,
            acl.principal,
            acl.host,
            AclOperation[acl.operation],
            AclPermissionType[acl.permission],
        )
        for acl in acls
    ]
    futures = admin.client.create_acls(bindings, request_timeout=admin.limit_s - 1)
    admin.settle(futures.values())
    for future in futures.values():
        try:
            future.result()
        except KafkaException as error:
            if kafka_error(error).code() == KafkaError.SECURITY_DISABLED:
                raise AccessNotChecked(alias=admin.alias) from error
            raise admin.failure(error, "create access rules of topics (Alter on the cluster)") from error
