"""What both directions of a hand-over work with, and the flow record that they change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.connect.source_offsets import SourceOffsets
from airflow_provider_mm2.mirror.errors import HandOverRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.survey import check_facts, wanted_record
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.control import control_lease
from airflow_provider_mm2.mirror.state.gate import check_open, find_gate, read_gate, write_gate
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord
from airflow_provider_mm2.mirror.web.waiting import wait_until

Say = Callable[[str], None]

SETTLE_S = 60.0
"""Longest wait for open transactions on the target, beside the flow's own limit for one."""


@dataclass(frozen=True, kw_only=True)
class HandOverWork:
    """A flow, its clusters and its connectors.

    :param flow: with the engine that it is to have.
    :param owner: who this is; recorded, and told to whoever waits.
    :param tick: called in every wait; raises when somebody wants to stop.
    :param say: told in a line what is being done.
    :param lease: the control lease, where the caller holds it.
    """

    flow: MirrorFlow
    pair: ClusterPair
    offsets: SourceOffsets
    owner: str
    tick: Tick
    say: Say
    lease: Lease | None = None

    def standing(self) -> FlowRecord | None:
        """The flow record, of this flow and open; None where it was never mirrored.

        :raises FlowChanged: it is of other clusters or names.
        :raises FlowFrozen: a failover holds it.
        """
        record = find_gate(self.pair.target, self.flow.name, self.tick)
        if record is not None:
            check_facts(record, wanted_record(self.flow, self.pair))
            check_open(record)
        return record

    @contextmanager
    def under_lease(self) -> Iterator[tuple[Lease, Tick]]:
        """Nobody else decides about the flow.

        :raises LeaseHeld: somebody else does, a failover perhaps.
        """
        if self.lease is not None:
            yield self.lease, self.tick
            return
        with control_lease(self.flow, self.pair.target, self.owner, self.tick) as lease:
            yield lease, lease.keeping(self.tick)

    def record(self, engine: Engine, lease: Lease, tick: Tick) -> FlowRecord:
        """Write down what mirrors the flow from here on."""
        standing = read_gate(self.pair.target, self.flow.name, tick)
        if standing is None:
            raise HandOverRefused(flow=self.flow.name, problems=("its flow record went away meanwhile",))
        new = replace(standing, engine=engine)
        if new != standing:
            write_gate(self.pair.target, expected=standing, new=new, lease=lease, tick=tick)
        return new

    def see_settled(self, targets: Collection[TopicPartition], tick: Tick) -> None:
        """Wait until no transaction is open on the target: what one held would come behind what is copied next.

        :raises HandOverRefused: one stays open.
        """
        held: list[str] = []

        def is_settled() -> bool:
            logs = self.pair.target.log_offsets(targets) if targets else {}
            held[:] = [f"{part} from {log.stable:,} on" for part, log in sorted(logs.items()) if log.stable < log.end]
            return not held

        if not wait_until(is_settled, tick, limit_s=self.flow.transaction_timeout_s + SETTLE_S):
            problem = f"a transaction is still open on the target, on {', '.join(held[:10])}"
            cause = "a worker that died in the middle of one, or an application of somebody else's"
            raise HandOverRefused(flow=self.flow.name, problems=(problem,), cause=cause)
