"""`mm2 run`, `mm2 plan`, `mm2 status`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Annotated, Any

import pendulum
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from airflow_provider_mm2.cli.connect_standing import show_connect_standing
from airflow_provider_mm2.cli.connections import connectors_of
from airflow_provider_mm2.cli.flows import Flow, clusters, load, parse_time, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_left_out,
    print_table,
    print_warnings,
    problem_lines,
    stderr,
)
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.connect.standing import connect_standing
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.interval.replicate import Report
from airflow_provider_mm2.mirror.model import Progress as Standing
from airflow_provider_mm2.mirror.run import plan_flow, run_mirror
from airflow_provider_mm2.mirror.state.engines import engine_of, tell_engine
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state_model import Delivery, Engine
from airflow_provider_mm2.mirror.status import flow_status

FOUND_SOMETHING = 1
INCIDENTS_SHOWN = 20

Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Copy what is stamped before this.", show_default="the end of the log now"),
]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Where a strict flow wants the interval to begin.")]


def run(flow: Flow, until: Until = None, since: Since = None, as_json: AsJson = False) -> None:
    """Mirror a flow once, up to a time or to the end of its logs."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        bounds = _bounds(until, since)
        loaded = load(flow)
        with clusters(loaded) as pair, _bar() as report:
            summary = run_mirror(loaded, pair, bounds=bounds, stop=stop, report=report)
    document = summary.to_json()
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
        with failures_as_exit_codes():
            summary.groups.raise_incomplete()
        return
    columns = ("topic", "partition", "start", "end", "records", "target_topic", "target_start", "target_end")
    print_table(f"flow {loaded.name}", document["partitions"], columns)
    if document["already_complete"]:
        typer.echo("nothing was left to copy: already complete")
    else:
        rate = document["records"] / max(document["copy_seconds"], 0.001)
        parts = "transaction" if document["delivery"] == Delivery.EXACTLY_ONCE.value else "chunk"
        typer.echo(
            f"{document['records']:,} records, {document['bytes']:,} bytes of values in "
            f"{document['transactions']} {parts}(s), {document['seconds']:.1f} s in all "
            f"({rate:,.0f} records/s while copying)"
        )
    _echo_delivery(document)
    results = document["groups"]["results"]
    typer.echo(
        f"{document['groups']['groups']} consumer group(s)"
        + "".join(f", {count} {result}" for result, count in sorted(results.items()))
        + f"; {document['groups']['checkpoints']} checkpoint(s) published"
    )
    with failures_as_exit_codes():
        summary.groups.raise_incomplete()


