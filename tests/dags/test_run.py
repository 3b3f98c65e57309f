"""Whole runs of DAGs on real clusters, through Airflow's own task runner (``dag.test``)."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_mm2.dags import MirrorDag, load_flow_dags
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.naming import shard_of
from airflow_provider_mm2.mirror.errors import ClusterUnreachable
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.operators import flow_task
from airflow_provider_mm2.operators.mirror import MirrorIntervalOperator
from tests.airflow_env import DATABASE, run_dag
from tests.contract.lab import BASE_MS, Side
from tests.contract.real_lab import RealLab
from tests.fakes.log import Message

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


def messages(count: int, *, first: int = 0) -> list[Message]:
    """Numbered records, one a second."""
    return [Message(key=b"k", value=b"%d" % n, timestamp_ms=BASE_MS + n * 1000) for n in range(first, first + count)]


def flow_of(lab: RealLab, pair: LocalPair, *topics: str, **more: Any) -> dict[str, Any]:
    """Make a flow of a name of its own."""
    return {
        "name": lab.new_name(),
        "source": {"alias": "us", "settings": dict(pair.addresses["source"])},
        "target": {"alias": "eu", "settings": dict(pair.addresses["target"])},
        "topics": list(topics),
        "dag": {"retries": 0, "retry_delay_s": 0},
        **more,
    }


def states(run: Any) -> dict[str, str]:
    """State of each task, ``mirror[1]`` for a mapped one."""
    return {
        instance.task_id if instance.map_index < 0 else f"{instance.task_id}[{instance.map_index}]": str(instance.state)
        for instance in run.get_task_instances()
    }


def rows(query: str, *values: str) -> list[Any]:
    """Ask Airflow's database."""
    with sqlite3.connect(DATABASE) as database:
        return list(database.execute(query, values))


def xcom(run: Any, task_id: str, map_index: int = -1) -> Any:
    """A task's result."""
    query = "SELECT value FROM xcom WHERE run_id = ? AND dag_id = ? AND task_id = ? AND map_index = ? AND key = ?"
    found = rows(query, run.run_id, run.dag_id, task_id, str(map_index), "return_value")
    return json.loads(found[0][0]) if found else None


def events(run: Any) -> dict[str, Mapping[str, Any]]:
    """Asset events of a run: extra by URI."""
    query = (
        "SELECT asset.uri, asset_event.extra FROM asset_event JOIN asset ON asset.id = asset_event.asset_id "
        "WHERE source_dag_id = ? AND source_run_id = ?"
    )
    return {uri: json.loads(extra) for uri, extra in rows(query, run.dag_id, run.run_id)}


def tries(run: Any) -> dict[str, int]:
    """Tries of each task."""
    found = rows("SELECT task_id, map_index, try_number FROM task_instance WHERE run_id = ?", run.run_id)
    return {task_id if index < 0 else f"{task_id}[{index}]": number for task_id, index, number in found}


