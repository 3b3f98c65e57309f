"""The task that proves a mirror."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.hooks.connect import flow_connectors
from airflow_provider_mm2.mirror.errors import ArgumentRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.arguments import names, switch, text
from airflow_provider_mm2.operators.flow_task import FlowTask
from airflow_provider_mm2.run_interval import parse_bound

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.verify.progress import Progress
    from airflow_provider_mm2.mirror.verify.report import VerifyReport

Place = str | int | datetime | None

EVERY_LINES = 5
"""Every so many reports of a comparison are logged: one in ten seconds."""


class VerifyMirrorOperator(FlowTask):
    """Compare every record of a mirrored range with its copy; fail for good where something is not as it should be.

    A flow with ``engine: connect`` is compared by order, up to where its connectors are.

    Nothing is written, and runs may go on meanwhile: what was mirrored when it began is compared. Returns a bounded
    summary, which is in XCom under ``verified`` also when the task fails: counts, digests, and the first mismatches,
    with offsets and without content.

    :param topics: only these source topics: a sequence, or a JSON list as text; empty: all of the flow. (templated)
    :param begin: where to begin: a source offset, or a time with its zone; empty: all that is mirrored. (templated)
    :param end: where to end, not included, in the same form. (templated)
    :param by_order: pair both sides by order alone: for a mirror that another tool has made. (templated)
    :param sample: compare only so many windows at random places of each partition; empty: all of it. (templated)
    :param seed: of the sample; empty: another one each time. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "topics", "begin", "end", "by_order", "sample", "seed")
    ui_color = "#e2f2d5"

    def __init__(
        self,
        *,
        topics: Sequence[str] | str = (),
        begin: Place = None,
        end: Place = None,
        by_order: bool | str = False,
        sample: int | str | None = None,
        seed: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.topics = topics
        self.begin = begin
        self.end = end
        self.by_order = by_order
        self.sample = sample
        self.seed = seed
        self._reports = 0

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Compare.

        :raises MirrorDiffers: something was found.
        :raises MirrorError: the flow cannot be compared.
        """
        from airflow_provider_mm2.mirror.errors import MirrorDiffers

        report = self._compare(flow)
        summary = report.summary()
        context["ti"].xcom_push(key="verified", value=summary)
        self.log.info(
            "%s records compared by %s in %s s: %s mismatches",
            summary["records"],
            summary["mode"],
            summary["seconds"],
            summary["found"],
        )
        if summary["sampled"] is not None:
            self.log.info("%s", summary["sampled"]["statement"])
        for warning in summary["warnings"]:
            self.log.warning("%s", warning)
        if report.count:
            first = report.mismatches[0]
            raise MirrorDiffers(flow=flow.name, count=report.count, first=first.told)
        return summary

    def _compare(self, flow: MirrorFlow) -> VerifyReport:
        from airflow_provider_mm2.mirror.run import stopper
        from airflow_provider_mm2.mirror.verify.compare import verify_flow
        from airflow_provider_mm2.mirror.verify.scope import VerifyOrder

        order = VerifyOrder(
            topics=names("topics", self.topics),
            since=_place("begin", self.begin),
            until=_place("end", self.end),
            by_order=switch("by_order", self.by_order),
            sample=_number("sample", self.sample),
            seed=_number("seed", self.seed),
        )
        connectors = flow_connectors(flow)
        with closing(connect_pair(flow, pair_settings(flow), self.stop)) as pair:
            return verify_flow(flow, pair, order, tick=stopper(self.stop), report=self._log, connectors=connectors)

    def _log(self, progress: Progress) -> None:
        self._reports += 1
        if self._reports % EVERY_LINES == 1:
            self.log.info("%s", progress.line())


def _number(name: str, given: int | str | None) -> int | None:
    """A whole number, or None where none was given.

    :raises ArgumentRefused: it is something else.
    """
    found = text(None if given is None else str(given))
    if found is not None and not (found.isascii() and found.isdigit()):
        raise ArgumentRefused(argument=name, problem=f"{given!r} is not a whole number")
    return None if found is None else int(found)


def _place(name: str, given: Place) -> int | datetime | None:
    """A source offset, or a time.

    :raises BoundRefused: it is neither.
    """
    if isinstance(given, datetime):
        return parse_bound(name, given)
    found = text(None if given is None else str(given))
    return int(found) if found is not None and found.isascii() and found.isdigit() else parse_bound(name, found)
