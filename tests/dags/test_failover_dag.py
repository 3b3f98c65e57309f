"""The DAG of failovers as it is parsed: its form, its graph, its flows, and who runs after which answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_mm2.failover_dag import (
    load_failover_dag,
    skip_unless_approved,
    skip_unless_asked,
    skip_unless_planning,
    skip_unless_refused,
)
from airflow_provider_mm2.mirror.errors import FlowNotFound
from airflow_provider_mm2.version_compat import AirflowFailException, AirflowSkipException
from tests.airflow_env import IS_3_1
from tests.dags.flow_texts import flow_text
from tests.operators.task_context import task_context

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for

Load = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Give a loader: it writes the files into ``flows/`` beside a DAG file and gives that file's DAG."""

    def load_files(options: dict[str, Any] | None = None, **files: str) -> Any:
        flows = tmp_path / "flows"
        flows.mkdir(exist_ok=True)
        for name, text in files.items():
            (flows / f"{name}.yaml").write_text(text, encoding="utf-8")
        namespace: dict[str, Any] = {"__file__": str(tmp_path / "dag.py")}
        dag = load_failover_dag(namespace, **options or {})
        assert namespace["mm2_failover"] is dag
        assert dag.fileloc == str(tmp_path / "dag.py")
        dag.validate()
        return dag

    return load_files


def test_the_graph(load: Load) -> None:
    """The phases stand in a row with the approval between; the rollback hangs on the approval."""
    dag = load(file=flow_text())
    assert {task.task_id: set(task.upstream_task_ids) for task in dag.tasks} == {
        "plan": set(),
        "approval": {"plan"},
        "apply": {"approval"},
        "repoint": {"apply"},
        "confirm": {"repoint"},
        "rollback": {"approval"},
    }
    assert {task.task_id: task.retries for task in dag.tasks if task.retries != 2} == {"approval": 0}


def test_only_people_start_it(load: Load) -> None:
    """It has no schedule, and is not paused when it is new: an emergency does not wait for a switch."""
    dag = load(file=flow_text())
    assert dag.timetable.__class__.__name__ == "NullTimetable"
    assert dag.is_paused_upon_creation is False
    if not IS_3_1:
        assert {kind.value for kind in dag.allowed_run_types} == {"manual"}


def test_the_form(load: Load) -> None:
    """The flow has to be picked among those that can be used; what else is asked has a harmless answer already."""
    dag = load(b=flow_text("users"), a=flow_text("orders"))
    schemas = {name: dag.params.get_param(name).schema for name in dag.params}
    assert schemas["flow"]["enum"] == ["orders", "users"]
    assert schemas["mode"]["enum"] == ["planned", "unplanned"]
    answers = dag.params.dump()
    assert answers.pop("flow") is None
    assert answers == {
        "mode": "planned",
        "groups": [],
        "topics": [],
        "dry_run": False,
        "skip_approval": False,
        "rollback": False,
        "quiet_s": 5,
        "stop_wait_s": 120,
        "confirm_wait_s": 0,
        "force": False,
    }


def test_a_bad_file_spoils_nothing_else(load: Load) -> None:
    """It is left out with its line, one with a secret without the secret."""
    secret = flow_text("secret").replace('"us:9092"', f'"us:9092", sasl.password: {SECRET}')
    dag = load(good=flow_text(), bad=flow_text("users", more="shard: 2\n"), secret=secret)
    assert dag.params.get_param("flow").schema["enum"] == ["orders"]
    assert "bad.yaml:5: shard: unknown key" in dag.doc_md
    assert "secret.yaml: the flow holds secrets in plain text: sasl.password of" in dag.doc_md
    assert SECRET not in dag.doc_md


def test_no_flow_at_all(load: Load) -> None:
    """The DAG stays, and its one task fails with why."""
    dag = load(bad="x: [")
    (task,) = dag.tasks
    with pytest.raises(AirflowFailException, match="no flow can be chosen"):
        task.execute({})


