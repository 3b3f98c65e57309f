"""A properties file of the dedicated mode: which directions there are, and which of two keys counts."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import ImportRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.mm2_import import options
from airflow_provider_mm2.mirror.mm2_import.direction import Direction
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.importer import Imported
from tests.mirror.mm2_import.kafka_keys import dedicated, imported, told

THREE = "clusters = hub, north, south\n"


def flow_of(text: str) -> MirrorFlow:
    """Give the one flow of a properties file."""
    (flow,) = imported(text).flows
    return flow


def names(result: Imported) -> list[str]:
    """Give the names of the flows."""
    return [flow.name for flow in result.flows]


def test_from_the_flow_class() -> None:
    """``MirrorFlow.from_mm2_properties`` gives the flows and the list of what is not honoured."""
    result = MirrorFlow.from_mm2_properties(dedicated("tasks.max = 3").encode())
    assert names(result) == ["us-eu"]
    assert [found.where for found in result.unhonoured if found.key == "tasks.max"] == ["mm2.properties:5"]


def test_a_direction_counts_more_than_a_cluster_and_a_cluster_more_than_all() -> None:
    """Source: ``MirrorMakerConfig``: client keys for all, then of the cluster, then of the direction."""
    every = ("security.protocol = SSL", "client.id = nobody-reads-this")
    assert flow_of(dedicated(*every)).source.settings == {"bootstrap.servers": "us:9092", "security.protocol": "SSL"}
    cluster = (*every, "us.security.protocol = SASL_SSL")
    flow = flow_of(dedicated(*cluster))
    protocols = [(cluster.settings or {})["security.protocol"] for cluster in (flow.source, flow.target)]
    assert protocols == ["SASL_SSL", "SSL"]
    direction = (*cluster, "us->eu.source.cluster.security.protocol = PLAINTEXT")
    settings = flow_of(dedicated(*direction)).source.settings
    assert settings is not None
    assert settings["security.protocol"] == "PLAINTEXT"


def test_an_option_of_a_direction_counts_more() -> None:
    """``offset.lag.max`` for all, and another for one direction."""
    result = imported(dedicated("eu->us.enabled = true", "offset.lag.max = 7", "eu->us.offset.lag.max = 9"))
    assert [(flow.name, flow.offset_lag_max) for flow in result.flows] == [("us-eu", 7), ("eu-us", 9)]


def test_an_option_behind_a_cluster_is_not_read() -> None:
    """MirrorMaker 2 hands what stands behind a cluster to its clients, so the topics are not those."""
    result = imported(dedicated("us.topics = orders"))
    assert result.flows[0].topics == (".*",)
    assert "did you mean topics, or A->B.topics" in told(result)["us.topics"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("hub->north.enabled = true\n", ["hub-north"]),
        ("hub->north.enabled = TRUE\nnorth->hub.enabled = yes\n", ["hub-north"]),
        ("hub->north.enabled = true\nsouth->hub.topics = orders\n", ["hub-north"]),
        ("north->hub.enabled = true\nsouth->hub.enabled = true\n", ["north-hub", "south-hub"]),
    ],
)
def test_directions_that_are_on(lines: str, expected: list[str]) -> None:
    """A direction is a flow where it is switched on by its own ``enabled``; Java takes only ``true`` for that."""
    assert names(imported(THREE + lines)) == expected


def test_a_direction_that_is_off_is_told() -> None:
    """Switched off, or with keys and never switched on: either is said; one that the file does not name is not."""
    result = imported(THREE + "hub->north.enabled = true\nnorth->hub.enabled = false\nsouth->hub.topics = orders\n")
    lines = told(result)
    assert lines["north->hub.enabled"].startswith("there is no flow from north to hub: it is switched off")
    assert lines["south->hub.enabled"].startswith("there is no flow from south to hub: a direction is off by default")
    assert not any("hub->south" in key for key in lines)


def test_enabled_for_all_counts_where_there_is_a_heartbeat() -> None:
    """MirrorMaker 2 makes every direction for its heartbeats, and ``enabled`` with nothing in front switches it on."""
    two = "clusters = us, eu\nenabled = true\n"
    assert names(imported(two)) == ["us-eu", "eu-us"]
    assert names(imported(two + "us->eu.emit.heartbeats.enabled = false\n")) == ["eu-us"]
    with pytest.raises(ImportRefused, match="there is no flow"):
        imported(two + "emit.heartbeats.enabled = false\n")


def test_clusters_that_are_called_source_and_target() -> None:
    """The usual names are also beginnings of MirrorMaker 2's own keys, which stay what they are."""
    lines = ("source.bootstrap.servers = a:1", "target.bootstrap.servers = b:2", "source->target.enabled = true",
             "target.producer.compression.type = lz4", "source.cluster.alias = elsewhere")  # fmt: skip
    result = imported("\n".join(("clusters = source, target", *lines)))
    (flow,) = result.flows
    assert (flow.name, flow.source.alias, flow.source.settings) == (
        "source-target",
        "source",
        {"bootstrap.servers": "a:1"},
    )
    assert flow.target.settings == {"bootstrap.servers": "b:2", "compression.type": "lz4"}
    assert "only behind a cluster or a direction" in told(result)["source.cluster.alias"]


