"""Coming home after a failover: what that means is looked at first, then the way home is opened.

From then on the way home is a flow like any other: its runs bring home what applications write, and its planned
failover moves the groups back. Closing that one hands over to the forward flow (``way_home.py``), which goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, TargetCluster, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import Record, TopicPartition
from airflow_provider_mm2.mirror.recovery.failback_report import (
    HOME,
    NOT_HANDED_OVER,
    NOT_PREPARED,
    PREPARED,
    Coming,
    FailbackReport,
)
from airflow_provider_mm2.mirror.recovery.stranded import (
    StrandedRange,
    check_decided,
    check_same,
    find_stranded,
    list_stranded,
)
from airflow_provider_mm2.mirror.recovery.stranded_work import StrandedWork
from airflow_provider_mm2.mirror.recovery.way_home import WayHome
from airflow_provider_mm2.mirror.recovery.way_places import beginnings
from airflow_provider_mm2.mirror.recovery.work import Report
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow, reverse_of
from airflow_provider_mm2.mirror.state.control import control_lease
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded, StrandedNote, read_notes
from airflow_provider_mm2.mirror.state_model import ActiveSide, Delivery, PartitionLedger

IS_HOME = (ActiveSide.SOURCE, ActiveSide.TARGET)
"""Active sides, in their own words, of a flow that is home and of its way home that is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """The side that was left last, and what is known of the flow that led away from it.

    :param is_late: whether it was the active side, left on the way home, and the forward flow does not know of that.
    """

    flow: MirrorFlow
    old: ClusterReader
    new: TargetCluster
    ledgers: Mapping[TopicPartition, PartitionLedger]
    notes: Mapping[TopicPartition, StrandedNote]
    is_late: bool

    def stranded(self, tick: Tick) -> tuple[StrandedRange, ...]:
        return find_stranded(self.flow, self.old, self.ledgers, self.notes, tick)


