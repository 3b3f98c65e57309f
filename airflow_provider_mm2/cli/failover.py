"""`mm2 failover`: moving the consumer groups of a flow to its target, and what a person sees before saying yes."""

from __future__ import annotations

import getpass
import shlex
from contextlib import suppress
from enum import Enum
from functools import partial
from threading import Event
from typing import Annotated, Any

import typer

from airflow_provider_mm2.cli.connections import connection_settings, connectors_of
from airflow_provider_mm2.cli.failover_output import next_of, show_failover
from airflow_provider_mm2.cli.flows import Flow, clusters, load, stop_on_signals
from airflow_provider_mm2.cli.output import (
    AsJson,
    failures_as_exit_codes,
    print_document,
    print_warnings,
    stderr,
)
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.errors import OptionsDisagree, SettingsError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from airflow_provider_mm2.mirror.recovery.repointing import addresses
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import Mode, Stage
from airflow_provider_mm2.mirror.run import process_owner, stopper

FOUND_SOMETHING = 1


class Act(str, Enum):
    """What is asked for."""

    PREVIEW = "a preview"
    PREPARE = "--prepare"
    APPLY = "--apply"
    RESUME = "--resume"
    ROLLBACK = "--rollback"
    REOPEN = "--reopen"
    STATUS = "--status"


Unplanned = Annotated[
    bool, typer.Option("--unplanned", help="The source is gone: it is never spoken to, what it had since is lost.")
]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="GROUP", help="Only this group; repeatable.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="Only positions on this source topic; repeatable."),
]
Apply = Annotated[bool, typer.Option("--apply", help="Begin, and stop for an approval once all numbers are known.")]
Yes = Annotated[bool, typer.Option("--yes", help="With --apply or --resume: approve whatever the numbers are.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the failover that is open.")]
Approve = Annotated[
    str | None,
    typer.Option("--approve", metavar="DIGEST", help="With --resume or --reopen: approve the plan of this digest."),
]
Rollback = Annotated[bool, typer.Option("--rollback", help="Undo what the open failover has done.")]
Reopen = Annotated[
    bool, typer.Option("--reopen", help="It was a false alarm: the source is active again, if nobody wrote since.")
]
Status = Annotated[bool, typer.Option("--status", help="Show the last failover, step by step.")]
Force = Annotated[bool, typer.Option("--force", help="Go on although the source is still written to or read from.")]
NoRepoint = Annotated[
    bool, typer.Option("--no-repoint", help="Leave the applications' configuration alone, whatever the flow lists.")
]
Quiet = Annotated[
    int, typer.Option("--quiet", metavar="SECONDS", min=0, help="For how long the source must stand still.")
]
StopWait = Annotated[
    int, typer.Option("--stop-wait", metavar="SECONDS", min=0, help="How long groups may take to leave the source.")
]
ConfirmWait = Annotated[
    int,
    typer.Option("--confirm-wait", metavar="SECONDS", min=0, help="How long groups may take to come up on the target."),
]


def failover(
    flow: Flow,
    unplanned: Unplanned = False,
    group: Groups = None,
    topic: Topics = None,
    apply: Apply = False,
    yes: Yes = False,
    resume: Resume = False,
    approve: Approve = None,
    rollback: Rollback = False,
    reopen: Reopen = False,
    status: Status = False,
    force: Force = False,
    quiet: Quiet = 5,
    stop_wait: StopWait = 120,
    confirm_wait: ConfirmWait = 0,
    no_repoint: NoRepoint = False,
    as_json: AsJson = False,
) -> None:
    """Move consumer groups to the target, exactly; shown first, begun with --apply, never past a person's word."""
    with failures_as_exit_codes(as_json), stop_on_signals() as stop:
        given = {
            Act.APPLY: apply,
            Act.RESUME: resume,
            Act.ROLLBACK: rollback,
            Act.REOPEN: reopen,
            Act.STATUS: status,
        }
        act = one_of(given)
        check_words(act, yes=yes, approve=approve)
        order = Order(
            mode=Mode.UNPLANNED if unplanned else Mode.PLANNED,
            groups=tuple(group or ()),
            topics=tuple(topic or ()),
            quiet_s=quiet,
            stop_wait_s=stop_wait,
            confirm_wait_s=confirm_wait,
            force=force,
            skip_repoint=no_repoint,
        )
        check_recorded(act, order)
        loaded = load(flow)
        target_only = act in (Act.STATUS, Act.REOPEN) or _mode(loaded, act, order) is Mode.UNPLANNED
        with clusters(loaded, target_only=target_only) as pair:
            report = done(failover_of(loaded, pair, stop), act, order, yes=yes, approve=approve)
    document = report.to_json()
    print_warnings(document["warnings"])
    if as_json:
        print_document(document)
    else:
        show_failover(document, report.not_moved)
        only = [("--group", name) for name in group or ()] + [("--topic", name) for name in topic or ()]
        words = "".join(f" {option} {shlex.quote(name)}" for option, name in only)
        typer.echo(_next(document, act, f"mm2 failover {document['flow']}", words))
    if report.not_moved:
        raise typer.Exit(FOUND_SOMETHING)