def test_a_direction_may_name_its_clusters_otherwise() -> None:
    """The alias in names of topics is that of the direction, where it has one."""
    flow = flow_of(dedicated("us->eu.source.cluster.alias = america"))
    assert (flow.name, flow.source.alias, flow.target.alias) == ("us-eu", "america", "eu")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("us.bootstrap.servers = x\n", "'clusters' names 0 cluster"),
        ("clusters = us\n", "'clusters' names 1 cluster"),
        ("clusters = us, eu\n", r"there is no flow: [^\n]*\n    us->eu.enabled: there is no flow from us to eu"),
        ("clusters = us.east, eu\nus.east->eu.enabled = true\n", "the alias 'us.east' has other characters"),
        (dedicated("us->eu.offset.lag.max = many"), "us->eu.offset.lag.max: not a whole number"),
        (dedicated("us->eu.sync.group.offsets.enabled = yes"), "enabled: neither true nor false"),
        (dedicated("replication.factor = 0"), "replication.factor: neither a number of replicas nor -1"),
        (dedicated("replication.policy.separator = /"), "separator: not 1 to 10 of the characters"),
        (dedicated("replication.policy.class = Mine"), "class: not the name of a class with its package"),
        (dedicated("topics ="), "flow us-eu: topics: give at least one pattern"),
        (dedicated("topics = ${file:/etc/topics:all}"), "topics: the value is in a config provider"),
        (dedicated("a = \\u12"), r"mm2.properties:5: \\u without four hexadecimal digits"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    """What MirrorMaker 2 would refuse, or names that could not be kept: nothing is guessed."""
    with pytest.raises(ImportRefused, match=message):
        imported(text)


def test_every_problem_is_told_at_once() -> None:
    """One import names all that is wrong."""
    with pytest.raises(ImportRefused) as caught:
        imported(dedicated("offset.lag.max = many", "us->eu.emit.checkpoints.enabled = 1", "topics = a{1,2}"))
    assert len(caught.value.problems) == 4  # both halves of the pattern


def test_defaults_that_are_not_ours_are_told() -> None:
    """Replicas and access rules, where the file does not say."""
    lines = told(imported(dedicated()))
    assert "2 replicas by default" in lines["replication.factor"]
    assert "set replication_factor: 2" in lines["replication.factor"]
    assert "3 replicas by default" in lines["offset-syncs.topic.replication.factor"]
    assert "by default" in lines["sync.topic.acls.enabled"]
    given = ("replication.factor = -1", "checkpoints.topic.replication.factor = 1", "sync.topic.acls.enabled = false")
    result = imported(dedicated(*given))
    assert told(result) == {}
    assert (result.flows[0].replication_factor, result.flows[0].internal_replication_factor) == (None, 1)


def test_defaults_are_left_out() -> None:
    """What is given and equals our default is not repeated in the flow; other values are taken."""
    plain = imported(dedicated()).flows
    same = (
        r"topics.exclude = .*[\\-\\.]internal, .*\\.replica, __.*",
        "groups = .*",
        "groups.exclude = console-consumer-.*, connect-.*, __.*",
        "offset.lag.max = 100",
        "emit.checkpoints.enabled = true",
        "sync.group.offsets.enabled = false",
        "replication.policy.class = org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
        "refresh.topics.enabled = true",
        "eu.exactly.once.source.support = enabled",
        "us.consumer.isolation.level = read_committed",
        "us.consumer.auto.offset.reset = earliest",
    )
    result = imported(dedicated(*same))
    assert result.flows == plain
    assert told(result) == told(imported(dedicated()))


def test_the_newer_default_of_excluded_topics() -> None:
    """Kafka 4's default given in full: the flow keeps ours, and that is said."""
    result = imported(dedicated(r"topics.exclude = mm2.*\\.internal, .*\\.replica, __.*"))
    assert result.flows == imported(dedicated()).flows
    assert "default of Kafka 4" in told(result)["topics.exclude"]


def test_a_key_that_is_given_twice() -> None:
    """Java takes the last one; the first is told."""
    result = imported(dedicated("offset.lag.max = 1", "offset.lag.max = 2"))
    assert result.flows[0].offset_lag_max == 2
    assert "given again at mm2.properties:6" in told(result)["offset.lag.max"]


def test_checkpoints_switched_off_switch_off_group_offsets() -> None:
    """MirrorMaker 2 commits nothing to groups without checkpoints, and the flow keeps to that."""
    result = imported(dedicated("emit.checkpoints.enabled = false", "sync.group.offsets.enabled = true"))
    flow = result.flows[0]
    assert (flow.emit_checkpoints, flow.sync_group_offsets) == (False, False)
    assert "commits nothing to groups" in told(result)["sync.group.offsets.enabled"]


def test_the_end_of_the_log() -> None:
    """``auto.offset.reset=latest`` of the source's consumer is told, also where that cluster is a target as well."""
    result = imported(dedicated("eu->us.enabled = true", "us.consumer.auto.offset.reset = latest"))
    assert told(result)["us.consumer.auto.offset.reset"].startswith("a flow begins where the source's log begins")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("backup.sync.group.offsets.enabled", "did you mean sync.group.offsets.enabled?"),
        ("us->eu.sync.group.offset.enabled", "did you mean sync.group.offsets.enabled?"),
        ("topics.exlude", "did you mean topics.exclude?"),
        ("us.bootstrap.server", "did you mean bootstrap.servers?"),
        ("us->north.topics", "of which 'clusters' does not name both"),
        ("nothing.like.it", "leave it out"),
    ],
)
def test_misspelt_keys(key: str, hint: str) -> None:
    """A key that MirrorMaker 2 does not know either, with the one that may have been meant."""
    assert hint in told(imported(dedicated(f"{key} = x")))[key]


