"""Topics that change, and filters that speak, on real Kafka."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import (
    MirrorError,
    NamedTopicLeftOut,
    NameTooLong,
    OppositeFlow,
    TooFewReplicas,
)
from airflow_provider_mm2.mirror.interval.topics import Prepared
from airflow_provider_mm2.mirror.run import plan_flow, prepare
from tests.cases.by_hand import grow
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, bounds, copied, record, records
from tests.contract.lab import Side
from tests.contract.real_lab import until

pytestmark = pytest.mark.broker

CREATE_TIME = {"message.timestamp.type": "CreateTime"}


def plan(scenario: Scenario, **options: Any) -> dict[str, Any]:
    """What ``mm2 plan`` tells."""
    flow = scenario.mirror_flow(**options)
    with closing(connect(flow)) as pair:
        return plan_flow(flow, pair, bounds=bounds(None)).to_json()


def step_0(scenario: Scenario, **options: Any) -> Prepared:
    """Make topics, and copy nothing."""
    flow = scenario.mirror_flow(**options)
    with closing(connect(flow)) as pair:
        return prepare(flow, pair, bounds=bounds(None))


def refuses_to_plan(scenario: Scenario, error: type[MirrorError], **options: Any) -> None:
    """A plan tells the same as the run does."""
    with pytest.raises(error):
        plan(scenario, **options)


class Topics:
    """The settings of a scenario's topic on both sides, with plain clients."""

    def __init__(self, scenario: Scenario) -> None:
        self.names = {Side.SOURCE: scenario.source().topic, Side.TARGET: scenario.target().topic}
        self._admin = {side: AdminClient({**scenario.addresses[side.value]}) for side in Side}

    def alter(self, side: Side, **settings: str | None) -> None:
        """Set overrides or (None) remove them, ``__`` standing for a dot, and wait until they show."""
        dotted = {name.replace("__", "."): value for name, value in settings.items()}
        entries = [
            ConfigEntry(
                name,
                value,
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for name, value in dotted.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, self.names[side], incremental_configs=entries)
        for future in self._admin[side].incremental_alter_configs([resource]).values():
            future.result(30)
        until(lambda: all(self.overrides(side).get(name) == value for name, value in dotted.items()), "the settings")

    def overrides(self, side: Side) -> dict[str, str]:
        """What is set on the topic itself."""
        return {name: entry.value for name, entry in self._entries(side).items() if entry.source == 1}

    def effective(self, side: Side, name: str) -> str:
        """The value that counts."""
        value: str = self._entries(side)[name].value
        return value

    def _entries(self, side: Side) -> dict[str, Any]:
        request = self._admin[side].describe_configs([ConfigResource(ResourceType.TOPIC, self.names[side])])
        found: dict[str, Any] = next(iter(request.values())).result(30)
        return found


def test_config_sync_keeps_what_is_the_targets_own(scenario: Scenario) -> None:
    """K78: 30 days on the target stay, excluded settings too; the source's override is set; the second run is still."""
    topics = Topics(scenario)
    topics.alter(Side.SOURCE, min__insync__replicas="1", retention__bytes="-1")
    scenario.run()
    assert topics.overrides(Side.TARGET) == {**CREATE_TIME, "retention.bytes": "-1"}
    topics.alter(
        Side.TARGET, retention__ms="2592000000", min__insync__replicas="1", unclean__leader__election__enable="true"
    )
    topics.alter(Side.SOURCE, retention__bytes="900000000")
    before = topics.overrides(Side.TARGET)
    row = {"topic": scenario.target().topic, "setting": "retention.bytes", "value": "900000000"}
    assert plan(scenario)["settings"] == [row]
    assert scenario.run().to_json()["altered"] == [row]
    assert topics.overrides(Side.TARGET) == {**before, "retention.bytes": "900000000"}
    snapshot = scenario.snapshot()
    again = step_0(scenario)
    assert again.nothing_changed
    assert scenario.snapshot() == snapshot
    topics.alter(Side.SOURCE, retention__bytes=None)
    assert step_0(scenario).to_json()["altered"] == [{**row, "value": None}]
    del before["retention.bytes"]
    assert topics.overrides(Side.TARGET) == before


def test_sync_topic_configs(scenario: Scenario) -> None:
    """``testSyncTopicConfigs``: an excluded override stays 2000, one that is not is set back to the source's 1000."""
    topics = Topics(scenario)
    topics.alter(Side.SOURCE, delete__retention__ms="1000", retention__bytes="1000")
    excluded = {"sync_topics": {"config_exclude": [r"delete\.retention\..*"]}}
    scenario.run(**excluded)
    assert topics.overrides(Side.TARGET) == {**CREATE_TIME, "retention.bytes": "1000"}
    topics.alter(Side.TARGET, delete__retention__ms="2000", retention__bytes="2000")
    scenario.run(**excluded)
    assert topics.overrides(Side.TARGET) == {**CREATE_TIME, "delete.retention.ms": "2000", "retention.bytes": "1000"}


def test_replicate_source_default(scenario: Scenario) -> None:
    """``testReplicateSourceDefault``: the target has the source's default -1 again; the excluded key is untouched."""
    topics = Topics(scenario)
    sync = {"use_defaults_from": "source", "config_exclude": [r"delete\.retention\..*"]}
    step_0(scenario)
    topics.alter(Side.TARGET, delete__retention__ms="2000", retention__bytes="2000")
    step_0(scenario, sync_topics=sync)
    assert topics.effective(Side.TARGET, "retention.bytes") == "-1"
    assert topics.overrides(Side.TARGET)["delete.retention.ms"] == "2000"
    assert step_0(scenario, sync_topics=sync).nothing_changed


def test_replicate_target_default(scenario: Scenario) -> None:
    """``testReplicateTargetDefault``: an override is copied; once it is gone on the source, the default is back."""
    topics = Topics(scenario)
    step_0(scenario)
    topics.alter(Side.SOURCE, retention__bytes="1000")
    step_0(scenario)
    assert topics.effective(Side.TARGET, "retention.bytes") == "1000"
    topics.alter(Side.SOURCE, retention__bytes=None)
    step_0(scenario)
    assert topics.effective(Side.TARGET, "retention.bytes") == "-1"
    assert topics.overrides(Side.TARGET) == CREATE_TIME


def test_topics_and_partitions(make_scenario: MakeScenario) -> None:
    """``testReplication``, ``testCreatePartitionsUseProvidedForwardingAdmin``: created, compacted, grown (K51)."""
    scenario = make_scenario(partitions=3, settings={"cleanup.policy": "compact"})
    topics = Topics(scenario)
    scenario.run()
    assert topics.overrides(Side.TARGET) == {**CREATE_TIME, "cleanup.policy": "compact"}
    grow(scenario.addresses["source"], scenario.topic, 6)
    scenario.produce(*records(10), partition=5)
    assert step_0(scenario).grown == (scenario.target().topic,)
    assert copied(scenario.run()) == 10
    assert scenario.numbers(5) == list(range(10))


def test_settings_off(scenario: Scenario) -> None:
    """With ``configs: false`` nothing is altered; turned on again, the next run makes up for it."""
    topics = Topics(scenario)
    step_0(scenario)
    topics.alter(Side.SOURCE, retention__bytes="1000")
    assert step_0(scenario, sync_topics={"configs": False}).nothing_changed
    assert topics.overrides(Side.TARGET) == CREATE_TIME
    assert step_0(scenario).to_json()["altered"][0]["setting"] == "retention.bytes"


def test_two_at_once(scenario: Scenario) -> None:
    """K78, neighbour: two that prepare one flow at the same moment both end well; what is there is right, and still."""
    topics = Topics(scenario)
    topics.alter(Side.SOURCE, retention__bytes="1000")
    for value in ("1000", "2000", None):
        topics.alter(Side.SOURCE, retention__bytes=value)
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(step_0, scenario) for _ in range(2)]
            assert all(each.result().warnings == () for each in both)
        assert topics.overrides(Side.TARGET) == CREATE_TIME | ({} if value is None else {"retention.bytes": value})
        assert step_0(scenario).nothing_changed


