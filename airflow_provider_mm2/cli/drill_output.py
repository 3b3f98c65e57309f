"""What `mm2 drill` prints for people, in tables that a terminal of 80 columns holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from airflow_provider_mm2.cli.output import print_table, table_width
from airflow_provider_mm2.mirror.drill.report import GAME_DAY

ROWS_SHOWN = 50
WHERE_COLUMNS = ("partition", "on_source", "by_now", "on_target", "exact")
MET_COLUMNS = ("partition", "read", "lost", "repeated", "skipped", "reordered", "unlike")
REST = 76
"""Columns of a terminal that the table of groups needs beside their names."""

COUNTS = ("lost", "repeated", "skipped", "reordered")
PHASE_COLUMNS = ("name", "begin", "seconds", "counts_for_rto")
LIMIT_COLUMNS = ("name", "limit", "value", "passed")

Row = dict[str, Any]


def show_drill(document: dict[str, Any]) -> None:
    """Print a drill's document, or a game day's."""
    is_game_day = document["mode"] == GAME_DAY
    flow = document["flow"]
    if is_game_day:
        _show_places(document)
    title = f"game day of flow {flow}" if is_game_day else f"{document['mode']} drill of flow {flow}"
    print_table(f"{title}: phases", document["phases"], PHASE_COLUMNS)
    _show_groups(document["groups"], is_game_day=is_game_day)
    print_table("limits", document["limits"], LIMIT_COLUMNS)
    for line in _lines(document, is_game_day=is_game_day):
        typer.echo(line)


def _show_groups(groups: list[Row], *, is_game_day: bool) -> None:
    before, after = ("compared", "read") if is_game_day else ("read_before", "read_after")
    rows = [{**group, before: group["read_before"], after: group["read_after"]} for group in groups]
    columns = (before, after, *COUNTS, "rto_s")
    if max((len(group["group"]) for group in groups), default=0) + REST <= table_width():
        print_table("groups", rows, ("group", *columns))
        return
    for row in rows:
        typer.echo(f"group {row['group']}:")
        print_table("", [row], columns)


def _lines(document: dict[str, Any], *, is_game_day: bool) -> Iterator[str]:
    for name in document["left_behind"]:
        yield f"left behind: {name}"
    home = document["failback"]
    if home is not None:
        yield (
            f"home again: {home['records']:,} records written on the target, {home['records_wrong']:,} of them not at "
            f"home once and in order; {home['positions']:,} group positions, {home['positions_wrong']:,} of them wrong"
        )
    if document["loss_window"]:
        yield f"may not be on the target: {document['loss_window']}"
    written = "records to be mirrored" if is_game_day else "records written"
    there = "mirrored" if is_game_day else "on the target"
    rto = "never" if document["rto_s"] is None else f"{document['rto_s']:.1f} s"
    yield (
        f"{document['written']:,} {written}, {document['mirrored']:,} {there}; "
        f"RPO {document['rpo_records']:,} record(s), {document['rpo_s']:.1f} s; RTO {rto}"
    )
    yield "passed" if document["passed"] else "FAILED: a limit was passed, see above"


def _show_places(document: dict[str, Any]) -> None:
    """Each group on each topic, under their whole names; what a person has to look at first, then as many as fit."""
    places = [(group["group"], _row(place)) for group in document["groups"] for place in group["positions"]]
    odd = [each for each in places if _is_odd(each[1])]
    shown = [*odd, *(each for each in places if not _is_odd(each[1]))][: max(ROWS_SHOWN, len(odd))]
    rows: dict[tuple[str, str], list[Row]] = {}
    for name, place in shown:
        rows.setdefault((name, place["topic"]), []).append(place)
    for (name, topic), some in rows.items():
        some.sort(key=lambda row: int(row["partition"]))
        typer.echo(f"group {name}, topic {topic}:")
        print_table("where it would stand", some, WHERE_COLUMNS)
        for reason in sorted({row["reason"] for row in some if row["reason"]}):
            numbers = ", ".join(str(row["partition"]) for row in some if row["reason"] == reason)
            typer.echo(f"  partition {numbers}: {reason}\n")
        print_table("what it would read there", [row for row in some if "read" in row], MET_COLUMNS)
    if len(shown) < len(places):
        typer.echo(f"and {len(places) - len(shown):,} more position(s), exact and without a fault; --json has them")


def _row(place: Row) -> Row:
    names = {"on_source": "source_offset", "by_now": "source_now", "on_target": "target_offset"}
    return {**place, **{name: place.get(key) for name, key in names.items()}}


def _is_odd(place: Row) -> bool:
    return not place["exact"] or any(place.get(name) for name in (*COUNTS, "unlike"))
