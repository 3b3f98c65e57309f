"""The task of a drill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.hooks.connect import connectors_beside
from airflow_provider_mm2.mirror.errors import ArgumentRefused, LimitPassed
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.operators.arguments import is_literal, names, number, switch, text
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.drill.drill import DrillOrder
    from airflow_provider_mm2.mirror.drill.game_plan import GameDayOrder
    from airflow_provider_mm2.mirror.drill.mirroring import ConnectSide
    from airflow_provider_mm2.mirror.drill.report import DrillReport


class DrDrillOperator(FlowTask):
    """A drill of a flow: fail over for the exercise, on topics and groups that are made for it and taken away.

    With ``game_day`` it is about real topics and copies of real groups, and nothing real is written: what if the flow
    failed over now?

    Returns the drill's document without its samples; the task fails when a limit of the flow's ``drill:`` was passed,
    with the document in XCom under ``drill`` all the same. One that is killed leaves things behind, which the next
    drill takes away first. Arguments that cannot be meant are refused when the task is made, those of templates when it
    runs.

    :param mode: ``planned`` or ``unplanned``. (templated)
    :param load_s: seconds for which applications work before the cut. (templated)
    :param failback: come home afterwards. (templated)
    :param game_day: hold a game day in place of a drill; ``load_s`` is not looked at then. (templated)
    :param topics: source topics of a game day, a list or text with a JSON list; none: all. (templated)
    :param groups: groups of a game day; none: all that have a position on these topics. (templated)
    :param limit_records: records of each partition that a game day reads at most. (templated)
    :param html: path of a page with charts to write; needs the extra ``drill``. (templated)
    :param junit: path of a JUnit XML file to write; needs the extra ``drill``. (templated)
    """

    template_fields: Sequence[str] = (
        *FlowTask.template_fields,
        *("mode", "load_s", "failback", "game_day", "topics", "groups", "limit_records", "html", "junit"),
    )
    ui_color = "#e8e0f5"

    def __init__(
        self,
        *,
        mode: str = Mode.PLANNED.value,
        load_s: int | str = 10,
        failback: bool | str = False,
        game_day: bool | str = False,
        topics: Sequence[str] | str | None = None,
        groups: Sequence[str] | str | None = None,
        limit_records: int | str | None = None,
        html: str | None = None,
        junit: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"retries": 0, **kwargs})
        self.mode = mode
        self.load_s = load_s
        self.failback = failback
        self.game_day = game_day
        self.topics = topics
        self.groups = groups
        self.limit_records = limit_records
        self.html = html
        self.junit = junit
        self._check()

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Drill, or hold a game day.

        :raises LimitPassed: a limit was passed.
        """
        from airflow_provider_mm2.mirror.drill.files import check_extra, check_writable, write_files

        order, html, junit = self._order(), text(self.html), text(self.junit)
        check_extra(html, junit)
        check_writable(html=html, junit=junit)
        report = self._held(flow, order, owner=self.attempt(context))
        document = report.to_json()
        write_files(document, html=html, junit=junit)
        summary = {key: value for key, value in document.items() if key != "samples"}
        context["ti"].xcom_push(key="drill", value=summary)
        for warning in document["warnings"]:
            self.log.warning("%s", warning)
        self.log.info("RPO %(rpo_records)s record(s), %(rpo_s)s s; RTO %(rto_s)s s", summary)
        if not report.passed:
            passed = tuple(
                f"{each.name}: {each.value:g} (at most {each.limit:g})" for each in report.limits if not each.passed
            )
            passed += tuple(f"left behind: {name}" for name in report.left_behind)
            raise LimitPassed(flow=flow.name, limits=passed or ("a group never came up on the target",))
        return summary

    def _held(self, flow: MirrorFlow, order: DrillOrder | GameDayOrder, *, owner: str) -> DrillReport:
        from airflow_provider_mm2.mirror.clusters.confluent.load import ConfluentApplications
        from airflow_provider_mm2.mirror.drill.drill import Drill
        from airflow_provider_mm2.mirror.drill.game_day import GameDay
        from airflow_provider_mm2.mirror.drill.game_plan import GameDayOrder
        from airflow_provider_mm2.mirror.run import stopper

        settings, tick = pair_settings(flow), stopper(self.stop)
        applications = {alias: ConfluentApplications(found) for alias, found in settings.items()}

        def say(line: str) -> None:
            self.log.info("%s", line)

        with closing(connect_pair(flow, settings, self.stop)) as pair:
            if isinstance(order, GameDayOrder):
                readers = applications[flow.target.alias]
                return GameDay(flow, pair, readers, owner=owner, tick=tick, report=say).run(order)
            connect = _connect_side() if flow.engine == "connect" else None
            return Drill(flow, pair, applications, owner=owner, tick=tick, report=say, connect=connect).run(order)

    def _order(self) -> DrillOrder | GameDayOrder:
        from airflow_provider_mm2.mirror.drill.drill import DrillOrder
        from airflow_provider_mm2.mirror.drill.game_plan import LIMIT_RECORDS, GameDayOrder

        self._check()
        if switch("game_day", self.game_day):
            return GameDayOrder(
                topics=names("topics", self.topics),
                groups=names("groups", self.groups),
                limit_records=_limit(self.limit_records) or LIMIT_RECORDS,
            )
        return DrillOrder(
            mode=_mode(self.mode), load_s=number("load_s", self.load_s), failback=switch("failback", self.failback)
        )

    def _check(self) -> None:
        """See that what is known by now can be meant, and goes together.

        :raises ArgumentRefused: it cannot, or does not.
        """
        given: dict[str, Any] = {
            name: read(getattr(self, name)) for name, read in _READ.items() if is_literal(getattr(self, name))
        }
        if given.get("game_day") and (given.get("mode") is Mode.UNPLANNED or given.get("failback")):
            raise ArgumentRefused(argument="game_day", problem="it cuts nothing off and does not come home")
        if given.get("game_day") is False:
            for argument in ("topics", "groups", "limit_records"):
                if given.get(argument):
                    problem = "it is of a game day: add game_day=True, or leave it out"
                    raise ArgumentRefused(argument=argument, problem=problem)


def _connect_side() -> ConnectSide:
    """The way to connectors by Airflow's connections."""
    from airflow_provider_mm2.mirror.connect.access import wanted_connectors
    from airflow_provider_mm2.mirror.drill.mirroring import ConnectSide

    return ConnectSide(
        connectors=connectors_beside, wanted=lambda given: wanted_connectors(given, pair_settings(given))
    )


def _mode(given: str) -> Mode:
    if given not in {mode.value for mode in Mode}:
        raise ArgumentRefused(argument="mode", problem=f"{given!r} is neither planned nor unplanned")
    return Mode(given)


def _limit(given: int | str | None) -> int | None:
    told = text(None if given is None else str(given))
    return None if told is None else number("limit_records", told)


_READ: Mapping[str, Callable[[Any], Any]] = {
    "mode": _mode,
    "load_s": partial(number, "load_s"),
    "failback": partial(switch, "failback"),
    "game_day": partial(switch, "game_day"),
    "topics": partial(names, "topics"),
    "groups": partial(names, "groups"),
    "limit_records": _limit,
}
"""What is made of each argument; one that cannot be meant is refused."""