def test_no_folder_of_flows(tmp_path: Path) -> None:
    """A missing folder is an error, as it is for mirrors."""
    with pytest.raises(FlowNotFound):
        load_failover_dag({"__file__": str(tmp_path / "dag.py")})


def test_who_may_approve_and_for_how_long(load: Load) -> None:
    """Both come from the DAG file, as arguments of the DAG do; no answer is a no."""
    user = {"id": "boss", "name": "The boss"}
    options = {"assigned_users": [user], "response_timeout": timedelta(minutes=5), "tags": ["mine"]}
    dag = load(options, file=flow_text())
    approval = dag.task_dict["approval"]
    assert (approval.assigned_users, approval.response_timeout) == ([user], timedelta(minutes=5))
    assert (approval.options, approval.defaults) == (["Approve", "Reject"], ["Reject"])
    assert set(dag.tags) == {"mine"}
    assert load(file=flow_text()).task_dict["approval"].response_timeout == timedelta(hours=1)


def test_it_can_be_stored(load: Load) -> None:
    """Airflow's scheduler gets it without a loss, its form too."""
    serialized = import_module("airflow.serialization.serialized_objects")
    kind = serialized.SerializedDAG if IS_3_1 else serialized.DagSerialization
    stored = (kind.to_dict if hasattr(kind, "to_dict") else kind.serialize_dag)(load(file=flow_text()))
    assert "'enum': ['orders']" in str(stored)


def context_of(
    state: str | None,
    *,
    answer: str | None = None,
    states: dict[str, str] | None = None,
    tries: int = 1,
    **params: Any,
) -> Any:
    """Make the context of a task behind ``plan``, which returned this state, and the approval with this answer."""
    context = task_context(states=states)
    results: dict[str, Any] = {"plan": None if state is None else {"state": state, "digest": "d"}}
    results["approval"] = None if answer is None else {"chosen_options": [answer]}
    context["ti"].try_number = tries
    context["ti"].xcom_pull = lambda task_ids: results[task_ids]
    context["task"] = SimpleNamespace(params={})
    context["params"] = {"rollback": False, "skip_approval": False, "dry_run": False, **params}
    return context


def runs(check: Callable[[Any], None], context: Any) -> bool:
    """Tell whether the task is not skipped."""
    try:
        check(context)
    except AirflowSkipException:
        return False
    return True


WAITING, FAILED = "awaiting approval", {"repoint": "failed"}


@pytest.mark.parametrize(
    ("context", "running"),
    [
        (context_of(WAITING, answer="Approve"), "plan approval apply"),
        (context_of(WAITING, answer="Reject"), "plan approval rollback"),
        (context_of(WAITING), "plan approval rollback"),
        (context_of(WAITING, answer="Approve", states=FAILED), "plan approval apply"),
        (context_of(WAITING, answer="Approve", tries=2), "plan approval apply"),
        (context_of(WAITING, answer="Approve", states=FAILED, tries=2), "plan approval apply rollback"),
        (context_of(WAITING, skip_approval=True), "plan apply"),
        (context_of(WAITING, skip_approval=True, states=FAILED, tries=2), "plan apply rollback"),
        (context_of("preview", dry_run=True), "plan"),
        (context_of("preview", dry_run=True, skip_approval=True), "plan"),
        (context_of("closed"), "plan apply"),
        (context_of("running", answer="Approve"), "plan approval apply"),
        (context_of(None, rollback=True), "approval rollback"),
        (context_of(None), "plan approval"),
        (context_of(None, answer="Approve", skip_approval=True), "plan"),
    ],
)
def test_which_tasks_run(context: Any, running: str) -> None:
    """A task is skipped unless the plan, the answer and the form call for it; the approval stands behind ``plan``."""
    checks = {
        "plan": skip_unless_planning,
        "approval": skip_unless_asked,
        "apply": skip_unless_approved,
        "rollback": skip_unless_refused,
    }
    assert " ".join(name for name, check in checks.items() if runs(check, context)) == running
