"""The task that sets where a flow begins to copy: KIP-656's one-time job, and whatever else knows the place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.flow_task import FlowOperator

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
    from airflow_provider_mm2.mirror.interval.bounds import RunBounds
    from airflow_provider_mm2.mirror.interval.seeding import SeedReport

ROWS_IN_XCOM = 200
"""Partitions that the returned document holds at most, and lines of the log."""


class SeedOffsetsOperator(FlowOperator):
    """Set the progress of a flow, as ``mm2 seed`` does: shown only, unless ``apply`` is true.

    A seed that would lose or copy records once more fails the task for good, and nothing is written, unless ``force``
    is true. One that finds everything in place changes nothing, so ``match`` and ``progress-group`` may stand before a
    mirror run for ever. All others name a place that a run leaves behind it, and are refused once one has copied
    something: they belong into a DAG without a schedule, which is started once.

    Returns the document of ``mm2 seed --json``, with 200 partitions at most.

    :param seed_from: ``earliest``, ``latest``, ``timestamp:TIME``, ``offsets:FILE``, ``source-group:GROUP``,
        ``progress-group``, ``connect:TOPIC[:CONNECTOR]``, ``match`` or ``failover``. (templated)
    :param topics: source topics; empty: all of the flow. (templated)
    :param force: also where records would be lost or copied once more. (templated)
    :param apply: write it. (templated)
    """

    template_fields: Sequence[str] = (*FlowOperator.template_fields, "seed_from", "topics", "force", "apply")
    ui_color = "#f2e8d5"

    def __init__(
        self,
        *,
        seed_from: str,
        topics: Sequence[str] | str = (),
        force: bool | str = False,
        apply: bool | str = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.seed_from = seed_from
        self.topics = topics
        self.force = force
        self.apply = apply

    def work(self, flow: MirrorFlow, pair: ClusterPair, bounds: RunBounds, context: Context) -> dict[str, Any]:
        """Look, judge and, where asked for, write.

        :raises SeedUnreadable: an argument cannot be meant.
        :raises SeedTaskRefused: a partition is refused, and nothing was written.
        """
        from airflow_provider_mm2.mirror.errors import SeedRefused, SeedTaskRefused
        from airflow_provider_mm2.mirror.interval.seeding import IN_A_TASK
        from airflow_provider_mm2.mirror.offsets.seed import Seed
        from airflow_provider_mm2.mirror.offsets.seed_check import check_seed
        from airflow_provider_mm2.mirror.run import seed_progress

        seed = Seed.parse(self.seed_from)
        check_seed(seed)
        topics = self.topics.split() if isinstance(self.topics, str) else list(self.topics)
        try:
            report = seed_progress(
                flow,
                pair,
                seed,
                topics=topics,
                force=_is_true("force", self.force),
                apply=_is_true("apply", self.apply),
                owner=self.attempt(context),
                stop=self.stop,
            )
            self._log_report(report)
            report.check()
        except SeedRefused as refused:
            raise SeedTaskRefused(**{**vars(refused), "otherwise": IN_A_TASK[refused.otherwise]}) from None
        document = report.to_json()
        return {**document, "partitions": document["partitions"][:ROWS_IN_XCOM]}

    def _log_report(self, report: SeedReport) -> None:
        """What a shell would show."""
        for problem in report.passed_over:
            self.log.warning("passed over: %s", problem)
        document = report.to_json()
        for row in document["partitions"][:ROWS_IN_XCOM]:
            self.log.info(
                "%s-%s: %s -> %s (%s)", *(row[name] for name in ("topic", "partition", "old", "new", "reason"))
            )
        self.log.info("%d partition(s) to change, %s", report.changes, "written" if report.applied else "shown only")


def _is_true(name: str, given: bool | str) -> bool:
    """A switch that may come out of a template as text.

    :raises SeedUnreadable: it is neither true nor false.
    """
    from airflow_provider_mm2.mirror.errors import SeedUnreadable

    known = {"true": True, "false": False, "1": True, "0": False, "": False}
    if isinstance(given, bool):
        return given
    if str(given).strip().lower() not in known:
        raise SeedUnreadable(seed=f"{name}={given!r}", problem="give true or false", cause="a misspelt template")
    return known[str(given).strip().lower()]
