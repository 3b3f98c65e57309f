"""DAGs from flow files: what each setting gives, and how a bad file is shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_mm2.dags import MirrorDag, MirrorTaskGroup, load_flow_dags
from airflow_provider_mm2.mirror.errors import FlowNotFound, SecretInFlow
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.dags.flow_texts import flow_text

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for

Load = Callable[..., dict[str, Any]]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Give a loader: it writes the files into ``flows/`` beside a DAG file and gives that file's DAGs by id."""
    monkeypatch.chdir("/")

    def load_files(**files: str) -> dict[str, Any]:
        flows = tmp_path / "flows"
        flows.mkdir(exist_ok=True)
        for name, text in files.items():
            (flows / f"{name}.yaml").write_text(text, encoding="utf-8")
        namespace: dict[str, Any] = {"__file__": str(tmp_path / "dag.py"), "other": 1}
        dags = load_flow_dags(namespace)
        found = {name: value for name, value in namespace.items() if isinstance(value, DAG)}
        assert list(found.values()) == dags
        assert all(name == dag.dag_id for name, dag in found.items())
        assert {dag.fileloc for dag in dags} <= {str(tmp_path / "dag.py")}
        return found

    return load_files


def problem_of(dag: Any) -> str:
    """Run the task of a failing DAG, and give its message."""
    (task,) = dag.tasks
    assert task.retries == 0
    with pytest.raises(AirflowFailException) as caught:
        task.execute({})
    assert str(caught.value) in str(dag.doc_md)
    return str(caught.value)


def tasks_before(dag: Any) -> dict[str, set[str]]:
    """The graph: each task with those before it."""
    return {task.task_id: set(task.upstream_task_ids) for task in dag.tasks}


def test_a_flow_file_gives_a_dag(load: Load) -> None:
    """The graph: plan, mirror mapped over the shards, groups, assets, and the finish that fails with any of them."""
    dag = load(file=flow_text())["mm2_mirror__orders"]
    assert tasks_before(dag) == {
        "plan": set(),
        "mirror": {"plan"},
        "groups": {"mirror"},
        "assets": {"mirror"},
        "finish": {"assets", "groups", "mirror"},
    }
    assert dag.task_dict["mirror"].is_mapped
    assert dag.task_dict["assets"].trigger_rule == "all_done"
    assert dag.task_dict["finish"].trigger_rule == "all_done"
    assert dag.max_active_runs == 1
    assert "`orders`" in str(dag.doc_md)


def test_a_flow_that_connectors_mirror(load: Load) -> None:
    """Its DAG makes sure of the connectors and waits for them; a secret of ``connect:`` in plain text is refused."""
    more = "engine: connect\nconnect: {url: 'http://connect:8083'}\n"
    dag = load(file=flow_text(more=more))["mm2_mirror__orders"]
    assert tasks_before(dag) == {"connectors": set(), "caught_up": {"connectors"}}
    assert "`connectors` makes sure" in str(dag.doc_md)
    plain = more.replace("8083'", f"8083', auth: {{token: {SECRET}}}")
    failing = load(file=flow_text(more=plain))["mm2_mirror__orders"]
    assert "connect.auth.token" in problem_of(failing)
    assert SECRET not in f"{failing.doc_md}{failing.tasks[0].__dict__}"


def test_the_dag_block_becomes_the_dags_arguments(load: Load) -> None:
    """Schedule, start, tags, owner, pool and retries come from the flow's file."""
    block = (
        "dag:\n  schedule: '@monthly'\n  timetable: data_interval\n  start_date: 2013-01-01\n  catchup: true\n"
        "  tags: [dr, kafka]\n  owner: team\n  pool: kafka\n  retries: 5\n  retry_delay_s: 7\n  paused: false\n"
    )
    dag = load(file=flow_text(more=block))["mm2_mirror__orders"]
    assert type(dag.timetable).__name__ == "CronDataIntervalTimetable"
    assert dag.start_date == datetime(2013, 1, 1, tzinfo=timezone.utc)
    assert (dag.catchup, set(dag.tags), dag.is_paused_upon_creation) == (True, {"dr", "kafka"}, False)
    for name in ("plan", "mirror"):
        task = dag.task_dict[name]
        assert (task.owner, task.pool, task.retries, task.retry_delay) == ("team", "kafka", 5, timedelta(seconds=7))


@pytest.mark.parametrize(
    ("schedule", "timetable"),
    [
        ("'*/5 * * * *'", "CronTriggerTimetable"),
        ("'@hourly'", "CronTriggerTimetable"),
        ("null", "NullTimetable"),
        ("'@once'", "OnceTimetable"),
        ("'@continuous'", "ContinuousTimetable"),
    ],
)
def test_each_kind_of_schedule_is_taken(load: Load, schedule: str, timetable: str) -> None:
    """Cron, presets, none at all and the two without a clock."""
    dag = load(file=flow_text(more=f"dag: {{schedule: {schedule}}}\n"))["mm2_mirror__orders"]
    assert type(dag.timetable).__name__ == timetable
    dag.validate()


