"""Whole runs of the DAG of failovers on real clusters, through Airflow's own task runner (``dag.test``).

An approval needs somebody who answers, which ``dag.test`` waits for without an end: those runs are in
``test_failover_approved.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.failover_dag import load_failover_dag
from airflow_provider_mm2.local.pair import LocalPair
from tests.airflow_env import run_dag
from tests.contract.real_lab import RealLab
from tests.dags.failover_world import MirroredFlow
from tests.dags.test_run import states, xcom

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

SKIPPED = {"approval": "skipped", "apply": "skipped", "repoint": "skipped", "confirm": "skipped"}
QUICK = {"quiet_s": 0, "stop_wait_s": 0}


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


@pytest.fixture
def flow(lab: RealLab, pair: LocalPair, tmp_path: Path) -> MirroredFlow:
    """Give a flow that has mirrored."""
    made = MirroredFlow(lab, pair)
    made.write(tmp_path / "flows")
    return made


def run(flow: MirroredFlow, tmp_path: Path, **params: Any) -> Any:
    """Run the DAG, started by hand with these answers."""
    dag = load_failover_dag({"__file__": str(tmp_path / "dag.py")}, default_args={"retries": 0})
    return run_dag(dag, run_conf={"flow": flow.name, **QUICK, **params})


def test_without_a_question(flow: MirroredFlow, tmp_path: Path) -> None:
    """Approved beforehand it goes from the plan to the end; a dry run before it writes nothing at all."""
    dry = run(flow, tmp_path, dry_run=True)
    assert states(dry) == {"plan": "success", **SKIPPED, "rollback": "skipped"}
    assert (xcom(dry, "plan")["state"], xcom(dry, "plan")["positions"]) == ("preview", 2)
    assert flow.failover().state == "none"
    flow.produce(3)
    real = run(flow, tmp_path, skip_approval=True)
    assert states(real) == {
        **dict.fromkeys(("plan", "apply", "repoint", "confirm"), "success"),
        **dict.fromkeys(("approval", "rollback"), "skipped"),
    }
    assert flow.offsets() == {"billing": 20, "audit": 31}  # a transaction's end takes an offset
    closed = xcom(real, "confirm")
    assert (closed["state"], closed["active_side"], closed["digest"]) == (
        "closed",
        "target",
        xcom(real, "plan")["digest"],
    )
    assert closed["approved_by"].endswith(", beforehand")
    assert closed["begun_by"].startswith(f"mm2_failover/{real.run_id}/plan try 1")


def test_unplanned_for_one_group_and_what_a_person_undoes(flow: MirroredFlow, tmp_path: Path) -> None:
    """A failover that nobody went on with is undone by a run that only rolls back; groups can be named."""
    group = next(iter(flow.groups))
    sdk: Any = import_module("airflow.sdk")
    operators: Any = import_module("airflow_provider_mm2.operators.failover")
    with sdk.DAG("plan_only", schedule=None) as dag:
        operators.FailoverOperator(
            task_id="plan", phase="plan", flow=flow.document, mode="unplanned", groups=[group], retries=0
        )
    planned = run_dag(dag)
    assert xcom(planned, "plan")["state"] == "awaiting approval"
    assert [row["group"] for row in xcom(planned, "plan")["listed"]] == [group]
    other = run(flow, tmp_path)
    assert states(other)["plan"] == "failed"
    assert states(other)["rollback"] == "skipped"
    undone = run(flow, tmp_path, rollback=True)
    assert states(undone) == {"plan": "skipped", **SKIPPED, "rollback": "success"}
    assert xcom(undone, "rollback")["state"] == "rolled back"
    flow.mirror()
