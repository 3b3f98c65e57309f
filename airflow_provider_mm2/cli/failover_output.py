"""What `mm2 failover` and `mm2 failback` print of a failover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from airflow_provider_mm2.cli.output import print_table, stderr
from airflow_provider_mm2.mirror.recovery.steps import Stage

GROUP_COLUMNS = (
    *("group", "topic", "partition", "source_offset", "target_topic", "target_offset", "before", "exact", "lag"),
    *("reread", "not_on_target", "reason"),
)
ROWS_SHOWN = 50
LISTED = 3
REPOINT_COLUMNS = ("where", "before", "after", "state", "detail")
STEP_COLUMNS = ("number", "name", "state", "by", "started", "ended", "told")


def show_failover(document: dict[str, Any], not_moved: Sequence[str]) -> None:
    """Print a failover's document, or that of a failback."""
    name = document["flow"]
    if document["groups"]:
        _show_groups(f"flow {name}, groups as of {document['as_of']}", document["groups"])
    if document["steps"]:
        rows = [{**step, "told": _told(step["detail"])} for step in document["steps"]]
        print_table(f"{document['mode']} failover of flow {name}: {document['state']}", rows, STEP_COLUMNS)
    _show_surroundings(document)
    if document["loss_window"]:
        typer.echo(f"may not be on the target: {document['loss_window']}")
    for line in not_moved:
        stderr.print(f"not moved: {line}", soft_wrap=True)


def _show_groups(title: str, rows: list[dict[str, Any]]) -> None:
    """What a person has to look at first: positions that are not exact; of the others as many as a page holds."""
    odd = [row for row in rows if not row["exact"]]
    shown = [*odd, *(row for row in rows if row["exact"])][: max(ROWS_SHOWN, len(odd))]
    print_table(title, shown, GROUP_COLUMNS)
    if len(shown) < len(rows):
        typer.echo(f"and {len(rows) - len(shown):,} more position(s), all of them exact; --json has them")
    typer.echo(f"{len(rows):,} position(s), {len(rows) - len(odd):,} exact")


def _show_surroundings(document: dict[str, Any]) -> None:
    """What becomes of the applications' configuration, and who is in the groups."""
    for repoint in document["repoints"]:
        if repoint["items"]:
            print_table(f"repoint {repoint['name']}", list(repoint["items"]), REPOINT_COLUMNS)
    for who, sides in document["members"].items():
        for side, members in sides.items():
            if members:
                typer.echo(f"group {who} has {len(members)} member(s) on the {side}: {', '.join(members[:3])}")


def _told(detail: dict[str, Any]) -> str:
    if set(detail) == {"does"}:
        return str(detail["does"])
    told = {key.replace("_", " "): value for key, value in detail.items() if value not in ([], {}, None, "")}
    return "; ".join(f"{key}: {_in_short(value)}" for key, value in told.items())


def _in_short(value: object) -> str:
    """A few of many."""
    if not isinstance(value, list) or len(value) <= LISTED:
        return str(value)
    return f"{', '.join(map(str, value[:LISTED]))} and {len(value) - LISTED} more"


def next_of(document: dict[str, Any], call: str) -> str:
    """What there is to do about a failover that has begun; ``call`` is the command without options."""
    return {
        Stage.AWAITING_APPROVAL.value: f"`{call} --resume --approve {document['plan_digest']}` goes on, "
        f"`{call} --rollback` undoes it",
        Stage.RUNNING.value: f"not over: `{call} --resume` goes on, --rollback undoes it",
        Stage.ROLLING_BACK.value: f"not over: `{call} --rollback` goes on",
        Stage.ROLLED_BACK.value: "rolled back: mirror runs go on as before",
        Stage.REOPENED.value: "taken back: the source is the active side, mirror runs go on as before",
        Stage.CLOSED.value: f"closed: the {document['active_side']} is the active side",
        Stage.FAILED_BACK.value: "all came home since: the source is the active side, mirror runs go on as before",
    }[document["state"]]
