"""`mm2 hand-over`: from runs to connectors and back, to the engine that the flow's file names."""

from __future__ import annotations

from typing import Annotated

import typer

from airflow_provider_mm2.cli.connections import connectors_of, wanted_here
from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_table,
    print_warnings,
    stderr,
)
from airflow_provider_mm2.mirror.handover.hand_over import hand_over
from airflow_provider_mm2.mirror.handover.report import HandOverReport
from airflow_provider_mm2.mirror.run import process_owner, stopper

FOUND_SOMETHING = 1
COLUMNS = ("topic", "partition", "old", "new", "reason")

Apply = Annotated[bool, typer.Option("--apply", help="Do it; without, it is only shown.")]


def command(flow: Flow, apply: Apply = False, as_json: AsJson = False) -> None:
    """Hand a flow over to the engine that its file names, runs or connectors; no record is lost or comes twice."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        loaded = load(flow)
        connectors = connectors_of(loaded)
        with clusters(loaded) as pair:
            report = hand_over(
                loaded,
                pair,
                connectors,
                wanted_here(loaded) if loaded.engine == "connect" else (),
                apply=apply,
                owner=process_owner(),
                tick=stopper(stop),
                say=lambda line: stderr.print(line, soft_wrap=True),
            )
    document = report.to_json()
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        _show(report)
    if report.refused:
        raise typer.Exit(FOUND_SOMETHING)


def _show(report: HandOverReport) -> None:
    """For people."""
    document = report.to_json()
    if report.is_done_already:
        typer.echo(f"flow {report.flow} is mirrored with engine: {report.to.value} already")
        return
    before = "nothing on record" if report.before is None else report.before.value
    if report.partitions:
        print_table(f"flow {report.flow}, from {before} to {report.to.value}", document["partitions"], COLUMNS)
    for why in report.refused:
        stderr.print(f"refused: {why}", soft_wrap=True)
    if report.applied:
        typer.echo(f"flow {report.flow} is handed over: from here on engine: {report.to.value} mirrors it")
    elif not report.refused:
        typer.echo(f"nothing was changed; --apply hands flow {report.flow} over, from {before} to {report.to.value}")
