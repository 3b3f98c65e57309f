"""`mm2 groups`: where consumer groups stand on the target, and committing them there."""

from __future__ import annotations

from typing import Annotated

import typer

from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    by_rule,
    failures_as_exit_codes,
    print_document,
    print_table,
    print_warnings,
)
from airflow_provider_mm2.mirror.offsets.positions import Origin
from airflow_provider_mm2.mirror.run import locate_groups

FOUND_SOMETHING = 1
COLUMNS = (
    *("group", "topic", "partition", "source_offset", "target_topic", "target_offset", "on_target", "exact", "reason"),
)

Only = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="GROUP", help="Only this group, also one that the flow leaves out; repeatable."),
]
Apply = Annotated[bool, typer.Option("--apply", help="Commit the positions to groups on the target nobody is in.")]

Refine = Annotated[
    bool,
    typer.Option("--refine", help="Where MirrorMaker 2's offset syncs give no exact position, find it by reading."),
]


def groups(
    flow: Flow, group: Only = None, refine: Refine = False, apply: Apply = False, as_json: AsJson = False
) -> None:
    """Tell where each consumer group goes on on the target, exactly, or why that cannot be told."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        loaded = load(flow)
        with clusters(loaded) as pair:
            report = locate_groups(loaded, pair, only=group or (), apply=apply, refine=refine, stop=stop)
    document = report.to_json()
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        is_by_mm2 = any(row["source"] != Origin.OFFSET_MAP.value for row in document["groups"])
        columns = (*COLUMNS, "source") if is_by_mm2 else COLUMNS
        rows = [row for row in document["groups"] if row["target_topic"] is not None]
        print_table(f"flow {loaded.name}, as of {document['as_of']}", rows, columns)
        if len(rows) < len(document["groups"]):
            typer.echo(f"{len(document['groups']) - len(rows):,} position(s) on topics that the flow has not mirrored")
        told = [row for row in document["results"] if apply or row["result"] == "failed" or row["detail"]]
        if told:
            print_table("groups on the target", told, ("group", "result", "detail"))
        if document["left_out"]:
            left_out = [{"group": name, "rule": rule} for name, rule in document["left_out"].items()]
            print_table("groups left out", by_rule(left_out, "group"), ("rule", "groups", "names"))
        if not apply:
            typer.echo("nothing was written; --apply commits these positions on the target")
    if report.failed or any(found.ahead for found in report.outcomes.values()):
        raise typer.Exit(FOUND_SOMETHING)
