"""The DAG of drills: its form, and a whole drill through Airflow's own task runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.drill_dag import load_drill_dag
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.airflow_env import run_dag
from tests.contract.real_lab import RealLab
from tests.dags.failover_world import MirroredFlow
from tests.dags.flow_texts import flow_text
from tests.dags.test_run import states, xcom


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


def test_the_form(tmp_path: Path) -> None:
    """The flow has to be picked; a schedule of one's own comes with the flow that is drilled."""
    flows = tmp_path / "flows"
    flows.mkdir()
    (flows / "a.yaml").write_text(flow_text("orders"))
    dag: Any = load_drill_dag({"__file__": str(tmp_path / "dag.py")})
    assert [task.task_id for task in dag.tasks] == ["drill"]
    assert dag.params.get_param("flow").schema["enum"] == ["orders"]
    assert (dag.params.dump()["mode"], dag.params.dump()["failback"]) == ("planned", False)
    weekly: Any = load_drill_dag(
        {"__file__": str(tmp_path / "dag.py")}, schedule="@weekly", params={"flow": "orders"}, dag_id="weekly"
    )
    assert weekly.params.dump()["flow"] == "orders"


def test_no_flow_at_all(tmp_path: Path) -> None:
    """The DAG stays, and its one task fails with why."""
    (tmp_path / "flows").mkdir()
    dag: Any = load_drill_dag({"__file__": str(tmp_path / "dag.py")})
    with pytest.raises(AirflowFailException, match="no flow can be chosen"):
        dag.tasks[0].execute({})


@pytest.mark.airflow
@pytest.mark.broker
def test_a_drill(lab: RealLab, pair: LocalPair, tmp_path: Path) -> None:
    """It writes its page, and fails when a limit is passed, with what was measured all the same; a game day, too."""
    flow = MirroredFlow(lab, pair)
    flow.write(tmp_path / "flows")
    page = tmp_path / "drill.html"
    dag = load_drill_dag({"__file__": str(tmp_path / "dag.py")}, html=str(page))
    done = run_dag(dag, run_conf={"flow": flow.name, "load_s": 1})
    assert states(done) == {"drill": "success"}
    found = xcom(done, "drill")
    assert (found["passed"], found["lost"], found["repeated"]) == (True, 0, 0)
    assert "samples" not in found
    assert f"Drill of flow {flow.name}" in page.read_text("utf-8")
    group = f"billing-{flow.topic}"
    held = run_dag(dag, run_conf={"flow": flow.name, "game_day": True, "groups": [group], "topics": [flow.topic]})
    assert states(held) == {"drill": "success"}
    told = xcom(held, "drill")
    assert (told["mode"], told["passed"], told["rpo_records"]) == ("game-day", True, 0)
    assert [(each["group"], each["read_after"]) for each in told["groups"]] == [(group, 10)]
    strict = tmp_path / "flows" / f"{flow.name}.yaml"
    strict.write_text(strict.read_text("utf-8")[:-1] + ', "drill": {"rto_s": 0.001}}')
    over = run_dag(dag, run_conf={"flow": flow.name, "load_s": 1})
    assert states(over) == {"drill": "failed"}
