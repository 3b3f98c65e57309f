"""Reading a cluster through its admin interface, with one time limit a call and no topic made by asking."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    ConfigResource,
    DescribeClusterResult,
    OffsetSpec,
    ResourceType,
)

from airflow_provider_mm2.mirror.clusters.config import Settings, admin_settings, scrubbed
from airflow_provider_mm2.mirror.clusters.confluent.failures import (
    NO_TOPIC,
    FailureWatch,
    client_log,
    is_away,
    kafka_error,
    refusal,
    translate,
)
from airflow_provider_mm2.mirror.clusters.ports import Tick, no_tick
from airflow_provider_mm2.mirror.errors import MirrorError, SettingRefused, TopicDeleted
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition, TopicSetting

T = TypeVar("T")

CALL_LIMIT_S = 15.0
"""Longest wait for one admin answer; also how long an unreachable cluster keeps a run."""

LEADER_LIMIT_S = 3.0
"""Longest wait for partitions' leaders at a time; a dead one is tried ten thousand times a second for all of it."""

ABSENT_S = 2.0
"""A topic that no broker asked knows of for this long is gone."""

_TOPIC_OVERRIDE = 1
"""``ConfigSource.DYNAMIC_TOPIC_CONFIG``: set on the topic itself."""


class Admin:
    """An admin client of one cluster; every call waits at most ``limit_s`` and gives plain values or our errors.

    :param tick: called in every wait, beside the one that some calls are given.
    """

    def __init__(self, *, alias: str, settings: Settings, limit_s: float = CALL_LIMIT_S, tick: Tick = no_tick) -> None:
        self.alias = alias
        self._tick = tick
        self.watch = FailureWatch(alias=alias, settings=settings)
        self.limit_s = limit_s
        config: dict[str, Any] = {**admin_settings(settings), "error_cb": self.watch}
        try:
            self.client = AdminClient(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=alias, problem=scrubbed(refusal(error), settings)) from error

    def settle(self, futures: Iterable[Future[Any]]) -> None:
        """Wait until all are done, serving the client's callbacks.

        :raises AuthenticationFailed: at once when a broker refuses the credentials.
        :raises ClusterUnreachable: not done within the limit.
        """
        pending = set(futures)
        deadline = time.monotonic() + self.limit_s
        while pending:
            pending = wait(pending, timeout=0.1).not_done
            self._tick()
            self.client.poll(0)
            self.watch.raise_refused()
            if pending and time.monotonic() > deadline:
                raise self.watch.unreachable(self.limit_s)

    def result(self, future: Future[T], operation: str, topic: str | None = None) -> T:
        """Result of one future.

        :raises MirrorError: translated from what the cluster said.
        """
        self.settle([future])
        try:
            return future.result()
        except KafkaException as error:
            raise self.failure(error, operation, topic) from error

    def failure(self, error: KafkaException, operation: str, topic: str | None = None) -> MirrorError:
        """Our error for a failed call; a time-out while nothing is connected means unreachable."""
        inner = kafka_error(error)
        if inner.code() in (inner._TIMED_OUT, inner._TRANSPORT, inner._ALL_BROKERS_DOWN, inner._RESOLVE):
            self.watch.raise_refused()
            return self.watch.unreachable(self.limit_s)
        return translate(error, alias=self.alias, operation=operation, topic=topic)

    def cluster_id(self) -> str:
        """Id of the cluster."""
        return str(self._description().cluster_id)

    def broker_count(self) -> int:
        """Brokers that are up."""
        return len(self._description().nodes)

    def may_describe_cluster(self) -> bool:
        """Whether the credentials have the right Describe on the cluster."""
        future: Future[DescribeClusterResult] = self.client.describe_cluster(
            include_authorized_operations=True, request_timeout=self.limit_s - 1
        )
        return AclOperation.DESCRIBE in (self.result(future, "describe the cluster").authorized_operations or ())

    def _description(self) -> DescribeClusterResult:
        future: Future[DescribeClusterResult] = self.client.describe_cluster(request_timeout=self.limit_s - 1)
        return self.result(future, "describe the cluster")

    def list_topics(self) -> dict[str, int]:
        """Partition counts by topic name."""
        try:
            metadata = self.client.list_topics(timeout=self.limit_s)
        except KafkaException as error:
            raise self.failure(error, "list the topics") from error
        return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}

    def describe_topics(self, names: Collection[str]) -> dict[str, TopicInfo]:
        """Facts by topic name, missing ones left out."""
        if not names:
            return {}
        futures = self.client.describe_topics(TopicCollection(sorted(names)), request_timeout=self.limit_s - 1)
        self.settle(futures.values())
        found: dict[str, TopicInfo] = {}
        for name, future in futures.items():
            try:
                description = future.result()
            except KafkaException as error:
                if kafka_error(error).code() in NO_TOPIC:
                    continue
                raise self.failure(error, f"describe topic {name!r}") from error
            found[name] = TopicInfo(
                name=name,
                topic_id=str(description.topic_id),
                partitions=len(description.partitions),
                replication_factor=min((len(part.replicas) for part in description.partitions), default=0),
            )
        return found

    def topic_settings(self, names: Collection[str]) -> dict[str, dict[str, TopicSetting]]:
        """Effective settings by topic and name."""
        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(names)]
        futures = self.client.describe_configs(resources, request_timeout=self.limit_s - 1)
        found: dict[str, dict[str, TopicSetting]] = {}
        for resource, future in futures.items():
            entries = self.result(future, f"read the settings of topic {resource.name!r}", resource.name)
            found[resource.name] = {
                name: TopicSetting(
                    name=name,
                    value=entry.value,
                    overridden=entry.source == _TOPIC_OVERRIDE,
                    sensitive=bool(entry.is_sensitive),
                    read_only=bool(entry.is_read_only),
                )
                for name, entry in entries.items()
            }
        return found

    def log_ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of each partition's log, open transactions counted."""
        return self._list_offsets(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

    def log_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogOffsets]:
        """The three ends of each partition's log; a leader that is being elected is waited for.

        The end is asked for before the LSO: what is written between the two would look like an open transaction.
        """
        starts = self._list_offsets(partitions, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)
        ends = self.ends(partitions)
        stables = self._list_offsets(partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
        return {
            part: LogOffsets(start=starts[part], stable=stables[part], end=max(ends[part], stables[part]))
            for part in partitions
        }

    def offsets_at(self, moments: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Offset of the first record stamped at or after each moment, None where there is none."""
        if not moments:
            return {}
        specs = {part: OffsetSpec.for_timestamp(moment) for part, moment in moments.items()}
        found = self._list_offsets(list(moments), specs, IsolationLevel.READ_COMMITTED)
        return {part: offset if offset >= 0 else None for part, offset in found.items()}

    def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Where each log ends; a leader that is being elected is waited for."""
        return self._list_offsets(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

    def _list_offsets(
        self,
        partitions: Collection[TopicPartition],
        spec: OffsetSpec | Mapping[TopicPartition, OffsetSpec],
        isolation: IsolationLevel,
    ) -> dict[TopicPartition, int]:
        specs = spec if isinstance(spec, Mapping) else dict.fromkeys(partitions, spec)
        found: dict[TopicPartition, int] = {}
        absent_since: dict[str, float] = {}
        deadline = time.monotonic() + self.limit_s
        while missing := [part for part in partitions if part not in found]:
            before = len(found)
            futures = self.client.list_offsets(
                {KafkaPartition(part.topic, part.partition): specs[part] for part in missing},
                isolation_level=isolation,
                request_timeout=min(LEADER_LIMIT_S, self.limit_s),
            )
            self.settle(futures.values())
            for key, future in futures.items():
                part = TopicPartition(key.topic, key.partition)
                try:
                    found[part] = int(future.result().offset)
                except KafkaException as error:
                    self._check_absent(part.topic, error, deadline, absent_since)
            if len(found) > before:  # a thousand leaders that are being elected take longer than one
                deadline = time.monotonic() + self.limit_s
        return found

    def _check_absent(self, topic: str, error: KafkaException, deadline: float, absent_since: dict[str, float]) -> None:
        """Let a transient failure pass until the deadline; a topic that stays away is gone.

        One broker may not have heard yet of a topic that another one has just made.
        """
        inner = kafka_error(error)
        maybe_gone = inner.code() in (*NO_TOPIC, inner._NOENT)  # _NOENT: not one partition of the call has a leader
        if not maybe_gone:
            self._look_for_leader()
        elif topic in self.describe_topics([topic]):
            absent_since.pop(topic, None)
            self._look_for_leader()
        elif time.monotonic() - absent_since.setdefault(topic, time.monotonic()) > ABSENT_S:
            raise TopicDeleted(alias=self.alias, topic=topic) from error
        if time.monotonic() > deadline or not (is_away(inner) or maybe_gone):
            raise self.failure(error, f"list offsets of {topic!r}", topic) from error
        self.client.poll(0.05)

    def _look_for_leader(self) -> None:
        """Let the client learn of a new leader; it would go on asking the one it knows, also when that one is dead.

        Or of partitions that came up: once it has heard of a topic it goes by that for minutes.

        All topics are asked for, since a request for one by name is what lets a broker create it.
        """
        with suppress(KafkaException):
            self.client.list_topics(timeout=LEADER_LIMIT_S)

    def close(self) -> None:
        """Serve what is left and let the client go, here and now.

        The exceptions of failed futures keep whole frames alive, and a client that ends with them ends wherever Python
        collects them: in an event loop it blocks everybody.
        """
        client: AdminClient | None = self.__dict__.pop("client", None)
        if client is not None:
            client.poll(0)
