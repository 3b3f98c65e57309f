"""`mm2 connect`: MirrorMaker 2's connectors of a flow on a Connect cluster."""

from __future__ import annotations

from enum import Enum
from threading import Event
from typing import Annotated, Any

import typer

from airflow_provider_mm2.cli.connect_standing import show_connectors
from airflow_provider_mm2.cli.connections import connect_access, connectors_of, wanted_here
from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_table,
    print_warnings,
    stderr,
)
from airflow_provider_mm2.mirror.connect.access import connectors_at
from airflow_provider_mm2.mirror.connect.flow_connectors import Action, FlowConnectors
from airflow_provider_mm2.mirror.connect.report import ActionReport, PutReport, StatusReport
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.handover.recording import check_connectors_may_work, connectors_at_work
from airflow_provider_mm2.mirror.run import process_owner, stopper

FOUND_SOMETHING = 1


class Asked(str, Enum):
    """What is asked of the connectors."""

    PUT = "put"
    DIFF = "diff"
    STATUS = "status"
    PAUSE = "pause"
    RESUME = "resume"
    RESTART = "restart"
    STOP = "stop"
    DELETE = "delete"


Do = Annotated[Asked, typer.Argument(metavar="ACTION", help="What is asked of the connectors.")]
Apply = Annotated[
    bool, typer.Option("--apply", "--yes", help="Put or delete them; without, it is only shown what would change.")
]


def connect(flow: Flow, action: Do, apply: Apply = False, as_json: AsJson = False) -> None:
    """Keep MirrorMaker 2's connectors of a flow with engine: connect: put, diff, status, pause, resume and so on."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        loaded = load(flow)
        # Looking and stopping are allowed whatever mirrors the flow: what was left running has to be found and ended.
        is_harmless = action in (Asked.STATUS, Asked.PAUSE, Asked.STOP, Asked.DELETE) and loaded.connect.is_given
        connectors = connectors_of(loaded) if is_harmless else connectors_at(loaded, access=connect_access(loaded))
        report: PutReport | StatusReport | ActionReport
        if action in (Asked.PUT, Asked.DIFF):
            report = _put(loaded, connectors, stop, apply=apply and action is Asked.PUT)
        elif action is Asked.STATUS:
            report = connectors.status(stopper(stop))
        else:
            done = Action(action.value)
            report = _done(loaded, connectors, done, stop, apply=apply or done is not Action.DELETE)
    document = report.to_json()
    print_warnings(document.get("warnings", []))
    if as_json:
        print_document(document)
    else:
        _show(report, document, action)
    is_found = action is Asked.DIFF and document["to_change"]
    if is_found or (isinstance(report, StatusReport) and report.waits):
        raise typer.Exit(FOUND_SOMETHING)


def _put(flow: MirrorFlow, connectors: FlowConnectors, stop: Event, *, apply: bool) -> PutReport:
    wanted, tick = wanted_here(flow), stopper(stop)
    with clusters(flow) as pair:
        plan = connectors.plan(wanted, target_cluster=pair.target.cluster_id, tick=tick)
        check_connectors_may_work(flow, pair.target, tick)
        if not apply:
            return plan
        with connectors_at_work(flow, pair, owner=process_owner(), tick=tick) as keep:
            return connectors.put(plan, wanted, tick=keep)


def _done(flow: MirrorFlow, connectors: FlowConnectors, action: Action, stop: Event, *, apply: bool) -> ActionReport:
    tick = stopper(stop)
    if not action.lets_work:
        return connectors.act(action, apply=apply, tick=tick)
    with clusters(flow) as pair, connectors_at_work(flow, pair, owner=process_owner(), tick=tick) as keep:
        return connectors.act(action, tick=keep)


def _show(report: PutReport | StatusReport | ActionReport, document: dict[str, Any], action: Asked) -> None:
    """For people."""
    if isinstance(report, StatusReport):
        _show_status(report, document)
    elif isinstance(report, ActionReport):
        print_table(f"connectors of flow {report.flow}", document["connectors"], ("connector", "before", "after"))
        if not report.applied:
            typer.echo("nothing was deleted; --apply deletes these connectors. Their offsets stay in any case")
    else:
        for each in document["connectors"]:
            if each["keys"]:
                print_table(f"{each['change']} {each['connector']}", each["keys"], ("key", "before", "after"))
            else:
                typer.echo(f"{each['connector']}: {each['change']}")
        for one in document["differs"]:
            stderr.print(f"other than in a run: {one['key']}: {one['text']}", soft_wrap=True)
        if not report.to_change:
            typer.echo("nothing to change")
        elif report.applied:
            typer.echo(f"{report.to_change} connector(s) changed")
        else:
            how = "`mm2 connect FLOW put --apply`" if action is Asked.DIFF else "--apply"
            typer.echo(f"nothing was changed; {how} changes {report.to_change} connector(s)")


def _show_status(report: StatusReport, document: dict[str, Any]) -> None:
    show_connectors(document)
    if document["partitions"]:
        print_table("next offsets to copy", document["partitions"], ("topic", "partition", "progress"))
    for failure in report.failures:
        stderr.print(f"failed: {failure}", soft_wrap=True)
    for wait in report.waits:
        typer.echo(wait)
