"""What the source has and the target has not: what would be lost if the source were gone now."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Records of one partition of the source in a range.

    :param records: how many; with ``is_cut`` at most so many: behind the limit offsets were counted.
    :param stamps: timestamps of those that were read, in milliseconds.
    """

    records: int
    stamps: tuple[int, ...] = ()
    is_cut: bool = False


class SourceLeft:
    """Counts records of the source, up to a limit by reading them.

    :param logs: the source's logs as they were when the plan was made.
    :param limit: records of a partition that are read.
    """

    def __init__(
        self, source: ClusterReader, logs: Mapping[TopicPartition, LogOffsets], tick: Tick, *, limit: int
    ) -> None:
        self._source = source
        self._logs = logs
        self._tick = tick
        self._limit = limit
        self._known: dict[tuple[TopicPartition, int, int], Beyond] = {}

    def between(self, part: TopicPartition, start: int, end: int | None = None) -> Beyond:
        """The records of ``[start, end)``, or up to what was the end."""
        log = self._logs.get(part)
        if log is None:
            return Beyond(records=0)
        first, until = max(start, log.start), log.stable if end is None else min(end, log.stable)
        if first >= until:
            return Beyond(records=0)
        known = self._known.get((part, first, until))
        if known is None:
            known = self._known[part, first, until] = self._count(part, first, until)
        return known

    def _count(self, part: TopicPartition, start: int, end: int) -> Beyond:
        stamps: list[int] = []
        with closing(self._source.read_columns(part, start, end, self._tick)) as batches:
            for columns in batches:
                taken = columns.slice(0, self._limit - len(stamps))
                stamps += taken.timestamps
                if len(stamps) == self._limit:
                    return Beyond(records=len(stamps) + end - taken.end, stamps=tuple(stamps), is_cut=taken.end < end)
        return Beyond(records=len(stamps), stamps=tuple(stamps))
