"""One partition's log: records, markers, transactions and holes, and what a ``read_committed`` reader sees of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition

NO_TIMESTAMP = -1
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A record as an application writes and reads it.

    A header key that is not UTF-8 is given with ``surrogateescape``: ``"\\udcff"`` is the byte ``ff``.
    """

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int = NO_TIMESTAMP

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(key.encode(errors="surrogateescape")) + len(value or b"") for key, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class Outcome(Enum):
    """How a transaction ended, or that it has not."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(eq=False, slots=True)
class Transaction:
    """A transaction on one cluster: the logs it wrote to, and the group offsets that wait for its commit."""

    outcome: Outcome = Outcome.OPEN
    logs: list[PartitionLog] = field(default_factory=list)
    offsets: list[tuple[str, dict[TopicPartition, int]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entry:
    """What occupies an offset; ``message`` None is a transaction's marker."""

    offset: int
    message: Message | None
    transaction: Transaction | None
    leader_epoch: int


class PartitionLog:
    """A log that grows at its end, with transactions, and loses records to retention, compaction and truncation."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.entries: list[Entry] = []
        self._open: dict[Transaction, int] = {}
        self._epoch_starts: list[int] = [0]

    @property
    def leader_epoch(self) -> int:
        """Epoch of the present leader; it grows with each truncation."""
        return len(self._epoch_starts) - 1

    @property
    def stable(self) -> int:
        """The last stable offset: where the first open transaction begins."""
        return min(self._open.values(), default=self.end)

    @property
    def offsets(self) -> LogOffsets:
        """The three ends."""
        return LogOffsets(start=self.start, stable=self.stable, end=self.end)

    def append(self, message: Message, transaction: Transaction | None = None) -> int:
        """Write one record and return its offset."""
        if transaction is not None and transaction not in self._open:
            self._open[transaction] = self.end
            transaction.logs.append(self)
        return self._occupy(message, transaction)

    def mark(self, transaction: Transaction) -> None:
        """Write the marker of a transaction that has ended."""
        if self._open.pop(transaction, None) is not None:
            self._occupy(None, transaction)

    def visible(self, start: int = 0, end: int | None = None) -> Iterator[Entry]:
        """Records in ``[start, end)`` that a ``read_committed`` reader is given."""
        limit = self.stable if end is None else min(end, self.stable)
        first = bisect_left(self.entries, start, key=lambda entry: entry.offset)
        for index in range(first, len(self.entries)):
            entry = self.entries[index]
            if entry.offset >= limit:
                return
            committed = entry.transaction is None or entry.transaction.outcome is Outcome.COMMITTED
            if entry.message is not None and committed:
                yield entry

    def everything(self, start: int, end: int) -> Iterator[Entry]:
        """Records in ``[start, end)`` that a ``read_uncommitted`` reader is given."""
        return (entry for entry in self.entries if entry.message is not None and start <= entry.offset < end)

    def offset_at(self, moment_ms: int) -> int | None:
        """Offset of the first record stamped at or after a moment, aborted or not."""
        stamped = (entry for entry in self.entries if entry.message is not None and entry.offset < self.stable)
        return next((entry.offset for entry in stamped if entry.message.timestamp_ms >= moment_ms), None)  # type: ignore[union-attr]

    def next_visible(self, position: int) -> Entry | None:
        """First visible record at or after ``position``; None: the reader is told the end, which is ``stable``."""
        return next(self.visible(position), None)

    def advance_start(self, offset: int) -> None:
        """Retention, or a deletion of records: everything below ``offset`` is gone."""
        self.start = max(self.start, offset)
        self.end = max(self.end, self.start)
        self.entries = [entry for entry in self.entries if entry.offset >= self.start]

    def compact(self) -> None:
        """Below the last stable offset keep the newest record of each key, no aborted data, and all markers."""
        stable = self.stable
        newest = {entry.message.key: entry.offset for entry in self.visible() if entry.message is not None}

        def stays(entry: Entry) -> bool:
            if entry.offset >= stable or entry.message is None:
                return True
            return newest.get(entry.message.key) == entry.offset

        self.entries = [entry for entry in self.entries if stays(entry)]

    def truncate(self, end: int) -> None:
        """An unclean election: everything from ``end`` on is gone, and a new leader epoch begins there."""
        self.entries = [entry for entry in self.entries if entry.offset < end]
        self._open = {transaction: first for transaction, first in self._open.items() if first < end}
        self._epoch_starts = [min(start, end) for start in self._epoch_starts] + [end]
        self.end = end

    def epoch_end(self, leader_epoch: int) -> int:
        """Where the records of ``leader_epoch`` end: what a broker answers to a reader that asks for truncation."""
        following = self._epoch_starts[leader_epoch + 1 :]
        return following[0] if following else self.end

    def _occupy(self, message: Message | None, transaction: Transaction | None) -> int:
        offset = self.end
        self.entries.append(Entry(offset, message, transaction, self.leader_epoch))
        self.end += 1
        return offset
