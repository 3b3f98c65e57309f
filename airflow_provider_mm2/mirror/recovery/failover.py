"""A failover, planned or not: one table of steps (``steps.py``), each done once, recorded before and after.

Whoever is at work holds the control lease throughout. A process that dies leaves what it recorded; ``resume`` does the
first step again that is not over. Nothing goes past step 6 without the word of a person, which is bound to the digest
of the plan that step 5 made; step 7 looks again and refuses when what it finds is not what was approved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.errors import (
    FailoverUnderWay,
    MirrorError,
    NoFailover,
    NotReopenable,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.actions import DO, UNDO, take_back, written_since
from airflow_provider_mm2.mirror.recovery.approval import Word, check_digest, is_approved
from airflow_provider_mm2.mirror.recovery.freeze import thaw
from airflow_provider_mm2.mirror.recovery.from_connectors import check_connectors
from airflow_provider_mm2.mirror.recovery.journal import Recorded, held_journal, read_recorded
from airflow_provider_mm2.mirror.recovery.planning import (
    check_none_open,
    check_side,
    find_record,
    look,
    look_beforehand,
)
from airflow_provider_mm2.mirror.recovery.record import FailoverRecord, Order, StepNote, not_closed
from airflow_provider_mm2.mirror.recovery.repoint.ports import Repointer
from airflow_provider_mm2.mirror.recovery.repointing import preview_of, with_repoints
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import (
    APPROVAL,
    CLOSE,
    FREEZE,
    REPOINT,
    UNDONE_IN_ORDER,
    Mode,
    Stage,
    StepState,
    step,
    steps_of,
)
from airflow_provider_mm2.mirror.recovery.work import Report, Work, now_ms
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.engines import as_recorded

log = logging.getLogger(__name__)


def say_nothing(line: str) -> None:
    """Tell nobody."""


@dataclass(slots=True, kw_only=True)
class Failover:
    """Failing over one flow.

    :param pair: both clusters, each contacted when it is first asked for; in an unplanned failover the source never is.
    :param owner: who this is; recorded with every step.
    :param tick: called in every wait; raises when somebody wants to stop.
    :param report: told in a line what is being done.
    :param repointers: those of the flow's ``repoint:``.
    :param bootstrap: addresses of the clusters by alias, for them.
    :param connectors: gives the way to the flow's connectors; needed where they mirror it.
    """

    flow: MirrorFlow
    pair: ClusterPair
    owner: str
    tick: Tick
    report: Report = say_nothing
    repointers: tuple[Repointer, ...] = ()
    bootstrap: Mapping[str, str] = field(default_factory=dict)
    connectors: Callable[[], FlowConnectors] | None = None

    def preview(self, order: Order) -> FailoverReport:
        """What a failover would do as things stand; touches nothing.

        :raises MirrorError: it could not begin.
        """
        target, record = self.pair.target, find_record(self.flow, self.pair.target, self.tick)
        check_connectors(self.flow, order, record, self.connectors, self.tick)
        check_none_open(read_recorded(target, self.flow.name, self.tick))
        live = self.pair if order.mode is Mode.PLANNED else None
        plan = look_beforehand(as_recorded(self.flow, record), target, order, record, self.tick, live=live)
        if not order.skip_repoint:
            plan = with_repoints(plan, self.flow, order, self.bootstrap, self.repointers, self.tick)
        return preview_of(order, record, plan)

    def status(self) -> FailoverReport:
        """The newest failover of the flow, by what is recorded on the target; touches nothing."""
        record = find_record(self.flow, self.pair.target, self.tick)
        return self._report(record, read_recorded(self.pair.target, self.flow.name, self.tick))

    def start(self, order: Order, *, approve: bool = False, until: int = CLOSE) -> FailoverReport:
        """Begin, and go on up to the approval; with ``approve`` through to the end.

        :param until: the last step that is done.
        :raises FailoverUnderWay: one is open; says whose. LeaseHeld: somebody is at it right now; says who.
        :raises MirrorError: a step failed; it is on record, and ``resume`` tries it again.
        """
        known = find_record(self.flow, self.pair.target, self.tick)
        check_connectors(self.flow, order, known, self.connectors, self.tick)
        with self._at_work(order) as work:
            recorded = work.journal.recorded
            check_none_open(recorded)
            check_side(order, work.record)
            number = 1 if recorded.failover is None else recorded.failover.number + 1
            work.journal.begin(
                FailoverRecord(
                    number=number,
                    flow=self.flow.name,
                    order=order,
                    stage=Stage.RUNNING,
                    begun_by=self.owner,
                    begun_ms=now_ms(),
                )
            )
            try:
                return self._go(work, Word(whatever=approve), until)
            except MirrorError:
                if work.journal.recorded.is_refused:  # by its first look, which changes nothing
                    with suppress(MirrorError):
                        work.journal.change(stage=Stage.ROLLED_BACK, ended_ms=now_ms())
                raise

    def resume(
        self, *, digest: str | None = None, approve: bool = False, by: str | None = None, until: int = CLOSE
    ) -> FailoverReport:
        """Go on with the failover that is open.

        :param digest: of the plan that is approved; one that is approved already has to be this one.
        :param approve: approve whatever the plan is; ``by``: who does, None: the owner.
        :param until: the last step that is done, those before it included.
        :raises NoFailover: none is open.
        :raises PlanChanged: ``digest`` is not that of the plan.
        """
        with self._at_work(self.open_order()) as work:
            failover = work.journal.failover
            check_digest(work, digest)
            if failover.stage is Stage.ROLLING_BACK:
                raise FailoverUnderWay(
                    flow=self.flow.name,
                    stage=failover.stage.value,
                    owner=failover.begun_by,
                    begun=show(failover.begun_ms),
                    next_call="--rollback goes on with it",
                )
            return self._go(work, Word(digest=digest, whatever=approve, by=by), until)

    def rollback(self, *, digest: str | None = None) -> FailoverReport:
        """Undo what the open failover has done: repoints, offsets, the freeze, the stopping of groups.

        :param digest: of its plan; None: whichever it is.
        :raises PlanChanged: it is another one.
        :raises MirrorError: none is open, or one step could not be undone; it is on record, and the same call goes on.
        """
        with self._at_work(self.open_order()) as work:
            check_digest(work, digest)
            work.journal.change(stage=Stage.ROLLING_BACK)
            for number in UNDONE_IN_ORDER:
                self._undo(work, number)
            work.journal.change(stage=Stage.ROLLED_BACK, ended_ms=now_ms())
            return self._report(work.record, work.journal.recorded)

    def reopen(self, *, digest: str | None = None) -> FailoverReport:
        """Take back a failover that is closed, since it was a false alarm: the source is the active side again.

        Only as long as nobody has written to the mirrored topics on the target. What groups have read there they read
        again on the source, where they stand as before.

        :param digest: of the plan that was applied, as a second word; None: only look whether it is possible.
        :raises NotReopenable: somebody has written, or there is nothing to take back.
        :raises PlanChanged: the digest is another one.
        """
        if isinstance(self.flow, ReverseFlow):
            problem = f"all is home, and flow {self.flow.forward.name} mirrors again; fail that one over"
            raise NotReopenable(flow=self.flow.name, problems=(problem,))
        with self._at_work(Order(mode=Mode.UNPLANNED)) as work:
            failover = work.journal.recorded.failover
            if failover is None or failover.stage is not Stage.CLOSED or not failover.order.ends_on_target:
                raise NotReopenable(flow=self.flow.name, problems=(not_closed(failover),))
            written = tuple(written_since(work))
            if written:
                raise NotReopenable(flow=self.flow.name, problems=written)
            if digest is None:
                return self._report(work.record, work.journal.recorded)
            check_digest(work, digest)
            work.order = failover.order
            self._undo(work, REPOINT)
            take_back(work)
            return self._report(work.record, work.journal.recorded)

    def open_order(self) -> Order:
        """What the failover that is open was asked for; needs the target alone.

        :raises NoFailover: none is open.
        """
        find_record(self.flow, self.pair.target, self.tick)
        failover = read_recorded(self.pair.target, self.flow.name, self.tick).failover
        if failover is None or not failover.stage.is_open:
            last = "there never was one" if failover is None else f"the last is {failover.stage.value}"
            raise NoFailover(flow=self.flow.name, last=last)
        return failover.order

    @contextmanager
    def _at_work(self, order: Order) -> Iterator[Work]:
        """The control lease and the journal, and both clusters as far as the order allows."""
        target = self.pair.target
        with ExitStack() as held:
            journal = held.enter_context(held_journal(self.flow, target, self.owner, self.tick))
            yield Work(
                given=self.flow,
                target=target,
                pair=self.pair if order.mode is Mode.PLANNED else None,
                reachable=self.pair,
                order=order,
                owner=self.owner,
                journal=journal,
                report=self.report,
                held=held,
                repointers=self.repointers,
                bootstrap=self.bootstrap,
                connectors=self.connectors,
            )

    def _go(self, work: Work, word: Word, until: int) -> FailoverReport:
        """Do what is left, up to the approval where it is missing."""
        for each in steps_of(work.order.mode, until=until):
            known = work.journal.recorded.steps.get(each.number)
            if known is not None and known.state.is_over:
                continue
            if each.number == APPROVAL and not is_approved(work, word):
                work.journal.change(stage=Stage.AWAITING_APPROVAL)
                return self._report(work.record, work.journal.recorded)
            self._do(work, each.number)
        return self._report(work.record, work.journal.recorded)

    def _do(self, work: Work, number: int) -> None:
        begun = StepNote(number=number, state=StepState.BEGUN, by=self.owner, started_ms=now_ms())
        earlier = work.journal.recorded.steps.get(number)
        if earlier is not None and number == FREEZE:
            begun = replace(begun, detail=earlier.detail)  # what the gate was before
        does = "given" if number == APPROVAL else step(number).does  # it is not begun without one
        work.report(f"step {number}, {step(number).name}: {does}")
        work.journal.note(begun)
        try:
            detail = DO[number](work)
        except MirrorError as error:
            self._note_failure(work, begun, error)
            raise
        if number != CLOSE:
            work.journal.note(replace(begun, state=StepState.DONE, ended_ms=now_ms(), detail=detail))

    def _note_failure(self, work: Work, begun: StepNote, error: MirrorError) -> None:
        kept = work.journal.recorded.steps[begun.number].detail
        detail = {**kept, "error": error.first_line}
        try:
            work.journal.note(replace(begun, state=StepState.FAILED, ended_ms=now_ms(), detail=detail))
        except MirrorError as second:
            log.warning("that step %d failed is not on record: %s", begun.number, second.first_line)

    def _undo(self, work: Work, number: int) -> None:
        done = work.journal.recorded.steps.get(number)
        if done is None or done.state is StepState.UNDONE:
            return
        work.report(f"undoing step {number}, {step(number).name}")
        undone = replace(done, state=StepState.UNDONE, by=self.owner, ended_ms=now_ms())
        if number == FREEZE:
            thaw(work, done, undone)
            return
        detail = UNDO[number](work)
        work.journal.note(replace(undone, detail={**done.detail, "undone": detail}))

    def _report(self, record: Any, recorded: Recorded) -> FailoverReport:
        failover = recorded.failover
        plan = None
        if failover is not None and failover.digest is not None:
            plan = look(as_recorded(self.flow, record), self.pair.target, failover.order, record, self.tick, live=None)
        return FailoverReport(
            record=record,
            order=None if failover is None else failover.order,
            failover=failover,
            steps=recorded.steps,
            groups=recorded.groups,
            plan=plan,
            repoints=tuple(recorded.repoints.values()),
        )