def test_a_policy_of_ones_own_stops_the_run() -> None:
    """A Java class stays in the flow, so that no run begins under other names, and what to do is told."""
    result = imported(dedicated("replication.policy.class = com.example.MyPolicy"))
    assert result.flows[0].replication_policy == "com.example.MyPolicy"
    assert "write a Python class" in told(result)["replication.policy.class"]


def test_access_rules_and_defaults() -> None:
    """Both are keys of the flow; without the key MirrorMaker 2's default, which is to carry rules over, is told."""
    entries = {"sync.topic.acls.enabled": "TRUE", "use.defaults.from": "source"}
    given = {key: Given(key=key, value=value, where="here") for key, value in entries.items()}
    findings = Findings()
    keys = options.flow_keys(direction_of(given), findings)
    assert keys["sync_topics"] == {"acls": True, "use_defaults_from": "source"}
    assert not {"sync.topic.acls.enabled", "use.defaults.from"} & {found.key for found in findings.in_order()}
    findings = Findings()
    assert "sync_topics" not in options.flow_keys(direction_of({}), findings)
    assert "set sync_topics.acls: true" in told_by(findings)["sync.topic.acls.enabled"]


def direction_of(given: dict[str, Given]) -> Direction:
    """Give a direction with these options."""
    return Direction(name="a", source="us", target="eu", options=given, source_client={}, target_client={})


def told_by(findings: Findings) -> dict[str, str]:
    """Give what is to be done by key."""
    return {found.key: found.instead for found in findings.in_order()}
