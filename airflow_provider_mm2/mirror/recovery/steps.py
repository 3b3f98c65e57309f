"""The steps of a failover, numbered, in one table; cited elsewhere by these numbers. Pure.

Each is idempotent, and recorded on the target before and after, so that whoever comes next goes on where the last one
stopped. A rollback undoes, in this order, 9 (repoints), 7 (offsets), 4 (the freeze) and 2 (the stopping of groups),
each from what was recorded before it was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Mode(str, Enum):
    """Whether the source is there to be drained, or is never spoken to."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"


class StepState(str, Enum):
    """How far a step is."""

    TO_DO = "to do"
    BEGUN = "begun"
    DONE = "done"
    LEFT_OUT = "left out"
    FAILED = "failed"
    UNDOING = "undoing"
    UNDONE = "undone"

    @property
    def is_over(self) -> bool:
        """Whether a failover goes on behind it."""
        return self in (StepState.DONE, StepState.LEFT_OUT)


class Stage(str, Enum):
    """How far a failover is as a whole."""

    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting approval"
    CLOSED = "closed"
    ROLLING_BACK = "rolling back"
    ROLLED_BACK = "rolled back"
    REOPENED = "reopened"
    FAILED_BACK = "failed back"

    @property
    def is_open(self) -> bool:
        """Whether somebody has to end it."""
        return self in (Stage.RUNNING, Stage.AWAITING_APPROVAL, Stage.ROLLING_BACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row of the table; ``unplanned``: whether it is there when the source is gone."""

    number: int
    name: str
    does: str
    unplanned: bool = True


PREFLIGHT, QUIET, DRAIN, FREEZE, TRANSLATE, APPROVAL, OFFSETS, CANARY, REPOINT, CONFIRM, CLOSE = range(1, 12)

STEPS = (
    Step(number=PREFLIGHT, name="preflight", does="look at all that is needed, and refuse what cannot work"),
    Step(number=QUIET, name="source quiet", does="stop the groups, prove that nobody writes", unplanned=False),
    Step(number=DRAIN, name="drain", does="mirror to the end, and read where the groups stand", unplanned=False),
    Step(number=FREEZE, name="freeze", does="shut the gate, then fence every mirror run"),
    Step(number=TRANSLATE, name="translate", does="find every group's place on the target"),
    Step(number=APPROVAL, name="approval", does="wait for the word of a person"),
    Step(number=OFFSETS, name="apply offsets", does="commit the groups' positions on the target, and read them back"),
    Step(number=CANARY, name="canary", does="write and read back on topics like those of the flow"),
    Step(number=REPOINT, name="repoint", does="read the positions again, and point the applications at the target"),
    Step(number=CONFIRM, name="confirm", does="see the groups at work on the target"),
    Step(number=CLOSE, name="close", does="record which side is active"),
)


class Phase(str, Enum):
    """A part of a failover that is a call, or a task, of its own."""

    PLAN = "plan"
    APPLY = "apply"
    REPOINT = "repoint"
    CONFIRM = "confirm"
    ROLLBACK = "rollback"


STEPS_OF_PHASE = {
    Phase.PLAN: (PREFLIGHT, APPROVAL),
    Phase.APPLY: (APPROVAL, CANARY),
    Phase.REPOINT: (REPOINT, REPOINT),
    Phase.CONFIRM: (CONFIRM, CLOSE),
}
"""First and last step of each phase; ``plan`` comes to the approval and passes it only where it was given before."""

UNDONE_IN_ORDER = (REPOINT, OFFSETS, FREEZE, QUIET)
"""The steps that a rollback undoes; the others have changed nothing that stays."""


def steps_of(mode: Mode, *, until: int = CLOSE) -> tuple[Step, ...]:
    """The steps of a failover of one kind, in order, up to one of them."""
    return tuple(step for step in STEPS if step.number <= until and (step.unplanned or mode is Mode.PLANNED))


def step(number: int) -> Step:
    """One step by its number."""
    return STEPS[number - 1]
