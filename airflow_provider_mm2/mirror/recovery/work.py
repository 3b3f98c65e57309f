"""What the steps of a failover share: the flow, its clusters as far as they may be spoken to, and the journal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.offsets.entry import groups_writer
from airflow_provider_mm2.mirror.recovery.journal import Journal
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.repoint.ports import Repointer
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.state.engines import as_recorded
from airflow_provider_mm2.mirror.state_model import FlowRecord

log = logging.getLogger(__name__)

Detail = dict[str, Any]
"""What is told of a step, as plain values."""

Report = Callable[[str], None]

PAUSE_S = 0.2


def now_ms() -> int:
    """The time, in milliseconds since 1970."""
    return int(time.time() * 1000)


@dataclass(slots=True, kw_only=True)
class Work:
    """One attempt at a failover, the control lease held.

    :param given: the flow as its file says.
    :param pair: both clusters; None where the source is not to be spoken to, and then nothing can.
    :param reachable: the clusters, of which the source is not asked where it is not to be.
    :param connectors: gives the way to the flow's connectors, where it may have some.
    :param report: told in a line what is being done.
    :param bootstrap: addresses of the clusters by alias, for repointers.
    """

    given: MirrorFlow
    target: TargetCluster
    pair: ClusterPair | None
    reachable: ClusterPair
    order: Order
    owner: str
    journal: Journal
    report: Report
    held: ExitStack
    repointers: tuple[Repointer, ...] = ()
    bootstrap: Mapping[str, str] = field(default_factory=dict)
    connectors: Callable[[], FlowConnectors] | None = None
    _writer: StateWriter | None = field(default=None)
    _keep_groups: Tick | None = field(default=None)

    @property
    def flow(self) -> MirrorFlow:
        """The flow, with the engine that mirrors it by its record."""
        return self.given if self.journal.record is None else as_recorded(self.given, self.journal.record)

    @property
    def record(self) -> FlowRecord:
        """The flow record as it stands."""
        if self.journal.record is None:
            raise RuntimeError("the flow has no record")
        return self.journal.record

    @property
    def both(self) -> ClusterPair:
        """Both clusters, where the order allows it."""
        if self.pair is None or self.order.mode is Mode.UNPLANNED:
            raise RuntimeError("an unplanned failover does not speak to the source")
        return self.pair

    @property
    def source(self) -> ClusterReader:
        """The source, where the order allows it."""
        return self.both.source

    def tick(self) -> None:
        """Called in every wait: somebody may want to stop, and the leases are kept."""
        self.journal.keep()
        if self._keep_groups is not None:
            self._keep_groups()

    def groups_writer(self) -> StateWriter:
        """The fenced writer of what is known of groups; from the first call on no mirror run writes groups."""
        if self._writer is None:
            entered = groups_writer(self.flow, self.target, self.owner, self.journal.keep)
            self._writer, self._keep_groups = self.held.enter_context(entered)
        return self._writer

    def waits(self, seconds: float) -> Iterator[float]:
        """Wait in small pauses; gives how many seconds are left, at least once."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            yield left
            if left <= 0:
                return
            self.tick()
            time.sleep(min(PAUSE_S, max(left, 0)))