def check_recorded(act: Act, order: Order) -> None:
    """Refuse what counts only when a failover or failback begins, and would be passed over.

    :raises OptionsDisagree: such an option is given with another call.
    """
    usual = Order(mode=order.mode)
    given = {
        "--unplanned": order.mode is Mode.UNPLANNED,
        "--group": order.groups,
        "--topic": order.topics,
        "--force": order.force,
        "--no-repoint": order.skip_repoint,
        "--quiet": order.quiet_s != usual.quiet_s,
        "--stop-wait": order.stop_wait_s != usual.stop_wait_s,
        "--confirm-wait": order.confirm_wait_s != usual.confirm_wait_s,
    }
    extra = tuple(option for option, value in given.items() if value)
    if act not in (Act.PREVIEW, Act.APPLY) and extra:
        problem = "it is recorded when a failover begins, and counts to its end; roll back and begin anew to change it"
        raise OptionsDisagree(options=(*extra, act.value), problem=problem)


def who() -> str:
    """Who calls, for the record."""
    return f"{getpass.getuser()}@{process_owner()}"


def say(line: str) -> None:
    """Tell in a line what is being done."""
    stderr.print(line, soft_wrap=True)


def failover_of(flow: MirrorFlow, pair: ClusterPair, stop: Event) -> Failover:
    """Failing over a flow from here."""
    return Failover(
        flow=flow,
        pair=pair,
        owner=who(),
        tick=stopper(stop),
        report=say,
        repointers=tuple(make_repointers(flow)),
        bootstrap=addresses(flow, _given(flow)),
        connectors=partial(connectors_of, flow),
    )


def _given(flow: MirrorFlow) -> dict[str, dict[str, object]]:
    """Settings of the flow's connections, as far as they are set here."""
    found: dict[str, dict[str, object]] = {}
    for cluster in (flow.source, flow.target):
        if cluster.connection is not None:
            with suppress(SettingsError):
                found[cluster.alias] = connection_settings(cluster.connection)
    return found


def one_of(given: dict[Act, bool]) -> Act:
    """What is asked for.

    :raises OptionsDisagree: several things are.
    """
    asked = [act for act, wanted in given.items() if wanted]
    if len(asked) > 1:
        raise OptionsDisagree(options=tuple(act.value for act in asked), problem="each asks for something else")
    return asked[0] if asked else Act.PREVIEW


def check_words(act: Act, *, yes: bool, approve: str | None) -> None:
    """Hold the approval against what it approves.

    :raises OptionsDisagree: it approves nothing.
    """
    if yes and act not in (Act.APPLY, Act.RESUME):
        raise OptionsDisagree(options=("--yes", act.value), problem="--yes goes with --apply or --resume")
    if approve is not None and act not in (Act.RESUME, Act.REOPEN):
        raise OptionsDisagree(options=("--approve", act.value), problem="--approve goes with --resume or --reopen")
    if yes and approve is not None:
        raise OptionsDisagree(options=("--yes", "--approve"), problem="one word is enough")


def _mode(flow: MirrorFlow, act: Act, order: Order) -> Mode:
    """Planned or not: as given, or for one that is open as it was begun, which the target tells."""
    if act in (Act.PREVIEW, Act.APPLY):
        return order.mode
    with clusters(flow, target_only=True) as pair:
        return Failover(flow=flow, pair=pair, owner="", tick=lambda: None).open_order().mode


def done(at_work: Failover, act: Act, order: Order, *, yes: bool, approve: str | None) -> FailoverReport:
    """Do what is asked for."""
    if act is Act.APPLY:
        return at_work.start(order, approve=yes)
    if act is Act.RESUME:
        return at_work.resume(digest=approve, approve=yes)
    if act is Act.ROLLBACK:
        return at_work.rollback()
    if act is Act.REOPEN:
        return at_work.reopen(digest=approve)
    if act is Act.STATUS:
        return at_work.status()
    return at_work.preview(order)


def _next(document: dict[str, Any], act: Act, call: str, words: str) -> str:
    """What there is to do now, in a line to copy; ``words`` are those that the preview was asked with."""
    if act is Act.REOPEN and document["state"] == Stage.CLOSED.value:
        approve = f"{call} --reopen --approve {document['plan_digest']}"
        return f"nothing was written; `{approve}` makes the source active again"
    if document["state"] == "none":
        return f"flow {document['flow']} never failed over; its {document['active_side']} is the active side"
    if document["state"] == "preview":
        unplanned = " --unplanned" if document["mode"] == Mode.UNPLANNED.value else ""
        return f"nothing was written; `{call}{unplanned}{words} --apply` begins"
    return next_of(document, call)
