"""docs/rights.md on brokers that check access: what the page lists is enough."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from airflow_provider_mm2.local.demo.log import read
from airflow_provider_mm2.local.demo.report import all_same, records
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster
from airflow_provider_mm2.mirror.errors import NotAuthorized
from airflow_provider_mm2.mirror.model import TopicAcl
from airflow_provider_mm2.mirror.state import gate
from airflow_provider_mm2.mirror.state_model import FlowRecord

pytestmark = pytest.mark.broker

PAGE = Path(__file__).parents[1] / "docs" / "rights.md"
RESOURCES = {
    "cluster": ResourceType.BROKER,
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
}


def documented(side: str, *, without: str = "") -> Iterator[AclBinding]:
    """Give the rights that the page lists for one of the two clusters, but those on one kind of resource."""
    section = PAGE.read_text("utf-8").split(f"On the **{side}**")[1].split("On the **")[0]
    yield from rights_in(section.split("## Drills")[0], without=without)


def of_drills(what: str) -> Iterator[AclBinding]:
    """Give the rights that the page lists for drills, by the mark before their table."""
    return rights_in(PAGE.read_text("utf-8").split(f"<!-- {what} -->")[1].split("<!-- end -->")[0])


def rights_in(section: str, *, without: str = "") -> Iterator[AclBinding]:
    """Give the rights in a table of the page."""
    for resource, name, prefix, operations in re.findall(
        r"^\| ([a-z ]+) \| `([^`]+)`( \(prefix\))? \| ([A-Za-z, ]+) \|", section, flags=re.MULTILINE
    ):
        for operation in operations.split(", ") if resource != without else ():
            yield AclBinding(
                RESOURCES[resource],
                name,
                ResourcePatternType.PREFIXED if prefix else ResourcePatternType.LITERAL,
                "User:mirror",
                "*",
                AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).upper()],
                AclPermissionType.ALLOW,
            )


def done(futures: dict[Any, Any]) -> None:
    """Wait for an admin request."""
    for future in futures.values():
        future.result(30)


def write(settings: dict[str, str], topic: str) -> None:
    """Write some records to a topic."""
    producer = Producer(settings)
    for number in range(20):
        producer.produce(topic, key=b"%d" % number, value=b"v")
    assert producer.flush(30) == 0


def commit(settings: dict[str, str], offset: int) -> None:
    """Let an application's group stand at an offset; on a new cluster its coordinator is loading for a moment."""
    request = [ConsumerGroupTopicPartitions("app", [TopicPartition("orders", 0, offset)])]
    admin = AdminClient({**settings})  # a client that nobody holds never answers

    def is_done() -> bool:
        (future,) = admin.alter_consumer_group_offsets(request).values()
        return all(part.error is None for part in future.result(30).topic_partitions)

    assert poll(is_done, timeout_s=30)


def committed(settings: dict[str, str]) -> int:
    """Where the group stands on the target."""
    consumer = Consumer({**settings, "group.id": "app"})
    (found,) = consumer.committed([TopicPartition("us.orders", 0)], 30)
    consumer.close()
    offset: int = found.offset
    return offset


def call(flow: Path) -> tuple[int, dict[str, Any]]:
    """Mirror a flow once; give the exit code and the document."""
    command = [sys.executable, "-m", "airflow_provider_mm2.cli.main", "run", str(flow), "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    return finished.returncode, json.loads(finished.stdout)


def run(flow: Path) -> int:
    """Mirror a flow once; give how many records."""
    code, document = call(flow)
    assert code == 0, document
    mirrored: int = document["records"]
    return mirrored


APP = AclBinding(
    ResourceType.TOPIC,
    "orders",
    ResourcePatternType.LITERAL,
    "User:app",
    "*",
    AclOperation.ALL,
    AclPermissionType.ALLOW,
)
"""A right that is to be carried over."""


def rights_of(admin: AdminClient, principal: str) -> list[tuple[str, AclOperation]]:
    """What somebody may do to topics."""
    every: Any = None
    wanted = AclBindingFilter(
        ResourceType.TOPIC,
        every,
        ResourcePatternType.ANY,
        principal,
        every,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return [(found.name, found.operation) for found in admin.describe_acls(wanted).result(30)]


def opposite_flow(addresses: dict[str, dict[str, str]]) -> None:
    """Let a flow in the opposite direction be at work on other topics: what it writes must be read before a run."""
    admin = {side: AdminClient({**settings}) for side, settings in addresses.items()}
    gate_topic, ledger_topic = "mm2-flow.back.internal", "mm2-offset-map.back.internal"
    names = (gate_topic, ledger_topic)
    done(admin["source"].create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in names]))
    ids = {side: str(client.describe_cluster().result(30).cluster_id) for side, client in admin.items()}
    record = FlowRecord(
        flow="back",
        source_alias="eu",
        target_alias="us",
        policy="default",
        separator=".",
        source_cluster_id=ids["target"],
        target_cluster_id=ids["source"],
        shards=1,
    )
    producer = Producer(addresses["source"])
    producer.produce(gate_topic, key=gate.KEY, value=gate.encode(record))
    assert producer.flush(30) == 0


