"""What the mirror needs of two clusters, as Protocols.

``clusters/confluent`` implements them on real Kafka; the tests hold an in-memory pair to the same contract. A copy
engine works on partition ranges, so that one that moves whole batches fits behind it. What is said of transactions and
fences holds for ``delivery: exactly_once``; else a write becomes visible record by record, as each method says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Protocol

from airflow_provider_mm2.mirror.clusters.membership import Membership
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.group_model import GroupListing, GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import (
    ChunkLimits,
    Columns,
    CopiedRange,
    CopierSettings,
    CopyRange,
    LogOffsets,
    LogRecord,
    NewTopic,
    Record,
    TopicAcl,
    TopicInfo,
    TopicPartition,
    TopicSetting,
)
from airflow_provider_mm2.mirror.state_model import StateRecord

Tick = Callable[[], None]
"""Called at least once a second by everything that waits; raises to end the wait (lease lost, stop asked for)."""


def no_tick() -> None:
    """Let it wait."""


class ClusterReader(Protocol):
    """Read access to one cluster. No call writes, commits or lets the broker create a topic."""

    alias: str

    def cluster_id(self) -> str:
        """The cluster's own id.

        :raises ClusterUnreachable: no broker answered within the limit.
        :raises AuthenticationFailed: the credentials were refused.
        """

    def broker_count(self) -> int:
        """How many brokers are up."""

    def list_topics(self) -> Mapping[str, int]:
        """All topics the credentials may see: name to partition count."""

    def describe_topics(self, names: Collection[str]) -> Mapping[str, TopicInfo]:
        """Facts of the topics that exist; a missing one is left out."""

    def topic_settings(self, names: Collection[str]) -> Mapping[str, Mapping[str, TopicSetting]]:
        """Effective configuration of existing topics, by topic and setting name."""

    def topic_acls(self) -> Sequence[TopicAcl]:
        """All access rules of topics; a cluster that checks no access has none.

        :raises NotAuthorized: the credentials may not see them.
        """

    def log_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogOffsets]:
        """Log start, LSO and high watermark of each partition.

        :raises TopicDeleted: one of the partitions does not exist.
        """

    def offsets_at(self, moments: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """Offset of the first record below the LSO stamped at or after a moment (ms); None where there is none.

        The broker's index is asked: a transaction's marker, stamped by its clock, counts as a record there.
        """

    def read_state(self, partition: TopicPartition, tick: Tick, *, start: int = 0) -> Sequence[LogRecord]:
        """Every visible record from ``start`` up to the log's *current* end, which is asked until it is reached."""

    def first_visible(self, partition: TopicPartition, start: int, end: int) -> tuple[int, int] | None:
        """(offset, timestamp ms) of the first visible record in ``[start, end)``; None when there is none."""

    def read_records(
        self, partition: TopicPartition, start: int, end: int, tick: Tick
    ) -> Generator[Record, None, None]:
        """Visible records of ``[start, end)`` in order, one after the other: what is not taken is not kept.

        One such read of a cluster goes on at a time: take all of it or close it before the next one.

        :raises HeaderUnfaithful: a record has a header key that is not UTF-8.
        """

    def read_columns(
        self, partition: TopicPartition, start: int, end: int, tick: Tick, *, aborted: bool = False
    ) -> Generator[Columns, None, None]:
        """``read_records`` at full speed, many at a time, several at once; what retention takes meanwhile is left out.

        :param aborted: give also what only a ``read_uncommitted`` reader sees, up to the log's end.
        """

    def count_visible(self, partition: TopicPartition, start: int, end: int, tick: Tick) -> int:
        """How many records a ``read_committed`` reader sees in ``[start, end)``, counted up to ``COUNT_LIMIT``."""

    def present(
        self, offsets: Mapping[TopicPartition, int], *, aborted: bool, tick: Tick
    ) -> Mapping[TopicPartition, int]:
        """Partitions with a record at the very offset given, which lies in the log; its timestamp in milliseconds.

        :param aborted: whether a record counts that only a ``read_uncommitted`` reader sees; else the offset lies below
            the LSO.
        """

    def list_groups(self, *, every_kind: bool = False) -> Sequence[GroupListing]:
        """All consumer groups with a coordinator that answered; with ``every_kind`` other groups too."""

    def group_offsets(
        self, groups: Collection[str], tick: Tick, *, stable: bool = True
    ) -> Mapping[str, GroupOffsets | MirrorError]:
        """Committed offsets of groups, or why they cannot be read: one bad group is nobody else's trouble.

        A partition without an offset, or with a negative one, is left out. With ``stable`` an offset that an open
        transaction may replace is waited for, for a moment; what stays open is given as it last was, and ``pending``.
        """

    def describe_groups(self, groups: Collection[str], tick: Tick) -> Mapping[str, GroupState | MirrorError]:
        """Whether somebody is in each group, or why that cannot be told."""

    def close(self) -> None:
        """Let the clients go; calling it twice is fine."""


