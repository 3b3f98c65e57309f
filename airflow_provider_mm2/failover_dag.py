"""The DAG ``mm2_failover``: started by hand for one flow, with a person's approval between the plan and the rest.

Parsing reads the flow files for their names and nothing else; whoever starts a run picks one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import DAG, Context, Param, TriggerRule

from airflow_provider_mm2.dag_forms import CHOSEN, STARTED_BY_HAND, common_form, dag_of_flows
from airflow_provider_mm2.mirror.recovery.report import PREVIEW
from airflow_provider_mm2.mirror.recovery.steps import Mode, Phase, Stage
from airflow_provider_mm2.operators.failover import FailoverOperator, RepointConsumersOperator
from airflow_provider_mm2.version_compat import AirflowSkipException, manual_runs_only, task_states

DAG_ID = "mm2_failover"
APPROVE, REJECT = "Approve", "Reject"
APPROVAL_TASK = "approval"

_PLAN = f"(ti.xcom_pull(task_ids='{Phase.PLAN.value}') or {{}})"
_ANSWER = f"(ti.xcom_pull(task_ids='{APPROVAL_TASK}') or {{}})"
_DIGEST = f"{{{{ {_PLAN}.get('digest') or '' }}}}"
_APPROVED_BY = (
    "{{ (dag_run.triggering_user_name or 'whoever started the run') ~ ', beforehand' if params.skip_approval else "
    f"({_ANSWER}.get('responded_by_user') or {{}}).get('name', '') }}}}"
)

DOC = """### Move the consumer groups of a flow to its target

`plan` stops short of changing any group and shows the numbers; `approval` waits for a person; `apply` commits the
offsets, `repoint` reads them back and points applications at the target, `confirm` closes. A refusal, or no answer in
time, runs `rollback`. Every step is recorded on the target and done once: any task may be cleared and run again.

- **Go on** after a failure: clear the task that failed.
- **Undo** what is not closed yet: clear `rollback` once a task behind the approval has failed, or start a run with
  *Roll back*.
- Without Airflow: `mm2 failover FLOW --status`, `--resume`, `--rollback`.
"""


def load_failover_dag(
    namespace: MutableMapping[str, Any],
    *,
    dag_id: str = DAG_ID,
    assigned_users: Sequence[Mapping[str, str]] = (),
    response_timeout: timedelta = timedelta(hours=1),
    **kwargs: Any,
) -> DAG:
    """Put the DAG ``mm2_failover`` into a DAG file's namespace, and return it.

    The flows to choose from are those of the folder, ``$MM2_FLOWS`` or ``flows/`` beside the DAG file; one that cannot
    be used is left out and told in the DAG's documentation.

    :param namespace: ``globals()`` of the DAG file.
    :param dag_id: another one where there are several, say with other people to approve.
    :param assigned_users: who may approve, as ``{"id": ..., "name": ...}``; empty: whoever may answer in this DAG.
    :param response_timeout: how long the approval waits before it is taken for a no.
    :param kwargs: arguments of ``DAG``, which win.
    :raises FlowNotFound: there is no such folder.
    """
    arguments = {
        "description": "Move the consumer groups of a flow to its target, with a person's approval",
        "doc_md": DOC,
        "tags": ["mm2", "failover"],
        "params": {
            "mode": Param(
                Mode.PLANNED.value,
                type="string",
                enum=[mode.value for mode in Mode],
                title="Mode",
                description="planned: the source is alive, and is drained first; unplanned: it is never spoken to",
            ),
            **common_form(),
        },
        **STARTED_BY_HAND,
        **manual_runs_only(),
    }

    def tasks() -> None:
        question, mode = "Fail over flow {{ params.flow }}?", "{{ params.mode }}"
        approved_tasks(CHOSEN, question, assigned_users, response_timeout, mode=mode)

    return dag_of_flows(namespace, dag_id, arguments, tasks, kwargs)


def approved_tasks(
    flow: str,
    question: str,
    assigned_users: Sequence[Mapping[str, str]],
    response_timeout: timedelta,
    *,
    mode: str = Mode.PLANNED.value,
    once: Callable[[Context], None] | None = None,
) -> FailoverOperator:
    """The phases of a failover and its approval, in the DAG that is open; gives ``plan``, the first of them.

    :param flow: name of the flow, a template.
    :param question: what the person is asked, a template.
    :param once: called before ``plan``, which it may skip; default: ``skip_unless_planning``.
    """
    later: dict[str, Any] = {"flow": flow, "digest": _DIGEST}
    apply = FailoverOperator(
        task_id=Phase.APPLY.value,
        phase=Phase.APPLY,
        approved_by=_APPROVED_BY,
        trigger_rule=TriggerRule.NONE_FAILED,
        pre_execute=skip_unless_approved,
        **later,
    )
    repoint = RepointConsumersOperator(task_id=Phase.REPOINT.value, **later)
    confirm = FailoverOperator(task_id=Phase.CONFIRM.value, phase=Phase.CONFIRM, **later)
    rollback = FailoverOperator(
        task_id=Phase.ROLLBACK.value,
        phase=Phase.ROLLBACK,
        flow=flow,
        digest=f"{{{{ '' if params.rollback else {_PLAN}.get('digest') or '' }}}}",
        trigger_rule=TriggerRule.ALL_DONE,
        pre_execute=skip_unless_refused,
    )
    approval = _approval_task(question, assigned_users, response_timeout)
    plan = _plan_task(flow, mode, once or skip_unless_planning)
    plan >> approval >> apply >> repoint >> confirm
    approval >> rollback
    return plan


def _plan_task(flow: str, mode: str, once: Callable[[Context], None]) -> FailoverOperator:
    """All that the form asks goes into the plan, and is recorded with it."""
    return FailoverOperator(
        task_id=Phase.PLAN.value,
        phase=Phase.PLAN,
        flow=flow,
        mode=mode,
        groups="{{ (params.groups or []) | tojson }}",
        topics="{{ (params.topics or []) | tojson }}",
        quiet_s="{{ params.quiet_s }}",
        stop_wait_s="{{ params.stop_wait_s }}",
        confirm_wait_s="{{ params.confirm_wait_s }}",
        force="{{ params.force }}",
        show_only="{{ params.dry_run }}",
        trigger_rule=TriggerRule.NONE_FAILED,
        pre_execute=once,
    )


def _approval_task(
    question: str, assigned_users: Sequence[Mapping[str, str]], response_timeout: timedelta
) -> HITLOperator:
    """Airflow's plain question: its approval and branch operators skip ``rollback`` for good once they are answered."""
    return HITLOperator(
        task_id=APPROVAL_TASK,
        subject=question,
        body=f"{{{{ ti.xcom_pull(task_ids='{Phase.PLAN.value}', key='approval') }}}}",
        options=[APPROVE, REJECT],
        defaults=REJECT,
        assigned_users=[dict(user) for user in assigned_users] or None,  # type: ignore[misc] # its TypedDict
        response_timeout=response_timeout,
        retries=0,
        pre_execute=skip_unless_asked,
    )


