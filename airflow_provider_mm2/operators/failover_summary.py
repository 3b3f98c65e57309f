"""A failover as bounded plain values for XCom, and as the text that a person approves. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_mm2.mirror.clusters.naming import REVERSE
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import Mode

POSITIONS_LISTED = 200
GROUPS_NAMED = 50
WARNINGS_LISTED = 20
TEXT_LIMIT = 500
"""Limits on what one task leaves in Airflow's database: about 100 kB at most. The counts always count everything."""

COLUMNS = (
    *("group", "partition", "stands at", "had there", "goes on at", "exact", "lag", "read again", "not on target"),
    "members",
)


def failover_summary(report: FailoverReport) -> dict[str, Any]:
    """How far a failover is, with the digest of its plan; ``state`` is ``preview`` where nothing was begun."""
    document = report.to_json()
    warnings = _warnings(report)
    left = report.not_moved
    kept = ("flow", "mode", "state", "active_side", "frozen", "as_of", "applied", "begun_by", "approved_by")
    return {
        **{key: document[key] for key in (*kept, "loss_window", "known_missing")},
        "failover": None if report.failover is None else report.failover.number,
        "digest": document["plan_digest"],
        "steps": {step["name"]: step["state"] for step in document["steps"]},
        **positions_summary(document["groups"], groups=len(report.groups)),
        "not_moved": [line[:TEXT_LIMIT] for line in left[:GROUPS_NAMED]],
        "not_moved_left_out": max(0, len(left) - GROUPS_NAMED),
        "warnings": [line[:TEXT_LIMIT] for line in warnings[:WARNINGS_LISTED]],
        "warnings_left_out": max(0, len(warnings) - WARNINGS_LISTED),
    }


def positions_summary(rows: list[dict[str, Any]], *, groups: int) -> dict[str, Any]:
    """The positions of groups: all counted, as many listed as fit."""
    return {
        "groups": groups,
        "positions": len(rows),
        "exact": sum(row["exact"] for row in rows),
        "listed": rows[:POSITIONS_LISTED],
        "left_out": max(0, len(rows) - POSITIONS_LISTED),
    }


def approval_text(report: FailoverReport) -> str:
    """The numbers of a plan in Markdown, for whoever has to say yes or no."""
    return "\n".join(_lines(report))[: POSITIONS_LISTED * TEXT_LIMIT]


def _lines(report: FailoverReport) -> Iterator[str]:
    document = report.to_json()
    rows, mode = document["groups"], document["mode"]
    yield f"**{mode} failover of flow {_cell(document['flow'])}: {document['state']}**"
    yield ""
    yield f"- digest of the plan: `{document['plan_digest']}`"
    yield f"- positions: as of {document['as_of']}, {sum(row['exact'] for row in rows)} of {len(rows)} are exact"
    yield f"- may not be on the target: {document['loss_window']}"
    yield from (f"- {line}" for line in _what_it_means(report))
    yield from (f"- warning: {_cell(line[:TEXT_LIMIT])}" for line in _warnings(report)[:WARNINGS_LISTED])
    for name, move in report.groups.items():
        if move.problem:
            yield f"- group {_cell(name)} cannot be moved: {_cell(move.problem)}"
    for repoint in document["repoints"]:
        yield from (_repoint_line(repoint["name"], item) for item in repoint["items"])
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    members = {name: len(move.members) for name, move in report.groups.items()}
    yield from (_row(row, members[row["group"]]) for row in rows[:POSITIONS_LISTED])
    if len(rows) > POSITIONS_LISTED:
        more = len(rows) - POSITIONS_LISTED
        yield ""
        yield f"{more} more: `mm2 failover {document['flow']} --status` lists all."


def _what_it_means(report: FailoverReport) -> Iterator[str]:
    order = report.order
    if order is None:
        return
    if order.mode is Mode.UNPLANNED:
        yield "the source is not spoken to: what a group read there since then it reads again"
    record = report.record
    if record.flow.endswith(REVERSE):
        forward = record.flow.removesuffix(REVERSE)
        yield f"this is the way home: {record.target_alias} becomes the active side, and flow {forward} goes on"
    elif order.ends_on_target:
        yield "the target becomes the active side, and mirror runs of the flow end with an error"
    else:
        yield "only these groups or topics move, and the flow goes on mirroring"
    active = [name for name, move in report.groups.items() if move.members]
    if active:
        some = ", ".join(_cell(name) for name in active[:GROUPS_NAMED])
        yield f"{len(active)} group(s) have members on the target and are not moved unless they leave: {some}"


def _repoint_line(name: str, item: Mapping[str, Any]) -> str:
    detail = f", {_cell(item['detail'])}" if item["detail"] else ""
    change = f"{_cell(item['before'])} becomes {_cell(item['after'])}"
    return f"- repoint {_cell(name)}, {_cell(item['where'])}: {change} ({_cell(item['state'])}{detail})"


def _row(row: Mapping[str, Any], members: int) -> str:
    place = None if row["target_offset"] is None else f"{row['target_topic']}: {row['target_offset']}"
    exact = "yes" if row["exact"] else f"no: {row['reason']}" if row["reason"] else "no"
    cells = (
        row["group"],
        f"{row['topic']}-{row['partition']}",
        row["source_offset"],
        row["before"],
        place,
        exact,
        row["lag"],
        "not known" if row["reread"] is None else row["reread"],
        row["not_on_target"],
        members,
    )
    return f"| {' | '.join('-' if cell is None else _cell(str(cell)) for cell in cells)} |"


def _cell(value: str) -> str:
    """A value that cannot break out of its cell, or be taken for anything but text."""
    flat = " ".join(value.split())
    return "".join(f"\\{char}" if char in "|\\`*_[]<>!#~" else char for char in flat)


def _warnings(report: FailoverReport) -> tuple[str, ...]:
    """Warnings of a preview hold those of its plan."""
    return report.warnings or (() if report.plan is None else report.plan.warnings)
