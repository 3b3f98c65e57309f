"""The applications of drills and game days, as Protocols: they write and read like any, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from airflow_provider_mm2.mirror.model import Columns, TopicPartition


@dataclass(slots=True)
class Written:
    """What a cluster has acknowledged, by partition in order: numbers, and their timestamps in milliseconds."""

    numbers: dict[TopicPartition, list[int]] = field(default_factory=dict)
    stamps: dict[TopicPartition, list[int]] = field(default_factory=dict)


class Writer(Protocol):
    """Writes numbered records to every partition of a topic, until it is stopped."""

    @property
    def count(self) -> int:
        """How many are acknowledged so far."""

    @property
    def problem(self) -> str | None:
        """Why it has ended by itself; None: it has not."""

    def start(self) -> None:
        """Begin in a thread of its own."""

    def stop(self) -> Written:
        """Stop once all that was sent is acknowledged or given up."""


class Reader(Protocol):
    """One member of a consumer group, which commits what it has read."""

    @property
    def count(self) -> int:
        """How many records it has read so far."""

    @property
    def first_ms(self) -> int | None:
        """When it read its first record; None: it has not."""

    @property
    def problem(self) -> str | None:
        """Why it has ended by itself; None: it has not."""

    def start(self) -> None:
        """Begin in a thread of its own."""

    def stop(self) -> Mapping[TopicPartition, Sequence[int]]:
        """Commit, leave the group; gives the numbers that were read, by partition in the order of reading."""


class Applications(Protocol):
    """Makes applications for one cluster."""

    def writer(
        self, topic: str, partitions: int, *, transactional_id: str | None, pause_s: float, first: int
    ) -> Writer:
        """A producer; with an id it writes transactions, of which every fifth is aborted and written again.

        :param pause_s: seconds between two bursts.
        :param first: number of the first record of each partition.
        """

    def reader(self, group: str, topics: Collection[str], *, protocol: str) -> Reader:
        """A consumer that reads committed records; without an offset of its group it ends with a problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyLimit:
    """How much a copy of a group reads at most.

    :param records: of each partition.
    :param bytes: of all partitions together, since what is read is kept.
    """

    records: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRead:
    """What a copy of a group has read, by partition in the order of reading.

    :param cut: partitions that a limit ended before they were read to their end.
    """

    columns: Mapping[TopicPartition, Sequence[Columns]]
    cut: frozenset[TopicPartition]


class CopyReader(Protocol):
    """The one member of a copy of a consumer group: it begins where the copy stands and reads up to given ends."""

    @property
    def count(self) -> int:
        """How many records it has read so far."""

    @property
    def is_done(self) -> bool:
        """Whether every partition is read to its end, or up to a limit."""

    @property
    def at_work_ms(self) -> int | None:
        """When it read its first record, or saw that there is none to read; None: it has not."""

    @property
    def problem(self) -> str | None:
        """Why it has ended by itself; None: it has not."""

    def start(self) -> None:
        """Begin in a thread of its own."""

    def stop(self) -> CopyRead:
        """Leave the group; gives what was read."""


class CopyReaders(Protocol):
    """Makes members of copies of groups on one cluster."""

    def copy_reader(
        self, group: str, ends: Mapping[TopicPartition, int], *, protocol: str, limit: CopyLimit
    ) -> CopyReader:
        """A consumer that reads committed records; without an offset of its group it ends with a problem.

        :param ends: every partition of the topics that it reads, with the offset at which it has read enough.
        """
