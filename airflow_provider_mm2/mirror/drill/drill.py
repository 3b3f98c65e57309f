"""A drill: load, mirror, cut, fail over, go on at the target, perhaps come home; measured, and then taken away.

It runs beside the real flow on topics and groups of its own, through the very same code: mirror runs, the failover, the
failback. One drill of a flow at a time; what a dead one left the next one takes away first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from airflow_provider_mm2.mirror.clusters.applications import Applications
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.drill.alone import alone
from airflow_provider_mm2.mirror.drill.findings import Found, told
from airflow_provider_mm2.mirror.drill.flow import DrillFlow, drill_flow
from airflow_provider_mm2.mirror.drill.home import judge_home
from airflow_provider_mm2.mirror.drill.mirroring import ByConnectors, ByRuns, ConnectSide, Mirroring
from airflow_provider_mm2.mirror.drill.report import DrillPhase, DrillReport
from airflow_provider_mm2.mirror.drill.stage import PARTITIONS, Clock, Crew, Sampler, groups_of, numbered_on, numbers_on
from airflow_provider_mm2.mirror.drill.tally import count
from airflow_provider_mm2.mirror.drill.traces import Traces
from airflow_provider_mm2.mirror.errors import DrillFailed, MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.interval.engine import check_engine
from airflow_provider_mm2.mirror.model import NewTopic, TopicPartition
from airflow_provider_mm2.mirror.offsets.mm2_reading import warn_of_syncs
from airflow_provider_mm2.mirror.recovery.failback import Failback
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import Mode, step
from airflow_provider_mm2.mirror.recovery.work import Report, now_ms
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded

LATER = 1_000_000
"""Numbers of records that are written after the failover begin here."""

AFTER_S = 1.5
"""For how long applications write on the target, and on a source that is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillOrder:
    """What a person asks of a drill.

    :param load_s: seconds of load before the cut.
    :param pause_s: seconds between two bursts of a producer; less is more load.
    :param failback: come home afterwards.
    """

    mode: Mode = Mode.PLANNED
    load_s: float = 10.0
    pause_s: float = 0.05
    failback: bool = False