def assert_named_when_missing(settings: dict[str, str]) -> None:
    """Somebody without rights is told which one is missing, although the client hides it."""
    with closing(ConfluentCluster(alias="eu", settings=settings)) as cluster:
        with pytest.raises(NotAuthorized, match="Describe on the cluster"):
            cluster.topic_acls()
        rule = TopicAcl(name="t", prefixed=False, principal="User:x", host="*", operation="READ", permission="ALLOW")
        with pytest.raises(NotAuthorized, match="Alter on the cluster"):
            cluster.create_acls([rule])


def mm2_drill(flow: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Drill; give the exit code and the document."""
    command = [sys.executable, "-m", "airflow_provider_mm2.cli.main", "drill", str(flow), "--json", *words]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    return finished.returncode, json.loads(finished.stdout)


def everything(admin: dict[str, AdminClient]) -> dict[str, list[object]]:
    """Give all topics, groups and access rules of both clusters, but the brokers' own topics."""
    any_acl: Any = None
    wanted = AclBindingFilter(
        ResourceType.ANY,
        any_acl,
        ResourcePatternType.ANY,
        any_acl,
        any_acl,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return {
        side: [
            sorted(name for name in client.list_topics(timeout=30).topics if not name.startswith("__")),
            sorted(each.group_id for each in client.list_consumer_groups().result(30).valid),
            sorted(map(str, client.describe_acls(wanted).result(30))),
        ]
        for side, client in admin.items()
    }


def assert_drills(flow: Path, admin: dict[str, AdminClient]) -> None:
    """Drills do with the rights of the page; without them they say which one is missing, and leave nothing."""
    for words, granted, missing in (
        (("--game-day",), {"target": ["game day, target"]}, "mm2-drill.dr.internal"),
        (("--load", "1"), {"source": ["drill, source"], "target": ["drill, target"]}, "mm2-drill.dr.plain"),
    ):
        before = everything(admin)
        code, refused = mm2_drill(flow, *words)
        assert (code, refused["error"]["kind"]) == (4, "NotAuthorized")
        assert "docs/rights.md" in refused["error"]["message"]
        assert missing in refused["error"]["message"]
        assert everything(admin) == before
        for side, tables in granted.items():
            done(admin[side].create_acls([each for table in tables for each in of_drills(table)]))
        before = everything(admin)
        code, document = mm2_drill(flow, *words)
        assert (code, document.get("passed")) == (0, True), document
        assert everything(admin) == before


@pytest.mark.slow
@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_the_rights_listed_are_enough(kafka_folder: Path, tmp_path: Path, delivery: str) -> None:
    """K80: a first run, and one over a topic that has grown and is set up otherwise, do with the rights of the page.

    ``testSyncTopicACLs...``: access rules go over too, where the flow asks for it. Without rights on transactional ids
    a flow is told how to do without, and does.
    """
    without = "transactional id" if delivery == "at_least_once" else ""
    pair = LocalPair(
        kafka_folder / "pair",
        security="sasl_ssl",
        users={"admin": "a", "mirror": "m", "poor": "p"},
    ).start()
    admin = {side: AdminClient(settings) for side, settings in pair.addresses.items()}
    for side, client in admin.items():
        done(client.create_acls(list(documented(side, without=without))))
    done(admin["source"].create_topics([NewTopic("orders", num_partitions=1, replication_factor=1)]))
    done(admin["source"].create_acls([APP]))
    opposite_flow(pair.addresses)
    mirror = {
        side: {**settings, "sasl.username": "mirror", "sasl.password": "m"} for side, settings in pair.addresses.items()
    }
    flow = tmp_path / "dr.yaml"
    source, target = (
        {"alias": alias, "settings": mirror[side]} for alias, side in (("us", "source"), ("eu", "target"))
    )
    wanted = {"name": "dr", "source": source, "target": target, "topics": ["orders"]}
    wanted |= {"groups": ["app"], "sync_group_offsets": True, "sync_topics": {"acls": True}}
    flow.write_text(json.dumps(wanted))
    if without:
        code, document = call(flow)
        assert (code, document["error"]["kind"]) == (4, "TransactionsUnsupported")
        assert "delivery: at_least_once" in document["error"]["message"]
    flow.write_text(json.dumps(wanted | {"delivery": delivery}))
    for partitions in (1, 2):
        if partitions > 1:
            done(admin["source"].create_partitions([NewPartitions("orders", partitions)]))
            entry = ConfigEntry("retention.bytes", "900000000", incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[entry])
            done(admin["source"].incremental_alter_configs([resource]))
        write(pair.addresses["source"], "orders")
        commit(pair.addresses["source"], partitions)
        assert run(flow) == 20
    left, right = (read(pair.addresses[side], topic) for side, topic in (("source", "orders"), ("target", "us.orders")))
    assert all_same(left, right)
    assert (records(right), len(right)) == (40, 2)
    assert committed(pair.addresses["target"]) == 2
    (settings,) = admin["target"].describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "us.orders")]).values()
    assert settings.result(30)["retention.bytes"].value == "900000000"
    assert rights_of(admin["target"], "User:app") == [("us.orders", AclOperation.READ)]
    if not without:
        assert_drills(flow, admin)
    assert_named_when_missing({**pair.addresses["target"], "sasl.username": "poor", "sasl.password": "p"})
