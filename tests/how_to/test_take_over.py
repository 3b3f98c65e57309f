"""The DAG of docs/how-to/seed.md."""

from __future__ import annotations

from importlib import import_module

import pytest

pytestmark = pytest.mark.airflow


def test_the_dag_of_the_page() -> None:
    """It has no schedule and one task, which writes what it is told to."""
    dag = import_module("tests.how_to.take_over").dag
    (task,) = dag.tasks
    assert dag.schedule is None
    assert (task.seed_from, task.apply) == ("connect:mm2-offsets.us.internal", True)
