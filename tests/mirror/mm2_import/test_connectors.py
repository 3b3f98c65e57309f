"""Connectors as JSON: which belong together, and what they must agree on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import ImportRefused
from airflow_provider_mm2.mirror.mm2_import.importer import Imported, import_files
from tests.mirror.mm2_import.kafka_keys import told
from tests.mirror.mm2_import.test_every_key import config_of

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


def imported_json(*documents: Any) -> Imported:
    """Import JSON documents, a file each."""
    return import_files([(f"{number}.json", json.dumps(each).encode()) for number, each in enumerate(documents, 1)])


SOURCE = config_of("source", topics="orders")
CHECKPOINT = config_of("checkpoint", **{"sync.group.offsets.enabled": "true", "groups": "billing"})


@pytest.mark.parametrize(
    "documents",
    [
        ([SOURCE, CHECKPOINT],),
        (SOURCE, CHECKPOINT),
        (CHECKPOINT, SOURCE),
        ([{"name": "us-eu", "config": SOURCE}], {"name": "x", "config": CHECKPOINT}),
        ({"us-eu": {"info": {"name": "us-eu", "config": SOURCE}}, "b": {"info": {"config": CHECKPOINT}}},),
    ],
)
def test_every_shape(documents: tuple[Any, ...]) -> None:
    """A list, a file each in any order, with names around them, or what Connect answers: always the same flow."""
    (flow,) = imported_json(*documents).flows
    assert (flow.name, flow.topics, flow.groups, flow.sync_group_offsets) == ("us-eu", ("orders",), ("billing",), True)


def test_without_a_checkpoint_connector() -> None:
    """MirrorMaker 2 would write no checkpoints, so neither does the flow, and that is told."""
    result = imported_json(SOURCE)
    assert result.flows[0].emit_checkpoints is False
    assert "emit_checkpoints: false" in told(result)["MirrorCheckpointConnector from us to eu"]


def test_names_and_scalars() -> None:
    """Numbers and booleans are taken as Connect takes them; two connectors of one direction are two flows.

    Without the sync of settings MirrorMaker 2 still gives them to a topic that it creates.
    """
    more = {**SOURCE, "name": "orders flow", "offset.lag.max": 7, "sync.topic.configs.enabled": False, "topics": "a"}
    result = imported_json([more, SOURCE, SOURCE])
    assert [flow.name for flow in result.flows] == ["orders-flow", "us-eu", "us-eu-2"]
    assert (result.flows[0].offset_lag_max, result.flows[0].sync_topics.configs) == (7, "new")


def test_other_names_for_checkpoints_are_refused() -> None:
    """K72: data under one policy and checkpoints under another lead groups to topics that do not exist."""
    with pytest.raises(ImportRefused, match=r"for the topics and .* for their checkpoints"):
        imported_json([{**SOURCE, "replication.policy.class": IDENTITY}, CHECKPOINT])
    with pytest.raises(ImportRefused, match=r"'\.' for the topics and '_' for their checkpoints"):
        imported_json([SOURCE, {**CHECKPOINT, "replication.policy.separator": "_"}])
    same = {"replication.policy.class": IDENTITY}
    assert imported_json([{**SOURCE, **same}, {**CHECKPOINT, **same}]).flows[0].replication_policy == "identity"


def test_a_checkpoint_connector_alone() -> None:
    """Nothing says which topics; the message says what is missing."""
    with pytest.raises(ImportRefused, match="there is no MirrorSourceConnector from us to eu that is switched on"):
        imported_json(CHECKPOINT)
    with pytest.raises(ImportRefused, match="the connector is switched off"):
        imported_json({**SOURCE, "enabled": "false"})


def test_no_brokers() -> None:
    """A side without brokers gets a variable to be set."""
    bare = {key: value for key, value in SOURCE.items() if key != "target.cluster.bootstrap.servers"}
    result = imported_json(bare)
    assert result.flows[0].target.settings == {"bootstrap.servers": "${MM2_EU_BOOTSTRAP_SERVERS}"}
    assert "set MM2_EU_BOOTSTRAP_SERVERS" in told(result)["bootstrap.servers of eu"]


def test_no_target_alias() -> None:
    """MirrorMaker 2's default is ``target``; without a source's it does not start."""
    bare = {key: value for key, value in SOURCE.items() if key != "target.cluster.alias"}
    assert imported_json(bare).flows[0].target.alias == "target"
    with pytest.raises(ImportRefused, match=r"there is no source\.cluster\.alias"):
        imported_json({key: value for key, value in SOURCE.items() if key != "source.cluster.alias"})


def test_what_a_connector_does_not_read() -> None:
    """Group keys in the MirrorSourceConnector have no effect in MirrorMaker 2 either, and say where they belong."""
    result = imported_json([{**SOURCE, "sync.group.offsets.enabled": "true"}, config_of("checkpoint")])
    assert result.flows[0].sync_group_offsets is False
    assert "the MirrorCheckpointConnector does" in told(result)["sync.group.offsets.enabled"]
    both = imported_json([{**SOURCE, "sync.group.offsets.enabled": "true", "groups": "billing"}, CHECKPOINT])
    assert not {"sync.group.offsets.enabled", "groups"} & told(both).keys()


def test_what_the_connectors_say_differently() -> None:
    """Other topics, or another connection to the same cluster, of the connector beside the one that copies."""
    other = {"topics": "stock", "source.cluster.bootstrap.servers": "us-2:9092", "emit.offset-syncs.enabled": "false"}
    lines = told(imported_json([SOURCE, {**CHECKPOINT, **other}]))
    assert "one list of topics" in lines["topics"]
    assert "one connection to each cluster" in lines["source.cluster.bootstrap.servers"]
    assert "the MirrorSourceConnector's word counts" in lines["emit.offset-syncs.enabled"]


def test_heartbeats_of_the_way_back() -> None:
    """The heartbeat connector of a flow is usually that of the other direction; its keys are told with it."""
    back = config_of("heartbeat", **{"emit.heartbeats.enabled": "false", "connector.class": "MirrorHeartbeat"})
    back["source.cluster.alias"], back["target.cluster.alias"] = "eu", "us"
    back["source.cluster.bootstrap.servers"], back["target.cluster.bootstrap.servers"] = "eu:9092", "us:9092"
    lines = told(imported_json([SOURCE, CHECKPOINT, back]))
    assert "a run writes a heartbeat" in lines["emit.heartbeats.enabled"]
    assert not any("bootstrap" in key for key in lines)


def test_strangers() -> None:
    """A connector of somebody else's is told; a second one for checkpoints, too."""
    other = {"name": "jdbc", "connector.class": "io.example.JdbcSource", "topics": "x"}
    result = imported_json([SOURCE, CHECKPOINT, CHECKPOINT, other])
    assert len(result.flows) == 1
    whys = [found.why for found in result.unhonoured if found.key == "connector.class"]
    assert ["second MirrorCheckpointConnector" in why or "none of MirrorMaker 2's" in why for why in whys] == [True] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "connector 1: not a map; give connectors as"),
        ('{"a": ', r"1\.json:1: not JSON: [^\n]* \(column 7\)"),
        ('{"topics": "a"}', r"there is no connector\.class"),
        ('{"name": 1, "config": {}}', "give connectors as Kafka Connect takes them"),
        ('{"name": "a", "config": [1]}', "give connectors as Kafka Connect takes them"),
        ('{"apiVersion": "v1", "kind": "KafkaMirrorMaker2"}', r"GET /connectors\?expand=info, asked of its Connect"),
        ('{"connector.class": "MirrorSource", "topics": ["a"]}', "topics: a list or a map; Kafka Connect takes text"),
        ("[]", "there is no flow"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    """JSON that is none, or no connector's."""
    with pytest.raises(ImportRefused, match=message):
        import_files([("1.json", text.encode())])


def test_not_utf8() -> None:
    """JSON is UTF-8."""
    with pytest.raises(ImportRefused, match="byte 3 is not UTF-8"):
        import_files([("1.json", b'["\xff"]')])


def test_a_connector_is_told_by_its_name() -> None:
    """Where a connector has a name it stands beside its number; in the order of the file, ten of them or more."""
    named = [{"name": f"c{number}", "config": {**SOURCE, "tasks.max": "3"}} for number in range(11)]
    result = imported_json([*named, {**SOURCE, "tasks.max": "3"}])
    places = [found.where for found in result.unhonoured if found.key == "tasks.max"]
    assert places == [f"1.json: connector {number + 1} (c{number})" for number in range(11)] + ["1.json: connector 12"]
    answer = {"x": {"info": {"name": "us-eu", "config": {**SOURCE, "tasks.max": "3"}}}}
    assert "1.json: connector 1 (us-eu)" in [found.where for found in imported_json(answer).unhonoured]
