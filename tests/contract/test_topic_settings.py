"""``TargetCluster``: settings of topics are altered one by one, and what cannot be made is told by name."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import (
    AccessNotChecked,
    ReplicationImpossible,
    TopicDeleted,
    TopicSettingsRefused,
)
from airflow_provider_mm2.mirror.model import NewTopic, TopicAcl
from tests.contract.lab import Lab, Side
from tests.contract.route import no_tick


def overrides(lab: Lab, topic: str) -> dict[str, str | None]:
    """What is set on a target topic itself."""
    found = lab.pair.target.topic_settings([topic])[topic]
    return {name: setting.value for name, setting in found.items() if setting.overridden}


def test_settings_are_altered_and_others_stay(lab: Lab) -> None:
    """A value is set, another removed, and what is not named stays: an alteration is never a replacement."""
    topic = lab.new_name()
    lab.create_topic(Side.TARGET, topic, settings={"retention.ms": "1000000", "retention.bytes": "5000"})
    changes = {topic: {"retention.ms": "2000000", "segment.bytes": "2097152"}}
    assert lab.pair.target.alter_topic_settings(changes, no_tick) == {}
    assert overrides(lab, topic) == {"retention.ms": "2000000", "retention.bytes": "5000", "segment.bytes": "2097152"}
    assert lab.pair.target.alter_topic_settings({topic: {"retention.ms": None}}, no_tick) == {}
    assert overrides(lab, topic) == {"retention.bytes": "5000", "segment.bytes": "2097152"}


def test_removing_what_is_not_set(lab: Lab) -> None:
    """To remove an override that is not there is nothing."""
    topic = lab.new_name()
    lab.create_topic(Side.TARGET, topic)
    assert lab.pair.target.alter_topic_settings({topic: {"retention.ms": None}}, no_tick) == {}
    assert lab.pair.target.alter_topic_settings({}, no_tick) == {}


@pytest.mark.parametrize("bad", [{"no.such.setting": "1"}, {"retention.ms": "soon"}])
def test_a_refused_setting_keeps_only_its_own_topic_out(lab: Lab, bad: dict[str, str]) -> None:
    """A setting that the broker does not know, or a value that it does not take, changes nothing of its topic."""
    good, odd, missing = lab.new_name(), lab.new_name(), lab.new_name()
    for topic in (good, odd):
        lab.create_topic(Side.TARGET, topic)
    changes = {
        good: {"retention.ms": "1000000"},
        odd: {"retention.bytes": "5000", **bad},
        missing: {"retention.ms": "1000000"},
    }
    refused = lab.pair.target.alter_topic_settings(changes, no_tick)
    assert {topic: type(error) for topic, error in refused.items()} == {
        odd: TopicSettingsRefused,
        missing: TopicDeleted,
    }
    error = refused[odd]
    assert isinstance(error, TopicSettingsRefused)
    assert (error.topic, error.settings) == (odd, tuple(sorted(changes[odd])))
    assert (overrides(lab, good), overrides(lab, odd)) == ({"retention.ms": "1000000"}, {})


def new_topic(name: str, *, replicas: int | None = None, settings: dict[str, str] | None = None) -> NewTopic:
    """A topic to create."""
    return NewTopic(name=name, partitions=1, replication_factor=replicas, settings=settings or {})


def test_a_topic_with_a_refused_setting_is_not_created(lab: Lab) -> None:
    """The error names the topic and its settings, and the other topics of the call are there."""
    good, odd = lab.new_name(), lab.new_name()
    wanted = [new_topic(odd, settings={"no.such.setting": "1"}), new_topic(good)]
    with pytest.raises(TopicSettingsRefused) as caught:
        lab.pair.target.create_topics(wanted)
    assert (caught.value.topic, caught.value.settings) == (odd, ("no.such.setting",))
    assert set(lab.pair.target.describe_topics([good, odd])) == {good}


def test_more_replicas_than_brokers(lab: Lab) -> None:
    """The error gives the number of brokers."""
    brokers = lab.pair.target.broker_count()
    assert brokers >= 1
    with pytest.raises(ReplicationImpossible) as caught:
        lab.pair.target.create_topics([new_topic(lab.new_name(), replicas=brokers + 1)])
    assert (caught.value.brokers, caught.value.factor) == (brokers, f"{brokers + 1} replicas")


def test_a_cluster_that_checks_no_access(lab: Lab) -> None:
    """It has no access rules, and says so when it is to get one."""
    assert list(lab.pair.target.topic_acls()) == []
    acl = TopicAcl(name="t", prefixed=False, principal="User:app", host="*", operation="READ", permission="ALLOW")
    lab.pair.target.create_acls([])
    with pytest.raises(AccessNotChecked):
        lab.pair.target.create_acls([acl])