class Drill:
    """One drill of one flow.

    :param pair: both clusters in the real flow's direction.
    :param applications: who writes and reads, by alias.
    :param owner: who this is, for whoever wants to drill at the same time.
    :param connect: the way to the flow's Connect cluster; needed where connectors mirror it.
    """

    def __init__(
        self,
        flow: MirrorFlow,
        pair: ClusterPair,
        applications: Mapping[str, Applications],
        *,
        owner: str,
        tick: Tick,
        report: Report,
        connect: ConnectSide | None = None,
    ) -> None:
        self.flow: DrillFlow = drill_flow(flow)
        self._real = flow
        self._pair = pair
        self._owner = owner
        self._tick = tick
        self._report = report
        self._clock = Clock(report=report)
        self._connect = connect
        self._mirroring: Mirroring = ByRuns(self.flow, pair, owner)
        if flow.engine == "connect" and connect is not None:
            self._mirroring = ByConnectors(self.flow, pair, owner, connect)
        groups = frozenset(groups_of(self.flow))
        self._traces = Traces(flow=self.flow, pair=pair, tick=tick, groups=groups, mirroring=self._mirroring)
        aliases = (flow.source.alias, flow.target.alias)
        self._here, self._there = (
            Crew(
                flow=self.flow,
                applications=applications[alias],
                topics=self._traces.topics_of(alias),
                clock=self._clock,
            )
            for alias in aliases
        )

    def run(self, order: DrillOrder) -> DrillReport:
        """Drill, and take everything away again, whatever happens.

        :raises DrillClash: somebody's own topic has a name that the drill needs; nothing was touched.
        :raises DrillUnderWay: another drill of this flow is at work; says whose.
        :raises MirrorError: it could not be carried out.
        """
        if self._connect is None:
            check_engine(self._real)
        started_ms, found = now_ms(), Found()
        left: list[str] = []
        with self._alone(left) as self._tick, Sampler((self._here, self._there)) as sampler:
            warnings = warn_of_syncs(self._real, self._pair.source)
            self._perform(order, found, sampler)
        return told(
            self.flow,
            found,
            mode=order.mode.value,
            started_ms=started_ms,
            phases=self._clock.phases,
            samples=sampler.samples,
            left=tuple(left),
            warnings=warnings,
        )

    def _alone(self, left: list[str]) -> AbstractContextManager[Tick]:
        return alone(
            self._traces,
            owner=self._owner,
            tick=self._tick,
            clock=self._clock,
            report=self._report,
            leave=self._abandon,
            left=left,
        )

    def _abandon(self) -> None:
        for crew in (self._here, self._there):
            crew.abandon()

    def _perform(self, order: DrillOrder, found: Found, sampler: Sampler) -> None:
        with self._clock.phase("make topics and groups"):
            self._make()
        with self._clock.phase("load"):
            self._load(order, sampler)
        self._cut(order, found, sampler)
        with self._clock.phase("resume", counts_for_rto=True):
            self._resume()
        with self._clock.phase("read to the end"):
            self._finish(found)
        if order.failback:
            with self._clock.phase("come home"):
                self._come_home(found)

    def _make(self) -> None:
        source = self._traces.sides[self.flow.real_source]
        factor = self.flow.replication_factor
        source.create_topics(
            [
                NewTopic(name=name, partitions=PARTITIONS, replication_factor=factor, settings={})
                for name in self.flow.topics
            ]
        )
        beginning = {TopicPartition(name, number): 0 for name in self.flow.topics for number in range(PARTITIONS)}
        answers = source.commit_groups(
            {group: GroupOffsets(offsets=beginning) for group in groups_of(self.flow)}, self._tick
        )
        for answer in answers.values():
            failures = [answer] if isinstance(answer, MirrorError) else list(answer.values())
            if failures:
                raise failures[0]
        self._mirroring.begin(self._tick)

    def _load(self, order: DrillOrder, sampler: Sampler) -> None:
        """Write and read on the source, and mirror again and again."""
        self._here.start_writers(pause_s=order.pause_s)
        self._here.start_readers()
        self._here.wait_for(self._all_read, "that every group reads", self._tick)
        deadline = time.monotonic() + order.load_s
        while True:
            sampler.mirrored = self._mirroring.go_on(self._tick)
            if time.monotonic() > deadline:
                return
            self._here.see_well()
            self._tick()

    def _all_read(self) -> bool:
        return all(reader.count for reader in self._here.readers.values())

    def _cut(self, order: DrillOrder, found: Found, sampler: Sampler) -> None:
        """Planned: applications are stopped in good order, which takes time that counts, then all is moved.

        Unplanned: the source is gone, and with it whoever worked there, in the midst of it; it is not spoken to again.
        """
        is_planned = order.mode is Mode.PLANNED
        found.cut_ms = now_ms()
        with self._clock.phase("stop applications" if is_planned else "cut off", counts_for_rto=is_planned):
            found.written, found.before = self._here.stop_writers(), self._here.stop_readers()
        if not is_planned:
            found.cut_ms = now_ms()
        found.failover = self._fail_over(order)
        if is_planned:
            sampler.mirrored = count(found.written.numbers)

    def _fail_over(self, order: DrillOrder) -> FailoverReport:
        at_work = Failover(
            flow=self.flow,
            pair=self._pair,
            owner=self._owner,
            tick=self._tick,
            report=self._report,
            connectors=None if self._connect is None else partial(self._connect.connectors, self.flow),
        )
        asked = Order(mode=order.mode, quiet_s=1, stop_wait_s=30, skip_repoint=True)
        began = len(self._clock.phases)
        report = at_work.start(asked, approve=True)
        self._clock.phases[began:] = [
            DrillPhase(
                name=f"failover: {step(number).name}",
                started_ms=note.started_ms,
                ended_ms=note.ended_ms or note.started_ms,
                counts_for_rto=True,
            )
            for number, note in sorted(report.steps.items())
        ]
        if report.not_moved:
            problem = "; ".join(report.not_moved)
            raise DrillFailed(flow=self.flow.real, phase="failover", problem=problem)
        return report

    def _resume(self) -> None:
        """Applications go on at the target: consumers where the failover put them, producers with new records."""
        self._there.start_readers()
        self._there.start_writers(pause_s=0.1, first=LATER)
        self._there.wait_for(
            lambda: all(reader.first_ms is not None for reader in self._there.readers.values()),
            "that every group is at work on the target",
            self._tick,
        )

    def _finish(self, found: Found) -> None:
        time.sleep(AFTER_S)
        found.later = self._there.stop_writers()
        found.mirrored = numbers_on(self._pair.target, self._there.topics, self._tick)
        every = count(found.mirrored)
        due = {group: every - count(read) for group, read in found.before.items()}
        self._there.wait_for(
            lambda: all(reader.count >= due[group] for group, reader in self._there.readers.items()) or self._still(),
            "that every group has read all of it",
            self._tick,
        )
        found.first_read_ms = {group: reader.first_ms for group, reader in self._there.readers.items()}
        found.after = self._there.stop_readers()

    def _still(self) -> bool:
        """Whether no group has read anything for a moment: what it has not read by then it never will."""
        before = {group: reader.count for group, reader in self._there.readers.items()}
        time.sleep(2)
        return before == {group: reader.count for group, reader in self._there.readers.items()}

    def _come_home(self, found: Found) -> None:
        """Bring the flow home, and judge what is there and where the groups stand."""
        turned = self._pair.turned()
        way = Failback(self.flow, turned, owner=self._owner, tick=self._tick, report=self._report)
        way.prepare(Stranded.KEEP)
        back = Failover(flow=way.reverse, pair=turned, owner=self._owner, tick=self._tick, report=self._report)
        back.start(Order(mode=Mode.PLANNED, quiet_s=1, stop_wait_s=30, skip_repoint=True), approve=True)
        home = {
            part: [(offset, number) for offset, number in numbers if number >= LATER]
            for part, numbers in numbered_on(turned.target, self._here.topics, self._tick).items()
        }
        answers = turned.target.group_offsets(sorted(found.after), self._tick, stable=False)
        stand = {name: answer.offsets for name, answer in answers.items() if isinstance(answer, GroupOffsets)}
        found.home = judge_home(found.later.numbers, home, found.after, stand)
