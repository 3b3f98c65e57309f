"""docs/how-to/first-mirror.md: a flow in a DAG of one's own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.airflow

FLOW = "{name: orders, source: {alias: us, connection: a}, target: {alias: eu, connection: b}, topics: [orders]}"


def test_a_flow_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow is found by its name in the folder of flows; what is given wins over the flow's ``dag:`` block."""
    (tmp_path / "any.yaml").write_text(FLOW)
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    dag = import_module("tests.how_to.own_dag").orders
    assert dag.dag_id == "orders_every_ten_minutes"
    assert {task.task_id for task in dag.tasks} == {"plan", "mirror", "groups", "assets", "finish"}
