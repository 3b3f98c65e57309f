"""One partition's part of a copy: what of a batch of messages counts, where it stands, what became of it.

The hot path touches no message in Python: one pass over the timestamps and one test send a run of messages either
straight on or, near a bound, a cut, an end of partition or an odd timestamp, to the careful path.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from itertools import accumulate, chain, repeat
from typing import Any

from confluent_kafka import KafkaError, Message

from airflow_provider_mm2.mirror.clusters.confluent.sending import Sending
from airflow_provider_mm2.mirror.errors import MirrorError, RecordRefused, TimestampZero
from airflow_provider_mm2.mirror.model import CopiedRange, CopyRange, RangeEnd, Segment


class Run:
    """Messages of one partition sent in one go: where their source offsets break, and their deliveries.

    :param every: whether each delivery tells its offset, not only the first and the last: 8 bytes a message.
    :param others: delivery callback of those in between; with ``every`` it is told of each that fails.
    """

    __slots__ = ("count", "error", "first", "last", "offsets", "others", "pieces")

    def __init__(
        self,
        messages: list[Message],
        *,
        every: bool = False,
        others: Callable[[Any, Any], object] | None = None,
    ) -> None:
        self.others = others
        self.count = len(messages)
        self.offsets: array[int] | None = array("q") if every else None
        self.pieces = source_pieces(messages)
        self.first: int | None = None
        self.last: int | None = None
        self.error: KafkaError | None = None

    @property
    def callbacks(self) -> Iterable[Callable[[Any, Any], object] | None]:
        """The delivery callback of each message."""
        if self.offsets is not None:
            return repeat(self.delivered, self.count)
        last = (self.last_delivered,)[: self.count - 1]
        return chain((self.first_delivered,), repeat(self.others, self.count - 2), last)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback of each message, where all are wanted; they come in the order of the messages."""
        self.error = self.error or error
        if error is not None and self.others is not None:
            self.others(error, message)
        self.last = message.offset()
        self.first = self.last if self.first is None else self.first
        if self.offsets is not None and self.last is not None:
            self.offsets.append(self.last)

    @property
    def span(self) -> tuple[int, int]:
        """Target offsets from its first record to its last, ``[start, end)``."""
        return self.first or 0, (self.last or 0) + 1

    def first_delivered(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback of the first message."""
        self.error = self.error or error
        self.first = message.offset()
        if self.count == 1:
            self.last = self.first

    def last_delivered(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback of the last message."""
        self.error = self.error or error
        self.last = message.offset()


def source_pieces(messages: list[Message]) -> list[tuple[int, int]]:
    """Source offsets of one partition's messages as (start, count) pieces without holes."""
    first, last = messages[0].offset() or 0, messages[-1].offset() or 0
    if last - first == len(messages) - 1:  # offsets rise, so this proves that there is no hole
        return [(first, len(messages))]
    return contiguous([message.offset() or 0 for message in messages])


def contiguous(offsets: list[int]) -> list[tuple[int, int]]:
    """Rising offsets as (start, count) pieces without holes."""
    pieces: list[tuple[int, int]] = []
    start = before = offsets[0]
    for offset in offsets[1:]:
        if offset != before + 1:
            pieces.append((start, before + 1 - start))
            start = offset
        before = offset
    pieces.append((start, before + 1 - start))
    return pieces


class PartitionCopy:
    """Where one partition stands. ``position`` is ours alone: the client's own runs ahead of what was handled."""

    def __init__(self, range_: CopyRange, future_ms: int) -> None:
        self.range = range_
        self.position = range_.start
        self.ended: RangeEnd | None = None
        self.leader_epoch = range_.leader_epoch
        self._future_ms = future_ms
        self._cut_ms = range_.cut_ms if range_.cut_ms is not None else future_ms + 1
        self.begin_chunk()

    def begin_chunk(self) -> None:
        """Forget what the chunk before brought."""
        self.chunk_start = self.position
        self.runs: list[Run] = []
        self.records = 0
        self.bytes = 0
        self.future: tuple[int, int] | None = None
        self.future_records = 0

    def is_plain(self, first: int, last: int, times: list[int]) -> bool:
        """Whether a whole run may be sent on unseen: no error or EOF among it (their timestamp is -1), no odd
        timestamp, nothing at or past the cut or the bound, nothing before the position."""
        ordered = sorted(times)  # they mostly rise, and then this is half the cost of min and max
        earliest, latest = ordered[0], ordered[-1]
        before_cut = latest < self._cut_ms and latest <= self._future_ms
        return before_cut and earliest > 0 and last < self.range.end and self.position <= first

    def accept(self, messages: list[Message], times: list[int]) -> tuple[list[Message], list[int], KafkaError | None]:
        """The careful path: the messages to send on with their timestamps, and the first error that came among them.

        After the partition has ended nothing moves its position, be it a record or a late EOF. What comes behind an
        error is taken too: the error may be one that passes, and what is not taken then would be a hole.
        """
        taken: list[Message] = []
        stamps: list[int] = []
        failed: KafkaError | None = None
        for message, stamp in zip(messages, times, strict=True):
            if self.ended is not None:
                break
            error, offset = message.error(), message.offset() or 0
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._reach(offset)
                else:
                    failed = failed or error
            elif offset >= self.range.end:
                self._reach(offset)
            elif self._cuts(stamp):
                self.position, self.ended = offset, RangeEnd.CUT
            elif offset >= self.position:
                self._check(offset, stamp)
                taken.append(message)
                stamps.append(stamp)
                self.position = offset + 1
        if self.position >= self.range.end and self.ended is None:
            self._reach(self.position)
        return taken, stamps, failed

    def _reach(self, offset: int) -> None:
        """Everything visible below ``offset`` has been handled."""
        self.position = max(self.position, min(offset, self.range.end))
        if self.position >= self.range.end:
            self.ended = RangeEnd.BOUND

    def _cuts(self, stamp: int) -> bool:
        at_or_past_cut = self.range.cut_ms is not None and stamp >= self.range.cut_ms
        return at_or_past_cut and stamp <= self._future_ms

    def _check(self, offset: int, stamp: int) -> None:
        if stamp == 0:
            source = self.range.source
            raise TimestampZero(topic=source.topic, partition=source.partition, offset=offset)
        if stamp > self._future_ms:
            self.future = self.future or (offset, stamp)
            self.future_records += 1

    def sent(self, run: Run, next_offset: int, size: int, leader_epoch: int | None) -> None:
        """Note a run that was handed to the producer."""
        self.runs.append(run)
        self.records += run.count
        self.bytes += size
        self.position = max(self.position, next_offset)
        if leader_epoch is not None and leader_epoch >= 0:
            self.leader_epoch = leader_epoch
        if self.position >= self.range.end and self.ended is None:
            self.ended = RangeEnd.BOUND

    def copied(self, sending: Sending) -> CopiedRange:
        """What the chunk brought, once all its deliveries are in.

        :param sending: says what error it is that a run has a hole on the target, or that a delivery failed or its
            offset is not known.
        """
        return CopiedRange(
            source=self.range.source,
            next_offset=self.position,
            segments=self._segments(sending),
            records=self.records,
            bytes=self.bytes,
            leader_epoch=self.leader_epoch,
            ended=self.ended,
            future=self.future,
            future_records=self.future_records,
        )

    def _segments(self, sending: Sending) -> tuple[Segment, ...]:
        segments: list[Segment] = []
        for run in self.runs:
            for source_start, target_start, count in self._placed(run, sending):
                before = segments[-1] if segments else None
                if before and before.source_end == source_start and before.target_end == target_start:
                    segments[-1] = Segment(
                        source_start=before.source_start,
                        target_start=before.target_start,
                        count=before.count + count,
                    )
                else:
                    segments.append(Segment(source_start=source_start, target_start=target_start, count=count))
        return tuple(segments)

    def _placed(self, run: Run, sending: Sending) -> Iterable[tuple[int, int, int]]:
        """Source offset, target offset and count of the pieces of a run."""
        if run.error is not None:
            raise self.refused(run.error, sending)
        if run.first is None or run.last is None or min(run.first, run.last) < 0:
            # librdkafka reports success without an offset where the broker had the batch already.
            raise sending.undelivered(f"a delivery to {self.range.target} came without an offset")
        if run.last - run.first + 1 == run.count:
            starts = accumulate((count for _, count in run.pieces), initial=run.first)
            return ((source, target, count) for (source, count), target in zip(run.pieces, starts, strict=False))
        if run.offsets is not None and len(run.offsets) == run.count:
            sources = chain.from_iterable(range(start, start + count) for start, count in run.pieces)
            return zip(sources, run.offsets, repeat(1), strict=False)
        raise sending.pierced(self.range.source, self.range.target, run)

    def refused(self, error: KafkaError, sending: Sending) -> MirrorError:
        """Our error for a delivery that the target refused."""
        target = self.range.target
        if error.code() in (KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD):
            return RecordRefused(target_topic=str(target), problem=error.str())
        return sending.undelivered(f"a delivery to {target} failed: {error.name()} ({error.str()})")
