"""Flows that ``mm2 import`` makes of MirrorMaker 2's files run against the clusters that the files name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.properties_file import properties_text
from airflow_provider_mm2.local.spec import java_client_settings
from tests.cases.conftest import MakeCluster, MakeScenario
from tests.cases.scenario import Scenario, records

pytestmark = pytest.mark.broker

ARTICLE = Path(__file__).parents[1] / "mirror" / "mm2_import" / "examples" / "article.json"


def shell(*arguments: str) -> Any:
    """Run ``mm2``, and give what it prints."""
    told = CliRunner().invoke(app, list(arguments))
    assert told.exit_code == 0, told.output
    return told.stdout


def test_a_properties_file(
    make_cluster: MakeCluster, make_scenario: MakeScenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS and a login of Java's become librdkafka's; the password is set where the list says."""
    users = {"mirror": 'right "password" \\ of the mirror'}
    secured = make_cluster(security="sasl_ssl", users=users)
    shared = make_scenario(partitions=0).addresses
    scenario = make_scenario(addresses={"source": secured.client_settings, "target": shared["target"]})
    scenario.produce(*records(3))
    eu = f"eu-{scenario.flow}"
    clients = {"us": secured.client_settings, eu: shared["target"]}
    file = tmp_path / "mm2.properties"
    text = properties_text(
        {
            "clusters": f"us, {eu}",
            f"us->{eu}.enabled": "true",
            f"us->{eu}.topics": scenario.topic,
            **{f"{alias}.{key}": value for alias, given in clients.items() for key, value in java(given).items()},
        }
    )
    file.write_text(text, encoding="ascii")
    written = shell("import", str(file), "--out", str(tmp_path)).strip()
    assert "right" not in Path(written).read_text("utf-8")
    monkeypatch.setenv("MM2_US_SASL_PASSWORD", users["mirror"])
    (partition,) = json.loads(shell("run", written, "--json"))["partitions"]
    assert (partition["target_topic"], partition["records"]) == (f"us.{scenario.topic}", 3)


def java(settings: Any) -> dict[str, str]:
    """Give a cluster's settings as a Java client has them."""
    return java_client_settings({key: str(value) for key, value in settings.items()})


def test_the_articles_connectors(scenario: Scenario, tmp_path: Path) -> None:
    """The two connectors of the article on offsets, with addresses and topics of this cluster, as one flow."""
    scenario.produce(*records(3))
    connectors = json.loads(ARTICLE.read_text("utf-8"))
    for connector in connectors:
        connector["name"] += scenario.flow
        for side in ("source", "target"):
            connector["config"][f"{side}.cluster.bootstrap.servers"] = scenario.addresses[side]["bootstrap.servers"]
    connectors[0]["config"]["topics"] = scenario.topic
    file = tmp_path / "connectors.json"
    file.write_text(json.dumps(connectors))
    document = json.loads(shell("import", str(file), "--out", str(tmp_path), "--json"))
    assert "backup.sync.group.offsets.enabled" in [found["key"] for found in document["unhonoured"]]
    (partition,) = json.loads(shell("run", document["files"][0], "--json"))["partitions"]
    assert (partition["target_topic"], partition["records"]) == (f"kafka-source.{scenario.topic}", 3)
