"""The one way that things are changed and put back: item by item, each looked at before it is touched.

R1  An item is written only while there stands what the plan saw; else it is refused, or told when it is put back.
R2  What the plan saw, and what it wants, is recorded before the first change, and after each what became of it.
R3  A secret is never recorded: the flow tells it again, for the side left or the side that becomes active. A secret
    that is neither is a problem, and nothing is changed.

So a process that dies between a change and its record leaves an item that is found in place by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import (
    EndpointRefused,
    EndpointTooSlow,
    EndpointUnreachable,
    RepointChangedMeanwhile,
    RepointPlaceMissing,
    RepointRefused,
    RepointUnreadable,
    RepointValueMissing,
    TlsUnusable,
)
from airflow_provider_mm2.mirror.recovery.repoint.places import Places, Wanted, Wishes, concerns
from airflow_provider_mm2.mirror.recovery.repoint.ports import Item, ItemState, Json, Move, Note, RepointPlan
from airflow_provider_mm2.mirror.recovery.repoint.values import (
    Held,
    Present,
    has_secret_shape,
    is_secret_key,
    reads_environment,
    same,
    shown,
    value_for,
)

SIDE_LEFT, SIDE_TAKEN = "from", "to"

TOLD = (
    EndpointRefused,
    EndpointUnreachable,
    RepointChangedMeanwhile,
    RepointPlaceMissing,
    RepointRefused,
    EndpointTooSlow,
    RepointUnreadable,
    RepointValueMissing,
    TlsUnusable,
)
"""What becomes an item's problem; anything else, such as what a tick raises, ends the work."""


