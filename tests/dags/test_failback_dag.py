"""The DAG of failbacks as it is parsed: its form, its graph, and which tasks run after what was found."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.failback_dag import load_failback_dag, skip_unless_bringing, skip_unless_open
from airflow_provider_mm2.version_compat import AirflowFailException, AirflowSkipException
from tests.airflow_env import IS_3_1
from tests.dags.flow_texts import flow_text
from tests.operators.task_context import task_context


def load(folder: Path, **files: str) -> Any:
    """The DAG of a folder of flows."""
    flows = folder / "flows"
    flows.mkdir()
    for name, text in files.items():
        (flows / f"{name}.yaml").write_text(text, encoding="utf-8")
    namespace: dict[str, Any] = {"__file__": str(folder / "dag.py")}
    dag: Any = load_failback_dag(namespace)
    assert namespace["mm2_failback"] is dag
    dag.validate()
    return dag


def test_the_graph_and_the_form(tmp_path: Path) -> None:
    """The way home is opened and caught up with, then it is a failover of it; nothing is decided by default."""
    dag = load(tmp_path, a=flow_text("orders"), bad=flow_text("users", more="shard: 2\n"))
    assert {task.task_id: set(task.upstream_task_ids) for task in dag.tasks} == {
        "prepare": set(),
        "catch_up": {"prepare"},
        "plan": {"catch_up"},
        "approval": {"plan"},
        "apply": {"approval"},
        "repoint": {"apply"},
        "confirm": {"repoint"},
        "rollback": {"approval"},
    }
    answers = dag.params.dump()
    assert dag.params.get_param("flow").schema["enum"] == ["orders"]
    assert dag.params.get_param("stranded").schema["enum"] == ["not decided", "keep", "copy", "quarantine"]
    assert (answers["stranded"], answers["dry_run"], answers["skip_approval"]) == ("not decided", False, False)
    assert "mode" not in answers
    assert dag.timetable.__class__.__name__ == "NullTimetable"
    assert dag.is_paused_upon_creation is False
    assert "bad.yaml:5: shard: unknown key" in dag.doc_md
    assert {dag.task_dict[name].flow for name in ("catch_up", "plan", "apply", "rollback")} == {
        "{{ params.flow }}.reverse"
    }
    serialized = import_module("airflow.serialization.serialized_objects")
    kind = serialized.SerializedDAG if IS_3_1 else serialized.DagSerialization
    assert "'enum': ['orders']" in str((kind.to_dict if hasattr(kind, "to_dict") else kind.serialize_dag)(dag))


def test_no_flow_at_all(tmp_path: Path) -> None:
    """The DAG stays, and its one task fails with why."""
    (task,) = load(tmp_path, bad="x: [").tasks
    with pytest.raises(AirflowFailException, match="no flow can be chosen"):
        task.execute({})


def context_of(state: str | None, **params: Any) -> Any:
    """Make the context of a task behind ``prepare``, which found this."""
    context = task_context()
    context["ti"].xcom_pull = lambda task_ids: None if state is None else {"state": state}
    context["params"] = {"rollback": False, "dry_run": False, **params}
    return context


@pytest.mark.parametrize(
    ("context", "running"),
    [
        (context_of("prepared"), "catch_up plan"),
        (context_of("at home"), "plan"),
        (context_of("prepared", dry_run=True), "plan"),
        (context_of("not prepared", dry_run=True), ""),
        (context_of("at home", dry_run=True), ""),
        (context_of("at home, not handed over", dry_run=True), ""),
        (context_of(None, rollback=True), ""),
    ],
)
def test_which_tasks_run(context: Any, running: str) -> None:
    """Nothing is brought home in a dry run; nothing is planned before the way home is open."""
    checks: dict[str, Callable[[Any], None]] = {"catch_up": skip_unless_bringing, "plan": skip_unless_open}
    found: list[str] = []
    for name, check in checks.items():
        try:
            check(context)
        except AirflowSkipException:
            continue
        found.append(name)
    assert " ".join(found) == running