def test_no_write_could_succeed(scenario: Scenario) -> None:
    """A target topic of one replica with ``min.insync.replicas`` 2 is refused by name, before the copy."""
    scenario.create_target(settings={"min.insync.replicas": "2"})
    scenario.produce(*records(3))
    error = scenario.refuses(TooFewReplicas)
    assert (error.topic, error.replicas, error.needed) == (scenario.target().topic, 1, 2)


def test_old_records_and_a_short_retention(scenario: Scenario) -> None:
    """K37: 1000 records of 30 days ago to a topic that keeps 7 days: plan and run warn; young ones are not counted."""
    scenario.create_target(settings={"retention.ms": str(7 * 24 * 3600 * 1000)})
    now = datetime.now(timezone.utc)
    scenario.produce(*(record(number, now - timedelta(days=30)) for number in range(1000)))
    scenario.produce(*(record(number, now - timedelta(hours=1)) for number in range(5)))
    (planned,) = plan(scenario)["warnings"]
    assert planned.startswith(f"about 1000 records to be copied of '{scenario.topic}' are older than its target topic")
    summary = scenario.run()
    assert planned in summary.warnings
    assert copied(summary) == 1005
    assert step_0(scenario).warnings == ()


def reversed_flow(scenario: Scenario, flow: str) -> Scenario:
    """The same topics in the other direction."""
    addresses = {"source": scenario.addresses["target"], "target": scenario.addresses["source"]}
    return Scenario(scenario.lab, addresses, flow, scenario.topic, scenario.topics, dict(scenario.options), "eu")


def swap_aliases(scenario: Scenario) -> dict[str, Any]:
    """Clusters of the reverse flow: ``eu`` is its source, ``us`` its target."""
    return {
        "source": {"alias": "eu", "settings": dict(scenario.addresses["source"])},
        "target": {"alias": "us", "settings": dict(scenario.addresses["target"])},
    }


