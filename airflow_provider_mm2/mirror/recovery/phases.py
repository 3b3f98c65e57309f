"""A failover in phases, each of which may be asked for again at any time, by whoever orchestrates them.

An orchestrated run makes one failover: the one that its own ``plan`` began. ``plan`` finds it by the owner, the later
phases by the digest of its plan.
"""

from __future__ import annotations

from airflow_provider_mm2.mirror.errors import FailoverOver, GroupsLeft, PhaseTooEarly
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import APPROVAL, STEPS_OF_PHASE, Mode, Phase, Stage, StepState, steps_of

NAMED = 10
"""Groups that an error names."""


def plan(at_work: Failover, known: FailoverReport, order: Order, run: str) -> FailoverReport:
    """Begin, or go on with what this run began, up to the approval; what is awaiting it gives the same numbers.

    :param known: the newest failover of the flow.
    :param run: what the owners of this run's tasks begin with.
    :raises FailoverOver: this run's failover has been undone.
    """
    failover = known.failover
    if failover is None or not failover.begun_by.startswith(run) or known.is_refused:
        return at_work.start(order, until=APPROVAL)
    if failover.stage.is_open:
        return at_work.resume(until=APPROVAL)
    if failover.stage is not Stage.CLOSED:
        raise FailoverOver(flow=at_work.flow.name, number=failover.number, stage=failover.stage.value)
    return known


def go_on(
    phase: Phase, at_work: Failover, known: FailoverReport, *, digest: str | None, by: str | None
) -> FailoverReport:
    """Do the steps of ``apply``, ``repoint`` or ``confirm``; on a failover that is closed there is nothing to do.

    :param digest: of the plan that is meant.
    :raises PhaseTooEarly: a step before them is not over.
    :raises PlanChanged: the failover has another plan.
    :raises NoFailover: none is open, and the last is not the one that is meant.
    """
    if is_closed(known, digest):
        return known
    first, last = STEPS_OF_PHASE[phase]
    failover = known.failover
    if failover is not None and failover.stage.is_open:
        _check_over(phase, known, failover.order.mode, before=first)
    return at_work.resume(digest=digest, by=by, until=last)


def roll_back(at_work: Failover, known: FailoverReport, *, digest: str | None) -> FailoverReport:
    """Undo the failover that is open; one that is undone already is left as it is.

    :param digest: of the plan that is meant; None: whichever is open.
    :raises NoFailover: it is closed, or there is none.
    """
    failover = known.failover
    undone = failover is not None and failover.stage is Stage.ROLLED_BACK and digest in (None, failover.digest)
    return known if undone else at_work.rollback(digest=digest)


def is_closed(known: FailoverReport, digest: str | None) -> bool:
    """Whether the failover that is meant has come to its end."""
    failover = known.failover
    return failover is not None and failover.stage is Stage.CLOSED and digest in (None, failover.digest)


def check_all_moved(report: FailoverReport) -> None:
    """See that no group was passed over.

    :raises GroupsLeft: some were; all the others are moved.
    """
    left = report.not_moved
    if left:
        raise GroupsLeft(flow=report.record.flow, count=len(left), groups=left[:NAMED])


def _check_over(phase: Phase, known: FailoverReport, mode: Mode, *, before: int) -> None:
    for each in steps_of(mode, until=before - 1):
        note = known.steps.get(each.number)
        state = StepState.TO_DO if note is None else note.state
        if not state.is_over:
            step = f"step {each.number} ({each.name})"
            raise PhaseTooEarly(flow=known.record.flow, phase=phase.value, step=step, state=state.value)
