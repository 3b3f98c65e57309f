"""A whole failback by its DAG on real clusters, through Airflow's own task runner (``dag.test``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.failback_dag import load_failback_dag
from airflow_provider_mm2.failover_dag import load_failover_dag
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.airflow_env import run_dag
from tests.contract.lab import BASE_MS, Side
from tests.contract.real_lab import RealLab
from tests.dags.failover_world import RECORDS, MirroredFlow
from tests.dags.test_run import states, xcom
from tests.fakes.log import Message

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

PHASES = ("plan", "approval", "apply", "repoint", "confirm", "rollback")


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


def test_home_by_the_dag(lab: RealLab, pair: LocalPair, tmp_path: Path) -> None:
    """Stranded records stop it until the form decides; then all comes home, and the flow goes on."""
    flow = MirroredFlow(lab, pair)
    flow.write(tmp_path / "flows")
    quick = {"flow": flow.name, "quiet_s": 0, "stop_wait_s": 0}

    def run(load: Any, **params: Any) -> Any:
        dag = load({"__file__": str(tmp_path / "dag.py")}, default_args={"retries": 0})
        return run_dag(dag, run_conf={**quick, **params})

    flow.produce(4)
    run(load_failover_dag, mode="unplanned", skip_approval=True)
    away = TopicPartition(f"us.{flow.topic}", 0)
    lab.produce(Side.TARGET, away, *(Message(key=b"k", value=b"new", timestamp_ms=BASE_MS) for _ in range(6)))

    dry = run(load_failback_dag, dry_run=True)
    assert states(dry) == {"prepare": "success", "catch_up": "skipped", **dict.fromkeys(PHASES, "skipped")}
    assert (xcom(dry, "prepare")["state"], xcom(dry, "prepare")["stranded_records"]) == ("not prepared", 4)
    listed = [row["offset"] for row in xcom(dry, "prepare")["stranded"][0]["listed"]]
    assert listed == [listed[0], listed[0] + 1, listed[0] + 2]
    undecided = run(load_failback_dag, skip_approval=True)
    assert (states(undecided)["prepare"], states(undecided)["rollback"]) == ("failed", "skipped")
    real = run(load_failback_dag, skip_approval=True, stranded="quarantine")
    done = dict.fromkeys(("prepare", "catch_up", "plan", "apply", "repoint", "confirm"), "success")
    assert states(real) == {**done, "approval": "skipped", "rollback": "skipped"}
    assert (xcom(real, "prepare")["copied"], xcom(real, "catch_up")["records"]) == (4, 6)
    closed = xcom(real, "confirm")
    assert (closed["state"], closed["flow"]) == ("closed", f"{flow.name}.reverse")
    assert flow.failover().state == "failed back"
    again = run(load_failback_dag, dry_run=True)
    assert xcom(again, "prepare")["state"] == "at home"
    flow.produce(2)
    flow.mirror()
    assert len(lab.visible(Side.TARGET, away)) == RECORDS + 6 + 2
