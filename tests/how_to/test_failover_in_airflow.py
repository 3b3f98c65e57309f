"""docs/how-to/failover-in-airflow.md: its form and tasks exist, and its DAGs do what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.airflow_env import run_dag
from tests.contract.real_lab import RealLab
from tests.dags.failover_world import MirroredFlow
from tests.dags.flow_texts import flow_text
from tests.dags.test_run import xcom

pytestmark = pytest.mark.airflow

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "failover-in-airflow.md").read_text("utf-8")


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


def first_cells(heading: str) -> set[str]:
    """Names in the first column of the table with this heading."""
    table = PAGE.split(f"| {heading} |")[1].split("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_page_has_the_whole_form_and_every_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked and what is done is on the page, and nothing else; the people named may approve."""
    (tmp_path / "orders.yaml").write_text(flow_text())
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    dag = import_module("tests.how_to.own_failover").mm2_failover
    assert first_cells("asked") == set(dag.params)
    assert first_cells("task") == set(dag.task_ids)
    assert [user["id"] for user in dag.task_dict["approval"].assigned_users] == ["ada", "grace"]


@pytest.mark.broker
def test_places_are_told(lab: RealLab, pair: LocalPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The DAG is green while every place is exact, and says not a word to the source."""
    flow = MirroredFlow(lab, pair)
    source = {"alias": "us", "settings": {"bootstrap.servers": "${NOT_SET_ANYWHERE}"}}
    document = {**flow.document, "source": source}
    operator = import_module("tests.how_to.places").dag.task_dict["places"]
    monkeypatch.setattr(operator, "flow", document)
    run = run_dag(operator.dag)
    assert run.state == "success"
    result = xcom(run, "places")
    assert (result["groups"], result["positions"], result["exact"]) == (2, 2, 2)
    assert {row["group"].partition("-")[0]: row["target_offset"] for row in result["listed"]} == {
        "billing": 20,
        "audit": 30,
    }
    assert json.loads(json.dumps(result)) == result
