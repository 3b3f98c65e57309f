"""The DAG ``mm2_failback``: started by hand for one flow that has failed over, and comes home.

Its first two tasks open the way home and bring over what was written; then it is a planned failover of that way, with
the same tasks and the same approval as the DAG of failovers.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Context, Param

from airflow_provider_mm2.dag_forms import CHOSEN, STARTED_BY_HAND, common_form, dag_of_flows
from airflow_provider_mm2.failover_dag import (
    approved_tasks,
    skip_unless_planning,
)
from airflow_provider_mm2.mirror.clusters.naming import REVERSE
from airflow_provider_mm2.mirror.recovery.failback_report import HOME, PREPARED
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from airflow_provider_mm2.operators.failback import FailbackOperator
from airflow_provider_mm2.operators.mirror import MirrorIntervalOperator
from airflow_provider_mm2.version_compat import AirflowSkipException, manual_runs_only

DAG_ID = "mm2_failback"
PREPARE_TASK, CATCH_UP_TASK = "prepare", "catch_up"
NOT_DECIDED = "not decided"

DOC = """### Bring a flow home after a failover

`prepare` lists what was stranded on the old source, does with it what the form says, and opens the way home;
`catch_up` brings over what was written since, while the applications go on. Then `plan` drains the rest and shows the
numbers, `approval` waits for a person, `apply`, `repoint` and `confirm` move the groups, and the flow goes on as before
the failover. A refusal, or no answer in time, runs `rollback`: the other side stays active, the way home stays open.

- **Stranded records** are never decided on by themselves: where there are any and the form says nothing, `prepare`
  fails with their number. Start another run with a choice.
- **Go on** after a failure: clear the task that failed.
- Without Airflow: `mm2 failback FLOW`.
"""


def load_failback_dag(
    namespace: MutableMapping[str, Any],
    *,
    dag_id: str = DAG_ID,
    assigned_users: Sequence[Mapping[str, str]] = (),
    response_timeout: timedelta = timedelta(hours=1),
    **kwargs: Any,
) -> DAG:
    """Put the DAG ``mm2_failback`` into a DAG file's namespace, and return it.

    Arguments are those of ``load_failover_dag``, which see.

    :raises FlowNotFound: there is no folder of flows.
    """
    arguments = {
        "description": "Bring a flow home after a failover, with a person's approval",
        "doc_md": DOC,
        "tags": ["mm2", "failback"],
        "params": {"stranded": _stranded_choice(), **common_form()},
        **STARTED_BY_HAND,
        **manual_runs_only(),
    }
    return dag_of_flows(namespace, dag_id, arguments, lambda: _tasks(assigned_users, response_timeout), kwargs)


def _stranded_choice() -> Param:
    return Param(
        NOT_DECIDED,
        type="string",
        enum=[NOT_DECIDED, *(choice.value for choice in Stranded)],
        title="Stranded records",
        description="What becomes of records on the old source that were never mirrored: keep (they stay where they "
        "are), copy (to the active side, marked by a header) or quarantine (to a topic of their own there)",
    )


def _tasks(assigned_users: Sequence[Mapping[str, str]], response_timeout: timedelta) -> None:
    """The graph, in the DAG that is open."""
    prepare = FailbackOperator(
        task_id=PREPARE_TASK,
        flow=CHOSEN,
        stranded=f"{{{{ '' if params.stranded == '{NOT_DECIDED}' else params.stranded }}}}",
        show_only="{{ params.dry_run }}",
        pre_execute=skip_unless_planning,
    )
    catch_up = MirrorIntervalOperator(
        task_id=CATCH_UP_TASK,
        flow=CHOSEN + REVERSE,
        trigger_rule="none_failed",
        pre_execute=skip_unless_bringing,
    )
    plan = approved_tasks(
        CHOSEN + REVERSE, "Bring flow {{ params.flow }} home?", assigned_users, response_timeout, once=skip_unless_open
    )
    prepare >> catch_up >> plan


def skip_unless_bringing(context: Context) -> None:
    """Nothing is brought home in a dry run, in a run that only rolls back, or once the flow is home."""
    params = context["params"]
    if params["rollback"] or params["dry_run"]:
        raise AirflowSkipException("nothing is written in this run")
    if _state(context) == HOME:
        raise AirflowSkipException("the flow is home")


def skip_unless_open(context: Context) -> None:
    """``plan`` needs a way home that is open; once the flow is home it finds what its own run did."""
    skip_unless_planning(context)
    found = _state(context)
    if found != PREPARED and (found != HOME or context["params"]["dry_run"]):
        raise AirflowSkipException(f"the way home is not open ({found}): nothing to plan")


def _state(context: Context) -> str | None:
    """What ``prepare`` found in this run."""
    prepared: Any = context["ti"].xcom_pull(task_ids=PREPARE_TASK)
    return prepared["state"] if prepared else None