@dataclass(frozen=True, kw_only=True)
class ItemByItem:
    """A repointer over places.

    :param groups: patterns; where none of the groups that move matches one, there is nothing to do.
    """

    name: str
    kind: str
    places: Places
    wishes: Wishes
    groups: tuple[str, ...] = ()

    def plan(self, move: Move, tick: Tick) -> RepointPlan:
        """What there is to change; only reads."""
        empty = RepointPlan(name=self.name, kind=self.kind, items=())
        if not concerns(self.groups, move):
            return replace(empty, detail=f"none of its groups moves ({', '.join(self.groups)})")
        try:
            wanted = self.wishes.wanted(move, tick)
        except TOLD as error:
            told = Item(where=self.name, before="", after="", state=ItemState.PROBLEM, detail=error.first_line)
            return replace(empty, items=(told,))
        planned = [self._planned(one, move, tick) for one in wanted]
        recorded = {
            "move": move.without_offsets().to_json(),
            "entries": [{"key": one.key, **entry} for one, (_, entry) in zip(wanted, planned, strict=True)],
        }
        return replace(empty, items=tuple(item for item, _ in planned), recorded=recorded)

    def apply(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Change item by item, each only from what the plan saw."""
        problems = tuple(f"{item.where}: {item.detail}" for item in plan.items if item.state is ItemState.PROBLEM)
        if problems:
            raise RepointRefused(name=self.name, problems=problems)
        note(plan)
        for number in range(len(plan.items)):
            plan = self._carried_out(plan, number, note, tick, self._change)
        return plan

    def undo(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Put back what was recorded, in the same order: what restarts applications comes last both ways."""
        if plan.recorded is None:
            return plan
        note(plan)
        for number in range(len(plan.items)):
            plan = self._carried_out(plan, number, note, tick, self._put_back)
        return plan

    def verify(self, plan: RepointPlan, tick: Tick) -> RepointPlan:
        """The plan with what stands there now."""
        if plan.recorded is None:
            return plan
        return replace(plan, items=tuple(self._looked_at(plan, number, tick) for number in range(len(plan.items))))

    def _planned(self, wanted: Wanted, move: Move, tick: Tick) -> tuple[Item, dict[str, Json]]:
        where = self.places.where(wanted.key)
        try:
            left, unknown = self._left(wanted, move, where)
            taken = Held(value_for(wanted.value, move, move.to_alias, where))
            now = None if wanted.one_way else self.places.read(wanted.key, tick)
        except TOLD as error:
            found = Item(where=where, before="", after="", state=ItemState.PROBLEM, detail=error.first_line)
            return found, {}
        secret = is_secret_key(wanted.key) or reads_environment(wanted.value)
        secret = secret or any(map(has_secret_shape, (left, taken, now)))
        if unknown and secret:
            return Item(where=where, before="", after="", state=ItemState.PROBLEM, detail=unknown), {}
        left = left or now or taken
        state, detail = _state(now, left, taken, wanted, secret=secret)
        item = Item(
            where=where,
            before=shown(now, secret=secret),
            after=shown(taken, secret=secret),
            state=state,
            detail=detail,
        )
        side = SIDE_TAKEN if same(now, taken) else SIDE_LEFT if same(now, left) else None
        before = side if secret else _recorded(now)
        after = SIDE_TAKEN if secret else _recorded(taken)
        return item, {"before": before, "after": after, "secret": secret, "one_way": wanted.one_way}

    def _left(self, wanted: Wanted, move: Move, where: str) -> tuple[Present, str]:
        """What stands there for the side that is left, or why that cannot be told: its addresses may be gone with it.

        Then whatever stands there is taken for it; a secret, which is never recorded, could not be put back so.
        """
        try:
            return Held(value_for(wanted.value, move, move.from_alias, where)), ""
        except RepointValueMissing as error:
            return None, error.first_line

    def _carried_out(self, plan: RepointPlan, number: int, note: Note, tick: Tick, step: _Step) -> RepointPlan:
        """One item changed or put back, and that on record; also that it failed."""
        tick()
        item = plan.items[number]
        try:
            done = step(plan, number, tick)
        except TOLD as error:
            failed = replace(item, state=ItemState.PROBLEM, detail=error.first_line)
            note(_with_item(plan, number, failed))
            raise
        plan = _with_item(plan, number, done)
        note(plan)
        return plan

    def _change(self, plan: RepointPlan, number: int, tick: Tick) -> Item:
        key, before, after = self._recorded_values(plan, number, tick)
        item, now = plan.items[number], self.places.read(key, tick)
        if same(now, after):
            return replace(item, state=ItemState.IN_PLACE)
        if _is_one_way(plan, number):
            before = now
        if not same(now, before):
            secret = _is_secret(plan, number)
            raise RepointChangedMeanwhile(
                where=item.where, now=shown(now, secret=secret), expected=shown(before, secret=secret)
            )
        self.places.write(key, before, after, tick)
        return replace(item, state=ItemState.IN_PLACE, detail="changed")

    def _put_back(self, plan: RepointPlan, number: int, tick: Tick) -> Item:
        item = plan.items[number]
        if not _was_read(plan, number):
            return item
        if _is_one_way(plan, number):
            return replace(item, state=ItemState.TO_CHANGE, detail="left as it is, on the side that is given up")
        key, before, after = self._recorded_values(plan, number, tick)
        now = self.places.read(key, tick)
        if same(now, before):
            state = ItemState.IN_PLACE if same(before, after) else ItemState.TO_CHANGE
            return replace(item, state=state, detail="as before")
        if not same(now, after):
            told = f"left alone, somebody changed it since: {shown(now, secret=_is_secret(plan, number))}"
            return replace(item, state=ItemState.UNEXPECTED, detail=told)
        self.places.write(key, after, before, tick)
        return replace(item, state=ItemState.TO_CHANGE, detail="put back")

    def _looked_at(self, plan: RepointPlan, number: int, tick: Tick) -> Item:
        item = plan.items[number]
        if not _was_read(plan, number):
            return item
        try:
            key, before, after = self._recorded_values(plan, number, tick)
            now = self.places.read(key, tick)
        except TOLD as error:
            return replace(item, state=ItemState.PROBLEM, detail=error.first_line)
        if same(now, after):
            return replace(item, state=ItemState.IN_PLACE)
        if same(now, before) or _is_one_way(plan, number):
            return replace(item, state=ItemState.TO_CHANGE)
        told = shown(now, secret=_is_secret(plan, number))
        return replace(item, state=ItemState.UNEXPECTED, detail=f"there stands {told}")

    def _recorded_values(self, plan: RepointPlan, number: int, tick: Tick) -> tuple[str, Present, Present]:
        """The key, what the plan saw and what it wants; what is a secret is asked of the flow again."""
        entry, move = plan.recorded["entries"][number], Move.from_json(plan.recorded["move"])
        sides = {SIDE_LEFT: move.from_alias, SIDE_TAKEN: move.to_alias}

        def value(recorded: Json) -> Present:
            if not isinstance(recorded, str):
                return None if recorded is None else Held(recorded["value"])
            wanted = {one.key: one for one in self.wishes.wanted(move, tick)}.get(entry["key"])
            if wanted is None:
                gone = f"{self.places.where(entry['key'])}: the flow says nothing of it any more"
                raise RepointRefused(name=self.name, problems=(gone,))
            return Held(value_for(wanted.value, move, sides[recorded], self.places.where(entry["key"])))

        return entry["key"], value(entry["before"]), value(entry["after"])


class _Step(Protocol):
    def __call__(self, plan: RepointPlan, number: int, tick: Tick) -> Item: ...


def _with_item(plan: RepointPlan, number: int, item: Item) -> RepointPlan:
    return replace(plan, items=(*plan.items[:number], item, *plan.items[number + 1 :]))


def _was_read(plan: RepointPlan, number: int) -> bool:
    return "after" in plan.recorded["entries"][number]


def _is_secret(plan: RepointPlan, number: int) -> bool:
    return bool(plan.recorded["entries"][number]["secret"])


def _is_one_way(plan: RepointPlan, number: int) -> bool:
    return bool(plan.recorded["entries"][number].get("one_way"))


def _recorded(present: Present) -> Json:
    """A value as it is recorded; of a secret only its side is, and of one that is neither side's nothing."""
    return None if present is None else {"value": present.value}


def _state(now: Present, left: Held, taken: Held, wanted: Wanted, *, secret: bool) -> tuple[ItemState, str]:
    if same(now, taken):
        return ItemState.IN_PLACE, ""
    if now is None and not (wanted.may_create or wanted.one_way):
        return ItemState.PROBLEM, "it is not there; 'create: true' would add it"
    if now is None or same(now, left):
        return ItemState.TO_CHANGE, ""
    if secret:
        return ItemState.PROBLEM, "there stands a secret that the flow does not know, which could not be put back"
    if same(left, taken):
        return ItemState.TO_CHANGE, ""
    return ItemState.UNEXPECTED, f"the flow says {shown(left, secret=False)} for the side that is left"
