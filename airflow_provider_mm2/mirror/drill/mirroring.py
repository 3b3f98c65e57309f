"""What mirrors a drill's topics: runs, or connectors of the drill's own on the flow's Connect cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Protocol

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.conditions.connectors import check_failures
from airflow_provider_mm2.mirror.connect.connectors import Connector
from airflow_provider_mm2.mirror.connect.flow_connectors import Action, FlowConnectors
from airflow_provider_mm2.mirror.connect.source_offsets import SourceOffsets
from airflow_provider_mm2.mirror.drill.flow import DrillFlow
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.handover.recording import connectors_at_work
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.run import run_mirror
from airflow_provider_mm2.mirror.web.waiting import pause

PAUSE_S = 0.5
"""Between two looks at how far the connectors are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectSide:
    """The way to the connectors of any flow on the Connect cluster that it names.

    :param connectors: gives a flow's connectors; nothing is contacted.
    :param wanted: gives them as they are to be.
    """

    connectors: Callable[[MirrorFlow], FlowConnectors]
    wanted: Callable[[MirrorFlow], Sequence[Connector]]


class Mirroring(Protocol):
    """Brings what was written to the target, until a failover ends it."""

    def begin(self, tick: Tick) -> None:
        """Once the topics are there."""

    def go_on(self, tick: Tick) -> int:
        """Let some of it come over; gives how many records have in all."""

    def left(self, tick: Tick) -> list[str]:
        """What of it is there, beside topics and groups."""

    def clean(self, tick: Tick) -> None:
        """Take it away, also what a dead drill left."""


@dataclass(slots=True)
class ByRuns:
    """One bounded run after the other."""

    flow: DrillFlow
    pair: ClusterPair
    owner: str
    records: int = 0

    def begin(self, tick: Tick) -> None:
        """Nothing to do: a run prepares what it needs."""

    def go_on(self, tick: Tick) -> int:
        """Run once."""
        bounds = RunBounds(until=None, since=None, started=datetime.now(timezone.utc))
        summary = run_mirror(self.flow, self.pair, bounds=bounds, owner=self.owner)
        self.records += sum(part.records for part in summary.partitions)
        return self.records

    def left(self, tick: Tick) -> list[str]:
        """A run leaves topics and groups alone."""
        return []

    def clean(self, tick: Tick) -> None:
        """Nothing to do."""


@dataclass(slots=True)
class ByConnectors:
    """MirrorMaker 2's connectors, put for the drill."""

    flow: DrillFlow
    pair: ClusterPair
    owner: str
    side: ConnectSide

    def begin(self, tick: Tick) -> None:
        """Put them.

        :raises MirrorError: the Connect cluster refuses them, or does not answer.
        """
        connectors, wanted = self.side.connectors(self.flow), self.side.wanted(self.flow)
        plan = connectors.plan(wanted, target_cluster=self.pair.target.cluster_id, tick=tick)
        with connectors_at_work(self.flow, self.pair, owner=self.owner, tick=tick) as keep:
            connectors.put(plan, wanted, tick=keep)

    def go_on(self, tick: Tick) -> int:
        """Look how far they are.

        :raises ConnectFailed: one has failed.
        """
        status = self.side.connectors(self.flow).status(tick)
        check_failures(self.flow, status)
        pause(tick, PAUSE_S)
        return sum(status.progress.values())

    def left(self, tick: Tick) -> list[str]:
        """Connectors of the drill that are there."""
        return sorted(self.side.connectors(self.flow).there(tick))

    def clean(self, tick: Tick) -> None:
        """Stop and delete them, and their offsets: the next drill's topics have the same names, and begin at 0."""
        connectors = self.side.connectors(self.flow)
        offsets = SourceOffsets(connectors=connectors)
        offsets.stop(tick)
        if offsets.name in connectors.there(tick):
            connectors.rest.forget_offsets(offsets.name, tick)
        connectors.act(Action.DELETE, tick=tick)
