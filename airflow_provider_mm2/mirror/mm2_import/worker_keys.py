"""Keys of the process that runs MirrorMaker 2: a worker of Kafka Connect, or its dedicated mode.

Source: Kafka Connect, ``WorkerConfig``, ``DistributedConfig``, ``RestServerConfig``; MirrorMaker 2,
``MirrorMakerConfig.workerConfig``.
"""

from __future__ import annotations

from airflow_provider_mm2.mirror.mm2_import import reasons
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMES = _words(
    """
    dedicated.mode.enable.internal.rest listeners group.id client.id plugin.path plugin.discovery
    exactly.once.source.support connect.protocol scheduled.rebalance.max.delay.ms rebalance.timeout.ms
    session.timeout.ms heartbeat.interval.ms worker.sync.timeout.ms worker.unsync.backoff.ms
    task.shutdown.graceful.timeout.ms offset.flush.interval.ms offset.flush.timeout.ms
    connector.client.config.override.policy topic.creation.enable topic.tracking.enable
    topic.tracking.allow.reset response.http.headers.config
    ssl.client.auth header.converter key.converter value.converter
    """
)
_BEGINNINGS = (
    "rest.",
    "listeners.",
    "admin.listeners",
    "access.control.",
    "inter.worker.",
    "worker.",
    "task.",
    "plugin.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
)
_STORAGES = ("offset.storage.", "config.storage.", "status.storage.")


def tell_worker_key(key: str, given: Given, findings: Findings) -> bool:
    """Tell of a key of the process; whether it is one.

    :param key: without what stands in front of it.
    """
    if key == "exactly.once.source.support":
        if given.value.strip().lower() == "disabled":
            findings.tell(given, *reasons.EXACTLY_ONCE)
    elif key.startswith(_STORAGES):
        findings.tell(given, *reasons.STORAGE)
    elif key in _NAMES:
        findings.tell(given, *reasons.WORKER)
    elif key == "config.providers" or key.startswith("config.providers."):
        findings.tell_unknown(given, *reasons.PROVIDERS)
    elif key.startswith("metrics."):
        findings.tell_unknown(given, *reasons.METRICS)
    elif key.startswith(_BEGINNINGS):
        findings.tell_unknown(given, *reasons.WORKER)
    else:
        return False
    return True
