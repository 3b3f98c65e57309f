"""A real Airflow with its supervisor: a run by hand, and a task that somebody marks as failed while it copies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local.demo.standalone import AirflowApi, StandaloneAirflow
from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from tests.contract.lab import BASE_MS, Side
from tests.contract.real_lab import RealLab
from tests.fakes.log import Message

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

ROOT = Path(__file__).parents[2]
LIMIT_S = 600.0
"""Airflow needs 12 s to start, and minutes on a machine with forty other things to do."""
ESCALATION_S = 5.0
"""Airflow sends SIGKILL so long after it has asked a task to end."""


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


class Api(AirflowApi):
    """Two more calls of Airflow's REST API."""

    def run_by_hand(self, dag_id: str) -> str:
        """Start a run without a logical date, as the page's button does, and give its id."""
        made = self._call("POST", f"/api/v2/dags/{dag_id}/dagRuns", json={"logical_date": None})
        return str(made.json()["dag_run_id"])

    def mark_failed(self, dag_id: str, run_id: str, task_id: str, map_index: int) -> None:
        """Mark a task as failed, as a person does on the page."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/{map_index}"
        self._call("PATCH", path, json={"new_state": "failed"})

    def state(self, dag_id: str, run_id: str) -> str:
        """State of a run."""
        return str(self._call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}").json()["state"])


def flow_text(name: str, pair: LocalPair, topic: str, *, client_id: str) -> str:
    """Make a flow that is not scheduled; its source's clients carry an id to which a quota is tied."""
    source, target = (pair.addresses[side]["bootstrap.servers"] for side in ("source", "target"))
    return (
        f"name: {name}\n"
        f'source: {{alias: us, settings: {{bootstrap.servers: "{source}", client.id: {client_id}}}}}\n'
        f'target: {{alias: eu, settings: {{bootstrap.servers: "{target}"}}}}\n'
        f"topics: [{topic}]\nchunk: {{seconds: 15}}\ndag: {{schedule: null, retries: 0, paused: false}}\n"
    )


def limit_speed(pair: LocalPair, folder: Path, client_id: str, bytes_per_s: int) -> None:
    """Have the source's broker send no more than so much to the clients of this id."""
    arguments = ["--bootstrap-server", pair.addresses["source"]["bootstrap.servers"], "--alter"]
    arguments += ["--entity-type", "clients", "--entity-name", client_id]
    arguments += ["--add-config", f"consumer_byte_rate={bytes_per_s}"]
    log_file = folder / "quota.log"
    tool = run_java(
        "kafka.admin.ConfigCommand", arguments, folder=folder, log_file=log_file, classpath=kafka_classpath()
    )
    assert tool.wait(LIMIT_S) == 0, log_file.read_text()


def big_records(count: int) -> Sequence[Message]:
    """Records of 10 kB."""
    return [Message(key=b"%d" % n, value=bytes(10_000), timestamp_ms=BASE_MS + n) for n in range(count)]


def log_lines(logs: Path, dag_id: str, run_id: str) -> list[dict[str, Any]]:
    """Lines that the mirror task and its supervisor wrote."""
    folder = logs / f"dag_id={dag_id}" / f"run_id={run_id}" / "task_id=mirror"
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.log"))
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def moment_of(lines: list[dict[str, Any]], part: str) -> datetime:
    """When the first line with this text was written."""
    for line in lines:
        if part in json.dumps(line):
            return datetime.fromisoformat(line["timestamp"].replace("Z", "+00:00"))
    raise AssertionError(f"{part!r} is not in {[line.get('event') for line in lines]}")


@pytest.mark.slow
def test_a_killed_task_aborts_and_leaves_in_time(lab: RealLab, pair: LocalPair, kafka_folder: Path) -> None:
    """Marked as failed in the middle of a transaction, it is gone before the SIGKILL, and nothing of it is visible.

    The run after it, by hand and without a logical date like the first, copies everything once.
    """
    topic, client_id = lab.new_name(), lab.new_name()
    flow = lab.new_name()
    source, target = TopicPartition(topic, 0), TopicPartition(f"us.{topic}", 0)
    records = big_records(3_000)
    lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
    lab.produce(Side.SOURCE, source, *records)
    limit_speed(pair, kafka_folder, client_id, 500_000)

    logs = kafka_folder / "logs"
    # What tests.airflow_env sets for this process.
    settings = {"AIRFLOW__CORE__UNIT_TEST_MODE": "False", "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(logs)}
    airflow = StandaloneAirflow(kafka_folder, settings=settings)
    flows = airflow.dags_folder / "flows"
    flows.mkdir(parents=True)
    shutil.copy(ROOT / "dags" / "mm2_mirror.py", airflow.dags_folder)
    (flows / "flow.yaml").write_text(flow_text(flow, pair, topic, client_id=client_id))
    dag_id = f"mm2_mirror__{flow}"

    def offsets() -> LogOffsets:
        return lab.pair.target.log_offsets([target])[target]

    with airflow:
        airflow.wait_ready(timeout_s=LIMIT_S).close()
        api = Api(airflow)
        api.wait_for_dag(dag_id, timeout_s=LIMIT_S)
        killed = api.run_by_hand(dag_id)
        exists = poll(lambda: lab.pair.target.describe_topics([target.topic]), timeout_s=LIMIT_S, interval_s=0.2)
        assert exists
        assert poll(lambda: offsets().end > 0, timeout_s=LIMIT_S, interval_s=0.1), "nothing was copied"
        assert offsets().stable == 0, "the transaction was not open any more"
        api.mark_failed(dag_id, killed, "mirror", 0)
        # An abandoned transaction would hold the last stable offset back for a minute.
        aborted = poll(lambda: offsets().stable == offsets().end, timeout_s=30, interval_s=0.1)
        assert aborted, f"not aborted: {offsets()}"
        assert lab.visible(Side.TARGET, target) == []
        assert poll(lambda: api.state(dag_id, killed) == "failed", timeout_s=LIMIT_S, interval_s=0.5)

        lines = log_lines(logs, dag_id, killed)
        asked = moment_of(lines, "shouldn't be running anymore")
        left = moment_of(lines, "the run was asked to stop")
        assert 0 <= (left - asked).total_seconds() < ESCALATION_S

        limit_speed(pair, kafka_folder, client_id, 1_000_000_000)
        again = api.run_by_hand(dag_id)
        assert poll(lambda: api.state(dag_id, again) in ("success", "failed"), timeout_s=LIMIT_S, interval_s=0.5)
        assert api.state(dag_id, again) == "success"
        assert [record for _, record in lab.visible(Side.TARGET, target)] == records
        assert "no data interval" in json.dumps(log_lines(logs, dag_id, again))
        api.close()
