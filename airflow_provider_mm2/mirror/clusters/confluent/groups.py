"""Consumer groups through the admin interface: many at a time, and each one's failure its own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from itertools import islice
from typing import Any, TypeVar

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
)
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.failures import is_away, kafka_error, translate
from airflow_provider_mm2.mirror.clusters.confluent.offset_fetch import OffsetFetcher
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import GroupActive, GroupAway, MirrorError
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupListing, GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition

T = TypeVar("T")
Names = list[str]

AT_ONCE = 250
"""Requests under way at a time: one group each, and a broker answers thousands a second."""

GROUP_LIMIT_S = 10.0
"""Longest wait for one group's coordinator, and how long groups whose coordinator is away are asked again."""

PENDING_LIMIT_S = 3.0
"""How long offsets that an open transaction holds are waited for."""

_READ = "read the offsets of"
_KINDS = {ConsumerGroupType.CLASSIC: GroupKind.CLASSIC, ConsumerGroupType.CONSUMER: GroupKind.CONSUMER}
_ACTIVE = frozenset(
    {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.STALE_MEMBER_EPOCH,
    }
)


class Groups:
    """The groups of one cluster."""

    def __init__(self, admin: Admin, fetcher: OffsetFetcher) -> None:
        self._admin = admin
        self._fetcher = fetcher

    def listed(self, *, every_kind: bool) -> list[GroupListing]:
        """All consumer groups, by name; with ``every_kind`` also those that are none."""
        future = self._admin.client.list_consumer_groups(request_timeout=self._admin.limit_s - 1)
        found = self._admin.result(future, "list the groups")
        kinds = {group.group_id: _kind(group) for group in found.valid}
        if every_kind:
            kinds = {**dict.fromkeys(self._names(), GroupKind.OTHER), **kinds}
        return [GroupListing(name=name, kind=kinds[name]) for name in sorted(kinds)]

    def _names(self) -> list[str]:
        """Names of groups of every kind: the newer call leaves out those of share and streams consumers."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                found: Any = self._admin.client.list_groups(timeout=self._admin.limit_s)
                return [group.id for group in found]
        except KafkaException as error:
            raise self._admin.failure(error, "list the groups") from error

    def offsets(self, groups: Collection[str], tick: Tick, *, stable: bool) -> dict[str, GroupOffsets | MirrorError]:
        """Committed offsets by group."""
        found = self._fetch(groups, tick, stable=stable)
        deadline = time.monotonic() + PENDING_LIMIT_S
        while pending := [name for name, got in found.items() if isinstance(got, GroupOffsets) and got.pending]:
            if time.monotonic() > deadline:
                return found | self._last_stable(pending, found, tick)
            self._admin.client.poll(0.1)
            found |= self._fetch(pending, tick, stable=True)
        return found

    def _last_stable(
        self, names: Collection[str], found: Mapping[str, GroupOffsets | MirrorError], tick: Tick
    ) -> dict[str, GroupOffsets | MirrorError]:
        """What groups had committed before the transaction that is open, marked as pending."""
        marked: dict[str, GroupOffsets | MirrorError] = {}
        for name, got in self._fetch(names, tick, stable=False).items():
            before = found[name]
            if isinstance(got, GroupOffsets) and isinstance(before, GroupOffsets):
                got = GroupOffsets(offsets=got.offsets, metadata=got.metadata, pending=before.pending)
            marked[name] = got
        return marked

    def _fetch(self, groups: Collection[str], tick: Tick, *, stable: bool) -> dict[str, GroupOffsets | MirrorError]:
        def fetch(names: Names, until: float) -> dict[str, GroupOffsets | MirrorError]:
            said = self._fetcher.fetch(names, stable=stable, limit_s=GROUP_LIMIT_S, until=until, tick=tick)
            return {name: self._read_offsets(name, said.get(name)) for name in names}

        return self._each(groups, fetch, tick)

    def _read_offsets(self, group: str, said: Mapping[str, Any] | None) -> GroupOffsets | MirrorError:
        """A group's offsets; the error of a partition is looked at before its offset, which is -1001 then."""
        if said is None:
            problem = "the client library ends whenever it asks (its issue 5040)"
            return GroupAway(alias=self._admin.alias, group=group, code="NOT_COORDINATOR", problem=problem)
        if "code" in said:
            return self._failure(group, KafkaError(said["code"], said["problem"]), _READ)
        offsets: dict[TopicPartition, int] = {}
        metadata: dict[TopicPartition, str] = {}
        pending: set[TopicPartition] = set()
        for topic, number, offset, text, code in said["partitions"]:
            part = TopicPartition(topic, number)
            if code == KafkaError.UNSTABLE_OFFSET_COMMIT:
                pending.add(part)
            elif code is not None:
                return self._failure(group, KafkaError(code), _READ)
            elif offset >= 0:
                offsets[part] = offset
                metadata |= {part: text} if text else {}
        return GroupOffsets(offsets=offsets, metadata=metadata, pending=frozenset(pending))

    def describe(self, groups: Collection[str], tick: Tick) -> dict[str, GroupState | MirrorError]:
        """Whether somebody is in each group."""

        def describe(names: Names, until: float) -> dict[str, GroupState | MirrorError]:
            futures = self._admin.client.describe_consumer_groups(names, request_timeout=GROUP_LIMIT_S)
            return self._results(futures, _read_state, "describe")

        return self._each(groups, describe, tick)

    def commit(
        self, groups: Mapping[str, GroupOffsets], tick: Tick
    ) -> dict[str, dict[TopicPartition, MirrorError] | MirrorError]:
        """Commit offsets of groups without members; what was refused."""

        def commit(names: Names, until: float) -> dict[str, dict[TopicPartition, MirrorError] | MirrorError]:
            futures: dict[str, Future[Any]] = {}
            for name in names:
                metadata = groups[name].metadata
                wanted = [
                    KafkaPartition(*part, offset, metadata.get(part, ""))
                    for part, offset in groups[name].offsets.items()
                ]
                request = [ConsumerGroupTopicPartitions(name, wanted)]
                futures |= self._admin.client.alter_consumer_group_offsets(request, request_timeout=GROUP_LIMIT_S)
            return self._results(futures, self._read_refused, "commit offsets of")

        nothing: dict[str, dict[TopicPartition, MirrorError] | MirrorError] = {name: {} for name in groups}
        return nothing | self._each([name for name in groups if groups[name].offsets], commit, tick)

    def _read_refused(self, group: str, answer: Any) -> dict[TopicPartition, MirrorError]:
        """The partitions that were refused.

        :raises KafkaException: the group as a whole was.
        """
        refused: dict[TopicPartition, MirrorError] = {}
        for part in answer.topic_partitions:
            if part.error is None:
                continue
            if part.error.code() in _ACTIVE or is_away(part.error):
                raise KafkaException(part.error)
            refused[TopicPartition(part.topic, part.partition)] = translate(
                part.error, alias=self._admin.alias, operation=f"commit an offset of group {group!r}", topic=part.topic
            )
        return refused

    def delete(self, group: str, tick: Tick) -> None:
        """Delete a group without members."""
        tick()
        futures = self._admin.client.delete_consumer_groups([group], request_timeout=GROUP_LIMIT_S)
        self._admin.settle(futures.values())
        try:
            futures[group].result()
        except KafkaException as error:
            if kafka_error(error).code() != KafkaError.GROUP_ID_NOT_FOUND:
                raise self._failure(group, error, "delete") from error

    def _each(
        self, groups: Collection[str], ask: Callable[[Names, float], dict[str, T | MirrorError]], tick: Tick
    ) -> dict[str, T | MirrorError]:
        """Ask for groups, some at a time; those whose coordinator is away are asked again for a while, all together.

        :raises ClusterUnreachable: not one of some answered, and the cluster does not either.
        """
        found: dict[str, T | MirrorError] = {}
        left = list(groups)
        deadline: float | None = None
        while left:
            for names in _some_of(left):
                tick()
                found |= ask(names, time.monotonic() + GROUP_LIMIT_S)
                if all(isinstance(found[name], GroupAway) for name in names):
                    self._admin.cluster_id()
            left = [name for name in left if isinstance(found[name], GroupAway)]
            deadline = deadline or time.monotonic() + GROUP_LIMIT_S
            if time.monotonic() > deadline:
                break
            self._admin.client.poll(0.2 if left else 0)
        return found

    def _results(
        self, futures: Mapping[str, Future[Any]], read: Callable[[str, Any], T], operation: str
    ) -> dict[str, T | MirrorError]:
        """Each group's answer or failure."""
        self._admin.settle(futures.values())
        found: dict[str, T | MirrorError] = {}
        for name, future in futures.items():
            try:
                found[name] = read(name, future.result())
            except KafkaException as error:
                found[name] = self._failure(name, error, operation)
        return found

    def _failure(self, group: str, error: KafkaException | KafkaError, operation: str) -> MirrorError:
        inner = kafka_error(error)
        if inner.code() in _ACTIVE:
            return GroupActive(group=group, members=())
        if is_away(inner):
            return GroupAway(alias=self._admin.alias, group=group, code=inner.name(), problem=inner.str())
        return translate(error, alias=self._admin.alias, operation=f"{operation} group {group!r}")


