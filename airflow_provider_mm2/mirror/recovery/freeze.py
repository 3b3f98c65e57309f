"""Step 4: the gate is shut, then every mirror run is fenced. In this order, or a run slips in between.

A run fences its own id first and reads the gate after, so it either sees that the gate is shut or is fenced. Without
transactions nothing can be fenced: each shard's lease is taken for a moment, which shows that nobody is at work, and a
run that slept looks at the flow record before it writes its ledger.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.recovery.record import StepNote
from airflow_provider_mm2.mirror.recovery.steps import FREEZE
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.state.lease import held_lease
from airflow_provider_mm2.mirror.state_model import ActiveSide, Delivery


def freeze(work: Work) -> Detail:
    """Shut the gate and fence; what the gate was is kept, for a rollback."""
    begun = work.journal.recorded.steps[FREEZE]
    before: Detail = {"active_side": work.record.active_side.value, "frozen": work.record.frozen}
    if _has_gate(begun):
        before = {name: begun.detail[name] for name in before}
    work.journal.note(replace(begun, detail=before), gate_record=replace(work.record, frozen=True))
    fenced = fence_all(work)
    work.groups_writer()
    return {**before, "fenced": fenced}


def fence_all(work: Work) -> list[str]:
    """End every writer of the flow; gives the transactional ids."""
    ids = [naming.transactional_id(work.flow.name, number) for number in range(work.record.shards)]
    for each in ids:
        if work.record.delivery is Delivery.AT_LEAST_ONCE:
            _see_nobody_at(work, each)
            continue
        writer = work.target.state_writer(each)
        try:
            writer.fence(work.tick)
        finally:
            writer.close()
    return ids


def _see_nobody_at(work: Work, transactional_id: str) -> None:
    group, topic = naming.lease_group(transactional_id), naming.gate_topic(work.flow.name)
    with held_lease(work.flow, work.target, group=group, topic=topic, owner=work.owner, tick=work.tick):
        pass


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
