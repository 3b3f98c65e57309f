"""Step 4: the gate is shut, then every mirror run is fenced. In this order, or a run slips in between."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_mm2.mirror.recovery.from_connectors import take_from_connectors
from airflow_provider_mm2.mirror.recovery.record import StepNote
from airflow_provider_mm2.mirror.recovery.steps import FREEZE
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.state.fencing import fence_runs
from airflow_provider_mm2.mirror.state_model import ActiveSide


def freeze(work: Work) -> Detail:
    """Shut the gate and fence; what the gate was is kept, for a rollback."""
    taken = take_from_connectors(work)
    begun = work.journal.recorded.steps[FREEZE]
    before: Detail = {"active_side": work.record.active_side.value, "frozen": work.record.frozen}
    if _has_gate(begun):
        before = {name: begun.detail[name] for name in before}
    work.journal.note(replace(begun, detail=before), gate_record=replace(work.record, frozen=True))
    fenced = fence_runs(work.flow, work.target, work.record, work.owner, work.tick)
    work.groups_writer()
    return {**before, **taken, "fenced": fenced}


def _has_gate(note: StepNote) -> bool:
    """Whether the gate was written, so that what it was before is in the step's note."""
    return "active_side" in note.detail


def thaw(work: Work, done: StepNote, undone: StepNote) -> None:
    """Give the gate back what it was before the freeze, in one write with the note that says so."""
    if not _has_gate(done):  # it ended before the gate was written
        work.journal.note(undone)
        return
    side = ActiveSide(done.detail["active_side"])
    gate_record = replace(work.record, frozen=bool(done.detail["frozen"]), active_side=side)
    work.journal.note(undone, gate_record=gate_record)