def plan(flow: Flow, until: Until = None, since: Since = None, as_json: AsJson = False) -> None:
    """Tell what a run would do: topics in and out with the rule, sizes, growth, problems. Touches nothing."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        bounds = _bounds(until, since)
        loaded = load(flow)
        with clusters(loaded) as pair:
            document = plan_flow(loaded, pair, bounds=bounds, stop=stop).to_json()
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        print_table("topics in", document["topics"], ("topic", "target_topic", "partitions", "action"))
        print_left_out(document["left_out"], "topic")
        print_left_out(document["groups_left_out"], "group")
        _print_changes(document)
        columns = ("topic", "partition", "shard", "progress", "source_start", "source_end", "to_copy")
        print_table("partitions", document["partitions"], columns)
        typer.echo(f"{document['to_copy']:,} offsets to copy at most, {document['shards']} shard(s)")
        _echo_delivery(document)
        for line in problem_lines(document["problems"]):
            typer.echo(f"would stop: {line}")
    if document["problems"]:
        raise typer.Exit(FOUND_SOMETHING)


def status(flow: Flow, as_json: AsJson = False) -> None:
    """Tell where a flow stands: progress, lag, mirrored through. Works without the source, too."""
    with failures_as_exit_codes(as_json), stop_on_signals():
        loaded = load(flow)
        with clusters(loaded) as pair:
            document = _standing(loaded, pair)
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
        _exit_with_problems(document)
        return
    if document["source_problem"]:
        stderr.print(f"the source does not answer: {document['source_problem']}", soft_wrap=True)
    is_on_connect = "connectors" in document
    if is_on_connect:
        show_connect_standing(document)
    at_least = ("at_least",) if document.get("connect_problem") else ()
    columns = ("topic", "partition", "progress", *at_least, "source_end", "lag", "mirrored_through", "target_end")
    print_table(f"flow {loaded.name}, active side {document['active_side']}", document["partitions"], columns)
    rpo = document["rpo_s"]
    groups = document["groups"]
    if groups:
        typer.echo(
            f"consumer groups: {groups['groups']:,}, {groups['exact']:,} of {groups['positions']:,} positions on "
            "mirrored topics exact, "
            f"as of {groups['as_of']}"
        )
    _echo_delivery(document)
    typer.echo("recovery point: nothing can be claimed yet" if rpo is None else f"recovery point: {_ago(rpo)} ago")
    incidents = document["incidents"]
    for incident in incidents[-INCIDENTS_SHOWN:]:
        typer.echo(f"on record since {incident['at']}: {incident['text']}")
    if len(incidents) > INCIDENTS_SHOWN:
        typer.echo(f"and {len(incidents) - INCIDENTS_SHOWN:,} before them; --json has all")
    stops = "not mirrored" if is_on_connect else "the next run would stop"
    for line in problem_lines(document["problems"]):
        typer.echo(f"{stops}: {line}")
    _exit_with_problems(document)


def _standing(flow: MirrorFlow, pair: ClusterPair) -> dict[str, Any]:
    """What is told of a flow, by the engine that mirrors it; connectors have to be found to be asked."""
    engine = engine_of(flow, find_gate(pair.target, flow.name, _no_tick))
    if engine is Engine.CONNECT and flow.connect.is_given:
        document = connect_standing(flow, pair, connectors_of(flow), tick=_no_tick).to_json()
    else:
        document = flow_status(flow, pair, tick=_no_tick).to_json()
    return {**document, "warnings": [*tell_engine(flow, engine), *document["warnings"]]}


def _echo_delivery(document: dict[str, Any]) -> None:
    typer.echo(f"delivery {document['delivery']}: {document['delivery_cost']}")


def _print_changes(document: dict[str, Any]) -> None:
    """Settings and access rules that a run would change, as far as there are any."""
    if document["settings"]:
        rows = [{**row, "value": "(removed)" if row["value"] is None else row["value"]} for row in document["settings"]]
        print_table("settings to alter on the target", rows, ("topic", "setting", "value"))
    columns = ("topic", "prefixed", "principal", "host", "permission", "operation")
    if document["acls"]["create"]:
        print_table("access rules to create on the target", document["acls"]["create"], columns)
    if document["acls"]["left_out"]:
        print_table("access rules of the source left out", document["acls"]["left_out"], (*columns, "reason"))


def _ago(seconds: float) -> str:
    """A span as people say it, and in seconds, by which limits are set."""
    words = pendulum.duration(seconds=round(seconds)).in_words() if round(seconds) else "less than a second"
    return f"{words} ({seconds:,.0f} s)"


def _exit_with_problems(document: dict[str, Any]) -> None:
    if document["problems"]:
        raise typer.Exit(FOUND_SOMETHING)


def _bounds(until: str | None, since: str | None) -> RunBounds:
    started = datetime.now(timezone.utc)
    return RunBounds(until=parse_time("--until", until), since=parse_time("--since", since), started=started)


def _no_tick() -> None:
    return None


@contextmanager
def _bar() -> Iterator[Report]:
    """A bar on a terminal, a line every few seconds elsewhere."""
    if not stderr.is_terminal:
        yield _line
        return
    texts = ("{task.description}", "{task.fields[rate]}")
    with Progress(
        TextColumn(texts[0]), BarColumn(), TaskProgressColumn(), TextColumn(texts[1]), TimeRemainingColumn(),
        console=stderr,
    ) as bar:  # fmt: skip
        tasks: dict[int, int] = {}

        def show(standing: Standing) -> None:
            if standing.shard not in tasks:
                tasks[standing.shard] = bar.add_task(f"shard {standing.shard}", total=None, rate="")
            done = standing.records
            bar.update(
                tasks[standing.shard],  # type: ignore[arg-type]
                completed=done,
                total=done + standing.remaining,
                rate=f"{done:,} records, {done / max(standing.seconds, 0.001):,.0f}/s",
            )

        yield show


def _line(standing: Standing) -> None:
    rate = standing.records / max(standing.seconds, 0.001)
    left = f", about {standing.remaining / rate:,.0f} s left" if rate and standing.remaining else ""
    stderr.print(
        f"shard {standing.shard}: {standing.records:,} records, {rate:,.0f}/s, "
        f"{standing.remaining:,} offsets left{left}"
    )
