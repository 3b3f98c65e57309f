"""``mm2 connect`` on a real worker with exactly once on: put, seen, stopped, and everything that can be in the way."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import replace

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.connect.access import connectors_at
from airflow_provider_mm2.mirror.connect.connectors import OWNER, Connector, Part
from airflow_provider_mm2.mirror.errors import ConnectorRefused
from tests.contract.lab import Side, messages
from tests.fakes.log import Outcome
from tests.java.connect_worker import SOURCE_VARIABLE
from tests.mirror.connect.forwarder import forwarding
from tests.mirror.connect.stage import ConnectStage, until

pytestmark = pytest.mark.broker
SECRET = "hunter2-of-orders"  # noqa: S105 - planted, to be looked for


def test_from_put_to_delete(stage: ConnectStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown, put, mirrored exactly once, changed by one key, paused, stopped, deleted; each again changes nothing.

    A secret of the settings is in none of what is printed, also where it changes.
    """
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "mirror", "sasl.password": "${ORDERS_PASSWORD}"}
    stage.document["target"]["settings"] |= login
    printed = [stage.mm2("put"), stage.mm2("diff", code=1), stage.mm2("status", code=1)]
    assert "--apply changes 3 connector(s)" in printed[0]
    assert (stage.names(), f"{stage.connector(Part.SOURCE)} is MISSING" in printed[2]) == ([], True)
    printed.append(stage.mm2("put", "--apply"))
    assert stage.names() == sorted(stage.connector(part) for part in Part)
    stage.lab.transaction(Side.SOURCE, stage.source, *messages(5, first=100), outcome=Outcome.ABORTED)
    stage.lab.transaction(Side.SOURCE, stage.source, *messages(5, first=10), outcome=Outcome.COMMITTED)
    assert stage.await_mirrored(15) == [message.value for message in messages(15)]
    status = stage.await_running()
    assert [len(each["tasks"]) for each in status["connectors"] if "Checkpoint" not in each["connector"]] == [1, 1]
    until(lambda: stage.told("status")["partitions"][0]["progress"] == 21, "the progress behind the last record")
    assert "nothing to change" in stage.mm2("put", "--apply")
    monkeypatch.setenv("ORDERS_PASSWORD", f"{SECRET}-2")
    stage.document["offset_lag_max"] = 7
    changed = stage.told("put", "--yes")
    rows = [(row["key"], row["before"], row["after"]) for each in changed["connectors"] for row in each["keys"]]
    jaas = ("target.cluster.sasl.jaas.config", "***", "***")
    assert sorted(set(rows)) == [("offset.lag.max", "100", "7"), jaas]
    assert changed["differs"][0]["key"] == "on_gap"
    stage.document["emit_heartbeats"] = False
    assert stage.told("put", "--apply")["connectors"][-1]["change"] == "delete"
    actions = ("pause", "pause", "resume", "restart", "stop", "stop")
    states = [stage.told(action)["connectors"][0] for action in actions]
    assert [state["after"] for state in states] == ["PAUSED", "PAUSED", "RUNNING", "RUNNING", "STOPPED", "STOPPED"]
    printed += [stage.mm2("delete"), str(changed)]
    assert len(stage.names()) == 2
    assert len(stage.told("delete", "--apply")["connectors"]) == 2
    assert (stage.names(), stage.told("delete", "--apply")["connectors"]) == ([], [])
    assert "put them: `mm2 connect" in stage.mm2("stop", code=4)
    assert not [text for text in printed if SECRET in text]
    stage.mm2("put", "--apply")
    stage.await_running()
    stage.lab.produce(Side.SOURCE, stage.source, *messages(1, first=15))
    assert stage.await_mirrored(16) == [message.value for message in messages(16)]


