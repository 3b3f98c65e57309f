"""How many records lie in a log: what the source has and the target has not, and what is on the target by now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.drill.game_plan import GamePlan
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.verify.findings import Side
from airflow_provider_mm2.mirror.verify.scope import Part

Logs = Mapping[TopicPartition, LogOffsets]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Records of one partition in a range.

    :param records: how many; with ``is_cut`` at most so many: behind the limit offsets were counted.
    :param stamps: timestamps of those that were read, in milliseconds.
    :param held: how many of them lie behind an open transaction: it, or one among them, may yet be aborted.
    """

    records: int
    stamps: tuple[int, ...] = ()
    is_cut: bool = False
    held: int = 0


class LogCount:
    """Counts records of one cluster, up to a limit by reading them.

    What lies behind an open transaction counts too: it holds back from readers what others have written and seen
    acknowledged, any amount of it, and which of the records are its own cannot be seen.

    :param logs: the logs as they were when the plan was made.
    :param limit: records of a partition that are read.
    """

    def __init__(self, cluster: ClusterReader, logs: Logs, tick: Tick, *, limit: int) -> None:
        self._cluster = cluster
        self._logs = logs
        self._tick = tick
        self._limit = limit
        self._known: dict[tuple[TopicPartition, int, int], Beyond] = {}

    def between(self, part: TopicPartition, start: int, end: int | None = None) -> Beyond:
        """The records of ``[start, end)``, or up to what was the end."""
        log = self._logs.get(part)
        if log is None:
            return Beyond(records=0)
        first, until = max(start, log.start), log.end if end is None else min(end, log.end)
        if first >= until:
            return Beyond(records=0)
        known = self._known.get((part, first, until))
        if known is None:
            known = self._known[part, first, until] = self._count(part, first, until, log.stable)
        return known

    def _count(self, part: TopicPartition, start: int, end: int, stable: int) -> Beyond:
        settled = self._read(part, start, min(end, stable), self._limit)
        held = self._read(part, max(start, stable), end, self._limit - len(settled.stamps), aborted=True)
        return Beyond(
            records=settled.records + held.records,
            stamps=settled.stamps + held.stamps,
            is_cut=settled.is_cut or held.is_cut,
            held=held.records,
        )

    def _read(self, part: TopicPartition, start: int, end: int, limit: int, *, aborted: bool = False) -> Beyond:
        if start >= end:
            return Beyond(records=0)
        if not limit:
            return Beyond(records=end - start, is_cut=True)
        stamps: list[int] = []
        with closing(self._cluster.read_columns(part, start, end, self._tick, aborted=aborted)) as batches:
            for columns in batches:
                taken = columns.slice(0, limit - len(stamps))
                stamps += taken.timestamps
                if len(stamps) == limit:
                    return Beyond(records=len(stamps) + end - taken.end, stamps=tuple(stamps), is_cut=taken.end < end)
        return Beyond(records=len(stamps), stamps=tuple(stamps))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted of both sides, by source partition.

    :param left: what the source has and the target has not.
    :param known: how many of these some group has read.
    :param there: what of the mirrored records is on the target.
    """

    left: Mapping[TopicPartition, Beyond]
    known: int
    there: Mapping[TopicPartition, Beyond]


def count_all(plan: GamePlan, source: LogCount, target: LogCount) -> Counted:
    """Count on both sides."""
    ends = {part.source: part.end for part in plan.mirrored}
    return Counted(
        left={part: source.between(part, ends.get(part, 0)) for part in plan.source_logs},
        known=sum(source.between(part, ends.get(part, 0), until).records for part, until in plan.furthest.items()),
        there=on_target(plan.mirrored, plan.target_logs, target),
    )


def on_target(parts: Iterable[Part], logs: Logs, count: LogCount) -> dict[TopicPartition, Beyond]:
    """What of the mirrored records is on the target by now, by source partition.

    The map tells what was written there; retention took what lies before the log's start, and what a cleaner left can
    only be counted.

    :param logs: the target's.
    :param count: of the target.
    """
    found: dict[TopicPartition, Beyond] = {}
    for part in parts:
        offset_map, log = part.offset_map, logs.get(part.target)
        if offset_map is None or log is None:
            continue
        end = min(offset_map.mirrored_end, log.end)
        mapped = max(0, offset_map.records_before(end) - offset_map.records_before(log.start))
        found[part.source] = Beyond(records=mapped)
        if Side.TARGET in part.compacted:
            there = count.between(part.target, log.start, end)
            found[part.source] = Beyond(records=min(mapped, there.records), stamps=there.stamps, is_cut=there.is_cut)
    return found
