"""The groups of a fake cluster, as the ports give them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_mm2.mirror.errors import GroupActive, GroupAway, MirrorError, TopicDeleted
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupListing, GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition

if TYPE_CHECKING:
    from tests.fakes.cluster import FakeCluster


@dataclass(slots=True)
class FakeGroup:
    """What is said of a group beside its offsets; ``away``: its coordinator does not answer."""

    kind: GroupKind = GroupKind.CLASSIC
    members: list[str] = field(default_factory=list)
    once_used: bool = False
    away: bool = False
    metadata: dict[TopicPartition, str] = field(default_factory=dict)


class FakeGroups:
    """Group calls on a fake cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def list(self, *, every_kind: bool) -> list[GroupListing]:
        """Groups with offsets or members; with ``every_kind`` those that are no consumer groups, too."""
        self._cluster.reach()
        locks = [group for group, lock in self._cluster.locks.items() if lock.members]
        names = {*self._cluster.groups, *locks, *(name for name, said in self._cluster.said.items() if said.members)}
        listed = [GroupListing(name=name, kind=self._cluster.group(name).kind) for name in sorted(names)]
        return [group for group in listed if every_kind or group.kind is not GroupKind.OTHER]

    def offsets(self, groups: Collection[str], *, stable: bool) -> dict[str, GroupOffsets | MirrorError]:
        """Offsets of groups; what stays pending is marked at once."""
        self._cluster.reach()
        return {name: self._offsets(name, stable=stable) for name in groups}

    def _offsets(self, name: str, *, stable: bool) -> GroupOffsets | MirrorError:
        said, offsets = self._cluster.group(name), self._cluster.groups.get(name, {})
        if said.away:
            return self._away(name)
        pending = {part for part in self._cluster.pending_partitions(name) if stable}
        return GroupOffsets(offsets=dict(offsets), metadata=dict(said.metadata), pending=frozenset(pending))

    def describe(self, groups: Collection[str]) -> dict[str, GroupState | MirrorError]:
        """Whether somebody is in a group."""
        self._cluster.reach()
        return {name: self._state(name) for name in groups}

    def _state(self, name: str) -> GroupState | MirrorError:
        said = self._cluster.group(name)
        if said.away:
            return self._away(name)
        exists = name in self._cluster.groups or bool(said.members)
        return GroupState(
            name=name, exists=exists, members=tuple(said.members), once_used=said.once_used and not said.members
        )

    def commit(self, group: str, wanted: GroupOffsets) -> dict[TopicPartition, MirrorError] | MirrorError:
        """Commit offsets with their metadata."""
        offsets = wanted.offsets
        try:
            self._check_writable(group)
        except (GroupActive, GroupAway) as error:
            return error
        there = {part for part in offsets if part.topic in self._cluster.topics}
        self._cluster.commit_offsets(group, {part: offset for part, offset in offsets.items() if part in there})
        metadata = self._cluster.group(group).metadata
        for part in there:
            metadata.pop(part, None)
        texts = {part: text for part, text in wanted.metadata.items() if part in there and text}
        if texts:
            self._cluster.said.setdefault(group, FakeGroup()).metadata.update(texts)
        return {part: TopicDeleted(alias=self._cluster.alias, topic=part.topic) for part in offsets.keys() - there}

    def delete(self, group: str) -> None:
        """Delete a group.

        :raises GroupActive: it has members.
        """
        self._check_writable(group)
        self._cluster.groups.pop(group, None)
        self._cluster.said.pop(group, None)

    def _check_writable(self, group: str) -> None:
        self._cluster.reach()
        said = self._cluster.group(group)
        if said.away:
            raise self._away(group)
        if said.members:
            raise GroupActive(group=group, members=())

    def _away(self, group: str) -> GroupAway:
        return GroupAway(alias=self._cluster.alias, group=group, code="COORDINATOR_NOT_AVAILABLE", problem="it is away")