def test_both_directions_with_unchanged_names(make_scenario: MakeScenario) -> None:
    """K46: one record, ten runs in turn: the second flow refuses each time, and each side has one record."""
    there = make_scenario(replication_policy="identity")
    back = reversed_flow(there, f"back-{there.flow}")
    there.produce(*records(1))
    for _ in range(5):
        there.run()
        error = back.refuses(OppositeFlow, **swap_aliases(back))
        assert (error.flow, error.topics) == (there.flow, (there.topic,))
    refuses_to_plan(back, OppositeFlow, **swap_aliases(back))
    assert [len(there.lab.visible(side, there.source())) for side in Side] == [1, 1]


def test_remote_topics_do_not_go_back(make_scenario: MakeScenario) -> None:
    """K47: of what lies on eu only ``orders`` goes back to us, and each of the others is listed with its reason."""
    there = make_scenario(partitions=0)
    name = there.topic
    on_eu = [f"us.{name}", f"us.eu.{name}", name]
    for topic in on_eu:
        there.lab.create_topic(Side.TARGET, topic)
    back = reversed_flow(there, f"back-{there.flow}")
    back.topics = (f".*{name}",)
    document = plan(back, **swap_aliases(back))
    assert [row["target_topic"] for row in document["topics"]] == [f"eu.{name}"]
    rules = {row["topic"]: row["rule"] for row in document["left_out"]}
    assert [rules[topic] for topic in on_eu[:2]] == ["came from 'us' itself (a cycle)"] * 2


def test_a_home_made_topic_that_looks_remote(make_scenario: MakeScenario) -> None:
    """K47: ``eu.invoices`` on us is left out by a pattern and listed, and refused when it is named in full."""
    scenario = make_scenario()
    lookalike = f"eu.invoices-{scenario.topic}"
    scenario.create(topic=lookalike)
    scenario.topics = (f".*{scenario.topic}",)
    rules = {row["topic"]: row["rule"] for row in plan(scenario)["left_out"]}
    assert rules[lookalike] == "came from 'eu' itself (a cycle)"
    scenario.topics = (scenario.topic, lookalike)
    assert lookalike in scenario.refuses(NamedTopicLeftOut).topics[0]


def test_names_that_filters_drop(make_scenario: MakeScenario) -> None:
    """K48: one of six is mirrored and five are listed with their rule; named in full one is refused, or mirrored."""
    scenario = make_scenario()
    mine = scenario.topic
    dropped = [f"{mine}.internal", f"{mine}-internal", f"{mine}.replica", f"__{mine}", f".{mine}"]
    for topic in dropped:
        scenario.create(topic=topic)
    scenario.topics = (rf"(__|\.)?{mine}.*",)
    document = plan(scenario)
    assert [row["topic"] for row in document["topics"]] == [mine]
    rules = {row["topic"]: row["rule"] for row in document["left_out"] if row["topic"] in dropped}
    internal = r"topics_exclude: .*[\-\.]internal"
    assert [rules[topic].split(" (")[0] for topic in dropped] == [
        internal,
        internal,
        r"topics_exclude: .*\.replica",
        "topics_exclude: __.*",
        "internal by its name",
    ]
    scenario.topics = (mine, dropped[0])
    assert scenario.refuses(NamedTopicLeftOut).topics == (f"{dropped[0]} ({internal})",)
    scenario.produce(*records(3), topic=dropped[0])
    assert copied(scenario.run(topics_exclude=())) == 3
    assert len(scenario.mirrored(topic=dropped[0])) == 3


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_kafkas_own_topics_are_refused(scenario: Scenario, name: str) -> None:
    """K48: Kafka's own topics are refused by name whatever the flow says."""
    scenario.run()  # the target's cluster has both once a transaction has committed offsets
    back = reversed_flow(scenario, f"back-{scenario.flow}")
    back.topics = (name,)
    error = back.fails(NamedTopicLeftOut, topics_exclude=(), **swap_aliases(back))
    assert error.topics == (f"{name} (Kafka's own topic, never mirrored)",)


def test_names_too_long_once_prefixed(make_scenario: MakeScenario) -> None:
    """K75: 9 + 1 + 240 characters are too many, 239 fit; all offenders are told, and nothing is created."""
    scenario = make_scenario(alias="us-east-1")
    names = [f"{scenario.topic}-".ljust(length, letter) for length, letter in ((240, "a"), (240, "b"), (239, "c"))]
    for name in names:
        scenario.create(topic=name)
    scenario.topics = (f"{scenario.topic}-[abc]*",)
    error = scenario.refuses(NameTooLong)
    assert error.names == tuple(f"us-east-1.{name}" for name in names[:2])
    assert "identity" in str(error)
    refuses_to_plan(scenario, NameTooLong)
    scenario.topics = (names[2],)
    assert len(scenario.run().prepared.created[0]) == 249
