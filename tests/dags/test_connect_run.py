"""Flows that connectors mirror, through Airflow's task runner, on the session's Connect worker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from airflow.sdk import DAG

from airflow_provider_mm2.dags import MirrorDag
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.mm2_import.flow_text import flow_document
from airflow_provider_mm2.mirror.mm2_import.importer import import_files
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.operators.connect import ConnectMirrorOperator
from airflow_provider_mm2.operators.hand_over import HandOverOperator
from airflow_provider_mm2.sensors.connect import ConnectMirrorSensor
from tests.airflow_env import run_dag
from tests.article.conftest import remote_clusters
from tests.article.test_article import Said
from tests.contract.lab import Side, messages
from tests.dags.test_run import states, xcom
from tests.java.program import JavaProgram
from tests.mirror.connect.stage import ConnectStage, stage_of, until

__all__ = ["remote_clusters"]

pytestmark = [pytest.mark.airflow, pytest.mark.broker]
SECRET = "hunter2-of-the-dag"  # noqa: S105 - planted, to be looked for


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectStage]:
    """Give a stage whose flow finds its worker by an http connection, and has a secret among its settings."""
    address = urlsplit(connect_url)
    connection = {"conn_type": "http", "host": address.hostname, "port": address.port, "schema": "http"}
    monkeypatch.setenv("AIRFLOW_CONN_CONNECT_EU", json.dumps(connection))
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    more = {"connect": {"connection": "connect_eu", "refresh_s": 1}, "dag": {"retries": 0}}
    with stage_of(pair, connect_url, tmp_path, **more) as made:
        login = {"sasl.mechanism": "PLAIN", "sasl.username": "mirror", "sasl.password": "${ORDERS_PASSWORD}"}
        made.document["target"]["settings"] |= login
        yield made


def test_the_dag_makes_sure_of_the_connectors(stage: ConnectStage, capfd: pytest.CaptureFixture[str]) -> None:
    """A run puts them and ends when all that was there is on the target; the next one finds them as they are to be.

    The log has each key that is changed, and no secret.
    """
    dag = MirrorDag(stage.document)
    first = run_dag(dag)
    assert (first.state, states(first)) == ("success", {"connectors": "success", "caught_up": "success"})
    assert stage.mirrored() == [message.value for message in messages(10)]
    assert [row["change"] for row in xcom(first, "connectors")["connectors"]] == ["create"] * 3
    assert xcom(first, "caught_up")["progress"] == [{"topic": stage.topic, "partition": 0, "next_offset": 10}]
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=10))
    second = run_dag(MirrorDag(stage.document))
    assert (second.state, xcom(second, "connectors")["to_change"]) == ("success", 0)
    assert stage.mirrored() == [message.value for message in messages(15)]
    log = "".join(capfd.readouterr())
    assert "target.cluster.sasl.jaas.config: None -> ***" in log
    assert SECRET not in log + json.dumps(xcom(first, "connectors"))


def test_handed_over_by_tasks(stage: ConnectStage) -> None:
    """A task hands the flow over to runs, which go on, and a task hands it back."""
    assert run_dag(MirrorDag(stage.document)).state == "success"
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=10))
    handed = stage.document
    bounded = {**handed, "engine": "bounded"}
    taken = run_dag(hand_over_dag(bounded))
    assert (taken.state, xcom(taken, "hand_over")["from"], xcom(taken, "again")["done_already"]) == (
        "success",
        "connect",
        True,
    )
    stage.document = bounded
    stage.call("run")
    assert stage.mirrored() == [message.value for message in messages(15)]
    back = run_dag(hand_over_dag(handed))
    assert (back.state, xcom(back, "hand_over")["partitions"][0]["new"]) == ("success", 15)
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=15))
    assert stage.await_mirrored(20) == [message.value for message in messages(20)]


def hand_over_dag(document: dict[str, Any]) -> DAG:
    """Make a DAG that hands a flow over, and once more."""
    with DAG(f"hand_over_{uuid.uuid4().hex[:6]}", schedule=None) as dag:
        first = HandOverOperator(task_id="hand_over", flow=document, apply="{{ true }}")
        first >> HandOverOperator(task_id="again", flow=document, apply=True)
    return dag


def test_stopped_and_resumed_by_tasks(stage: ConnectStage) -> None:
    """Each action as a task; a deferred sensor waits in the triggerer until the records of the time are there."""
    run_dag(MirrorDag(stage.document))
    with DAG(f"stop_{stage.name}", schedule=None) as dag:
        stop = ConnectMirrorOperator(task_id="stop", flow=stage.document, action="{{ 'stop' }}")
        look = ConnectMirrorOperator(task_id="look", flow=stage.document, action="delete", apply="false")
        resume = ConnectMirrorOperator(task_id="resume", flow=stage.document, action="resume")
        until = datetime.now(timezone.utc).isoformat()
        wait = ConnectMirrorSensor(
            task_id="wait", flow=stage.document, until=until, deferrable=True, poke_interval=0.5, timeout=120
        )
        stop >> look >> resume >> wait
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=10))
    run = run_dag(dag)
    assert run.state == "success"
    assert {row["after"] for row in xcom(run, "stop")["connectors"]} == {"STOPPED"}
    assert {row["after"] for row in xcom(run, "look")["connectors"]} == {"STOPPED"}
    assert xcom(run, "wait")["mirrored_through"] is not None
    assert stage.mirrored() == [message.value for message in messages(15)]


def test_a_failed_connector_fails_the_sensor(stage: ConnectStage, capfd: pytest.CaptureFixture[str]) -> None:
    """The sensor does not wait for what will not come: it fails for good, and the log has the trace."""
    stage.mm2("put", "--apply")
    stage.document["source"] = {"alias": "us", "settings": {"bootstrap.servers": "no-such-host.invalid:9092"}}
    with DAG(f"failed_{stage.name}", schedule=None) as dag:
        put = ConnectMirrorOperator(task_id="put", flow=stage.document)
        put >> ConnectMirrorSensor(task_id="wait", flow=stage.document, poke_interval=0.5, timeout=120, retries=2)
    failed = run_dag(dag)
    assert states(failed) == {"put": "success", "wait": "failed"}
    log = "".join(capfd.readouterr())
    assert f"of the connectors of flow '{stage.name}' has failed" in log
    assert "No resolvable bootstrap urls" in log


def articles_connectors(stage: ConnectStage) -> list[dict[str, str]]:
    """The two connectors of the article, its misspelt key too, for one topic and one group of a shared cluster."""
    bytes_alone = "org.apache.kafka.connect.converters.ByteArrayConverter"
    both = {
        "source.cluster.alias": f"kafka-source-{stage.name}",
        "target.cluster.alias": "kafka-dist",
        "source.cluster.bootstrap.servers": stage.document["source"]["settings"]["bootstrap.servers"],
        "target.cluster.bootstrap.servers": stage.document["target"]["settings"]["bootstrap.servers"],
        "topics": stage.topic,
        "value.converter": bytes_alone,
    }
    head = "org.apache.kafka.connect.mirror."
    source = {**both, "name": stage.name, "connector.class": f"{head}MirrorSourceConnector"}
    checkpoint = {
        **both,
        "name": f"{stage.name}-checkpoints",
        "connector.class": f"{head}MirrorCheckpointConnector",
        "key.converter": bytes_alone,
        "groups": stage.topic,
        "sync.group.offsets.enabled": "true",
        "backup.sync.group.offsets.enabled": "true",
        "exclude.internal.topics": "false",
        "tasks.max": "1",
    }
    return [source, checkpoint]


def test_the_articles_connectors_sent_by_a_task(stage: ConnectStage, remote_clusters: JavaProgram) -> None:
    """Imported and put by the operator, they carry a group over: the article's Java application reads on behind it.

    MirrorMaker 2's positions are not exact: nothing that the group has not read is missed, some may come again.
    """
    stage.lab.commit_offsets(Side.SOURCE, stage.topic, {stage.source: 6})
    connectors = json.dumps(articles_connectors(stage)).encode()
    (flow,) = import_files([("article.json", connectors)]).flows
    alias = flow.source.alias
    stage.document = {**flow_document(flow), "engine": "connect", "connect": stage.document["connect"]}
    with DAG(f"article_{stage.name}", schedule=None) as dag:
        put = ConnectMirrorOperator(task_id="put", flow=stage.document)
        now = datetime.now(timezone.utc).isoformat()
        put >> ConnectMirrorSensor(task_id="wait", flow=stage.document, until=now, poke_interval=0.5, timeout=120)
    assert run_dag(dag).state == "success"
    target = TopicPartition(f"{alias}.{stage.topic}", 0)
    committed: dict[TopicPartition, int] = {}

    def has_moved() -> bool:
        found = stage.lab.pair.target.group_offsets([stage.topic], lambda: None)[stage.topic]
        assert isinstance(found, GroupOffsets)
        committed.update(found.offsets)
        return target in committed

    until(has_moved, "the group's offset on the target")
    server = str(flow.target.settings["bootstrap.servers"]) if flow.target.settings else ""
    said = Said(remote_clusters.run(server, alias, lines=[stage.topic]))
    (position,) = said.positions(stage.topic).values()
    assert 0 < position <= 6
    given = said.records(stage.topic)[target]
    assert given == [message.value for message in messages(10)][position:]
    assert committed[target] <= 6
