"""Comparing one partition after the other: reading both sides, remembering how far it is, telling of it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.model import Columns, TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.verify.apart import Compared
from airflow_provider_mm2.mirror.verify.by_map import MapStand, MapWalk
from airflow_provider_mm2.mirror.verify.by_order import OrderWalk
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.findings import KEPT, Side
from airflow_provider_mm2.mirror.verify.map_places import OnRecord
from airflow_provider_mm2.mirror.verify.part_state import Standpoint, compared_of, state_json
from airflow_provider_mm2.mirror.verify.progress import Progress
from airflow_provider_mm2.mirror.verify.range_start import find_start
from airflow_provider_mm2.mirror.verify.report import PartResult
from airflow_provider_mm2.mirror.verify.resume import Memory
from airflow_provider_mm2.mirror.verify.same_topics import check_topics
from airflow_provider_mm2.mirror.verify.sampling import draw
from airflow_provider_mm2.mirror.verify.scope import Part
from airflow_provider_mm2.mirror.verify.strangers import Strangers

REPORT_S = 2.0
AHEAD = 200, 100_000
"""Offsets behind a range that are looked at, at least and at most: a fifth of the range."""


Report = Callable[[Progress], None]
TargetRead = Callable[[Part], Generator[Columns, None, None]]
"""Records of the target that somebody has read already."""


def no_report(progress: Progress) -> None:
    """Report nothing."""


class Comparison:
    """Compares partitions.

    :param memory: where it is remembered how far it is; None: nowhere.
    :param copies: what is held against the source in place of what the target is asked for; None: it is asked.
    :param kept: how many mismatches of a partition are listed.
    """

    def __init__(
        self,
        pair: ClusterPair,
        tick: Tick,
        report: Report,
        memory: Memory | None = None,
        copies: TargetRead | None = None,
        kept: int = KEPT,
    ) -> None:
        self._pair = pair
        self._tick = tick
        self._report = report
        self._memory = memory
        self._copies = copies
        self._kept = kept
        self._began = self._told = time.monotonic()
        self._records = self._found = 0
        self.warnings: list[str] = []

    def whole(self, part: Part) -> PartResult:
        """Compare a partition, or the rest of it."""
        state = None if self._memory is None else self._memory.state_of(part)
        compared, at = self._compared(part, state)
        ends: tuple[str, str]
        if state is None or state["digests"] is None:
            self._walk(part, compared, at)
            self._close(part, compared, part)
            ends = compared.digests.ends()
            if self._memory is not None:
                over = Standpoint(source=part.end, target=part.target_end, matched=part.end)
                self._memory.note(part, state_json(compared, over, ends))
        else:
            ends = state["digests"][0], state["digests"][1]
        return self._result(part, compared, ends)

    def sample(self, part: Part, offset_map: OffsetMap, count: int, seed: int) -> tuple[PartResult, dict[str, object]]:
        """Compare windows at random places of a partition, and what its sample is."""
        compared, _ = self._compared(part, None)
        sample = draw(part, offset_map, count, seed)
        wrong: set[int] = set()
        for number, window in enumerate(sample.parts):
            before = len(compared.findings)
            at = Standpoint(source=window.start, target=window.target_start, matched=window.start)
            self._walk(window, compared, at)
            wrong |= {number} if len(compared.findings) > before else set()
        known = len(compared.findings.listed)
        if sample.parts:
            self._close(part, compared, sample.parts[0])
        for late in compared.findings.listed[known:]:
            offset = 0 if late.source is None else late.source[0]
            wrong |= {number for number, window in enumerate(sample.parts) if window.start <= offset < window.end}
        row = {
            "topic": part.source.topic,
            "partition": part.source.partition,
            "windows": len(sample.parts),
            "of_windows": sample.windows,
            "records": sample.records,
            "differing": len(wrong),
        }
        return self._result(part, compared, None), row

    def _compared(self, part: Part, state: dict[str, Any] | None) -> tuple[Compared, Standpoint]:
        def start_now(side: Side) -> int:
            cluster, place = self._place(part, side)
            return cluster.log_offsets([place])[place].start

        return compared_of(part, state, start_now, self._kept)

    def _result(self, part: Part, compared: Compared, digests: tuple[str, str] | None) -> PartResult:
        self._records, self._found = self._records + compared.tally.records, self._found + len(compared.findings)
        seen = compared.target_seen
        return PartResult(
            part=part, tally=compared.tally, findings=compared.findings, digests=digests, target_seen=seen
        )

    def _close(self, part: Part, compared: Compared, first: Part) -> None:
        """Judge what nothing has explained up to here, and tell it."""
        compared.absences.close(self._reader(part), {Side.SOURCE: first.end, Side.TARGET: first.target_end})
        compared.strays.settle()

    def _walk(self, part: Part, compared: Compared, at: Standpoint) -> None:
        before = len(compared.findings)
        try:
            self._read_both(part, compared, at)
        except MirrorError:
            check_topics(self._pair, part)  # a topic that was made anew is named, not what reading it came to
            raise
        if len(compared.findings) > before:
            check_topics(self._pair, part)

    def _read_both(self, part: Part, compared: Compared, at: Standpoint) -> None:
        cursors: list[Cursor] = []

        def tick() -> None:
            self._tick()
            if cursors:
                self._tell(part, compared, cursors[0])

        at, ends = self._begun(part, at), self._looked_at(part)
        ours = self._pair.source.read_columns(part.source, at.source, ends[0], tick)
        theirs = self._theirs(part, at.target, ends[1])
        with closing(ours), closing(theirs), _collector_off():
            source, target = Cursor(ours), Cursor(theirs)
            cursors.append(source)
            if part.offset_map is None:
                by_order = self._order_walk(part, compared, at)
                by_order.run(source, target)
                self._tell_pending(part, by_order.pending)
            else:
                walk = self._map_walk(part, part.offset_map, compared, at)
                walk.run(source, target)
                if walk.stand.is_moved:
                    compared.target_seen = ends[1] if target.offset is None else target.offset
            compared.strays.settle()

    def _begun(self, part: Part, at: Standpoint) -> Standpoint:
        """Where the copies of a range begin, if not at their place."""
        is_begun = (at.source, at.target) != (part.start, part.target_start)
        start = None if is_begun or self._copies is not None else find_start(part, self._reader(part))
        if start is None:
            return at
        moved = start - part.target_start
        self.warnings.append(
            f"{part.source}: the copies from {part.start:,} on lie {moved:+,} offset(s) from their places: "
            f"something before it was dropped or doubled on the target"
        )
        return replace(at, target=start, stand=MapStand(is_moved=True, shift=None))

    def _looked_at(self, part: Part) -> tuple[int, int]:
        """How far both sides are read: what lies behind the range tells what was moved across its end."""
        if part.offset_map is None or self._copies is not None:
            return part.end, part.target_end
        ahead = min(AHEAD[1], max(AHEAD[0], (part.end - part.start) // 5))
        return part.end + ahead if part.is_cut else part.end, part.target_end + ahead

    def _map_walk(self, part: Part, offset_map: OffsetMap, compared: Compared, at: Standpoint) -> MapWalk:
        walk = MapWalk(
            compared,
            self._strangers(part, compared),
            offset_map,
            OnRecord.of(part.incidents, part.turned),
            ends=(part.end, part.target_end),
            is_cut=part.is_cut,
            repeats=part.repeats,
            stand=at.stand,
        )
        compared.checkpoint = lambda here, there: self._note(part, compared, (here, there, here), walk.stand)
        return walk

    def _theirs(self, part: Part, start: int, end: int) -> Generator[Columns, None, None]:
        if self._copies is not None:
            return self._copies(part)
        return self._pair.target.read_columns(part.target, start, end, self._tick)

    def _strangers(self, part: Part, compared: Compared) -> Strangers:
        def read(start: int, end: int | None, aborted: bool) -> Iterator[Columns]:
            return self._read(part, Side.SOURCE, start, end, aborted=aborted)

        mirrored = (part.start, part.end) if part.offset_map is None else _mirrored(part, part.offset_map)
        return Strangers(compared, read, (part.start, part.end), mirrored)

    def _order_walk(self, part: Part, compared: Compared, at: Standpoint) -> OrderWalk:
        def offset_at(side: Side, moment_ms: int) -> int | None:
            cluster, place = self._place(part, side)
            return cluster.offsets_at({place: moment_ms})[place]

        walk = OrderWalk(compared, self._strangers(part, compared), at.matched, offset_at, part.due)
        compared.checkpoint = lambda here, there: self._note(part, compared, (here, there, walk.matched), at.stand)
        return walk

    def _tell_pending(self, part: Part, records: int) -> None:
        if records:
            self.warnings.append(
                f"{part.source}: {records:,} record(s) at its end were not copied yet, and are not missed"
            )

    def _note(
        self, part: Part, compared: Compared, places: tuple[int | None, int | None, int | None], stand: MapStand
    ) -> None:
        """Remember a partition at the end of a block."""
        source, target, matched = places
        if self._memory is None or not self._memory.is_due:
            return
        at = Standpoint(
            source=part.end if source is None else source,
            target=part.target_end if target is None else target,
            matched=part.end if matched is None else matched,
            stand=stand,
        )
        self._memory.note(part, state_json(compared, at))

    def _place(self, part: Part, side: Side) -> tuple[ClusterReader, TopicPartition]:
        if side is Side.SOURCE:
            return self._pair.source, part.source
        return self._pair.target, part.target

    def _reader(self, part: Part) -> Callable[[Side, int, int | None], Iterator[Columns]]:
        return lambda side, start, end: self._read(part, side, start, end)

    def _read(self, part: Part, side: Side, start: int, end: int | None, *, aborted: bool = False) -> Iterator[Columns]:
        """Records of one side, to the log's present end where no end is given."""
        cluster, place = self._place(part, side)
        log = cluster.log_offsets([place])[place]
        until = end if end is not None else log.end if aborted else log.stable
        with closing(cluster.read_columns(place, start, until, self._tick, aborted=aborted)) as read:
            yield from read

    def _tell(self, part: Part, compared: Compared, source: Cursor) -> None:
        now = time.monotonic()
        if now - self._told < REPORT_S:
            return
        gc.collect(0)  # it is off; whatever made a cycle is small, but a comparison may take days
        self._told = now
        self._report(
            Progress(
                source=part.source,
                offset=part.end if source.offset is None else source.offset,
                end=part.end,
                records=self._records + compared.tally.records,
                found=self._found + len(compared.findings),
                seconds=now - self._began,
            )
        )


def _mirrored(part: Part, offset_map: OffsetMap) -> tuple[int, int]:
    """Source offsets that the target may have records of."""
    return min(part.start, offset_map.source_start), max(part.end, offset_map.source_end)


@contextmanager
def _collector_off() -> Iterator[None]:
    """No cyclic collection while records pass by: it would look at each of them, and costs a fifth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
