"""`mm2 drill`: the whole way of a failover on throw-away topics, measured against limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from airflow_provider_mm2.cli.failover import FOUND_SOMETHING, say, who
from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_table,
    print_warnings,
)
from airflow_provider_mm2.mirror.drill.drill import Drill, DrillOrder
from airflow_provider_mm2.mirror.drill.files import check_extra, earlier_drills, write_files
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.run import stopper

GROUP_COLUMNS = ("group", "read_before", "read_after", "lost", "repeated", "skipped", "reordered", "rto_s")
PHASE_COLUMNS = ("name", "begin", "seconds")
LIMIT_COLUMNS = ("name", "limit", "value", "passed")

Unplanned = Annotated[bool, typer.Option("--unplanned", help="Cut the source off in the midst of the load.")]
ComeHome = Annotated[bool, typer.Option("--failback", help="Come home afterwards, and see that all of it is there.")]
Load = Annotated[
    float, typer.Option("--load", metavar="SECONDS", min=1, max=3600, help="For how long applications work before.")
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
    seconds: Load = 10,
    json_out: JsonOut = None,
    junit: Junit = None,
    html: Html = None,
    history: History = None,
    as_json: AsJson = False,
) -> None:
    """Fail over for the exercise, beside the real flow: on topics and groups that are made for it and taken away."""
    from airflow_provider_mm2.mirror.clusters.confluent.load import ConfluentApplications

    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        check_extra(junit, html)
        loaded = load(flow)
        earlier = earlier_drills(history, loaded.name)
        order = DrillOrder(mode=Mode.UNPLANNED if unplanned else Mode.PLANNED, load_s=seconds, failback=failback)
        with clusters(loaded) as pair:
            applications = {
                cluster.alias: ConfluentApplications(cluster.settings) for cluster in (pair.source, pair.target)
            }
            at_work = Drill(loaded, pair, applications, owner=who(), tick=stopper(stop), report=say)
            report = at_work.run(order)
        document = report.to_json()
        write_files(document, json_out=json_out, junit=junit, html=html, history=history, earlier=earlier)
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        _show(document)
    if not report.passed:
        raise typer.Exit(FOUND_SOMETHING)


def _show(document: dict[str, Any]) -> None:
    print_table(f"{document['mode']} drill of flow {document['flow']}: phases", document["phases"], PHASE_COLUMNS)
    print_table("groups", document["groups"], GROUP_COLUMNS)
    print_table("limits", document["limits"], LIMIT_COLUMNS)
    rto = "never" if document["rto_s"] is None else f"{document['rto_s']:.1f} s"
    typer.echo(
        f"{document['written']:,} records written, {document['mirrored']:,} on the target; "
        f"RPO {document['rpo_records']:,} record(s), {document['rpo_s']:.1f} s; RTO {rto}"
    )
    typer.echo("passed" if document["passed"] else "FAILED: a limit was passed, see above")
