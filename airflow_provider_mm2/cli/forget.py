"""`mm2 forget`: removing what a flow has recorded of topics, or of itself."""

from __future__ import annotations

from typing import Annotated

import typer

from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import AsJson, failures_as_exit_codes, print_document, print_table
from airflow_provider_mm2.mirror.run import forget_progress

Topics = Annotated[
    list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only this source topic; may be given again.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Remove it; without, it is only shown.")]


def forget(flow: Flow, topic: Topics = None, apply: Apply = False, as_json: AsJson = False) -> None:
    """Forget progress and offset map of topics, or the whole flow; mirrored records stay. Shown first."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        loaded = load(flow)
        with clusters(loaded) as pair:
            document = forget_progress(loaded, pair, topics=topic or (), apply=apply, stop=stop).to_json()
    if as_json:
        print_document(document)
        return
    columns = ("topic", "partition", "progress", "records", "target_topic")
    print_table(f"flow {loaded.name}, progress and offset map", document["partitions"], columns)
    if document["topics_deleted"]:
        typer.echo(f"the flow's own topics: {', '.join(document['topics_deleted'])}, and its progress group")
    typer.echo("forgotten" if apply else "nothing was removed; --apply forgets all of this")
    typer.echo(f"what stays: {document['stays']}")
