"""One in-memory cluster: topics, transactions, groups, and the verbs with which a test brings it into a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.errors import ClusterUnreachable, TopicDeleted
from airflow_provider_mm2.mirror.model import TopicAcl, TopicPartition, TopicSetting
from tests.fakes.clock import FakeClock
from tests.fakes.groups import FakeGroup
from tests.fakes.lock_group import LockGroup
from tests.fakes.log import Message, Outcome, PartitionLog, Transaction

DEFAULT_SETTINGS: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "-1",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}
"""Some of a broker's defaults for topics (Kafka 4), with retention as the local pair has it."""


@dataclass(slots=True)
class FakeTopic:
    """A topic; its id is another one after a deletion and a new creation."""

    topic_id: str
    replication_factor: int
    settings: dict[str, str]
    logs: list[PartitionLog]
    defaults: Mapping[str, str]

    def setting(self, name: str) -> str:
        """Effective value of a setting."""
        return self.settings.get(name, self.defaults[name])

    def all_settings(self) -> Mapping[str, TopicSetting]:
        """Every setting with its origin."""
        return {
            name: TopicSetting(name=name, value=value, overridden=name in self.settings)
            for name, value in {**self.defaults, **self.settings}.items()
        }


@dataclass(slots=True)
class IdState:
    """What the coordinator knows of a transactional id."""

    epoch: int = 0
    why: str = ""
    transaction: Transaction | None = None
    deadline_ms: int = 0


