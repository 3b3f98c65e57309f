"""What whoever starts a DAG by hand is asked: the flow among those that can be chosen, and the rest of the form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_mm2.hooks.cluster import refuse_plain_secrets
from airflow_provider_mm2.mirror.errors import FlowInvalid, SecretInFlow
from airflow_provider_mm2.mirror.flow_file import FlowFile, flow_folder, read_flows
from airflow_provider_mm2.operators.invalid_flow import InvalidFlowOperator

CHOSEN = "{{ params.flow }}"
"""The flow of whoever started the run."""

STARTED_BY_HAND: Mapping[str, Any] = {
    "schedule": None,
    "is_paused_upon_creation": False,  # a run of a paused DAG waits, and an emergency does not
    # A worker that dies is replaced by a retry, which goes on at the recorded step.
    "default_args": {"retries": 2, "retry_delay": timedelta(seconds=30)},
}
"""Arguments of a DAG that a person starts."""


def dag_of_flows(
    namespace: MutableMapping[str, Any],
    dag_id: str,
    arguments: Mapping[str, Any],
    tasks: Callable[[], object],
    given: Mapping[str, Any],
) -> DAG:
    """Put a DAG that is for one of the flows of the folder into a DAG file's namespace, and return it.

    The flow is the first thing that its form asks. One that cannot be used is left out and told in the documentation;
    where there is none, the DAG has one task, which fails with why.

    :param arguments: those of ``DAG``.
    :param tasks: makes the tasks, in the DAG that is open.
    :param given: arguments that win.
    :raises FlowNotFound: there is no such folder.
    """
    dag_file = str(namespace["__file__"])
    names, problems = flows_to_choose(read_flows(flow_folder(Path(dag_file).parent / "flows")))
    left_out = "".join(f"\n\n**A flow cannot be chosen:**\n\n```\n{problem}\n```" for problem in problems)
    own = {
        **arguments,
        "doc_md": arguments["doc_md"] + left_out,
        "params": {"flow": flow_choice(names), **arguments["params"]},
    }
    with DAG(dag_id, **{**own, **given}) as dag:
        if names:
            tasks()
        else:
            InvalidFlowOperator(task_id="no_flow", problem="no flow can be chosen:\n" + "\n".join(problems))
    dag.fileloc = dag_file
    namespace[dag_id] = dag
    return dag


def flows_to_choose(files: Sequence[FlowFile]) -> tuple[list[str], list[str]]:
    """Names of the flows that can be chosen, and what is wrong with the other files."""
    names: list[str] = []
    problems: list[str] = []
    for file in files:
        if isinstance(file.result, FlowInvalid):
            problems.append(str(file.result))
            continue
        try:
            refuse_plain_secrets(file.result)
        except SecretInFlow as error:
            problems.append(f"{file.path.name}: {error}")
            continue
        names.append(file.result.name)
    return sorted(names), problems


def flow_choice(flows: Sequence[str]) -> Param:
    """The flow that whoever starts a run picks."""
    choice: dict[str, Any] = {"enum": list(flows)} if flows else {}
    return Param(type="string", title="Flow", **choice)


def common_form() -> dict[str, Param]:
    """What whoever starts a run is asked besides."""
    some: dict[str, Any] = {"type": ["array", "null"], "items": {"type": "string"}}
    seconds: dict[str, Any] = {"type": "integer", "minimum": 0, "section": "Waiting"}
    return {
        "groups": Param([], **some, title="Groups", description="Only these consumer groups; empty: all of the flow"),
        "topics": Param([], **some, title="Topics", description="Only positions on these source topics; empty: all"),
        "dry_run": Param(False, type="boolean", title="Dry run", description="Show the numbers and write nothing"),
        "skip_approval": Param(
            False, type="boolean", title="Skip approval", description="Approve whatever the numbers are, beforehand"
        ),
        "rollback": Param(
            False, type="boolean", title="Roll back", description="Only undo the failover of this flow that is open"
        ),
        "quiet_s": Param(5, **seconds, title="Seconds for which the source must stand still"),
        "stop_wait_s": Param(120, **seconds, title="Seconds that groups are given to leave the source"),
        "confirm_wait_s": Param(0, **seconds, title="Seconds that groups are given to come up on the target"),
        "force": Param(
            False,
            type="boolean",
            section="Waiting",
            title="Force",
            description="Go on although the source is written to or read from",
        ),
    }
