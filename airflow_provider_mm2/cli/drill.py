"""`mm2 drill`: the whole way of a failover on throw-away topics, or a game day on real ones, against limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_provider_mm2.cli.connections import connectors_of, wanted_here
from airflow_provider_mm2.cli.drill_output import show_drill
from airflow_provider_mm2.cli.failover import FOUND_SOMETHING, say, who
from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_warnings,
)
from airflow_provider_mm2.mirror.drill.drill import Drill, DrillOrder
from airflow_provider_mm2.mirror.drill.files import check_extra, check_writable, earlier_drills, write_files
from airflow_provider_mm2.mirror.drill.game_day import GameDay
from airflow_provider_mm2.mirror.drill.game_plan import LIMIT_RECORDS, GameDayOrder
from airflow_provider_mm2.mirror.drill.mirroring import ConnectSide
from airflow_provider_mm2.mirror.errors import OptionMissing, OptionsDisagree
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.run import stopper

if TYPE_CHECKING:
    from threading import Event

    from airflow_provider_mm2.mirror.clusters.confluent.client import ConfluentPair
    from airflow_provider_mm2.mirror.drill.report import DrillReport
    from airflow_provider_mm2.mirror.flow import MirrorFlow

LOAD_S = 10.0

Unplanned = Annotated[bool, typer.Option("--unplanned", help="Cut the source off in the midst of the load.")]
ComeHome = Annotated[bool, typer.Option("--failback", help="Come home afterwards, and see that all of it is there.")]
Load = Annotated[
    float | None,
    typer.Option(
        "--load", metavar="SECONDS", min=1, max=3600, help=f"For how long applications work before ({LOAD_S:.0f})."
    ),
]
OnRealTopics = Annotated[
    bool,
    typer.Option("--game-day", help="On real topics and copies of real groups, nothing real written: what if now?"),
]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", metavar="T", help="With --game-day: only this source topic; repeat it.")
]
Groups = Annotated[
    list[str] | None, typer.Option("--group", metavar="G", help="With --game-day: only this group; repeat it.")
]
LimitRecords = Annotated[
    int | None,
    typer.Option(
        "--limit-records",
        metavar="N",
        min=1,
        help=f"With --game-day: records of each partition that are read at most ({LIMIT_RECORDS:,}).",
    ),
]

JsonOut = Annotated[Path | None, typer.Option("--json-out", metavar="FILE", help="Write the document there, too.")]
Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML for a CI.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with charts.")]
History = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Add a line to this file, and show the last drills on the page."),
]


def drill(
    flow: Flow,
    unplanned: Unplanned = False,
    failback: ComeHome = False,
    seconds: Load = None,
    game_day: OnRealTopics = False,
    topic: Topics = None,
    group: Groups = None,
    limit_records: LimitRecords = None,
    json_out: JsonOut = None,
    junit: Junit = None,
    html: Html = None,
    history: History = None,
    as_json: AsJson = False,
) -> None:
    """Fail over for the exercise, beside the real flow: on topics and groups that are made for it and taken away."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        _check(
            game_day,
            of_drills={"--unplanned": unplanned, "--failback": failback, "--load": seconds is not None},
            of_game_days={"--topic": bool(topic), "--group": bool(group), "--limit-records": limit_records is not None},
        )
        check_extra(junit, html)
        check_writable(json_out=json_out, junit=junit, html=html, history=history)
        loaded = load(flow)
        earlier = earlier_drills(history, loaded.name)
        order: DrillOrder | GameDayOrder = DrillOrder(
            mode=Mode.UNPLANNED if unplanned else Mode.PLANNED, load_s=seconds or LOAD_S, failback=failback
        )
        if game_day:
            limit = limit_records or LIMIT_RECORDS
            order = GameDayOrder(topics=tuple(topic or ()), groups=tuple(group or ()), limit_records=limit)
        with clusters(loaded) as pair:
            report = _held(loaded, pair, order, stop)
        document = report.to_json()
        write_files(document, json_out=json_out, junit=junit, html=html, history=history, earlier=earlier)
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        show_drill(document)
    if not report.passed:
        raise typer.Exit(FOUND_SOMETHING)


def _check(game_day: bool, *, of_drills: dict[str, bool], of_game_days: dict[str, bool]) -> None:
    """Refuse options of the one with the other.

    :raises OptionsDisagree: some were given with a game day.
    :raises OptionMissing: some were given without one.
    """
    strange = tuple(name for name, given in (of_drills if game_day else of_game_days).items() if given)
    if strange and game_day:
        problem = "a game day makes no load, cuts nothing off and goes nowhere: it reads what is there"
        raise OptionsDisagree(options=("--game-day", *strange), problem=problem)
    if strange:
        problem = "a drill is on topics and groups of its own, a game day on those that are chosen"
        raise OptionMissing(options=strange, missing="--game-day", problem=problem)


def _held(flow: MirrorFlow, pair: ConfluentPair, order: DrillOrder | GameDayOrder, stop: Event) -> DrillReport:
    from airflow_provider_mm2.mirror.clusters.confluent.load import ConfluentApplications

    source, target = (ConfluentApplications(cluster.settings) for cluster in (pair.source, pair.target))
    tick = stopper(stop)
    if isinstance(order, GameDayOrder):
        return GameDay(flow, pair, target, owner=who(), tick=tick, report=say).run(order)
    applications = {pair.source.alias: source, pair.target.alias: target}
    connect = ConnectSide(connectors=connectors_of, wanted=wanted_here) if flow.engine == "connect" else None
    return Drill(flow, pair, applications, owner=who(), tick=tick, report=say, connect=connect).run(order)
