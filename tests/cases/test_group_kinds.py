"""Groups that are no consumer groups: a real share consumer, which this client has none of."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.run import locate_groups
from tests.cases.scenario import Scenario, records

pytestmark = pytest.mark.broker


def test_share_group_is_listed_with_a_reason(scenario: Scenario, kafka_folder: Path) -> None:
    """A group of share consumers on a mirrored topic is left out, and the reason says what it is."""
    scenario.produce(*records(3))
    scenario.run()
    servers, group = scenario.addresses["source"]["bootstrap.servers"], f"{scenario.flow}-sharers"
    run_java(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        ["--bootstrap-server", servers, "--topic", scenario.topic, "--group", group],
        folder=kafka_folder,
        log_file=kafka_folder / "log",
        classpath=kafka_classpath(),
    )
    admin = AdminClient({**scenario.addresses["source"]})

    def is_there() -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return group in {found.id for found in admin.list_groups(timeout=30)}

    assert poll(is_there, timeout_s=60), (kafka_folder / "log").read_text(encoding="utf-8")
    flow = scenario.mirror_flow(groups=(f"{scenario.flow}-.*",))
    pair = connect(flow)
    try:
        report = locate_groups(flow, pair)
    finally:
        pair.close()
        processes.end(kafka_folder, grace_s=0)
    assert report.left_out[group] == "not a consumer group: of share or streams consumers, or a Connect cluster's"
    assert group not in report.positions
