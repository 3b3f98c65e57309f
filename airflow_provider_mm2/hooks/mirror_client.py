"""An Airflow connection as a client that tells of mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

from airflow_provider_mm2.hooks.cluster import KafkaClusterHook

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.naming import ReplicationPolicy
    from airflow_provider_mm2.mirror.mirror_client import MirrorClient


class MirrorClientHook(BaseHook):
    """What mirrors there are on a cluster, and where groups of other clusters go on there.

    ::

        with MirrorClientHook("kafka_eu").get_conn() as client:
            offsets = client.translate_offsets("billing", "us").offsets

    :param kafka_conn_id: a connection of the official type ``kafka``, to the cluster that others are mirrored to.
    :param replication_policy: of the mirrors: ``default``, ``identity``, the dotted path of a class, or an object.
    :param separator: of the policy, where it is given by name.
    :param source_alias: needed by ``identity`` alone.
    """

    conn_name_attr = "kafka_conn_id"
    default_conn_name = "kafka_default"
    conn_type = "kafka"
    hook_name = "Kafka mirror client"

    def __init__(
        self,
        kafka_conn_id: str = default_conn_name,
        *,
        replication_policy: str | ReplicationPolicy = "default",
        separator: str = ".",
        source_alias: str | None = None,
    ) -> None:
        super().__init__()
        self.kafka_conn_id = kafka_conn_id
        self.replication_policy = replication_policy
        self.separator = separator
        self.source_alias = source_alias

    def get_conn(self) -> MirrorClient:
        """A new client each time; whoever asked for it closes it. Ask in the task: clients do not survive a fork.

        :raises ConnectionMissing: the connection cannot be used.
        :raises SettingsError: the client refuses the settings, or there is no such policy.
        """
        # Imported here: parsing a DAG must not load the Kafka client.
        from airflow_provider_mm2.mirror.mirror_client import MirrorClient

        return MirrorClient.connect(
            KafkaClusterHook(self.kafka_conn_id).get_conn(),
            replication_policy=self.replication_policy,
            separator=self.separator,
            source_alias=self.source_alias,
            alias=self.kafka_conn_id,
        )
