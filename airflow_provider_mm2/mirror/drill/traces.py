"""What a drill makes on the two clusters, and taking all of it away again, also what a dead drill left.

What is about to be made is noted on the target before it is made. So a topic of a drill's name that is not noted is
somebody's own: it is never touched, and the drill is refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import mm2_topics, naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, TargetCluster, Tick
from airflow_provider_mm2.mirror.drill.flow import DrillFlow, journal_topic, lease_group, prefix_of
from airflow_provider_mm2.mirror.drill.mirroring import Mirroring
from airflow_provider_mm2.mirror.errors import DrillClash, GroupActive, TopicDeleted
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import NewTopic, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

SESSION_S = 75.0
"""Longer than a broker's default session of a consumer, 45 s."""

KEY = b'{"kind":"drill"}'
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What a drill of a flow makes.

    :param pair: both clusters, in the flow's direction; topics and groups are made and deleted on either.
    :param groups: the groups that it makes.
    :param mirroring: what mirrors its topics, where that may leave something else; None: nothing does.
    """

    flow: DrillFlow
    pair: ClusterPair
    tick: Tick
    groups: frozenset[str]
    mirroring: Mirroring | None = None

    @property
    def sides(self) -> Mapping[str, TargetCluster]:
        """Both clusters by alias, each with the right to make and delete."""
        return {self.flow.real_source: self.pair.turned().target, self.flow.target.alias: self.pair.target}

    def topics_of(self, alias: str) -> dict[str, str]:
        """The topics that applications use on one side, by their name on the source."""
        policy, names = naming.policy_of(self.flow), self.flow.topics
        if alias == self.flow.real_source:
            return {name: name for name in names}
        return {name: policy.format_remote_topic(self.flow.source.alias, name) for name in names}

    def left(self) -> dict[str, dict[str, list[str]]]:
        """All that is there of a drill but the lock group that it is in, by alias: ``topics`` and ``groups``."""
        known = self._known_groups(self._noted())
        found = {alias: {"topics": self._topics(alias), "groups": self._groups(alias, known)} for alias in self.sides}
        connectors = [] if self.mirroring is None else self.mirroring.left(self.tick)
        return {**found, "Kafka Connect": {"connectors": connectors}} if connectors else found

    def begin(self) -> None:
        """Note what is about to be made; what a dead drill left is taken away first.

        :raises DrillClash: somebody else's topic or group has one of the names; nothing was changed.
        """
        self.check_names()
        if self._noted() is not None:
            self.clean(keep_journal=True)
        self._note()

    def _known_groups(self, noted: Mapping[str, object] | None) -> frozenset[str]:
        """The groups of applications that this drill makes, and that a dead one may have made."""
        named = [] if noted is None else noted.get("groups", [])
        return self.groups | frozenset(named if isinstance(named, list) else [])

    def check_names(self) -> None:
        """See that nobody's own topic or group has a name that a drill needs; only reads.

        :raises DrillClash: one has.
        """
        noted = self._noted()
        known = frozenset() if noted is None else self._known_groups(noted)
        found = {alias: self._topics(alias) for alias in self.sides}
        taken = tuple(
            f"{name} on {alias}"
            for alias, names in found.items()
            for name in names
            if noted is None and (name != journal_topic(self.flow) or self._has_records())
        )
        groups = tuple(
            f"{name} on {alias}"
            for alias, side in self.sides.items()
            for name in sorted(each.name for each in side.list_groups(every_kind=True))
            if name.startswith(prefix_of(self.flow)) and name not in known
        )
        if taken or groups:
            raise DrillClash(flow=self.flow.real, topics=taken, groups=groups)

    def _has_records(self) -> bool:
        """Whether there is anything in the topic for the note: without a note that is somebody's own."""
        return any(True for _ in self.pair.target.read_state(TopicPartition(journal_topic(self.flow), 0), self.tick))

    def _noted(self) -> Mapping[str, object] | None:
        """What a drill noted before; None: none is known."""
        if not self.has_journal():
            return None
        topic = journal_topic(self.flow)
        found: Mapping[str, object] | None = None
        with suppress(TopicDeleted):  # by the one who wrote it, a moment ago
            for record in self.pair.target.read_state(TopicPartition(topic, 0), self.tick):
                if record.key == KEY:
                    found = None if record.value is None else json_object(record.value)
        return found

    def has_journal(self) -> bool:
        """Whether there is a topic for the note."""
        return bool(self.pair.target.describe_topics([journal_topic(self.flow)]))

    def make_journal(self) -> None:
        """The topic that the note goes to, which is also what one drill at a time holds."""
        if self.has_journal():
            return
        topic = journal_topic(self.flow)
        factor = self.flow.internal_replication_factor
        settings = {"cleanup.policy": "compact"}
        self.pair.target.create_topics(
            [NewTopic(name=topic, partitions=1, replication_factor=factor, settings=settings)]
        )

    def _note(self) -> None:
        document = {"version": VERSION, "groups": sorted(self.groups)}
        writer = self.pair.target.state_writer(naming.control_id(self.flow.name))
        try:
            writer.fence(self.tick)
            value = compact_json(document)
            writer.write([StateRecord(topic=journal_topic(self.flow), partition=0, key=KEY, value=value)], self.tick)
        finally:
            writer.close()

    def clean(self, *, keep_journal: bool = False) -> None:
        """Delete all that a drill of this flow makes; what is gone already is fine."""
        known = self._known_groups(self._noted())
        if self.mirroring is not None:
            self.mirroring.clean(self.tick)
        for alias, side in self.sides.items():
            journal = {journal_topic(self.flow)}
            topics = set(self._topics(alias)) - journal
            side.delete_topics(sorted(topics))
            for group in self._groups(alias, known):
                self._delete_group(side, group)
        if not keep_journal:
            self.pair.target.delete_topics([journal_topic(self.flow)])

    def _delete_group(self, side: TargetCluster, group: str) -> None:
        """Delete a group; the broker counts a process that died among its members until its session is over.

        :raises GroupActive: somebody is in it who is alive.
        """
        deadline = time.monotonic() + SESSION_S
        while True:
            try:
                side.delete_group(group, self.tick)
            except GroupActive:
                if time.monotonic() > deadline:
                    raise
                self.tick()
                time.sleep(0.5)
            else:
                return

    def forget_lease(self) -> None:
        """Delete the lock group of drills, once nobody holds it."""
        self.pair.target.delete_group(lease_group(self.flow), self.tick)

    def _topics(self, alias: str) -> list[str]:
        side = self.sides[alias]
        own = set(self.topics_of(alias).values())
        if alias == self.flow.target.alias:
            own.add(journal_topic(self.flow))
            own |= self._of_mm2()
        return sorted(name for name in side.list_topics() if name in own or self._is_state(name))

    def _of_mm2(self) -> set[str]:
        """MirrorMaker 2's own topics of the drill's connectors, which have a source alias that nobody else has."""
        if self.flow.source.alias == self.flow.real_source:
            return set()
        policy, alias = naming.policy_of(self.flow), self.flow.source.alias
        return {mm2_topics.offset_syncs_topic(policy, alias), mm2_topics.checkpoints_topic(policy, alias)}

    def _is_state(self, topic: str) -> bool:
        """Whether a topic holds state of the drill's flow, or of its way home: no other flow can have such a name."""
        return any(topic.startswith(f"{kind}.{self.flow.name}.") for kind in _STATE)

    def _groups(self, alias: str, known: frozenset[str]) -> list[str]:
        """Groups of a drill on one side, but the lock group that it is in."""
        names = sorted(found.name for found in self.sides[alias].list_groups(every_kind=True))
        own = [name for name in names if name in known or name.startswith(f"mm2.{self.flow.name}.")]
        return [name for name in own if name != lease_group(self.flow)]


_STATE = ("mm2-flow", "mm2-offset-map", "mm2-groups", "mm2-canary", "mm2-stranded", "mm2-renewals")


def names_left(left: Mapping[str, Mapping[str, list[str]]]) -> Iterator[str]:
    """What is there, as people read it."""
    for alias, kinds in left.items():
        for kind, names in kinds.items():
            yield from (f"{kind[:-1]} {name} on {alias}" for name in names)
