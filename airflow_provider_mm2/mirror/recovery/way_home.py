"""The way home of a flow: opened where the failover left it, and closed by handing all it brought to the forward flow.

It is opened shut: the flow record first, frozen, then every shard's ledger behind its fence, then the gate; so nobody
runs it before it is known where it begins. What it is opened from is noted, so that opening it twice changes nothing,
and a flow that has gone on since opens it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import FailbackRefused, FailoverUnderWay
from airflow_provider_mm2.mirror.interval.shard_writer import shard_writer
from airflow_provider_mm2.mirror.interval.state_topics import ensure_state_topics
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.journal import held_journal, read_recorded
from airflow_provider_mm2.mirror.recovery.mirror_image import Turned, mirror_image, progress_digest
from airflow_provider_mm2.mirror.recovery.steps import Stage
from airflow_provider_mm2.mirror.recovery.way_places import Beginning, Ledgers, beginnings, endings
from airflow_provider_mm2.mirror.recovery.work import Detail, now_ms
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.moved import moved_record, read_moved
from airflow_provider_mm2.mirror.state.opened import Opened, opened_record, read_opened
from airflow_provider_mm2.mirror.state.turns import in_turns
from airflow_provider_mm2.mirror.state_model import ActiveSide, FlowRecord, StateRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class WayHome:
    """One flow's way home.

    :param pair: in its own direction: the source is the side that is active now, the target the old source.
    """

    flow: ReverseFlow
    pair: ClusterPair
    owner: str
    tick: Tick

    def forward_record(self) -> FlowRecord:
        """The forward flow's record, which must say that its target is the active side.

        :raises FailbackRefused: it does not, or a cluster is not the one it was.
        :raises FailoverUnderWay: a failover of the forward flow is open.
        """
        forward, away = self.flow.forward, self.pair.source
        record = find_gate(away, forward.name, self.tick)
        if record is None:
            self._refuse(f"it has no record on {away.alias!r}, so it never failed over to it")
        failover = read_recorded(away, forward.name, self.tick).failover
        if failover is not None and failover.stage.is_open:
            raise FailoverUnderWay(
                flow=forward.name,
                stage=failover.stage.value,
                owner=failover.begun_by,
                begun=show(failover.begun_ms),
                next_call=f"see `mm2 failover {forward.name} --status`",
            )
        if record.active_side is not ActiveSide.TARGET or record.frozen:
            moved = read_moved(away, forward.name, self.tick)
            alone = f"; {len(moved)} group(s) that moved alone come home with it after a failover of the whole flow"
            side = record.active_side.value
            self._refuse(f"its {side} is the active side: nothing to come home from{alone if moved else ''}")
        clusters = {
            self.pair.target.alias: (record.source_cluster_id, self.pair.target.cluster_id()),
            away.alias: (record.target_cluster_id, away.cluster_id()),
        }
        for alias, (recorded, found) in clusters.items():
            if recorded != found:
                self._refuse(
                    f"{alias!r} is cluster {found} now, and was {recorded}: what is on it is not what was mirrored; a "
                    "cluster that was built anew is filled by a flow of its own"
                )
        return record

    def _refuse(self, problem: str) -> NoReturn:
        raise FailbackRefused(flow=self.flow.forward.name, problems=(problem,))

    def owes_hand_over(self) -> bool:
        """Whether it was failed over without the side that it left, and has not handed over since."""
        known = read_opened(self.pair.target, self.flow.name, self.tick)
        return known is not None and known.owes

    def is_open(self, ledgers: Ledgers) -> bool:
        """Whether it stands open, from where the forward flow is.

        :param ledgers: of the forward flow.
        """
        record = find_gate(self.pair.target, self.flow.name, self.tick)
        if record is None or record.active_side is not ActiveSide.SOURCE:
            return False
        failover = read_recorded(self.pair.target, self.flow.name, self.tick).failover
        if failover is not None and failover.stage.is_open:
            return True
        known = read_opened(self.pair.target, self.flow.name, self.tick)
        return not record.frozen and known is not None and known.digest == progress_digest(ledgers)

    def open(self, forward: FlowRecord, ledgers: Ledgers, see_none: Callable[[], None]) -> tuple[str, ...]:
        """Let it begin where the failover left the forward flow; gives warnings.

        :param forward: the forward flow's record.
        :param ledgers: its ledger.
        :param see_none: called last, before the gate is opened; raises where records have been stranded meanwhile.
        """
        flow, pair, tick = self.flow, self.pair, self.tick
        ensure_state_topics(flow, pair)
        with held_journal(flow, pair.target, self.owner, tick) as journal:
            if self.is_open(ledgers):
                return ()
            see_none()
            shut = self._record(forward, frozen=True)
            journal.set_gate(shut)
            begins, warnings = beginnings(flow, pair, ledgers)
            before = read_shards(pair.target, flow.name, shut.shards, tick)
            for number in range(shut.shards):
                self._write_shard(number, shut.shards, begins, before)
            see_none()
            opened = Opened(digest=progress_digest(ledgers), by=self.owner, at_ms=now_ms())
            moved = [moved_record(flow.name, name, None) for name in read_moved(pair.target, flow.name, tick)]
            journal.set_gate(replace(shut, frozen=False), extra=[opened_record(flow.name, opened), *moved])
        return warnings

    def _record(self, forward: FlowRecord, *, frozen: bool) -> FlowRecord:
        return FlowRecord(
            flow=self.flow.name,
            source_alias=self.flow.source.alias,
            target_alias=self.flow.target.alias,
            policy=self.flow.replication_policy,
            separator=self.flow.separator,
            source_cluster_id=forward.target_cluster_id,
            target_cluster_id=forward.source_cluster_id,
            shards=self.flow.shards,
            delivery=self.flow.delivery,
            frozen=frozen,
        )

    def _write_shard(
        self,
        number: int,
        shards: int,
        begins: Mapping[TopicPartition, Beginning],
        before: Ledgers,
    ) -> None:
        written: dict[TopicPartition, Turned] = {}
        for part in {*begins, *before}:
            if naming.shard_of(part, shards) != number:
                continue
            old, begin = before.get(part), begins.get(part)
            if begin is not None and begin.place is not None:
                written[part] = mirror_image(begin.ledger, old, begin.place, since=self._since(part, begin))
            elif old is not None:
                written[part] = Turned(entries=(), removed=old.entries)
        if not written:
            return
        with shard_writer(self.flow, self.pair, number, self.owner, self.tick) as writer:
            writer.write(*_records(self.flow.name, number, written))

    def _since(self, part: TopicPartition, begin: Beginning) -> int | None:
        """The log start of a partition, where nobody sees a record between it and the first that was mirrored there."""
        if begin.ledger is None:
            return None
        mapped = (segment.target_start for entry in begin.ledger.entries for segment in entry.segments)
        first, start = next(mapped, begin.offset), begin.log_start
        if start >= first or self.pair.source.count_visible(part, start, first, self.tick):
            return None
        return start

    def hand_over(self, decided: Mapping[TopicPartition, int]) -> Detail:
        """Hand over to the forward flow: its ledger goes on behind what came home, then its source is active again.

        Twice changes nothing. The way home's own gate is left to its caller.

        :param decided: up to where a person has decided on what never came home, by partition of the side it left.
        """
        forward, pair, tick = self.flow.forward, self.pair.turned(), self.tick
        with held_journal(forward, pair.target, self.owner, tick) as journal:
            record = journal.record
            if record is None:
                self._refuse(f"its record on {pair.target.alias!r} is gone")
            if record.active_side is ActiveSide.SOURCE:
                return {"forward": "open already"}
            home = read_shards(self.pair.target, self.flow.name, self.flow.shards, tick)
            standing = read_shards(pair.target, forward.name, record.shards, tick)
            places = endings(self.flow, self.pair, home, decided)
            for number in range(record.shards):
                some = {
                    place.source: mirror_image(home.get(part), standing.get(place.source), place, keep_older=True)
                    for part, place in places.items()
                    if naming.shard_of(place.source, record.shards) == number
                }
                with shard_writer(forward, pair, number, self.owner, journal.keep) as writer:
                    writer.write(*_records(forward.name, number, some))
            moved = [moved_record(forward.name, name, None) for name in read_moved(pair.target, forward.name, tick)]
            journal.end_failover(Stage.FAILED_BACK, replace(record, active_side=ActiveSide.SOURCE), extra=moved)
        self._pay()
        return {"forward": f"flow {forward.name} goes on behind {len(places)} partition(s) that came home"}

    def _pay(self) -> None:
        """Nothing is owed any more."""
        known = read_opened(self.pair.target, self.flow.name, self.tick)
        if known is None or not known.owes:
            return
        with held_journal(self.flow, self.pair.target, self.owner, self.tick) as journal:
            if journal.record is not None:
                journal.set_gate(journal.record, extra=[opened_record(self.flow.name, replace(known, owes=False))])


def _records(
    flow: str, number: int, turned: Mapping[TopicPartition, Turned]
) -> tuple[list[StateRecord], dict[TopicPartition, int]]:
    """The records that write a shard's partitions, and their progress."""
    records = [record for each in turned.values() for record in in_turns(flow, number, each.entries, each.removed)]
    latest = [each.entries[-1] for each in turned.values() if each.entries]
    return records, {entry.target: entry.next_offset for entry in latest}