def skip_unless_planning(context: Context) -> None:
    """``plan`` has nothing to do in a run that only rolls back."""
    if context["params"]["rollback"]:
        raise AirflowSkipException("this run only rolls back")


def skip_unless_asked(context: Context) -> None:
    """Nobody is asked about a preview, about what is closed already, or where the approval is skipped.

    The question has no form; Airflow 3.1 would show that of the DAG, where answers change nothing.
    """
    task: Any = context["task"]
    task.params = type(task.params)()
    plan = _plan(context)
    if plan.get("state") in (PREVIEW, Stage.CLOSED.value):
        raise AirflowSkipException(f"nothing to approve: {plan['state']}")
    if context["params"]["skip_approval"]:
        raise AirflowSkipException("approved by whoever started the run")


def skip_unless_approved(context: Context) -> None:
    """``apply`` follows an approval, or finds the failover of this run closed; its digest is that of the plan shown."""
    plan = _plan(context)
    if plan.get("state") == Stage.CLOSED.value or _approved(context):
        return
    raise AirflowSkipException("not approved")


def skip_unless_refused(context: Context) -> None:
    """``rollback`` follows a no; else it runs for a person: asked for in the form, or cleared after a task failed.

    Its first try comes with that of ``apply``, which may have failed by then: that is nobody's word.
    """
    if context["params"]["rollback"]:
        return
    plan = _plan(context)
    if plan.get("state") in (None, PREVIEW, Stage.CLOSED.value):
        raise AirflowSkipException(f"nothing of this run to undo: {plan.get('state') or 'no plan was made'}")
    if not _approved(context):
        return
    later = [Phase.APPLY.value, Phase.REPOINT.value, Phase.CONFIRM.value]
    was_cleared = context["ti"].try_number > 1
    if not (was_cleared and "failed" in task_states(context, later).values()):
        raise AirflowSkipException("approved; clear this task to undo, once one behind the approval has failed")


def _plan(context: Context) -> Mapping[str, Any]:
    """What ``plan`` returned in this run."""
    found: Any = context["ti"].xcom_pull(task_ids=Phase.PLAN.value)
    return found or {}


def _approved(context: Context) -> bool:
    """Whether a person said yes, in time: the operator's result counts, an answer after the time-out is not in it."""
    if _plan(context).get("state") == PREVIEW or not _plan(context):
        return False
    if context["params"]["skip_approval"]:
        return True
    answer: Any = context["ti"].xcom_pull(task_ids=APPROVAL_TASK)
    return bool(answer) and list(answer["chosen_options"]) == [APPROVE]
