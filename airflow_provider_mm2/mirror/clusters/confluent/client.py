"""The pair of clusters of a flow on real Kafka, and how it is made of a flow or of plain settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from airflow_provider_mm2.mirror.clusters.config import Settings, resolve_settings
from airflow_provider_mm2.mirror.clusters.confluent.at_least_once import AtLeastOnce
from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster
from airflow_provider_mm2.mirror.clusters.confluent.copy import ConfluentCopier
from airflow_provider_mm2.mirror.clusters.confluent.exactly_once import ExactlyOnce
from airflow_provider_mm2.mirror.clusters.confluent.sending import Sending
from airflow_provider_mm2.mirror.clusters.ports import Tick, no_tick
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.model import CopierSettings
from airflow_provider_mm2.mirror.state_model import Delivery

_SENDINGS: Mapping[Delivery, Callable[[ConfluentCluster, CopierSettings], Sending]] = {
    Delivery.EXACTLY_ONCE: ExactlyOnce,
    Delivery.AT_LEAST_ONCE: AtLeastOnce,
}


class ConfluentPair:
    """Both clusters of a flow, and how records get from one to the other."""

    def __init__(
        self,
        *,
        source: Callable[[], ConfluentCluster],
        target: Callable[[], ConfluentCluster],
        delivery: Delivery = Delivery.EXACTLY_ONCE,
    ) -> None:
        self._make = {"source": source, "target": target}
        self._made: dict[str, ConfluentCluster] = {}
        self._delivery = delivery

    @property
    def source(self) -> ConfluentCluster:
        """The cluster that is read; what never asks for it never connects to it."""
        return self._cluster("source")

    @property
    def target(self) -> ConfluentCluster:
        """The cluster that is written."""
        return self._cluster("target")

    def _cluster(self, side: str) -> ConfluentCluster:
        if side not in self._made:
            self._made[side] = self._make[side]()
        return self._made[side]

    def copier(self, settings: CopierSettings) -> ConfluentCopier:
        """See :class:`ClusterPair`."""
        sending = _SENDINGS[self._delivery](self.target, settings)
        return ConfluentCopier(source=lambda: self.source, target=self.target, settings=settings, sending=sending)

    def turned(self) -> ConfluentPair:
        """See :class:`ClusterPair`."""
        return ConfluentPair(source=lambda: self.target, target=lambda: self.source, delivery=self._delivery)

    def close(self) -> None:
        """See :class:`ClusterPair`."""
        for cluster in self._made.values():
            cluster.close()


def connect(
    flow: MirrorFlow,
    *,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    tick: Tick = no_tick,
    target_only: bool = False,
) -> ConfluentPair:
    """The two clusters of a flow; nothing is contacted yet, and a client is made when it is first asked for.

    :param settings: alias to librdkafka settings, from whoever resolved the connections; the flow's own otherwise.
    :param tick: called in every wait for an admin request, so that a cluster that is gone holds nobody who stops.
    :param target_only: the source cannot be asked for, and its settings are not even looked at.
    :raises SettingsError: a variable is missing or a setting is refused.
    """
    given = settings or {}

    def maker(cluster: ClusterSettings) -> Callable[[], ConfluentCluster]:
        return partial(
            ConfluentCluster,
            alias=cluster.alias,
            settings=resolve_settings(cluster, given.get(cluster.alias)),
            state_timeout_s=flow.transaction_timeout_s,
            tick=tick,
            delivery=flow.delivery,
        )

    source = _no_source if target_only else maker(flow.source)
    return ConfluentPair(source=source, target=maker(flow.target), delivery=flow.delivery)


def _no_source() -> ConfluentCluster:
    raise RuntimeError("the source is not to be spoken to")


def checked_settings(alias: str, given: Mapping[str, object]) -> Settings:
    """Settings that no flow names, taken as they are.

    :raises SettingRefused: a callback is given, or there is no ``bootstrap.servers``.
    """
    return resolve_settings(ClusterSettings.model_construct(alias=alias), given)
