"""`mm2 drill`: the whole way of a failover on throw-away topics, measured against limits."""

from __future__ import annotations

import json
from importlib.util import find_spec
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
from airflow_provider_mm2.mirror.drill.page import html_page, junit_xml, read_history, summary_line
from airflow_provider_mm2.mirror.errors import ExtraMissing, FileNotWritable
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
        earlier = _earlier(history, load(flow).name)
        check_extra(junit=junit, html=html)
        loaded = load(flow)
        order = DrillOrder(mode=Mode.UNPLANNED if unplanned else Mode.PLANNED, load_s=seconds, failback=failback)
        with clusters(loaded) as pair:
            applications = {
                cluster.alias: ConfluentApplications(cluster.settings) for cluster in (pair.source, pair.target)
            }
            at_work = Drill(loaded, pair, applications, owner=who(), tick=stopper(stop), report=say)
            report = at_work.run(order)
        document = report.to_json()
        _write(document, earlier, json_out=json_out, junit=junit, html=html, history=history)
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        _show(document)
    if not report.passed:
        raise typer.Exit(FOUND_SOMETHING)


def check_extra(**asked: Path | None) -> None:
    """See that what writes reports is installed, before anything is drilled.

    :raises ExtraMissing: it is not.
    """
    missing = [name for name in ("jinja2", "junitparser", "pygal") if find_spec(name) is None]
    if missing and any(asked.values()):
        raise ExtraMissing(extra="drill", packages=tuple(missing))


def _earlier(history: Path | None, flow: str) -> list[dict[str, Any]]:
    if history is None or not history.exists():
        return []
    try:
        return read_history(history.read_text(encoding="utf-8").splitlines(), flow)
    except (OSError, ValueError) as error:
        raise FileNotWritable(path=str(history), problem=str(error)) from error


def _write(
    document: dict[str, Any],
    earlier: list[dict[str, Any]],
    *,
    json_out: Path | None,
    junit: Path | None,
    html: Path | None,
    history: Path | None,
) -> None:
    line = summary_line(document)
    try:
        if history is not None:
            with history.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        if json_out is not None:
            json_out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        if junit is not None:
            junit.write_text(junit_xml(document), encoding="utf-8")
        if html is not None:
            html.write_text(html_page(document, [*earlier, json.loads(line)]), encoding="utf-8")
    except OSError as error:
        raise FileNotWritable(path=str(error.filename), problem=error.strerror or str(error)) from error


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