@dataclass(eq=False)
class FakeCluster:
    """The state of one cluster and the verbs of a test; ``reachable`` False is a cluster that is down."""

    alias: str
    clock: FakeClock
    reachable: bool = True
    brokers: int = 3
    acls: set[TopicAcl] | None = None
    """Access rules of topics; None: access is not checked."""
    defaults: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_SETTINGS))
    """The brokers' own values for topics, and all the settings that they know."""
    altered: list[str] = field(default_factory=list)
    """Topics whose settings were altered, once for each request."""
    loses_markers: bool = False
    """Acknowledge commits and never write their markers, as a broker killed at the wrong moment can."""
    topics: dict[str, FakeTopic] = field(default_factory=dict)
    groups: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    said: dict[str, FakeGroup] = field(default_factory=dict)
    """What a test says of groups beside their offsets."""
    ids: dict[str, IdState] = field(default_factory=dict)
    locks: dict[str, LockGroup] = field(default_factory=dict)
    unsettled: list[Transaction] = field(default_factory=list)
    """Transactions of transactional ids whose markers are not written yet."""
    created: int = 0

    def __post_init__(self) -> None:
        """Let transactions time out when time moves."""
        self.clock.watchers.append(self._time_out)

    @property
    def cluster_id(self) -> str:
        """The cluster's own id."""
        return f"{self.alias}-cluster-id"

    # --- topics and data ---

    def create_topic(
        self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None, replication_factor: int = 1
    ) -> None:
        """Create a topic under a new id."""
        if name in self.topics:
            raise ValueError(f"{name!r} exists")
        self.created += 1
        logs = [PartitionLog() for _ in range(partitions)]
        topic_id = f"{self.alias}-topic-id-{self.created}"
        self.topics[name] = FakeTopic(topic_id, replication_factor, dict(settings or {}), logs, self.defaults)

    def grow_topic(self, name: str, partitions: int) -> None:
        """Add partitions to a topic until it has as many."""
        logs = self.topics[name].logs
        logs += [PartitionLog() for _ in range(partitions - len(logs))]

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and with it the offsets that groups have on it, pending ones too."""
        del self.topics[name]
        pending = (offsets for transaction in self.unsettled for _, offsets in transaction.offsets)
        for offsets in (*self.groups.values(), *pending):
            for partition in [partition for partition in offsets if partition.topic == name]:
                del offsets[partition]
        self.groups = {group: offsets for group, offsets in self.groups.items() if offsets}

    def log(self, partition: TopicPartition) -> PartitionLog:
        """The log of a partition.

        :raises ClusterUnreachable: the cluster is down.
        :raises TopicDeleted: there is no such partition.
        """
        self.reach()
        topic = self.topics.get(partition.topic)
        if topic is None or partition.partition >= len(topic.logs):
            raise TopicDeleted(alias=self.alias, topic=partition.topic)
        return topic.logs[partition.partition]

    def reach(self) -> None:
        """Answer, or not.

        :raises ClusterUnreachable: the cluster is down.
        """
        if not self.reachable:
            raise ClusterUnreachable(alias=self.alias, servers="nowhere:0", seconds=0, problem="it is down")

    def produce(self, topic: str, partition: int, *messages: Message) -> Sequence[int]:
        """Write records outside any transaction and return their offsets."""
        log = self.log(TopicPartition(topic, partition))
        return [log.append(message) for message in messages]

    def transaction(
        self, topic: str, partition: int, *messages: Message, outcome: Outcome = Outcome.COMMITTED
    ) -> Transaction:
        """Write records in a transaction of a producer of its own, and end it unless ``outcome`` is OPEN."""
        log, transaction = self.log(TopicPartition(topic, partition)), Transaction()
        for message in messages:
            log.append(message, transaction)
        if outcome is not Outcome.OPEN:
            self.end(transaction, outcome)
        return transaction

    def end(self, transaction: Transaction, outcome: Outcome) -> None:
        """End an open transaction: its markers, then its group offsets."""
        transaction.outcome = outcome
        if outcome is Outcome.COMMITTED and self.loses_markers:
            return
        for log in transaction.logs:
            log.mark(transaction)
        if transaction in self.unsettled:
            self.unsettled.remove(transaction)
        if outcome is Outcome.COMMITTED:
            for group, offsets in transaction.offsets:
                self.commit_offsets(group, offsets)

    def visible(self, topic: str, partition: int) -> Sequence[tuple[int, Message]]:
        """What a ``read_committed`` reader sees: offsets and records."""
        log = self.log(TopicPartition(topic, partition))
        return [(entry.offset, entry.message) for entry in log.visible() if entry.message is not None]

    def compact(self, topic: str, partition: int) -> None:
        """Let the cleaner pass."""
        self.log(TopicPartition(topic, partition)).compact()

    def advance_log_start(self, topic: str, partition: int, offset: int) -> None:
        """Let retention pass."""
        self.log(TopicPartition(topic, partition)).advance_start(offset)

    def truncate(self, topic: str, partition: int, end: int) -> None:
        """Let an unclean election lose the end of a log."""
        self.log(TopicPartition(topic, partition)).truncate(end)

    # --- groups ---

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets as a consumer does."""
        self.groups.setdefault(group, {}).update(offsets)

    def group(self, name: str) -> FakeGroup:
        """What is said of a group; the default where nothing was."""
        return self.said.get(name, FakeGroup())

    def pending(self, group: str, partitions: Iterable[TopicPartition]) -> bool:
        """Whether an open transaction holds offsets of the group for one of the partitions."""
        return not self.pending_partitions(group).isdisjoint(partitions)

    def pending_partitions(self, group: str) -> set[TopicPartition]:
        """Partitions for which an open transaction holds offsets of the group."""
        sent = (offsets for transaction in self.unsettled for name, offsets in transaction.offsets if name == group)
        return {partition for offsets in sent for partition in offsets}

    def expire_member(self, group: str) -> None:
        """Let the session of a lock group's holder end, as when its process is killed or stopped."""
        self.locks[group].expire()

    def _time_out(self) -> None:
        """Abort transactions that took longer than their time-out and fence their producers."""
        for state in self.ids.values():
            if state.transaction is not None and self.clock.now_ms >= state.deadline_ms:
                self.end(state.transaction, Outcome.ABORTED)
                state.transaction, state.why = None, "its transaction timed out"
                state.epoch += 1
