"""The times of a run: where it ends, where a strict flow wants it to begin. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_provider_mm2.mirror.errors import BoundRefused, IntervalMissing, IntervalOutOfOrder, IntervalOverlaps
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import EPOCH, show, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBounds:
    """What a run was asked to cover.

    :param until: copy what is stamped before this (None: all there is as of the start).
    :param since: the interval's start, which only a strict flow looks at.
    :param started: the moment the run was asked for.
    """

    until: datetime | None
    since: datetime | None
    started: datetime

    def check(self) -> None:
        """Refuse bounds that cannot be meant, before any broker is asked.

        :raises BoundRefused: without a zone, before 1970, in the future, or an end before its start.
        """
        for name, moment in (("until", self.until), ("since", self.since)):
            if moment is not None:
                self._check_one(name, moment)
        if self.until is not None and self.since is not None and self.until < self.since:
            raise BoundRefused(
                bound=f"until {self.until.isoformat()}", problem=f"it is before since {self.since.isoformat()}"
            )

    def _check_one(self, name: str, moment: datetime) -> None:
        shown = f"{name} {moment.isoformat()}"
        if moment.tzinfo is None or moment.utcoffset() is None:
            raise BoundRefused(bound=shown, problem="it has no time zone")
        if moment < EPOCH:
            raise BoundRefused(bound=shown, problem="it is before 1970")
        if moment > self.started:
            raise BoundRefused(bound=shown, problem=f"it is in the future (now is {self.started.isoformat()})")

    @property
    def until_ms(self) -> int | None:
        """The end in milliseconds, None for all there is."""
        return None if self.until is None else to_ms(self.until)

    @property
    def since_ms(self) -> int | None:
        """The start in milliseconds."""
        return None if self.since is None else to_ms(self.since)

    def check_width(self) -> None:
        """Refuse what a strict flow cannot use, before any broker is asked.

        :raises IntervalMissing: the run has no interval of any width.
        """
        if self.since is None or self.until is None or self.since_ms == self.until_ms:
            raise IntervalMissing(interval=f"{show(self.since_ms)} to {show(self.until_ms)}")

    def check_strict(self, source: TopicPartition, through_ms: int | None, first_ms: int | None) -> None:
        """Hold a partition's recorded time against the interval of a strict flow.

        An interval that is wholly mirrored already is fine: there is nothing left to do in it.

        :param through_ms: mirrored through, None where nothing was mirrored yet.
        :param first_ms: timestamp of the first record not mirrored yet, None where there is none.
        :raises IntervalMissing: the run has no interval of any width.
        :raises IntervalOutOfOrder: an earlier interval is missing.
        :raises IntervalOverlaps: part of the interval is mirrored already.
        """
        self.check_width()
        since, until = self.since_ms or 0, self.until_ms or 0
        recorded = through_ms
        if recorded is None:
            starts_too_late = first_ms is not None and 0 <= first_ms < since
            recorded = first_ms if starts_too_late else since
        if recorded is not None and recorded < since:
            raise IntervalOutOfOrder(
                topic=source.topic, partition=source.partition, through=show(recorded), since=show(since)
            )
        if recorded is not None and since < recorded < until:
            raise IntervalOverlaps(
                topic=source.topic,
                partition=source.partition,
                through=show(recorded),
                since=show(since),
                until=show(until),
            )

    def through(
        self, *, ended_by_cut: bool, stable_taken_ms: int, before: int | None, open_since_ms: int | None = None
    ) -> int | None:
        """Through which time a partition is mirrored after this run; never earlier than before.

        Claimed only for what was read: a cut was seen at or after the end, or the last stable offset, taken at
        ``stable_taken_ms``, was reached. Behind an open transaction lie records that cannot be read yet, so nothing is
        claimed beyond its first record.

        :param open_since_ms: stamp of that record; negative: it has none. None: no transaction is open.
        """
        until = self.until_ms
        if until is None:
            claim = before if ended_by_cut else stable_taken_ms
        else:
            claim = until if ended_by_cut or stable_taken_ms >= until else before
        if open_since_ms is not None and not ended_by_cut and claim is not None:
            claim = min(claim, open_since_ms) if open_since_ms >= 0 else before
        return claim if before is None or (claim is not None and claim > before) else before