def test_variables_that_the_worker_fills_in(stage: ConnectStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``variables: worker`` Connect is given references alone, and mirrors by what its own environment says."""
    settings = stage.document["source"]["settings"]
    monkeypatch.setenv(SOURCE_VARIABLE, settings["bootstrap.servers"])
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    settings |= {"bootstrap.servers": f"${{{SOURCE_VARIABLE}}}", "sasl.mechanism": "PLAIN"}
    settings |= {"sasl.username": "mirror", "sasl.password": "${ORDERS_PASSWORD}"}
    stage.document["connect"] |= {"variables": "worker"}
    stage.mm2("put", "--apply")
    config = stage.ask("GET", f"/{stage.connector(Part.SOURCE)}/config").json()
    assert config["source.cluster.bootstrap.servers"] == f"${{env:{SOURCE_VARIABLE}}}"
    assert 'password="${env:ORDERS_PASSWORD}"' in config["source.cluster.sasl.jaas.config"]
    assert SECRET not in str(config)
    assert stage.await_mirrored(10) == [message.value for message in messages(10)]
    monkeypatch.setenv("ORDERS_PASSWORD", f"{SECRET}-2")
    assert "nothing to change" in stage.mm2("put", "--apply")


def test_somebody_elses_connector(stage: ConnectStage) -> None:
    """A connector of that name without our mark, of another flow or between other clusters is left as it is."""
    name = stage.connector(Part.HEARTBEAT)
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
        "source.cluster.alias": "us",
        "target.cluster.alias": "asia",
        "emit.heartbeats.enabled": "false",
    }
    for mark, problem in {None: f"it has no {OWNER}", "other": "of the flow 'other'", stage.name: "to asia"}.items():
        given = config if mark is None else {**config, OWNER: mark}
        stage.ask("PUT", f"/{name}/config", json=given).raise_for_status()
        for action in ("put", "delete", "stop", "status"):
            assert problem in stage.mm2(action, *(["--apply"] if action in ("put", "delete") else []), code=4)
        assert stage.ask("GET", f"/{name}/config").json() == {**given, "name": name}
    assert stage.names() == [name]


def test_a_failed_task(stage: ConnectStage) -> None:
    """A record too large for the target: the trace says so, and once that is mended a restart brings it, once."""
    exclude = {"config_exclude": [r"max\.message\.bytes"]}
    stage.document |= {"sync_topics": exclude, "emit_checkpoints": False, "emit_heartbeats": False}
    stage.lab.create_topic(
        Side.TARGET, stage.target.topic, settings={"max.message.bytes": "1000", "retention.ms": "-1"}
    )
    stage.mm2("put", "--apply")
    stage.await_mirrored(10)
    (large,) = messages(1, first=10)
    large = replace(large, value=os.urandom(5000))
    stage.lab.produce(Side.SOURCE, stage.source, large)
    until(lambda: "is FAILED" in str(stage.status()["waits"]), "a failed task")
    (connector,) = stage.told("status", code=1)["connectors"]
    assert "RecordTooLargeException" in connector["tasks"][0]["trace"]
    stage.lab.pair.target.alter_topic_settings({stage.target.topic: {"max.message.bytes": None}}, lambda: None)
    stage.mm2("restart")
    assert stage.await_mirrored(11) == [message.value for message in (*messages(10), large)]


def test_it_does_not_stand_at_the_target(stage: ConnectStage, pair: LocalPair) -> None:
    """A worker writes to its own cluster, so one that is not at the flow's target is refused."""
    stage.document["target"]["settings"], stage.document["source"]["settings"] = (
        stage.document["source"]["settings"],
        stage.document["target"]["settings"],
    )
    assert "bootstrap.servers are those of the target" in stage.mm2("put", "--apply", code=4)
    assert stage.names() == []


def test_what_the_worker_refuses(stage: ConnectStage) -> None:
    """A class that it does not have, found by asking it about every connector before the first one is put."""
    stage.document["replication_policy"] = "org.example.Policy"
    told = stage.told("put", "--apply", code=4)["error"]
    assert told["kind"] == "ConnectorRefused"
    assert "replication.policy.class: Invalid value org.example.Policy" in told["facts"]["problems"][0]
    assert stage.names() == []
    unknown = Connector(part=Part.SOURCE, name="a", config={"connector.class": "org.example.Mirror"})
    with pytest.raises(ConnectorRefused, match=r"SourceConnector: there is no class org\.example\.Mirror"):
        connectors_at(stage.flow).plan(
            [replace(unknown, name=stage.connector(Part.SOURCE))],
            target_cluster=stage.lab.pair.target.cluster_id,
            tick=lambda: None,
        )
    assert stage.names() == []


def test_another_connector_on_the_same_way(stage: ConnectStage) -> None:
    """One that somebody registered by hand may bring everything twice, and is warned of."""
    name = f"{stage.name}-by-hand"
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "us",
        "target.cluster.alias": "eu",
        "source.cluster.bootstrap.servers": stage.document["source"]["settings"]["bootstrap.servers"],
        "target.cluster.bootstrap.servers": stage.document["target"]["settings"]["bootstrap.servers"],
        "enabled": "false",
        "topics": stage.topic,
    }
    stage.ask("PUT", f"/{name}/config", json=config).raise_for_status()
    (warning,) = [each for each in stage.told("put")["warnings"] if name in each]
    assert f"that no flow has put, copies from us to eu, too (topics: {stage.topic})" in warning


def test_while_the_workers_rebalance(stage: ConnectStage) -> None:
    """409 is waited for, and within the limit it is done; where the rebalance does not end, the wait does."""
    with forwarding(stage.url) as service:
        stage.document["connect"] |= {"url": service.url}
        left = [3]

        def rebalance(path: str, method: str) -> int | None:
            left[0] -= method != "GET"
            return 409 if method != "GET" and left[0] >= 0 else None

        service.failing = lambda asked: rebalance(asked.path, asked.method)
        stage.mm2("put", "--apply")
        assert len(stage.names()) == 3
        left[0] = 10_000
        stage.document["connect"] |= {"wait_s": 1}
        began = time.monotonic()
        assert "the cluster keeps rebalancing" in stage.mm2("pause", code=3)
        assert time.monotonic() - began < 20
        service.failing = lambda asked: None
        stage.document["connect"] |= {"wait_s": 60}
        assert stage.told("pause")["connectors"][0]["after"] == "PAUSED"


def test_nobody_answers(stage: ConnectStage) -> None:
    """A worker that is down ends every action soon, with what to retry; nothing else was done."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    stage.document["connect"] |= {"url": f"http://127.0.0.1:{port}"}
    for action in ("put", "status", "stop"):
        began = time.monotonic()
        assert "gave no usable answer: ConnectError" in stage.mm2(action, code=3)
        assert time.monotonic() - began < 10
