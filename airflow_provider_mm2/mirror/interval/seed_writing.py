"""Writing a seed: each shard behind its lease and fence, in one transaction, if all is still as it was judged."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import FlowChanged, SeedOvertaken
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.seed_look import SeedLook
from airflow_provider_mm2.mirror.interval.seed_rules import (
    SeedRow,
    incidents_of,
    rebased_by,
)
from airflow_provider_mm2.mirror.interval.shard_writer import ShardWriter, shard_writer
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.seed import Points
from airflow_provider_mm2.mirror.state.gate import check_engine_on_record, check_open, read_gate
from airflow_provider_mm2.mirror.state.incidents import counted_up, read_incidents
from airflow_provider_mm2.mirror.state.incidents import to_record as incident_record
from airflow_provider_mm2.mirror.state.ledger import read_ledger
from airflow_provider_mm2.mirror.state.turns import in_turns
from airflow_provider_mm2.mirror.state_model import FlowRecord, StateRecord

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SeedWriter:
    """Writing rows, one shard after the other."""

    look: SeedLook
    record: FlowRecord
    points: Points
    force: bool
    owner: str

    def write(self, number: int, rows: Mapping[TopicPartition, SeedRow]) -> None:
        """Write a shard's rows behind its fence, if they are still what was judged.

        :raises SeedOvertaken: they are not.
        """
        wanted = {part: row for part, row in rows.items() if row.changes}
        if not wanted:
            return
        with shard_writer(self.look.flow, self.look.pair, number, self.owner, self.look.tick) as writer:
            facts = self._facts(number, wanted, writer.tick)
            now = self.look.rows(facts, self.points, {})
            self._check_same(wanted, now)
            counted = {part: replace(row, visible=now[part].visible) for part, row in wanted.items()}
            self._commit(writer, number, counted, facts)

    def _facts(
        self, number: int, wanted: Mapping[TopicPartition, SeedRow], tick: Tick
    ) -> dict[TopicPartition, PartitionFacts]:
        flow, pair = self.look.flow, self.look.pair
        record = read_gate(pair.target, flow.name, tick)
        if record is None or record.shards != self.record.shards:
            given = "nothing" if record is None else str(record.shards)
            raise FlowChanged(flow=flow.name, setting="shards", recorded=given, given=str(self.record.shards))
        check_open(record)
        check_engine_on_record(record, self.record.engine)
        ledger = read_ledger(pair.target, flow.name, number, tick)
        source_topics = pair.source.describe_topics(sorted({part.topic for part in wanted}))
        target_topics = pair.target.describe_topics(sorted({row.target.topic for row in wanted.values()}))
        pairs = {part: row.target for part, row in wanted.items()}
        return self.look.gathered(record, pairs, (source_topics, target_topics), ledger)

    def _check_same(self, judged: Mapping[TopicPartition, SeedRow], now: Mapping[TopicPartition, SeedRow]) -> None:
        changed: list[str] = []
        for part, row in judged.items():
            refusal = now[part].refusal(force=self.force)
            if row.old != now[part].old:
                changed.append(f"{part} from {row.old} to {now[part].old}")
            elif refusal is not None:
                changed.append(refusal)
        if changed:
            raise SeedOvertaken(flow=self.look.flow.name, changed=tuple(changed))

    def _commit(
        self,
        writer: ShardWriter,
        number: int,
        rows: Mapping[TopicPartition, SeedRow],
        facts: Mapping[TopicPartition, PartitionFacts],
    ) -> None:
        progress = {row.target: row.new for row in rows.values() if row.new is not None}
        writer.write(list(self._records(number, rows, facts)), progress)
        log.info("flow %s, shard %d: progress of %d partition(s) set", self.look.flow.name, number, len(progress))

    def _records(
        self, number: int, rows: Mapping[TopicPartition, SeedRow], facts: Mapping[TopicPartition, PartitionFacts]
    ) -> Iterable[StateRecord]:
        name, seed, now_ms = self.look.flow.name, self.look.seed, int(time.time() * 1000)
        known = read_incidents(self.look.pair.target, name, self.look.tick)
        for part, row in rows.items():
            rebased = rebased_by(row, facts[part], self.record.source_cluster_id, self.look.flow.delivery)
            yield from in_turns(name, number, rebased.unwritten, rebased.removed)
            found = incidents_of(row, seed, force=self.force, owner=self.owner, now_ms=now_ms)
            incidents = counted_up(found, known)
            yield from (incident_record(name, incident) for incident in incidents)