class TargetCluster(ClusterReader, Protocol):
    """The target: also topics and progress groups."""

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create topics and wait until they can be described; one that exists already is left as it is.

        :raises ReplicationImpossible: there are too few brokers.
        :raises TopicSettingsRefused: the broker does not take a setting; the other topics are created.
        """

    def alter_topic_settings(
        self, changes: Mapping[str, Mapping[str, str | None]], tick: Tick
    ) -> Mapping[str, MirrorError]:
        """Set settings on topics themselves, or (None) remove what is set there; all others stay as they are.

        What can be altered is. Gives the topics of which nothing was, and why.
        """

    def create_acls(self, acls: Collection[TopicAcl]) -> None:
        """Create access rules.

        :raises AccessNotChecked: the cluster has no authorizer, so it keeps none.
        :raises NotAuthorized: the credentials may not.
        """

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Raise a topic's partition count to ``partitions``; one that has as many already is left as it is."""

    def delete_topics(self, topics: Collection[str]) -> None:
        """Delete topics and wait until they are gone; one that is gone already is fine."""

    def committed(self, group: str, partitions: Collection[TopicPartition], tick: Tick) -> Mapping[TopicPartition, int]:
        """Stable committed offsets of a group; without one is left out (``OffsetsHeld``: none is stable)."""

    def commit_groups(
        self, groups: Mapping[str, GroupOffsets], tick: Tick
    ) -> Mapping[str, Mapping[TopicPartition, MirrorError] | MirrorError]:
        """Commit offsets of groups without members, each with its metadata.

        Per group: the partitions that were refused, and why; or why nothing was written (``GroupActive``: somebody
        has joined).
        """

    def delete_group(self, group: str, tick: Tick) -> None:
        """Delete a group without members, with all its offsets; one that is gone already is fine.

        :raises GroupActive: somebody has joined; it is left as it is.
        """

    def membership(self, group: str, topic: str, owner: str, session_s: float) -> Membership:
        """A member-to-be of a lock group over the one partition of ``topic``."""

    def state_writer(self, transactional_id: str) -> StateWriter:
        """A writer of state records, not yet fenced."""


class StateWriter(Protocol):
    """Writes state records in one transaction of its own id, or without any in turns."""

    def fence(self, tick: Tick) -> None:
        """End every earlier writer of this id, with its open transaction; without transactions there is no fence."""

    def write(self, records: Iterable[StateRecord], tick: Tick) -> None:
        """Begin, write all, commit, and wait until it is seen. Nothing is visible unless all is.

        Without transactions: turn by turn (``StateRecord.turn``), the tick right before each, every record of a turn
        delivered before the next one. A write that ends early leaves whole turns and a part of one.
        """

    def close(self) -> None:
        """Let the client go."""


class Copier(Protocol):
    """The copy engine of one shard; steps are those of ``interval/replicate.py``."""

    def fence(self, tick: Tick) -> None:
        """Step 2: end every earlier attempt and its open transaction.

        Without transactions: note where the watched logs end, before the caller reads them.
        """

    def assign(self, ranges: Sequence[CopyRange], now_ms: int) -> None:
        """Step 4: start reading; ``now_ms`` plus five minutes is where a timestamp counts as future."""

    def begin(self) -> None:
        """Step 5: open a transaction."""

    def copy(self, limits: ChunkLimits, tick: Tick) -> None:
        """Step 5: read and produce until a limit is met or every range has ended."""

    def flush(self, tick: Tick) -> Sequence[CopiedRange]:
        """Step 6: wait for the deliveries of the chunk; one element for each assigned range.

        :raises ForeignWrites: the target offsets of a run of records have a hole.
        :raises DeliveryFailed: without transactions: the same, or a record did not arrive.
        """

    def add(self, records: Sequence[StateRecord], progress: Mapping[TopicPartition, int], tick: Tick) -> None:
        """Step 7: add ledger records and progress offsets (by target partition) to the transaction.

        Without transactions they are kept for the commit.
        """

    def commit(self, tick: Tick) -> None:
        """Step 8: commit, again and again on a time-out; never aborts once it has begun.

        Without transactions: look at the watched logs, then write the ledger in turns, then the progress offsets.

        :raises Overtaken: without transactions: a watched log does not end where this attempt left it.
        """

    def see(
        self, progress: Mapping[TopicPartition, int], mapped_ends: Mapping[TopicPartition, int], tick: Tick
    ) -> None:
        """Step 8: wait until the commit can be seen: offsets equal, target LSO at or past each mapped end.

        :raises Fenced: a larger offset is committed, so a successor has moved on.
        :raises Overtaken: without transactions: another offset is committed.
        :raises CommitNotVisible: it could not be seen within the limit.
        """

    def abort(self) -> None:
        """Abort the open transaction within 3 seconds; just leave when a commit is pending or we are fenced.

        Without transactions: send no more of what is queued.
        """

    def close(self) -> None:
        """Let the clients go, waiting for nothing."""


class ClusterPair(Protocol):
    """Both clusters, and the engine between them."""

    @property
    def source(self) -> ClusterReader:
        """The cluster that is read."""

    @property
    def target(self) -> TargetCluster:
        """The cluster that is written."""

    def copier(self, settings: CopierSettings) -> Copier:
        """A copy engine for one shard."""

    def turned(self) -> ClusterPair:
        """The same two clusters in the opposite direction."""

    def close(self) -> None:
        """Close both clusters."""
