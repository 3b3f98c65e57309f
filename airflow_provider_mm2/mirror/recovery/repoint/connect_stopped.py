"""Sinks are repointed while they are stopped: one that runs would read the other cluster from anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.rest import ConnectRest
from airflow_provider_mm2.mirror.errors import RepointRefused
from airflow_provider_mm2.mirror.recovery.repoint.connect import OFFSETS, parts_of
from airflow_provider_mm2.mirror.recovery.repoint.item_by_item import ItemByItem
from airflow_provider_mm2.mirror.recovery.repoint.ports import Note, RepointPlan
from airflow_provider_mm2.mirror.recovery.repoint.stopping import Stopping
from airflow_provider_mm2.mirror.web.waiting import wait_until


@dataclass(frozen=True, kw_only=True)
class StoppedSinks(ItemByItem):
    """A repointer of sinks that somebody else stops."""

    rest: ConnectRest

    def apply(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Change item by item, when every connector whose offsets are to be set is stopped.

        :raises RepointRefused: one is not; nothing was changed.
        """
        entries = [] if plan.recorded is None else plan.recorded["entries"]
        parts = [parts_of(entry["key"]) for entry in entries]
        running = []
        for name in sorted({name for name, what, _ in parts if what == OFFSETS}):
            state = self._settled(name, tick)
            if state != "STOPPED":
                running.append(f"connector {name} is {state}, and its offsets can be set only while it is stopped")
        if running:
            raise RepointRefused(name=self.name, problems=tuple(running))
        return super().apply(plan, note, tick)

    def _settled(self, name: str, tick: Tick) -> str:
        """How a connector runs, once the workers have given it to one of them."""
        states: list[str] = []

        def is_settled() -> bool:
            states.append(self.rest.status(name, tick)["connector"]["state"])
            return states[-1] != "UNASSIGNED"

        wait_until(is_settled, tick, limit_s=self.rest.wait_s)
        return states[-1]


@dataclass(frozen=True, kw_only=True)
class StoppingSinks(StoppedSinks, Stopping):
    """A repointer of sinks that stops them itself, when it is asked to."""
