"""DAGs from flows: ``load_flow_dags`` for a folder, ``MirrorDag`` and ``MirrorTaskGroup`` for hand-written ones.

Parsing reads the flow files and nothing else: no connection is asked for and the Kafka client is not loaded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Mapping, MutableMapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, TaskGroup, TriggerRule

from airflow_provider_mm2.flow_argument import FlowGiven
from airflow_provider_mm2.hooks.cluster import refuse_plain_secrets
from airflow_provider_mm2.mirror.errors import FlowInvalid, SecretInFlow
from airflow_provider_mm2.mirror.flow import UNTIMED, DagSettings, MirrorFlow
from airflow_provider_mm2.mirror.flow_file import (
    FlowFile,
    flow_folder,
    flow_from_mapping,
    problem_in,
    read_flows,
)
from airflow_provider_mm2.mirror.reverse_flow import find_any_flow
from airflow_provider_mm2.operators.connect import ConnectMirrorOperator
from airflow_provider_mm2.operators.groups import SyncGroupOffsetsOperator
from airflow_provider_mm2.operators.invalid_flow import InvalidFlowOperator
from airflow_provider_mm2.operators.mirror import (
    MirrorAssetsOperator,
    MirrorFinishOperator,
    MirrorIntervalOperator,
    MirrorPlanOperator,
)
from airflow_provider_mm2.sensors.connect import ConnectMirrorSensor
from airflow_provider_mm2.version_compat import cron_timetable

DAG_PREFIX = "mm2_mirror__"


def load_flow_dags(namespace: MutableMapping[str, Any]) -> list[DAG]:
    """Put a DAG for each flow file into a DAG file's namespace, and return them.

    The folder is ``$MM2_FLOWS``, else ``flows/`` beside the DAG file. A file that cannot be used spoils only its own
    flow: it keeps a DAG ``mm2_mirror__<file's name>`` with one task that fails with what is wrong, by line.

    :param namespace: ``globals()`` of the DAG file.
    :raises FlowNotFound: there is no such folder.
    """
    dag_file = str(namespace["__file__"])
    files = read_flows(flow_folder(Path(dag_file).parent / "flows"))
    dags: dict[str, DAG] = {}
    for file in sorted(files, key=lambda file: isinstance(file.result, FlowInvalid)):
        dag = _dag_of(file, taken=dags.keys())
        dag.fileloc = dag_file
        dags[dag.dag_id] = dag
    namespace.update(dags)
    return list(dags.values())


class MirrorTaskGroup(TaskGroup):
    """The tasks of one mirror run: plan, mirror (mapped over the shards), groups, assets, finish.

    :param flow: as the operators take it, but found and validated while the DAG is parsed.
    :param group_id: default ``mirror__<flow>``.
    :param operator_args: further arguments of the tasks that reach the clusters: ``source_conn_id``,
        ``target_conn_id``, ``until``, ``since``.
    """

    def __init__(
        self,
        flow: FlowGiven,
        *,
        group_id: str | None = None,
        operator_args: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        found = _found(flow, _caller_file())
        super().__init__(group_id=group_id or f"mirror__{found.name}", **kwargs)
        with self:
            _mirror_tasks(found, operator_args or {})


class MirrorDag(DAG):
    """A DAG that mirrors one flow, with schedule, owner and the rest from its ``dag:`` block.

    :param flow: as for ``MirrorTaskGroup``.
    :param dag_id: default ``mm2_mirror__<flow>``.
    :param operator_args: as for ``MirrorTaskGroup``.
    :param kwargs: arguments of ``DAG``, which win over the flow's.
    :raises ValueError: Airflow cannot use the flow's schedule.
    """

    def __init__(
        self,
        flow: FlowGiven,
        dag_id: str | None = None,
        *,
        operator_args: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        caller = _caller_file()
        found = _found(flow, caller)
        super().__init__(dag_id or f"{DAG_PREFIX}{found.name}", **{**_dag_args(found), **kwargs})
        self.fileloc = caller
        with self:
            _mirror_tasks(found, operator_args or {})


def _mirror_tasks(flow: MirrorFlow, operator_args: Mapping[str, Any]) -> None:
    """The graph of one run, in the DAG or group that is open."""
    if flow.engine == "connect":
        _connect_tasks(flow, operator_args)
        return
    plan = MirrorPlanOperator(task_id="plan", flow=flow, **operator_args)
    mirror = MirrorIntervalOperator.partial(
        task_id="mirror", flow=flow, map_index_template="shard {{ task.shard }}", **operator_args
    ).expand(shard=plan.output)
    groups = SyncGroupOffsetsOperator(
        task_id="groups", flow=flow, trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS, **operator_args
    )
    assets = MirrorAssetsOperator(task_id="assets", results=mirror.output, alias=f"{DAG_PREFIX}{flow.name}")
    mirror >> groups
    [assets, groups] >> MirrorFinishOperator(task_id="finish", results=mirror.output)


def _connect_tasks(flow: MirrorFlow, operator_args: Mapping[str, Any]) -> None:
    """The same for a flow that connectors mirror: they are made sure of, and waited for until they are caught up."""
    connections = {name: value for name, value in operator_args.items() if name.endswith("_conn_id")}
    connectors = ConnectMirrorOperator(task_id="connectors", flow=flow, **connections)
    caught_up = ConnectMirrorSensor(
        task_id="caught_up",
        flow=flow,
        until=operator_args.get("until"),
        caught_up=True,
        mode="reschedule",
        **connections,
    )
    connectors >> caught_up


def _dag_args(flow: MirrorFlow) -> dict[str, Any]:
    return {**_schedule_args(flow.dag), "description": _description(flow), "doc_md": _documentation(flow)}


def _schedule_args(settings: DagSettings) -> dict[str, Any]:
    default_args = {
        "owner": settings.owner,
        "retries": settings.retries,
        "retry_delay": timedelta(seconds=settings.retry_delay_s),
        **({} if settings.pool is None else {"pool": settings.pool}),
    }
    return {
        "schedule": _schedule(settings),
        "start_date": settings.start_date,
        "catchup": settings.catchup,
        "tags": list(settings.tags),
        "max_active_runs": 1,
        "is_paused_upon_creation": settings.paused,
        "default_args": default_args,
    }


def _schedule(settings: DagSettings) -> Any:
    """What ``DAG(schedule=)`` takes.

    :raises ValueError: the cron expression cannot be used.
    """
    if settings.schedule in UNTIMED:
        return settings.schedule
    return cron_timetable(str(settings.schedule), with_interval=settings.timetable == "data_interval")


def _description(flow: MirrorFlow) -> str:
    return f"Mirror {', '.join(flow.topics)} from {flow.source.alias} to {flow.target.alias}"[:500]


def _documentation(flow: MirrorFlow) -> str:
    topics = "\n".join(f"- `{pattern}`" for pattern in flow.topics[:50])
    if flow.engine == "connect":
        return (
            f"### {flow.name}: {flow.source.alias} to {flow.target.alias}\n\n"
            "Connectors of MirrorMaker 2 on a Connect cluster mirror it. `connectors` makes sure that they are there "
            "and what the flow says, `caught_up` waits until they have copied what was stamped before the run's end. "
            f"Topics (whole names, {flow.replication_policy} policy):\n\n{topics}\n"
        )
    end = {
        "interval": "up to the run's end: its data interval's, or the moment it was triggered",
        "end": "all that the source holds when it starts",
    }[flow.cut.value]
    return (
        f"### {flow.name}: {flow.source.alias} to {flow.target.alias}\n\n"
        f"Each run copies from where the last one ended {end}. A run that is repeated, retried or run out of order "
        f"copies nothing twice and leaves nothing out. Topics (whole names, {flow.replication_policy} policy):\n\n"
        f"{topics}\n\n"
        f"`plan` prepares the target, `mirror` copies in {flow.shards} shard(s), `groups` publishes where the consumer "
        "groups stand, `assets` tells which topics are mirrored through which time, and `finish` fails when one of "
        "them did.\n"
    )


def _dag_of(file: FlowFile, *, taken: Container[str]) -> DAG:
    """The DAG of one flow file, a failing one where it cannot be used."""
    if isinstance(file.result, FlowInvalid):
        return _failing_dag(file, str(file.result), taken)
    try:
        return MirrorDag(file.result)
    except SecretInFlow as error:
        return _failing_dag(file, f"{file.path.name}: {error}", taken)
    except ValueError as error:
        return _failing_dag(file, str(problem_in(file.path, ("dag", "schedule"), str(error))), taken)
    except Exception as error:  # noqa: BLE001 # what Airflow refuses of one flow must not take the others along
        return _failing_dag(file, str(problem_in(file.path, ("dag",), f"Airflow refuses it: {error}")), taken)


def _failing_dag(file: FlowFile, problem: str, taken: Container[str]) -> DAG:
    """A DAG in the place of a flow that cannot run: same id and schedule, so that it is seen to fail."""
    dag_id = DAG_PREFIX + re.sub(r"[^\w.\-]", "_", file.name or file.path.stem, flags=re.ASCII)
    while dag_id in taken:
        dag_id += "_"
    try:
        schedule = _schedule_args(file.dag)
    except ValueError:
        schedule = _schedule_args(DagSettings())
    doc = f"### {file.path.name} cannot be used\n\n```\n{problem}\n```\n"
    dag = DAG(dag_id, **schedule, description=f"{file.path.name} is not a valid flow", doc_md=doc)
    InvalidFlowOperator(task_id="flow_file", problem=problem, dag=dag)
    return dag


def _found(flow: FlowGiven, caller: str) -> MirrorFlow:
    """The flow, with its secrets looked for: what a DAG is made of ends in Airflow's database."""
    if isinstance(flow, MirrorFlow):
        found = flow
    elif isinstance(flow, Mapping):
        found = flow_from_mapping(flow, label="flow=")
    else:
        found = find_any_flow(str(flow), flow_folder(Path(caller).parent / "flows"))
    refuse_plain_secrets(found)
    return found


def _caller_file() -> str:
    """File of whoever makes the DAG or group: flows are looked for beside it."""
    return sys._getframe(2).f_code.co_filename
