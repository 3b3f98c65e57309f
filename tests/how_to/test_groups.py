"""docs/how-to/groups.md on real clusters: the consumer and the DAG that it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.airflow_env import run_dag
from tests.contract.lab import Side, messages
from tests.contract.real_lab import RealLab
from tests.how_to.consumer import go_on

pytestmark = [pytest.mark.broker, pytest.mark.airflow]


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


def test_a_group_is_moved_and_goes_on(
    lab: RealLab, pair: LocalPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The DAG is green once nobody is in the group and all is mirrored; a consumer's next record is the unread one."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
    lab.produce(Side.SOURCE, TopicPartition(topic, 0), *messages(30))
    lab.commit_offsets(Side.SOURCE, "billing", {TopicPartition(topic, 0): 30})
    clusters = {
        side: {"alias": alias, "settings": dict(pair.addresses[side])}
        for side, alias in (("source", "us"), ("target", "eu"))
    }
    flow = {"name": "orders", "topics": [topic], "groups": ["billing"], **clusters}
    (tmp_path / "orders.yaml").write_text(json.dumps(flow))  # JSON is YAML
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "False")
    dag = import_module("tests.how_to.move_billing").dag
    run = run_dag(dag, run_conf={"quiet_s": 0.5})
    assert run.state == "success"

    lab.produce(Side.TARGET, TopicPartition(f"us.{topic}", 0), *messages(1, first=30))
    consumer = go_on(dict(pair.addresses["target"]), "billing")
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert (message.error(), message.value()) == (None, b"v30")