def _kind(group: Any) -> GroupKind:
    kind: ConsumerGroupType = getattr(group, "type", ConsumerGroupType.UNKNOWN)
    return _KINDS.get(kind, GroupKind.OTHER)


def _member(member: Any) -> str:
    return f"{member.client_id} ({member.host.lstrip('/')})"


def _some_of(groups: Collection[str]) -> Iterator[Names]:
    rest = iter(groups)
    while some := list(islice(rest, AT_ONCE)):
        yield some


def _read_state(group: str, description: Any) -> GroupState:
    state, members = description.state, tuple(map(_member, description.members))
    once_used = _kind(description) is GroupKind.CLASSIC and not description.is_simple_consumer_group
    return GroupState(
        name=group,
        exists=state is not ConsumerGroupState.DEAD,
        members=members,
        once_used=once_used and not members and state is ConsumerGroupState.EMPTY,
    )


def lock_holder(admin: Admin, group: str) -> str | None:
    """Client id and host of the member that holds a partition of a lock group."""
    futures = admin.client.describe_consumer_groups([group], request_timeout=admin.limit_s - 1)
    description = admin.result(futures[group], f"describe group {group!r}")
    for member in description.members:
        if member.assignment is not None and member.assignment.topic_partitions:
            return _member(member)
    return None
