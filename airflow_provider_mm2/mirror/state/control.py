"""The control lease and what is written under it beside the flow record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import Fenced
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.state.gate import check_open, read_gate
from airflow_provider_mm2.mirror.state.lease import Lease, held_lease
from airflow_provider_mm2.mirror.state_model import FlowRecord, StateRecord


@contextmanager
def control_lease(flow: MirrorFlow, target: TargetCluster, owner: str, tick: Tick) -> Iterator[Lease]:
    """Hold the control lease: one at a time decides what stands in the gate's topic.

    :raises LeaseHeld: somebody else, a failover perhaps, still held it after ``lease_wait_s``.
    """
    group = naming.lease_group(naming.control_id(flow.name))
    topic = naming.gate_topic(flow.name)
    with held_lease(flow, target, group=group, topic=topic, owner=owner, tick=tick) as lease:
        yield lease


@dataclass(slots=True, kw_only=True)
class ControlNotes:
    """Writes records beside the flow record, which must stand as it was; fences on the first write.

    :param record: the flow record as the writer knows it.
    """

    target: TargetCluster
    record: FlowRecord
    lease: Lease
    tick: Tick
    _writer: StateWriter | None = field(default=None)

    def keep(self) -> None:
        """Tick, and keep the lease."""
        self.tick()
        self.lease.keep()

    def write(self, records: Sequence[StateRecord]) -> None:
        """Write all in one transaction; nothing to write fences nobody.

        :raises FlowFrozen: a failover has begun.
        :raises Fenced: the flow record is another one, or another writer came.
        """
        if not records:
            return
        self.keep()
        if self._writer is None:
            self._writer = self.target.state_writer(naming.control_id(self.record.flow))
            self._writer.fence(self.tick)
            standing = read_gate(self.target, self.record.flow, self.tick)
            if standing is not None:
                check_open(standing)
            if standing != self.record:
                why = "the flow record was changed meanwhile"
                raise Fenced(transactional_id=naming.control_id(self.record.flow), why=why)
        self._writer.write(records, self.keep)

    def close(self) -> None:
        """Let the writer go."""
        if self._writer is not None:
            self._writer.close()
