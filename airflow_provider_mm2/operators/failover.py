"""The tasks of a failover, phase by phase, and what it would do shown without one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.hooks.connect import connectors_beside
from airflow_provider_mm2.mirror.errors import ArgumentRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.steps import Mode, Phase, Stage
from airflow_provider_mm2.operators.arguments import names, seconds, switch, text
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.recovery.failover import Failover
    from airflow_provider_mm2.mirror.recovery.record import Order
    from airflow_provider_mm2.mirror.recovery.report import FailoverReport


class FailoverOperator(FlowTask):
    """One phase of a failover.

    ``plan`` does steps 1 to 5, ``apply`` 7 and 8, ``repoint`` 9, ``confirm`` 10 and 11; ``rollback`` undoes them.
    Every step is recorded on the target and done once, so each of these tasks may fail, be killed, be cleared and run
    again. A DAG run makes one failover: a ``plan`` that runs again goes on with what its run began. The source is not
    connected to in an unplanned failover, whatever the phase.

    Returns a bounded summary with the plan's ``digest``, which the later phases take; ``plan`` also leaves a text in
    Markdown with the numbers for whoever approves, in XCom under ``approval``, and ``confirm`` its summary under
    ``failover`` also when it fails for groups that had to be left.

    :param phase: which part; a ``Phase`` or its value.
    :param mode: ``planned`` or ``unplanned``; of ``plan``. (templated)
    :param groups: only these groups: a sequence, or a JSON list as text; empty: all; of ``plan``. (templated)
    :param topics: only positions on these source topics, in the same form; of ``plan``. (templated)
    :param quiet_s: seconds for which the source must stand still; of ``plan``. (templated)
    :param stop_wait_s: seconds that groups are given to leave the source; of ``plan``. (templated)
    :param confirm_wait_s: seconds that groups are given to come up on the target, 0: one look; of ``plan``, which
        records it for ``confirm``. (templated)
    :param force: go on although the source is written to or read from; of ``plan``. (templated)
    :param digest: of the plan that is meant. ``apply`` needs it, and approves that plan by it; any phase refuses a
        failover of another plan. (templated)
    :param approved_by: who approved, for the record of ``apply``; default: this task. (templated)
    :param show_only: write nothing: ``plan`` previews, every other phase shows what is recorded. (templated)
    """

    template_fields: Sequence[str] = (
        *FlowTask.template_fields,
        *("mode", "groups", "topics", "quiet_s", "stop_wait_s", "confirm_wait_s", "force"),
        *("digest", "approved_by", "show_only"),
    )
    ui_color = "#f2dfd5"

    def __init__(
        self,
        *,
        phase: Phase | str,
        mode: str = Mode.PLANNED.value,
        groups: Sequence[str] | str = (),
        topics: Sequence[str] | str = (),
        quiet_s: int | str = 5,
        stop_wait_s: int | str = 120,
        confirm_wait_s: int | str = 0,
        force: bool | str = False,
        digest: str | None = None,
        approved_by: str | None = None,
        show_only: bool | str = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.phase = Phase(phase)
        self.mode = mode
        self.groups = groups
        self.topics = topics
        self.quiet_s = quiet_s
        self.stop_wait_s = stop_wait_s
        self.confirm_wait_s = confirm_wait_s
        self.force = force
        self.digest = digest
        self.approved_by = approved_by
        self.show_only = show_only

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Do the phase.

        :raises MirrorError: a step failed; it is on record, and the same task tries it again.
        """
        from airflow_provider_mm2.operators.failover_summary import approval_text, failover_summary

        order = self._order()
        report = self._report(flow, order, context)
        if self.phase is Phase.PLAN:
            context["ti"].xcom_push(key="approval", value=approval_text(report))
        if report.state == Stage.CLOSED.value:
            self.log.info("the failover is closed, the %s is the active side", report.record.active_side.value)
        for line in report.not_moved:
            self.log.warning("not moved: %s", line)
        summary = failover_summary(report)
        self.log.info("%(mode)s failover of flow %(flow)s: %(state)s, plan %(digest)s", summary)
        if self.phase is Phase.CONFIRM and not switch("show_only", self.show_only):
            from airflow_provider_mm2.mirror.recovery.phases import check_all_moved

            context["ti"].xcom_push(key="failover", value=summary)
            check_all_moved(report)
        return summary

    def _order(self) -> Order:
        from airflow_provider_mm2.mirror.recovery.record import Order

        if self.mode not in {mode.value for mode in Mode}:
            raise ArgumentRefused(argument="mode", problem=f"{self.mode!r} is neither planned nor unplanned")
        return Order(
            mode=Mode(self.mode),
            groups=names("groups", self.groups),
            topics=names("topics", self.topics),
            quiet_s=seconds("quiet_s", self.quiet_s),
            stop_wait_s=seconds("stop_wait_s", self.stop_wait_s),
            confirm_wait_s=seconds("confirm_wait_s", self.confirm_wait_s),
            force=switch("force", self.force),
        )

    def _report(self, flow: MirrorFlow, order: Order, context: Context) -> FailoverReport:
        digest, show_only = text(self.digest), switch("show_only", self.show_only)
        if self.phase is Phase.APPLY and digest is None and not show_only:
            raise ArgumentRefused(argument="digest", problem="apply needs the digest of the plan that was approved")
        with self._at_work(flow, context, target_only=True) as at_work:
            known = at_work.status()
        if show_only and self.phase is not Phase.PLAN:
            return known
        is_open = known.failover is not None and known.failover.stage.is_open
        mode = order.mode if known.order is None or not is_open else known.order.mode
        with self._at_work(flow, context, target_only=mode is Mode.UNPLANNED) as at_work:
            return self._done(at_work, known, order, digest, context)

    def _done(
        self, at_work: Failover, known: FailoverReport, order: Order, digest: str | None, context: Context
    ) -> FailoverReport:
        from airflow_provider_mm2.mirror.recovery import phases

        if self.phase is Phase.PLAN:
            if switch("show_only", self.show_only):
                return at_work.preview(order)
            return phases.plan(at_work, known, order, self.run_prefix(context))
        if self.phase is Phase.ROLLBACK:
            return phases.roll_back(at_work, known, digest=digest)
        return phases.go_on(self.phase, at_work, known, digest=digest, by=text(self.approved_by))

    @contextmanager
    def _at_work(self, flow: MirrorFlow, context: Context, *, target_only: bool) -> Iterator[Failover]:
        from airflow_provider_mm2.hooks.repoint import AirflowRepoint
        from airflow_provider_mm2.mirror.recovery.failover import Failover
        from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
        from airflow_provider_mm2.mirror.recovery.repointing import addresses
        from airflow_provider_mm2.mirror.run import stopper

        settings = pair_settings(flow, target_only=target_only)
        with closing(connect_pair(flow, settings, self.stop, target_only=target_only)) as pair:
            yield Failover(
                flow=flow,
                pair=pair,
                owner=self.attempt(context),
                tick=stopper(self.stop),
                report=lambda line: self.log.info("%s", line),
                repointers=tuple(make_repointers(flow, airflow=AirflowRepoint())),
                bootstrap=addresses(flow, settings),
                connectors=partial(connectors_beside, flow),
            )


class RepointConsumersOperator(FailoverOperator):
    """Step 9 alone, for a failover that is open: read the positions back, and point the applications at the target.

    Arguments and result are those of ``FailoverOperator(phase="repoint")``; of its arguments ``flow``, ``digest`` and
    ``show_only`` count.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"phase": Phase.REPOINT, **kwargs})
