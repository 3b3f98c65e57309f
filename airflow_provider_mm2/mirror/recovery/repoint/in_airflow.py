"""What only Airflow can change, told exactly where there is no Airflow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.recovery.repoint.places import Wanted, concerns
from airflow_provider_mm2.mirror.recovery.repoint.ports import Item, ItemState, Move, Note, RepointPlan
from airflow_provider_mm2.mirror.recovery.repoint.values import (
    Held,
    has_secret_shape,
    is_secret_key,
    reads_environment,
    shown,
    value_for,
)


@dataclass(frozen=True, kw_only=True)
class ToDoInAirflow:
    """A repointer that changes nothing, and says at every step what is left for a person to do.

    :param subject: what it is in Airflow, such as ``Variable orders``.
    """

    name: str
    kind: str
    subject: str
    values: tuple[Wanted, ...]
    groups: tuple[str, ...] = ()

    def plan(self, move: Move, tick: Tick) -> RepointPlan:
        """The change, as a person makes it."""
        if not concerns(self.groups, move):
            detail = f"none of its groups moves ({', '.join(self.groups)})"
            return RepointPlan(name=self.name, kind=self.kind, items=(), detail=detail)
        items = tuple(self._item(wanted, move) for wanted in self.values)
        return RepointPlan(
            name=self.name, kind=self.kind, items=items, recorded={"move": move.without_offsets().to_json()}
        )

    def apply(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Nothing but the record that it is to be done."""
        note(plan)
        return plan

    def verify(self, plan: RepointPlan, tick: Tick) -> RepointPlan:
        """Nobody here can see whether it was done."""
        return plan

    def undo(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """The change back, as a person makes it."""
        if plan.recorded is None:
            return plan
        move = Move.from_json(plan.recorded["move"])
        back = self.plan(replace(move, from_alias=move.to_alias, to_alias=move.from_alias), tick)
        undone = replace(plan, items=back.items)
        note(undone)
        return undone

    def _item(self, wanted: Wanted, move: Move) -> Item:
        where = f"{wanted.key} of {self.subject}"
        try:
            left = Held(value_for(wanted.value, move, move.from_alias, where))
            taken = Held(value_for(wanted.value, move, move.to_alias, where))
        except MirrorError as error:
            return Item(where=where, before="", after="", state=ItemState.PROBLEM, detail=error.first_line)
        secret = is_secret_key(wanted.key) or reads_environment(wanted.value) or has_secret_shape(taken)
        after = shown(taken, secret=secret)
        detail = f"set {where} to {after}, in Airflow or its API"
        return Item(
            where=where, before=shown(left, secret=secret), after=after, state=ItemState.IN_AIRFLOW, detail=detail
        )
