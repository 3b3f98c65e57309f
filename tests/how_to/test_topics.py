"""docs/how-to/topics.md on real clusters: the flow and the DAG that it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from tests.airflow_env import run_dag
from tests.contract.lab import Side
from tests.contract.real_lab import RealLab
from tests.mirror.interval.test_plan import flow

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "topics.md"


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


def test_the_topics_of_the_page() -> None:
    """The block mirrors what the page says that it does, and without its second line the topic is left out."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    keys = YAML(typ="safe").load(block)
    names = ["orders", "billing.internal", "audit.internal"]
    some = flow(**keys)
    assert list(select_topics(some, naming.policy_of(some), names).topics) == ["billing.internal", "orders"]
    default = flow(topics=keys["topics"])
    assert list(select_topics(default, naming.policy_of(default), names).topics) == ["orders"]


@pytest.mark.broker
@pytest.mark.airflow
def test_topics_are_made_by_a_task(
    lab: RealLab, pair: LocalPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The DAG is green, the topic is there with its source's settings and no records."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, partitions=3, settings={"cleanup.policy": "compact"})
    clusters = {
        side: {"alias": alias, "settings": dict(pair.addresses[side])}
        for side, alias in (("source", "us"), ("target", "eu"))
    }
    some = {"name": f"topics-{topic}", "topics": [topic], **clusters}
    (tmp_path / "orders.yaml").write_text(json.dumps(some))  # JSON is YAML
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    dag = import_module("tests.how_to.sync_topics").dag
    assert run_dag(dag).state == "success"
    assert lab.pair.target.describe_topics([f"us.{topic}"])[f"us.{topic}"].partitions == 3
    settings = lab.pair.target.topic_settings([f"us.{topic}"])[f"us.{topic}"]
    assert settings["cleanup.policy"].value == "compact"
