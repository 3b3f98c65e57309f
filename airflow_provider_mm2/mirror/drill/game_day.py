"""A game day: if the flow failed over now, where would each real group stand, and would it read the right records?

Nothing real is written to: no topic, no group, neither the flow's state nor its gate. Copies of the groups, under names
of drills, are put on the target where a failover would put the real ones; a plain consumer in each reads the real
topics from there, and what it reads is held against the source record by record.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from airflow_provider_mm2.mirror.clusters.applications import CopyRead, CopyReaders
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.drill.alone import alone
from airflow_provider_mm2.mirror.drill.beyond import Counted, LogCount, count_all
from airflow_provider_mm2.mirror.drill.copies import Copies
from airflow_provider_mm2.mirror.drill.flow import DrillFlow, copy_group, drill_flow
from airflow_provider_mm2.mirror.drill.game_plan import GameDayOrder, GamePlan, make_plan
from airflow_provider_mm2.mirror.drill.game_report import game_report
from airflow_provider_mm2.mirror.drill.places import Lost, Outcome, Place, as_far_as_read, judge, lost_until, nowhere
from airflow_provider_mm2.mirror.drill.report import DrillReport
from airflow_provider_mm2.mirror.drill.stage import Clock
from airflow_provider_mm2.mirror.drill.traces import Traces
from airflow_provider_mm2.mirror.errors import DrillFailed, MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.engine import check_engine
from airflow_provider_mm2.mirror.model import Columns, TopicPartition
from airflow_provider_mm2.mirror.offsets.mm2_reading import warn_of_syncs
from airflow_provider_mm2.mirror.recovery.work import Report, now_ms
from airflow_provider_mm2.mirror.verify.comparison import Comparison, TargetRead, no_report
from airflow_provider_mm2.mirror.verify.scope import Part

KEPT = 10_000
"""Mismatches of one partition that are told apart by what they mean for a group; of further ones the kind counts."""

FREE_S = 10.0
"""How long a game day that is refused waits for the lease: a group that is free is joined within seconds."""


class GameDay:
    """One game day of one flow.

    :param pair: both clusters in the flow's direction; on the source nothing is ever written.
    :param readers: makes members of the copies, on the target.
    :param owner: who this is, for whoever wants to drill at the same time.
    """

    def __init__(
        self,
        flow: MirrorFlow,
        pair: ClusterPair,
        readers: CopyReaders,
        *,
        owner: str,
        tick: Tick,
        report: Report,
    ) -> None:
        self.flow: DrillFlow = drill_flow(flow)
        self._real = flow
        self._pair = pair
        self._owner = owner
        self._tick = tick
        self._report = report
        self._clock = Clock(report=report)
        self._copies = Copies(flow=self.flow, target=pair.target, readers=readers, clock=self._clock, tick=tick)

    def run(self, order: GameDayOrder) -> DrillReport:
        """Hold it, and take the copies away again, whatever happens.

        :raises DrillClash: somebody's own topic or group has a name that the drill needs; nothing was touched.
        :raises DrillUnderWay: a drill or game day of this flow is at work; says whose.
        :raises MirrorError: it cannot be held; see ``make_plan``.
        """
        check_engine(self._real)
        started_ms = now_ms()
        try:
            names = make_plan(self._real, self._pair, order, self._tick).moves  # refused before anything is made
        except MirrorError:
            self._take_away()
            raise
        order = replace(order, groups=tuple(names))
        copies = frozenset(copy_group(self.flow, name) for name in names)
        traces = Traces(flow=self.flow, pair=self._pair, tick=self._tick, groups=copies)
        left_behind: list[str] = []
        held = alone(
            traces,
            owner=self._owner,
            tick=self._tick,
            clock=self._clock,
            report=self._report,
            leave=self._copies.abandon,
            left=left_behind,
        )
        with held as self._tick:
            cut_ms = now_ms()
            plan, outcomes, counted = self._perform(order)
        return game_report(
            self.flow,
            plan,
            outcomes,
            counted,
            started_ms=started_ms,
            cut_ms=cut_ms,
            phases=self._clock.phases,
            first_s=self._copies.first_s,
            limit_records=order.limit_records,
            left_behind=tuple(left_behind),
            warnings=warn_of_syncs(self._real, self._pair.source),
        )

    def _take_away(self) -> None:
        """Take away what a dead drill left, if nobody is at work: what is refused once may be refused for ever."""
        flow = self.flow.model_copy(update={"lease_wait_s": min(self.flow.lease_wait_s, FREE_S)})
        traces = Traces(flow=flow, pair=self._pair, tick=self._tick, groups=frozenset())
        try:
            if any(names for kinds in traces.left().values() for names in kinds.values()):
                still_there: list[str] = []
                held = alone(
                    traces,
                    owner=self._owner,
                    tick=self._tick,
                    clock=Clock(report=self._report),
                    report=self._report,
                    leave=_nobody,
                    left=still_there,
                )
                with held:
                    self._report("taking away what a drill left")
                if still_there:
                    self._report(f"not all that a drill left could be taken away: {', '.join(still_there)}")
        except MirrorError as error:
            self._report(f"what a drill left was not taken away: {error.first_line}")

    def _perform(self, order: GameDayOrder) -> tuple[GamePlan, list[Outcome], Counted]:
        with self._clock.phase("plan and translate", counts_for_rto=True):
            plan = make_plan(self._real, self._pair, order, self._tick)
            self._check_groups(plan)
        with self._clock.phase("commit copies", counts_for_rto=True):
            self._copies.tick = self._tick
            self._copies.commit(plan)
        source = LogCount(self._pair.source, plan.source_logs, self._tick, limit=order.limit_records)
        with self._clock.phase("read and compare"):
            outcomes = [
                outcome
                for read in self._copies.read(plan, order.limit_records)
                for name, found in read.items()
                for outcome in self._outcomes(plan.places[name], found, source)
            ]
            outcomes += [
                nowhere(each, _lost(each.source, each.stands, each.part, source))
                for found in plan.unplaced.values()
                for each in found
            ]
        with self._clock.phase("what is not mirrored"):
            there = LogCount(self._pair.target, plan.target_logs, self._tick, limit=order.limit_records)
            counted = count_all(plan, source, there)
        return plan, outcomes, counted

    def _check_groups(self, plan: GamePlan) -> None:
        for name, move in plan.moves.items():
            if move.problem:
                raise DrillFailed(flow=self._real.name, phase=self._clock.now, problem=f"group {name}: {move.problem}")

    def _outcomes(self, places: Sequence[Place], found: CopyRead, source: LogCount) -> Iterator[Outcome]:
        for place in places:
            read, is_cut = found.columns.get(place.part.target, ()), place.part.target in found.cut
            part = as_far_as_read(place, read, is_cut=is_cut)
            comparison = Comparison(self._pair, self._tick, no_report, copies=_copies(read), kept=KEPT)
            result = comparison.whole(part)
            lost = Lost() if place.stands is None else _lost(part.source, place.stands, place.part, source)
            yield judge(place, part, read, result, outside=lost, is_cut=is_cut)


def _nobody() -> None:
    """Nobody is at work who were to be stopped."""


def _lost(at: TopicPartition, stands: int, part: Part | None, source: LogCount) -> Lost:
    """Records outside the mirrored range, on either end, that a group has not read."""
    if part is None or part.offset_map is None:
        return Lost(beyond=source.between(at, stands).records)
    end = part.offset_map.source_end
    expired = source.between(at, stands, min(lost_until(part), end))
    return Lost(expired=expired.records, beyond=source.between(at, max(stands, end)).records)


def _copies(read: Sequence[Columns]) -> TargetRead:
    def copies(part: Part) -> Generator[Columns, None, None]:
        yield from read

    return copies
