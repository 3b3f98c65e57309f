"""`mm2 seed`: where progress stands, and setting it from somewhere else."""

from __future__ import annotations

from typing import Annotated

import typer

from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import AsJson, failures_as_exit_codes, print_document, print_table, stderr
from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.offsets.seed_check import check_seed
from airflow_provider_mm2.mirror.run import seed_progress

FOUND_SOMETHING = 1
COLUMNS = ("topic", "partition", "old", "new", "reason")

From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="KIND",
        help="earliest, latest, timestamp:TIME, offsets:FILE, source-group:GROUP, progress-group, "
        "connect:TOPIC[:CONNECTOR], match or failover.",
    ),
]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only this source topic; may be given again.")
]
Force = Annotated[bool, typer.Option("--force", help="Also where records would be lost or copied once more.")]
Apply = Annotated[bool, typer.Option("--apply", help="Write it; without, it is only shown.")]


def seed(
    flow: Flow, kind: From, topic: Topics = None, force: Force = False, apply: Apply = False, as_json: AsJson = False
) -> None:
    """Set where the next run begins to copy, from a place or a tool that knows; shown first, written with --apply."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        asked = Seed.parse(kind)
        check_seed(asked)
        loaded = load(flow)
        with clusters(loaded) as pair:
            report = seed_progress(loaded, pair, asked, topics=topic or (), force=force, apply=apply, stop=stop)
    document = report.to_json()
    if as_json:
        print_document(document)
    else:
        print_table(f"flow {loaded.name}, progress from {asked}", document["partitions"], COLUMNS)
        if report.applied:
            typer.echo(f"progress of {report.changes} partition(s) set" if report.changes else "nothing to change")
        elif not report.refused:
            typer.echo(f"nothing was written; --apply sets {report.changes} partition(s)")
        for problem in report.passed_over:
            stderr.print(f"passed over: {problem}", soft_wrap=True)
        for why in report.refused:
            stderr.print(f"refused: {why}", soft_wrap=True)
    if report.refused:
        raise typer.Exit(FOUND_SOMETHING)
