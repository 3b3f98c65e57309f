"""Repointers that also stop and start the consumers: the same rules, over how the consumers run."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.recovery.repoint.item_by_item import ItemByItem
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move, Note, RepointPlan


@dataclass(frozen=True, kw_only=True)
class Stopping(ItemByItem):
    """A repointer over places, and another one over how the consumers run."""

    running: ItemByItem

    def plan_stop(self, move: Move, tick: Tick) -> RepointPlan:
        """What is to be stopped; only reads."""
        return self.running.plan(move, tick)

    def stop(self, asked: Move | RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Stop what runs, with how it ran on record first."""
        plan = self.running.plan(asked, tick) if isinstance(asked, Move) else asked
        return self.running.apply(plan, note, tick)

    def start(self, stopped: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Have it run as it did."""
        return self.running.undo(stopped, note, tick)
