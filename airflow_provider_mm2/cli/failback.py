"""`mm2 failback`: coming home after a failover, and what becomes of records that it left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from airflow_provider_mm2.cli.failover import (
    FOUND_SOMETHING,
    Act,
    Apply,
    Approve,
    ConfirmWait,
    Force,
    NoRepoint,
    Quiet,
    Resume,
    Rollback,
    Status,
    StopWait,
    Yes,
    check_recorded,
    check_words,
    done,
    failover_of,
    one_of,
    say,
    who,
)
from airflow_provider_mm2.cli.failover_output import next_of, show_failover
from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_table,
    print_warnings,
)
from airflow_provider_mm2.mirror.errors import FileNotWritable, OptionsDisagree
from airflow_provider_mm2.mirror.recovery.failback import Failback
from airflow_provider_mm2.mirror.recovery.failback_report import (
    HOME,
    NOT_HANDED_OVER,
    NOT_PREPARED,
    PREPARED,
    FailbackReport,
    record_row,
)
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.report import EMPTY, FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.reverse_flow import reverse_of
from airflow_provider_mm2.mirror.run import stopper
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from airflow_provider_mm2.mirror.state_model import ActiveSide

STRANDED_COLUMNS = ("topic", "partition", "offset", "timestamp", "key")
NOTE_COLUMNS = ("topic", "partition", "start", "end", "records", "choice", "copied_to", "done", "by", "at")
COMING_COLUMNS = ("topic", "partition", "target_topic", "start", "end")
ROWS_SHOWN = 50

Choice = Annotated[
    Stranded | None,
    typer.Option("--stranded", help="What becomes of records on the old source that were never mirrored."),
]
ListTo = Annotated[
    Path | None,
    typer.Option("--list-stranded", metavar="FILE", help="Write all of them there, a JSON object a line."),
]
Prepare = Annotated[
    bool,
    typer.Option("--prepare", help="Open the way home, so that `mm2 run FLOW.reverse` brings home what was written."),
]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="GROUP", help="Only this group; repeatable.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="Only positions on this topic of the active side; repeatable."),
]


def failback(
    flow: Flow,
    stranded: Choice = None,
    list_stranded: ListTo = None,
    prepare: Prepare = False,
    group: Groups = None,
    topic: Topics = None,
    apply: Apply = False,
    yes: Yes = False,
    resume: Resume = False,
    approve: Approve = None,
    rollback: Rollback = False,
    status: Status = False,
    force: Force = False,
    quiet: Quiet = 5,
    stop_wait: StopWait = 120,
    confirm_wait: ConfirmWait = 0,
    no_repoint: NoRepoint = False,
    as_json: AsJson = False,
) -> None:
    """Come home: what it means is shown first; --prepare opens the way home, --apply brings all back and moves groups.

    With --apply the way home is opened where it is not yet, then a planned failover of it begins, which stops for an
    approval like any other.
    """
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        given = {Act.PREPARE: prepare, Act.APPLY: apply, Act.RESUME: resume}
        act = one_of({**given, Act.ROLLBACK: rollback, Act.STATUS: status})
        check_words(act, yes=yes, approve=approve)
        if stranded is not None and act not in (Act.PREPARE, Act.APPLY):
            problem = "--stranded goes with --prepare or --apply"
            raise OptionsDisagree(options=("--stranded", act.value), problem=problem)
        order = Order(
            mode=Mode.PLANNED,
            groups=tuple(group or ()),
            topics=tuple(topic or ()),
            quiet_s=quiet,
            stop_wait_s=stop_wait,
            confirm_wait_s=confirm_wait,
            force=force,
            skip_repoint=no_repoint,
        )
        check_recorded(act, order)
        forward = load(flow)
        home = None
        report = None
        with clusters(reverse_of(forward)) as pair:
            coming = Failback(forward, pair, owner=who(), tick=stopper(stop), report=say)
            if list_stranded is not None:
                _write_list(coming, list_stranded)
            if act in (Act.PREPARE, Act.APPLY):
                home = coming.prepare(stranded)
            elif act is Act.PREVIEW or (act is Act.STATUS and not coming.is_begun()):
                home = coming.look()
            if act is not Act.PREPARE and (home is None or home.state == PREPARED):
                report = done(failover_of(coming.reverse, pair, stop), act, order, yes=yes, approve=approve)
    document = _document(forward.name, home, report)
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        _show(document, () if report is None else report.not_moved)
    if (report is not None and report.not_moved) or (home is not None and home.stranded):
        raise typer.Exit(FOUND_SOMETHING)


def _write_list(coming: Failback, path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            for part, record in coming.all_stranded():
                file.write(json.dumps(record_row(part, record)) + "\n")
    except OSError as error:
        raise FileNotWritable(path=str(path), problem=error.strerror or str(error)) from error


def _document(flow: str, home: FailbackReport | None, report: FailoverReport | None) -> dict[str, Any]:
    """The failover's document, in the words of the flow that comes home, with what is told of the way home."""
    document = EMPTY if report is None else report.to_json()
    told = None if home is None else home.to_json()
    state = document["state"]
    if report is None and home is not None:
        state = home.state
    is_home = report is not None and report.record.active_side is ActiveSide.TARGET
    return {
        **document,
        "flow": flow,
        "state": state,
        "active_side": (ActiveSide.SOURCE if is_home or state == HOME else ActiveSide.TARGET).value,
        "failback": told,
        "warnings": [*document["warnings"], *(() if home is None else home.warnings)],
    }


def _show(document: dict[str, Any], not_moved: tuple[str, ...]) -> None:
    home, call = document["failback"], f"mm2 failback {document['flow']}"
    if home is not None:
        _show_home(home, call)
    show_failover(document, not_moved)
    typer.echo(_next(document, call))


def _show_home(home: dict[str, Any], call: str) -> None:
    rows = [row for each in home["stranded"] for row in each["listed"]]
    if rows:
        print_table("stranded: on the old source and never mirrored", rows[:ROWS_SHOWN], STRANDED_COLUMNS)
        shown, count = min(len(rows), ROWS_SHOWN), home["stranded_records"]
        more = f", {shown} of them shown; `{call} --list-stranded FILE` writes all" if shown < count else ""
        typer.echo(f"{count:,} stranded record(s){more}")
    if home["decided"]:
        print_table("stranded records that were decided on", home["decided"], NOTE_COLUMNS)
    if home["coming_home"]:
        print_table(f"to come home by flow {home['way_home']}", home["coming_home"], COMING_COLUMNS)


def _next(document: dict[str, Any], call: str) -> str:
    """What there is to do now, in a line to copy."""
    home, state = document["failback"], document["state"]
    stranded = " --stranded keep|copy|quarantine" if home is not None and home["stranded"] else ""
    if state == NOT_PREPARED:
        return f"nothing was written; `{call} --prepare{stranded}` opens the way home"
    if state == NOT_HANDED_OVER:
        return f"nothing was written; `{call} --prepare{stranded}` lets flow {document['flow']} go on"
    if state == HOME:
        return f"flow {document['flow']} goes on: its source is the active side"
    if state == PREPARED:
        bring = f"`mm2 run {home['way_home']}` brings home what there is, as often as you like"
        return f"prepared: {bring}; `{call} --apply` moves the groups"
    if state == "preview":
        return f"nothing was written; `{call} --apply` begins"
    if state == "none":
        return f"prepared, and not begun: `{call} --apply` begins"
    return next_of(document, call)