def test_the_shipped_dag_runs_as_it_is(
    lab: RealLab, pair: LocalPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """K04: ``dags/`` as it is mirrors the topic; a second run finds it complete; the events tell how far it got."""
    monkeypatch.setenv("MM2_SOURCE", pair.addresses["source"]["bootstrap.servers"])
    monkeypatch.setenv("MM2_TARGET", pair.addresses["target"]["bootstrap.servers"])
    lab.create_topic(Side.SOURCE, "flights", partitions=4, settings={"retention.ms": "-1"})
    for partition in range(4):
        lab.produce(Side.SOURCE, TopicPartition("flights", partition), *messages(25))
    dags = tmp_path / "dags"
    shutil.copytree(ROOT / "dags", dags, ignore=shutil.ignore_patterns("__pycache__"))
    namespace: dict[str, Any] = {"__file__": str(dags / "mm2_mirror.py")}
    load_flow_dags(namespace)
    first, second = (run_dag(namespace["mm2_mirror__flights"]) for _ in range(2))

    assert (first.state, second.state) == ("success", "success")
    assert states(first) == dict.fromkeys(("plan", "mirror[0]", "groups", "assets", "finish"), "success")
    assert (xcom(first, "finish")["records"], xcom(second, "finish")["records"]) == (100, 0)
    assert xcom(second, "mirror", 0)["already_complete"] is True
    for partition in range(4):
        mirrored = [record for _, record in lab.visible(Side.TARGET, TopicPartition("us.flights", partition))]
        assert mirrored == messages(25)
    (uri,) = events(first)
    assert uri == "kafka://eu/us.flights"
    event = events(first)[uri]
    assert event["offsets"] == {"0": 25, "1": 25, "2": 25, "3": 25}
    assert event["mirrored_through"] == xcom(first, "mirror", 0)["until"][:23] + "000Z"


def test_the_shards_are_mapped_and_cover_everything_once(lab: RealLab, pair: LocalPair) -> None:
    """Three mapped tasks mirror twelve partitions between them, each once and in order."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, partitions=12, settings={"retention.ms": "-1"})
    for partition in range(12):
        lab.produce(Side.SOURCE, TopicPartition(topic, partition), *messages(10))
    run = run_dag(MirrorDag(flow_of(lab, pair, topic, shards=3)))
    assert run.state == "success"
    assert {f"mirror[{shard}]" for shard in range(3)} <= states(run).keys()
    assert xcom(run, "finish")["records"] == 120
    for partition in range(12):
        mirrored = [record for _, record in lab.visible(Side.TARGET, TopicPartition(f"us.{topic}", partition))]
        assert mirrored == messages(10)
    assert list(events(run)[f"kafka://eu/us.{topic}"]["offsets"].values()) == [10] * 12


def test_a_failed_shard_fails_the_run_and_no_other_topic(lab: RealLab, pair: LocalPair) -> None:
    """A stranger's record stops one shard: the run is red, the other shard's topic has its records and its event."""
    broken, whole = lab.new_name(), lab.new_name()
    while shard_of(TopicPartition(broken, 0), 2) == shard_of(TopicPartition(whole, 0), 2):
        whole = lab.new_name()
    for topic in (broken, whole):
        lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
        lab.produce(Side.SOURCE, TopicPartition(topic, 0), *messages(10))
    flow = flow_of(lab, pair, broken, whole, shards=2, dag={"retries": 3, "retry_delay_s": 0})
    assert run_dag(MirrorDag(flow)).state == "success"

    lab.produce(Side.TARGET, TopicPartition(f"us.{broken}", 0), *messages(1, first=99))
    for topic in (broken, whole):
        lab.produce(Side.SOURCE, TopicPartition(topic, 0), *messages(10, first=10))
    run = run_dag(MirrorDag(flow))
    failed = shard_of(TopicPartition(broken, 0), 2)
    assert run.state == "failed"
    assert states(run) == {
        "plan": "success",
        f"mirror[{failed}]": "failed",
        f"mirror[{1 - failed}]": "success",
        "groups": "success",
        "assets": "success",
        "finish": "failed",
    }
    assert tries(run)[f"mirror[{failed}]"] == 1  # for good: not retried, although the DAG allows three
    assert list(events(run)) == [f"kafka://eu/us.{whole}"]
    assert [r for _, r in lab.visible(Side.TARGET, TopicPartition(f"us.{whole}", 0))] == messages(20)


def test_a_failed_plan_fails_the_run(lab: RealLab, pair: LocalPair) -> None:
    """Nothing is mapped then; the run is red, and the plan's message is in its log alone."""
    run = run_dag(MirrorDag(flow_of(lab, pair, lab.new_name())))
    assert run.state == "failed"
    assert states(run) == {
        "plan": "failed",
        "mirror": "upstream_failed",
        "groups": "upstream_failed",
        "assets": "success",
        "finish": "failed",
    }


def test_a_passing_failure_is_retried(lab: RealLab, pair: LocalPair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that does not answer fails the first try of each task; Airflow tries again, and all is there once."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
    lab.produce(Side.SOURCE, TopicPartition(topic, 0), *messages(10))
    connect = flow_task._connect
    asked: list[int] = []

    def connect_every_second_time(*arguments: Any) -> Any:
        asked.append(1)
        if len(asked) % 2:
            raise ClusterUnreachable(alias="us", servers="us:9092", seconds=1, problem="it is down")
        return connect(*arguments)

    monkeypatch.setattr(flow_task, "_connect", connect_every_second_time)
    run = run_dag(MirrorDag(flow_of(lab, pair, topic, dag={"retries": 1, "retry_delay_s": 0})))
    assert run.state == "success"
    assert (tries(run)["plan"], tries(run)["mirror[0]"]) == (2, 2)
    assert [record for _, record in lab.visible(Side.TARGET, TopicPartition(f"us.{topic}", 0))] == messages(10)


@pytest.mark.parametrize(
    ("timetable", "dated", "hours", "expected"),
    [("trigger", True, 2, 20), ("data_interval", True, 1, 10), ("trigger", False, 3, 30)],
    ids=["a scheduled or backfilled moment", "a data interval", "by hand, without a logical date"],
)
def test_each_kind_of_run_knows_its_end(
    lab: RealLab, pair: LocalPair, timetable: str, dated: bool, hours: int, expected: int
) -> None:
    """K01, K02: ten records an hour; a run mirrors up to its interval's end or, without a width, its own time."""
    hour = datetime.fromtimestamp(BASE_MS / 1000, tz=timezone.utc).replace(minute=0, second=0)
    stamps = [int((hour + timedelta(minutes=6 * n)).timestamp() * 1000) for n in range(40)]
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
    records = [Message(key=b"k", value=b"%d" % n, timestamp_ms=stamp) for n, stamp in enumerate(stamps)]
    lab.produce(Side.SOURCE, TopicPartition(topic, 0), *records)
    settings = {"schedule": "@hourly", "timetable": timetable, "start_date": "2023-01-01", "retries": 0}
    end = hour + timedelta(hours=hours)
    dag = MirrorDag(flow_of(lab, pair, topic, dag=settings))
    run = run_dag(
        dag, run_after=end if not dated or timetable == "trigger" else None, logical_date=end if dated else None
    )
    assert run.state == "success"
    assert run.logical_date == (end if dated else None)
    assert xcom(run, "finish")["records"] == expected


def test_arguments_are_templates(
    lab: RealLab, pair: LocalPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a DAG written by hand one task mirrors a flow that a parameter names, through an Airflow connection."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
    lab.produce(Side.SOURCE, TopicPartition(topic, 0), *messages(20))
    flow = flow_of(lab, pair, topic)
    (tmp_path / f"{flow['name']}.yaml").write_text(json.dumps(flow))  # JSON is YAML
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_EU", json.dumps({"conn_type": "kafka", "extra": pair.addresses["target"]}))
    until = datetime.fromtimestamp(BASE_MS / 1000 + 10, tz=timezone.utc).isoformat()
    params = {"flow": flow["name"], "until": until, "target": "kafka_eu"}
    with DAG(f"by_hand_{flow['name']}", schedule=None, params=params) as dag:
        MirrorIntervalOperator(
            task_id="mirror",
            flow="{{ params.flow }}",
            until="{{ params.until }}",
            target_conn_id="{{ params.target }}",
        )
    run = run_dag(dag)
    assert run.state == "success"
    assert xcom(run, "mirror")["records"] == 10
    rendered = rows("SELECT rendered_fields FROM rendered_task_instance_fields WHERE run_id = ?", run.run_id)
    assert flow["name"] in rendered[0][0]
