"""The DAG ``mm2_dr_drill``: a drill of one flow, started by hand or on a schedule of one's own."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_mm2.dag_forms import CHOSEN, dag_of_flows
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.operators.drill import DrDrillOperator

DAG_ID = "mm2_dr_drill"

DOC = """### Drill: would it work?

One task fails over for the exercise, beside the real flow and with its settings and credentials, on topics and groups
that are made for it and taken away: load, mirror runs, the cut, the failover, consumers that go on at the target. It
fails when a limit of the flow's `drill:` is passed. What was measured is in its XCom `drill`.

With *Game day* it tells what a failover of the real groups would come to right now, by copies of them that read the
real topics on the target; nothing real is written.
"""


def load_drill_dag(
    namespace: MutableMapping[str, Any], *, dag_id: str = DAG_ID, html: str | None = None, **kwargs: Any
) -> DAG:
    """Put the DAG ``mm2_dr_drill`` into a DAG file's namespace, and return it.

    :param namespace: ``globals()`` of the DAG file.
    :param html: path of a page with charts that each drill writes; needs the extra ``drill``. (templated)
    :param kwargs: arguments of ``DAG``, which win: ``schedule="@weekly"``, with ``params={"flow": "orders"}``.
    :raises FlowNotFound: there is no folder of flows.
    """
    params = {
        "mode": Param(Mode.PLANNED.value, type="string", enum=[mode.value for mode in Mode], title="Mode"),
        "load_s": Param(10, type="integer", minimum=1, maximum=3600, title="Seconds of load before the cut"),
        "failback": Param(False, type="boolean", title="Come home afterwards"),
        "game_day": Param(
            False,
            type="boolean",
            title="Game day",
            description="On real topics and copies of real groups; nothing real is written",
        ),
        "topics": Param([], type="array", items={"type": "string"}, title="Source topics of a game day"),
        "groups": Param([], type="array", items={"type": "string"}, title="Groups of a game day"),
    }
    arguments: dict[str, Any] = {
        "schedule": None,
        "description": "Fail over for the exercise, measured against limits",
        "doc_md": DOC,
        "tags": ["mm2", "drill"],
        "catchup": False,
        "max_active_runs": 1,
        "params": {**params, **kwargs.pop("params", {})},
    }

    def tasks() -> None:
        DrDrillOperator(
            task_id="drill",
            flow=CHOSEN,
            mode="{{ params.mode }}",
            load_s="{{ params.load_s }}",
            failback="{{ params.failback }}",
            game_day="{{ params.game_day }}",
            topics="{{ (params.topics or []) | tojson }}",
            groups="{{ (params.groups or []) | tojson }}",
            html=html,
        )

    return dag_of_flows(namespace, dag_id, arguments, tasks, kwargs)
