"""How many replicas topics on the target have, against what is asked of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from airflow_provider_mm2.mirror.errors import ReplicationImpossible, TooFewReplicas
from airflow_provider_mm2.mirror.interval.carried import Settings
from airflow_provider_mm2.mirror.model import TopicInfo

TOLD = 10
"""Names in one warning."""


def check_brokers(alias: str, brokers: int, wanted: Mapping[str, tuple[int | None, Collection[str]]]) -> None:
    """Refuse a replication factor that a cluster cannot give; nothing has been created yet.

    :param wanted: by the flow's key: the factor, and the topics that are to be created with it.
    :raises ReplicationImpossible: there are fewer brokers.
    """
    for key, (factor, topics) in wanted.items():
        if factor is not None and factor > brokers and topics:
            names = tuple(sorted(topics))
            raise ReplicationImpossible(alias=alias, factor=f"{key}: {factor}", brokers=brokers, topics=names)


def check_replicas(topics: Mapping[str, TopicInfo], settings: Mapping[str, Settings]) -> None:
    """Refuse topics to which no write can succeed, since every write here waits for all of ``min.insync.replicas``.

    :raises TooFewReplicas: one has fewer replicas.
    """
    for name, info in sorted(topics.items()):
        needed = settings.get(name, {}).get("min.insync.replicas")
        if needed is not None and needed.value and int(needed.value) > info.replication_factor:
            raise TooFewReplicas(topic=name, replicas=info.replication_factor, needed=int(needed.value))


def replica_warnings(
    topics: Mapping[str, str], source: Mapping[str, TopicInfo], replicas: Mapping[str, int]
) -> Iterator[str]:
    """One warning for all topics that are less safe on the target than on the source.

    :param topics: target name by source name.
    :param replicas: by target topic, as far as they are known.
    """
    fewer = [
        f"{topics[name]!r} ({replicas[topics[name]]}, source {info.replication_factor})"
        for name, info in sorted(source.items())
        if replicas.get(topics[name], info.replication_factor) < info.replication_factor
    ]
    if fewer:
        more = f" and {len(fewer) - TOLD} more" if len(fewer) > TOLD else ""
        yield f"fewer replicas on the target than on the source: {', '.join(fewer[:TOLD])}{more}"
