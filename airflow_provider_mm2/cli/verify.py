"""`mm2 verify`: both sides read and compared, record by record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from airflow_provider_mm2.cli.connections import connectors_of
from airflow_provider_mm2.cli.flows import Flow, clusters, load, parse_time, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_table,
    print_warnings,
    stderr,
)
from airflow_provider_mm2.mirror.errors import BoundRefused, PlaceRefused
from airflow_provider_mm2.mirror.run import stopper
from airflow_provider_mm2.mirror.verify.compare import verify_flow
from airflow_provider_mm2.mirror.verify.progress import Progress
from airflow_provider_mm2.mirror.verify.scope import Bound, VerifyOrder

FOUND_SOMETHING = 1
SHOWN = 50

COLUMNS = ("topic", "partition", "start", "end", "records", "target_records", "mismatches", "digest")
EXPLAINED = ("expired_source", "expired_target", "compacted_source", "compacted_target")
MISMATCH = ("kind", "topic", "partition", "source_offset", "target_offset", "records", "detail")

Topics = Annotated[
    list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only this source topic; may be given again.")
]
Since = Annotated[
    str | None, typer.Option("--from", metavar="PLACE", help="Begin there: a source offset, or a time with its zone.")
]
Until = Annotated[
    str | None, typer.Option("--to", metavar="PLACE", help="End before it: a source offset, or a time with its zone.")
]

ByOrder = Annotated[
    bool, typer.Option("--by-order", help="Pair both sides by order alone: for a mirror that another tool has made.")
]

Sample = Annotated[
    int | None,
    typer.Option("--sample", metavar="N", min=1, help="Compare only N windows at random places of each partition."),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Of the sample; the same one draws the same windows.")]
Resume = Annotated[
    Path | None,
    typer.Option("--resume", metavar="FILE", help="Remember there how far it is; go on from there if it is there."),
]


def verify(
    flow: Flow,
    topic: Topics = None,
    since: Since = None,
    until: Until = None,
    by_order: ByOrder = False,
    sample: Sample = None,
    seed: Seed = None,
    resume: Resume = None,
    as_json: AsJson = False,
) -> None:
    """Prove a mirror: compare every record with its copy. Nothing is written, and mirroring may go on meanwhile."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        order = VerifyOrder(
            topics=tuple(topic or ()),
            since=_bound("--from", since),
            until=_bound("--to", until),
            by_order=by_order,
            sample=sample,
            seed=seed,
        )
        loaded = load(flow)
        connectors = connectors_of(loaded) if loaded.engine == "connect" else None
        with clusters(loaded) as pair:
            document = verify_flow(
                loaded, pair, order, tick=stopper(stop), report=_line, resume=resume, connectors=connectors
            ).to_json()
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        _show(document)
    if document["mismatches"]:
        raise typer.Exit(FOUND_SOMETHING)


def _bound(option: str, text: str | None) -> Bound | None:
    """A place that was given: an offset, or a time.

    :raises PlaceRefused: it is neither.
    """
    if text is not None and text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_time(option, text)
    except BoundRefused as error:
        problem = f"{error.problem}, and no source offset either"
        raise PlaceRefused(place=f"{option} {text}", problem=problem) from error


def _show(document: dict[str, Any]) -> None:
    rows = [{**row, "digest": row["digest"] and row["digest"][:16]} for row in document["partitions"]]
    told = [name for name in EXPLAINED if any(row[name] for row in rows)]
    print_table(f"flow {document['flow']}, compared by {document['mode']}", rows, (*COLUMNS[:-1], *told, COLUMNS[-1]))
    listed = document["mismatches"]
    if listed:
        print_table("what is not as it should be", listed[:SHOWN], MISMATCH)
        more = len(listed) - len(listed[:SHOWN]) + document["mismatches_left_out"]
        if more:
            typer.echo(f"and {more:,} more; --json lists the first of them")
    for row in rows:
        for kind, count in row["on_record"].items():
            typer.echo(f"{row['topic']}-{row['partition']}: {count:,} record(s) outside the map, on record as {kind}")
    if document["sampled"]:
        sampled = document["sampled"]
        typer.echo(f"{sampled['windows']:,} windows of {sampled['of_windows']:,}, drawn with --seed {sampled['seed']}")
        typer.echo(sampled["statement"])
    rate = document["records"] / max(document["seconds"], 0.001)
    found = "no mismatch" if not listed else f"{len(listed) + document['mismatches_left_out']:,} mismatch(es)"
    typer.echo(f"{document['records']:,} records compared in {document['seconds']:.1f} s ({rate:,.0f}/s): {found}")


def _line(progress: Progress) -> None:
    stderr.print(progress.line(), soft_wrap=True)