def test_a_bad_file_spoils_only_its_own_flow(load: Load) -> None:
    """The good flow has its DAG; the bad one keeps its id and schedule, and fails with line and reason."""
    dags = load(good=flow_text(), bad=flow_text("users", more="shard: 2\ndag: {schedule: '@daily', owner: team}\n"))
    assert set(dags) == {"mm2_mirror__orders", "mm2_mirror__users"}
    bad = dags["mm2_mirror__users"]
    assert "bad.yaml:5: shard: unknown key; did you mean 'shards'?" in problem_of(bad)
    assert type(bad.timetable).__name__ == "CronTriggerTimetable"
    expression = getattr(bad.timetable, "expression", None) or bad.timetable._expression  # the second: 3.1
    assert expression in ("0 0 * * *", "@daily")
    assert bad.tasks[0].owner == "team"


def test_a_schedule_that_airflow_refuses_is_told_with_its_line(load: Load) -> None:
    """What only Airflow can judge of a file is told like the rest."""
    dags = load(good=flow_text(), bad=flow_text("users", more="dag:\n  schedule: '61 * * * *'\n"))
    assert set(dags) == {"mm2_mirror__orders", "mm2_mirror__users"}
    assert "bad.yaml:6: dag.schedule: Airflow refuses '61 * * * *'" in problem_of(dags["mm2_mirror__users"])


def test_a_plain_secret_gives_a_failing_dag(load: Load) -> None:
    """The secret's name is told, its value is not; nothing of the flow reaches Airflow."""
    text = flow_text().replace('"us:9092"', f'"us:9092", sasl.password: {SECRET}')
    dag = load(secret=text)["mm2_mirror__orders"]
    assert "secret.yaml: the flow holds secrets in plain text: sasl.password of" in problem_of(dag)
    assert SECRET not in f"{dag.doc_md}{dag.description}{dag.tasks[0].__dict__}"


def test_one_name_in_two_files_gives_two_failing_dags(load: Load) -> None:
    """Neither is run, since nothing says which is meant."""
    dags = load(a=flow_text(), b=flow_text())
    assert set(dags) == {"mm2_mirror__orders", "mm2_mirror__orders_"}
    assert "the flow name 'orders' is also used by b.yaml" in problem_of(dags["mm2_mirror__orders"])


def test_a_failing_dag_takes_no_other_dags_place(load: Load) -> None:
    """A bad file that is called as another file's flow gets an id of its own; odd characters are replaced."""
    dags = load(good=flow_text("users"), users="x: [", **{"odd näme": ""})
    assert set(dags) == {"mm2_mirror__users", "mm2_mirror__users_", "mm2_mirror__odd_n_me"}
    assert len(dags["mm2_mirror__users"].tasks) == 5


def test_the_folder_may_be_named_by_the_environment(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``$MM2_FLOWS`` wins over ``flows/`` beside the DAG file; a missing folder is told, an empty one gives nothing."""
    other = tmp_path / "other"
    monkeypatch.setenv("MM2_FLOWS", str(other))
    with pytest.raises(FlowNotFound, match=str(other)):
        load(file=flow_text())
    other.mkdir()
    assert load(file=flow_text()) == {}
    (other / "users.yaml").write_text(flow_text("users"))
    assert set(load(file=flow_text())) == {"mm2_mirror__users"}


FLOW: dict[str, Any] = {
    "name": "orders",
    "source": {"alias": "us", "settings": {"bootstrap.servers": "us:9092"}},
    "target": {"alias": "eu", "connection": "kafka_eu"},
    "topics": ["orders"],
}


def test_a_dag_can_be_made_by_hand() -> None:
    """``MirrorDag`` takes a flow in each form; its own arguments win over the flow's."""
    for flow in (FLOW, MirrorFlow.model_validate(FLOW)):
        dag: Any = MirrorDag(flow, "mine", schedule=None, tags=["x"], operator_args={"until": "{{ ts }}"})
        assert dag.dag_id == "mine"
        assert set(dag.tags) == {"x"}
        assert dag.fileloc == __file__
        assert dag.task_dict["plan"].until == "{{ ts }}"
        assert dag.task_dict["mirror"].partial_kwargs["until"] == "{{ ts }}"


def test_airflow_shows_a_flow_without_its_settings() -> None:
    """What Airflow stores and shows of the argument is what differs from the defaults; addresses and logins are not."""
    show = import_module("airflow.serialization.helpers").serialize_template_field
    shown = show(MirrorFlow.model_validate({**FLOW, "shards": 2}), "flow")
    assert shown == {
        "name": "orders",
        "source": {"alias": "us"},
        "target": {"alias": "eu", "connection": "kafka_eu"},
        "topics": ["orders"],
        "shards": 2,
    }


def test_a_group_can_be_put_into_a_dag() -> None:
    """``MirrorTaskGroup`` gives the same tasks inside a DAG that has others; what follows waits for the finish."""
    with DAG("mine", schedule=None) as dag:
        group = MirrorTaskGroup(FLOW)
        with pytest.raises(SecretInFlow):
            MirrorTaskGroup({**FLOW, "target": {"alias": "eu", "settings": {"sasl.password": SECRET, **SERVERS}}})
    assert set(dag.task_dict) == {f"mirror__orders.{name}" for name in ("plan", "mirror", "groups", "assets", "finish")}
    assert {task.task_id for task in group.get_leaves()} == {"mirror__orders.finish"}


SERVERS = {"bootstrap.servers": "eu:9092"}


def test_a_flow_by_name_is_looked_for_beside_the_dag_file() -> None:
    """The file that makes the DAG decides, not the working directory."""
    with pytest.raises(FlowNotFound) as caught:
        MirrorDag("orders")
    assert caught.value.looked_in == str(Path(__file__).parent / "flows")
