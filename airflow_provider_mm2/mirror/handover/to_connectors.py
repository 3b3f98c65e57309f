"""From runs to connectors, numbered: each step may be done again, and one that was killed goes on from the first.

1. See that every partition is as a run would find it, and that the workers take the connectors.
2. Let the source connector be there, stopped.
3. Record that a hand-over is under way, then fence every run: from here on nothing mirrors the flow.
4. Read the ledger, and see again that all is as it says; if not, runs are let in again.
5. Set the connector's offsets to the ledger's progress, and see that they are what was set.
6. Record that connectors mirror the flow. From here on their offsets are the truth: never set back by a hand-over.
7. Put all connectors, and resume them, the lease still held: nobody hands the flow back meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.connect.connectors import Connector, Part
from airflow_provider_mm2.mirror.connect.flow_connectors import Action
from airflow_provider_mm2.mirror.connect.report import PutReport
from airflow_provider_mm2.mirror.errors import HandOverRefused, MirrorError
from airflow_provider_mm2.mirror.handover.report import HandedPartition, HandOverReport
from airflow_provider_mm2.mirror.handover.work import HandOverWork
from airflow_provider_mm2.mirror.interval.facts import gather_facts
from airflow_provider_mm2.mirror.interval.plan import judge
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.fencing import fence_runs
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord

TOLD = 10


@dataclass(frozen=True, kw_only=True)
class ToConnectors:
    """Handing one flow over.

    :param wanted: its connectors as they are to be.
    """

    work: HandOverWork
    wanted: Sequence[Connector]

    def do(self, *, apply: bool) -> HandOverReport:
        """Let the connectors go on where runs are.

        :raises HandOverRefused: nothing was ever mirrored, or a run would refuse what it finds.
        :raises MirrorError: the workers refuse a connector, or somebody else decides about the flow.
        """
        work = self.work
        record = self._record()
        plan = self._plan(work.tick)
        if record.engine is Engine.CONNECT and not apply:
            return self._report(record, {}, plan, applied=False)
        progress = {} if record.engine is Engine.CONNECT else self._progress(record, work.tick)
        known = work.offsets.read(work.tick)
        if not apply:
            return self._report(record, progress, plan, known, applied=False)
        with work.under_lease() as (lease, tick):
            before = self._record()
            if before.engine is not Engine.CONNECT:
                progress = self._take(before, lease, tick)
            self._begin(self._plan(tick), tick)
        return self._report(record, progress, plan, known, applied=True)

    def _record(self) -> FlowRecord:
        record = self.work.standing()
        if record is None:
            problem = "no run has mirrored it, so connectors may begin by themselves: `mm2 connect` puts them"
            raise HandOverRefused(flow=self.work.flow.name, problems=(problem,))
        return record

    def _plan(self, tick: Tick) -> PutReport:
        target_cluster = self.work.pair.target.cluster_id
        return self.work.offsets.connectors.plan(self.wanted, target_cluster=target_cluster, tick=tick)

    def _take(self, record: FlowRecord, lease: Lease, tick: Tick) -> dict[TopicPartition, int]:
        """Steps 2 to 6."""
        work = self.work
        source = next(each for each in self.wanted if each.part is Part.SOURCE)
        work.say("letting the source connector be there, stopped")
        work.offsets.keep_stopped(source, tick)
        shut = work.record(Engine.TO_CONNECT, lease, tick)
        fenced = fence_runs(work.flow, work.pair.target, shut, work.owner, tick)
        work.say(f"runs are fenced: {', '.join(fenced)}")
        try:
            progress = self._progress(shut, tick)
            work.see_settled(self._targets(shut, tick), tick)
        except MirrorError:
            if record.engine is Engine.BOUNDED:
                work.record(Engine.BOUNDED, lease, tick)
            raise
        work.offsets.set(progress, tick)
        work.say(f"offsets of {len(progress)} partition(s) set")
        work.record(Engine.CONNECT, lease, tick)
        return progress

    def _begin(self, plan: PutReport, tick: Tick) -> None:
        """Step 7."""
        connectors = self.work.offsets.connectors
        connectors.put(plan, self.wanted, tick=tick)
        connectors.act(Action.RESUME, tick=tick)

    def _targets(self, record: FlowRecord, tick: Tick) -> list[TopicPartition]:
        ledgers = read_shards(self.work.pair.target, record.flow, record.shards, tick)
        return [ledger.latest.target for ledger in ledgers.values()]

    def _progress(self, record: FlowRecord, tick: Tick) -> dict[TopicPartition, int]:
        """The next source offset of each partition that is still there, if all is as a run would go on from.

        :raises HandOverRefused: it is not; says what a run would say.
        """
        pair, flow = self.work.pair, self.work.flow
        ledgers = read_shards(pair.target, record.flow, record.shards, tick)
        selected = select_topics(flow, naming.policy_of(flow), pair.source.list_topics()).topics
        sources = pair.source.describe_topics(sorted({*selected, *(part.topic for part in ledgers)}))
        ledgers = {part: ledger for part, ledger in ledgers.items() if part.topic in sources}
        names = {*(selected[name] for name in selected), *(each.latest.target_topic for each in ledgers.values())}
        targets = pair.target.describe_topics(sorted(names))
        gone = sorted({each.latest.target_topic for each in ledgers.values()} - targets.keys())
        problems = [f"the target topic {name} is gone" for name in gone]
        if not gone:
            pairs = _on_both_sides(selected, sources, targets) | {
                part: each.latest.target for part, each in ledgers.items()
            }
            facts = gather_facts(pair, record=record, pairs=pairs, topics=(sources, targets), ledger=ledgers, tick=tick)
            problems = [found.first_line for fact in facts.values() if (found := judge(fact)) is not None]
        if problems:
            cause = "what stops a run would be passed over by connectors; a run of the flow says more of it"
            raise HandOverRefused(flow=flow.name, problems=tuple(problems[:TOLD]), cause=cause)
        return {part: ledger.latest.next_offset for part, ledger in ledgers.items()}

    def _report(
        self,
        record: FlowRecord,
        progress: Mapping[TopicPartition, int],
        plan: PutReport,
        known: Mapping[TopicPartition, int] | None = None,
        *,
        applied: bool,
    ) -> HandOverReport:
        return HandOverReport(
            flow=self.work.flow.name,
            before=record.engine,
            to=Engine.CONNECT,
            applied=applied,
            partitions=tuple(
                HandedPartition(
                    source=part, old=(known or {}).get(part), new=offset, reason="runs have copied up to here"
                )
                for part, offset in sorted(progress.items())
            ),
            connectors=tuple(each.name for each in self.wanted),
            warnings=plan.warnings,
        )


def _on_both_sides(
    selected: Mapping[str, str], sources: Mapping[str, TopicInfo], targets: Mapping[str, TopicInfo]
) -> dict[TopicPartition, TopicPartition]:
    """Partitions that are on both sides: also those that no run has mirrored are judged as a run would."""
    return {
        TopicPartition(name, number): TopicPartition(target, number)
        for name, target in selected.items()
        if name in sources and target in targets
        for number in range(min(sources[name].partitions, targets[target].partitions))
    }
