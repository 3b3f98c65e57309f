"""Proving a mirror: read both sides once, side by side, and tell every record that is not as it should be.

Nothing is written to either cluster, and mirroring may go on meanwhile: the ends are those of the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import Columns, TopicPartition
from airflow_provider_mm2.mirror.verify.absent import Absences
from airflow_provider_mm2.mirror.verify.apart import Compared
from airflow_provider_mm2.mirror.verify.by_map import MapWalk, OnRecord
from airflow_provider_mm2.mirror.verify.by_order import OrderWalk
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.digest import Digests
from airflow_provider_mm2.mirror.verify.findings import Findings, Side, Tally
from airflow_provider_mm2.mirror.verify.report import PartResult, VerifyReport
from airflow_provider_mm2.mirror.verify.scope import Part, VerifyOrder, scope_by_map
from airflow_provider_mm2.mirror.verify.scope_by_order import scope_by_order
from airflow_provider_mm2.mirror.verify.strangers import Strangers

REPORT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a comparison is: ``records`` compared of ``source`` and before it, up to ``offset`` of ``end``."""

    source: TopicPartition
    offset: int
    end: int
    records: int
    found: int
    seconds: float


Report = Callable[[Standing], None]


def no_report(standing: Standing) -> None:
    """Report nothing."""


def verify_flow(
    flow: MirrorFlow, pair: ClusterPair, order: VerifyOrder, *, tick: Tick, report: Report = no_report
) -> VerifyReport:
    """Compare what a flow has mirrored with what it was mirrored from.

    :raises MirrorError: it cannot be compared; see ``scope_by_map``.
    """
    began = time.monotonic()
    scope = scope_by_order(flow, pair, order) if order.by_order else scope_by_map(flow, pair, order, tick)
    comparison = Comparison(pair, tick, report)
    results = [comparison.of(part) for part in scope.parts]
    return VerifyReport(
        flow=flow.name,
        mode="order" if order.by_order else "map",
        results=results,
        absent=scope.absent,
        warnings=scope.warnings,
        seconds=time.monotonic() - began,
    )


class Comparison:
    """Compares partition by partition."""

    def __init__(self, pair: ClusterPair, tick: Tick, report: Report) -> None:
        self._pair = pair
        self._tick = tick
        self._report = report
        self._began = self._told = time.monotonic()
        self._records = self._found = 0

    def of(self, part: Part) -> PartResult:
        """Compare one partition."""
        tally, findings = Tally.empty(), Findings(part.source)
        absences = Absences(starts=part.starts, compacted=part.compacted, tally=tally, findings=findings)
        compared = Compared(tally=tally, findings=findings, digests=Digests(), absences=absences, starts=part.starts)
        self._walk(part, compared)
        absences.close(lambda side, start, end: self._read(part, side, start, end), _ends(part))
        self._records, self._found = self._records + tally.records, self._found + len(findings)
        return PartResult(part=part, tally=tally, findings=findings, digests=compared.digests.ends())

    def _walk(self, part: Part, compared: Compared) -> None:
        def tick() -> None:
            self._tick()
            self._tell(part, compared)

        source, target = part.source, part.target
        ours = self._pair.source.read_columns(source, part.start, part.end, tick)
        theirs = self._pair.target.read_columns(target, part.target_start, part.target_end, self._tick)
        with closing(ours), closing(theirs):
            if part.offset_map is not None:
                walk = MapWalk(compared, part.offset_map, OnRecord.of(part.incidents), repeats=part.repeats)
                walk.run(Cursor(ours), Cursor(theirs))
            else:
                self._order_walk(part, compared).run(Cursor(ours), Cursor(theirs))

    def _order_walk(self, part: Part, compared: Compared) -> OrderWalk:
        def read(start: int, end: int | None, aborted: bool) -> Iterator[Columns]:
            return self._read(part, Side.SOURCE, start, end, aborted=aborted)

        def offset_at(side: Side, moment_ms: int) -> int | None:
            cluster, place = self._place(part, side)
            return cluster.offsets_at({place: moment_ms})[place]

        return OrderWalk(compared, Strangers(compared, read, part.start), part.start, offset_at)

    def _place(self, part: Part, side: Side) -> tuple[ClusterReader, TopicPartition]:
        if side is Side.SOURCE:
            return self._pair.source, part.source
        return self._pair.target, part.target

    def _read(self, part: Part, side: Side, start: int, end: int | None, *, aborted: bool = False) -> Iterator[Columns]:
        """Records of one side, to the log's present end where no end is given."""
        cluster, place = self._place(part, side)
        log = cluster.log_offsets([place])[place]
        until = end if end is not None else log.end if aborted else log.stable
        with closing(cluster.read_columns(place, start, until, self._tick, aborted=aborted)) as read:
            yield from read

    def _tell(self, part: Part, compared: Compared) -> None:
        now = time.monotonic()
        if now - self._told >= REPORT_S:
            self._told = now
            records = self._records + compared.tally.records
            found = self._found + len(compared.findings)
            self._report(
                Standing(
                    source=part.source,
                    offset=part.start + compared.tally.records,
                    end=part.end,
                    records=records,
                    found=found,
                    seconds=now - self._began,
                )
            )


def _ends(part: Part) -> dict[Side, int]:
    return {Side.SOURCE: part.end, Side.TARGET: part.target_end}