class Failback:
    """Coming home with one flow.

    :param flow: the forward flow.
    :param pair: both clusters in the direction of the way home.
    :param owner: who this is; recorded with what is decided.
    """

    def __init__(self, flow: MirrorFlow, pair: ClusterPair, *, owner: str, tick: Tick, report: Report) -> None:
        self.flow = flow
        self.reverse: ReverseFlow = reverse_of(flow)
        self._pair = pair
        self._owner = owner
        self._tick = tick
        self._report = report
        self._way = WayHome(flow=self.reverse, pair=pair, owner=owner, tick=tick)

    def look(self) -> FailbackReport:
        """What coming home means as things stand; touches nothing.

        :raises MirrorError: there is nothing to come home from, or it is not the same cluster any more.
        """
        record = self._way.forward_record()
        ledgers = read_shards(self._pair.source, self.flow.name, record.shards, self._tick)
        left = self._left(ledgers)
        if left.is_late:
            return self._told(NOT_HANDED_OVER, left, left.stranded(self._tick))
        if self._way.is_open(ledgers):
            return self._told(PREPARED, left, (), self._rows())
        begins, warnings = beginnings(self.reverse, self._pair, ledgers)
        rows = [(part, begin.target, begin.offset) for part, begin in begins.items()]
        return self._told(NOT_PREPARED, left, left.stranded(self._tick), rows, warnings=warnings)

    def when_home(self) -> FailbackReport | None:
        """What is told once the flow is home and its way home is closed; None: it is not."""
        forward = find_gate(self._pair.source, self.flow.name, self._tick)
        way = find_gate(self._pair.target, self.reverse.name, self._tick)
        if forward is None or way is None or (forward.active_side, way.active_side) != IS_HOME:
            return None
        return FailbackReport(flow=self.flow.name, way=self.reverse.name, old_side=self.flow.source.alias, state=HOME)

    def is_begun(self) -> bool:
        """Whether the way home was opened after the last failover of the forward flow, be it over by now."""
        record = find_gate(self._pair.target, self.reverse.name, self._tick)
        if record is None or record.active_side is ActiveSide.SOURCE:
            return record is not None
        forward = find_gate(self._pair.source, self.flow.name, self._tick)
        return forward is None or forward.active_side is ActiveSide.SOURCE or self._way.owes_hand_over()

    def all_stranded(self) -> Iterator[tuple[TopicPartition, Record]]:
        """Every stranded record that nobody has decided on, one after the other."""
        record = self._way.forward_record()
        ledgers = read_shards(self._pair.source, self.flow.name, record.shards, self._tick)
        left = self._left(ledgers)
        if not left.is_late and self._way.is_open(ledgers):
            return
        yield from list_stranded(left.old, left.stranded(self._tick), self._tick)

    def prepare(self, choice: Stranded | None) -> FailbackReport:
        """Do what was said of stranded records, and open the way home; one that is open stays as it is.

        :param choice: what becomes of stranded records; None: there are none, or an earlier call said it.
        :raises StrandedUndecided: there are some, and nobody has said anything; nothing was written.
        :raises MirrorError: see ``look``; or it was interrupted, and the same call goes on.
        """
        forward = self._way.forward_record()
        away = self._pair.source
        ledgers = read_shards(away, self.flow.name, forward.shards, self._tick)
        left = self._left(ledgers)
        if not left.is_late and self._way.is_open(ledgers):
            return self.look()
        check_same(self.flow.name, left.notes.values(), choice)
        stranded = left.stranded(self._tick)
        self._check(left, stranded, choice)
        other = sorted({note.choice.value for note in left.notes.values() if note.is_done} - {choice and choice.value})
        told = f"nothing is left to be decided on: it was before, and stays ({', '.join(other)})"
        decided = (told,) if choice is not None and other and not stranded else ()
        with control_lease(left.flow, left.new, self._owner, self._tick) as lease:
            keep = lease.keeping(self._tick)
            copied = self._settle(left, choice, keep)
            settled = self._left(ledgers)
            self._check(settled, settled.stranded(keep), None)
        if left.is_late:
            self._report("handing over to the forward flow")
            self._way.hand_over({part: note.end for part, note in settled.notes.items()})
            return self._told(HOME, settled, (), warnings=decided, copied=copied)
        self._report(f"opening the way home, {self.reverse.name}")
        warnings = self._way.open(forward, ledgers, lambda: self._see_none(ledgers))
        return self._told(PREPARED, settled, (), self._rows(), warnings=(*decided, *warnings), copied=copied)

    def _rows(self) -> list[tuple[TopicPartition, TopicPartition, int]]:
        """Where an open way home stands: partition of the active side, partition at home, next offset."""
        home = read_shards(self._pair.target, self.reverse.name, self.reverse.shards, self._tick)
        latest = (ledger.latest for ledger in home.values())
        return [(entry.source, entry.target, entry.next_offset) for entry in latest]

    def _see_none(self, ledgers: Mapping[TopicPartition, PartitionLedger]) -> None:
        left = self._left(ledgers)
        self._check(left, left.stranded(self._tick), None)

    def _settle(self, left: _Left, choice: Stranded | None, tick: Tick) -> int:
        """Decide and copy; gives how many records were copied."""
        stranded = left.stranded(tick)
        self._check(left, stranded, choice)
        unfinished = [note for note in left.notes.values() if not note.is_done]
        if not stranded and not unfinished:
            return 0
        writer = left.new.state_writer(naming.control_id(left.flow.name))
        try:
            writer.fence(tick)
            work = StrandedWork(
                flow=left.flow,
                old=left.old,
                new=left.new,
                writer=writer,
                by=self._owner,
                tick=tick,
                report=self._report,
            )
            if choice is not None:
                other = [note for note in unfinished if note.choice is not choice]
                unfinished = [note for note in unfinished if note.choice is choice] + (
                    work.decide_anew(other, choice) if other else []
                )
            copied = work.carry_out(unfinished)
            if stranded and choice is not None:
                copied += work.carry_out(work.decide(stranded, choice))
        finally:
            writer.close()
        return copied

    def _check(self, left: _Left, stranded: Sequence[StrandedRange], choice: Stranded | None) -> None:
        check_decided(self.flow.name, left.old.alias, stranded, choice)

    def _left(self, ledgers: Mapping[TopicPartition, PartitionLedger]) -> _Left:
        home, away = self._pair.target, self._pair.turned().target
        if self._way.owes_hand_over():
            brought = read_shards(home, self.reverse.name, self.reverse.shards, self._tick)
            notes = read_notes(home, self.reverse.name, self._tick)
            return _Left(flow=self.reverse, old=away, new=home, ledgers=brought, notes=notes, is_late=True)
        notes = read_notes(away, self.flow.name, self._tick)
        return _Left(flow=self.flow, old=home, new=away, ledgers=ledgers, notes=notes, is_late=False)

    def _told(
        self,
        state: str,
        left: _Left,
        stranded: tuple[StrandedRange, ...],
        rows: Sequence[tuple[TopicPartition, TopicPartition, int]] = (),
        *,
        warnings: tuple[str, ...] = (),
        copied: int = 0,
    ) -> FailbackReport:
        ends = self._pair.source.log_offsets([part for part, _, _ in rows]) if rows else {}
        coming = (
            Coming(source=part, target=target, start=start, end=ends[part].stable) for part, target, start in rows
        )
        return FailbackReport(
            flow=self.flow.name,
            way=self.reverse.name,
            old_side=left.old.alias,
            state=state,
            stranded=stranded,
            notes=tuple(note for _, note in sorted(left.notes.items())),
            coming=tuple(each for each in sorted(coming, key=lambda each: each.source) if each.end > each.start),
            copied=copied,
            warnings=(*warnings, *self._elsewhere(), *self._repeats()),
        )

    def _elsewhere(self) -> Iterator[str]:
        """Topics of the active side that have the name of a mirrored one at home, and are not its copy."""
        if self.flow.replication_policy != "default":
            return
        prefix = f"{self.flow.source.alias}{self.flow.separator}"
        names = set(self._pair.source.list_topics())
        own = sorted(name for name in names if prefix + name in names)
        parts = [
            TopicPartition(name, number)
            for name, info in self._pair.source.describe_topics(own).items()
            for number in range(info.partitions)
        ]
        logs = self._pair.source.log_offsets(parts) if parts else {}
        full = sorted({part.topic for part, log in logs.items() if log.end > log.start})
        if full:
            alias = self._pair.source.alias
            yield (
                f"{', '.join(full)} on {alias!r} is no copy of the topic of that name at home, and does not come home: "
                f"only {prefix}... does; mirror it by a flow of its own"
            )

    def _repeats(self) -> Iterator[str]:
        if self.flow.delivery is Delivery.AT_LEAST_ONCE:
            yield "delivery at_least_once: what an interrupted run has repeated comes home, too"
