"""Step 0: what is created and grown, with which settings."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_mm2.mirror import errors
from airflow_provider_mm2.mirror.clusters.selection import Selection
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.carried import carried_settings
from airflow_provider_mm2.mirror.interval.survey import Survey
from airflow_provider_mm2.mirror.interval.topic_warnings import topic_warnings
from airflow_provider_mm2.mirror.interval.topics import topic_changes
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition, TopicSetting
from airflow_provider_mm2.mirror.state_model import PartitionLedger
from tests.mirror.interval.test_book import RECORD
from tests.mirror.interval.test_plan import ENTRY, flow


def setting(name: str, value: str, *, overridden: bool = True) -> dict[str, TopicSetting]:
    """One setting by its name."""
    return {name: TopicSetting(name=name, value=value, overridden=overridden)}


SOURCE = {
    **setting("retention.ms", "-1"),
    **setting("cleanup.policy", "delete", overridden=False),
    **setting("min.insync.replicas", "2"),
    **setting("max.message.bytes", "5000000", overridden=False),
    **setting("message.timestamp.after.max.ms", "3600000", overridden=False),
    **setting("message.timestamp.type", "LogAppendTime"),
}


def survey(**changes: Any) -> Survey:
    """A source topic of three partitions that is not on the target yet."""
    found = Survey(
        record=RECORD,
        recorded=False,
        ledger={},
        selection=Selection(topics={"orders": "us.orders"}, left_out={}),
        source_topics={"orders": TopicInfo(name="orders", topic_id="S1", partitions=3, replication_factor=1)},
        target_topics={},
        source_settings={"orders": SOURCE},
        target_settings={},
        gone=(),
    )
    return replace(found, **changes)


def on_target(partitions: int) -> dict[str, TopicInfo]:
    """The target topic with some partitions."""
    return {"us.orders": TopicInfo(name="us.orders", topic_id="T1", partitions=partitions, replication_factor=1)}


def test_settings_of_a_new_topic() -> None:
    """K101: a new topic gets the source's overrides and limits before its first record, and stamps nothing itself."""
    assert carried_settings(flow(), SOURCE) == {
        "retention.ms": "-1",
        "max.message.bytes": "5000000",
        "message.timestamp.type": "CreateTime",
    }


def test_settings_off() -> None:
    """With config sync off a new topic only keeps the records' own timestamps."""
    some = flow(sync_topics={"configs": False})
    assert carried_settings(some, SOURCE) == {"message.timestamp.type": "CreateTime"}


def test_limits_from_the_brokers_default() -> None:
    """K101: a timestamp limit that the source has from its broker is carried over like an override."""
    limits = setting("message.timestamp.after.max.ms", "99999999999", overridden=False)
    assert carried_settings(flow(), limits)["message.timestamp.after.max.ms"] == "99999999999"


def test_missing_topic_is_created() -> None:
    """K85: a topic that is not on the target is created with as many partitions as its source."""
    (topic,) = topic_changes(flow(replication_factor=3), survey(target_brokers=3)).create
    assert (topic.name, topic.partitions, topic.replication_factor) == ("us.orders", 3, 3)


def test_grown_source() -> None:
    """K51: a target with fewer partitions than its source is grown, never shrunk."""
    assert topic_changes(flow(), survey(target_topics=on_target(2))).grow == {"us.orders": 3}
    assert topic_changes(flow(), survey(target_topics=on_target(3))).grow == {}
    assert topic_changes(flow(), survey(target_topics=on_target(5))).grow == {}


@pytest.mark.parametrize(
    ("some", "found", "kind"),
    [
        (flow(sync_topics={"create": False}), survey(), errors.TargetTopicMissing),
        (flow(sync_topics={"grow": False}), survey(target_topics=on_target(1)), errors.TargetPartitionsFewer),
        (
            flow(),
            survey(ledger={TopicPartition("orders", 0): PartitionLedger(entries=(ENTRY,))}),
            errors.TargetTopicGone,
        ),
    ],
)
def test_refusals(some: MirrorFlow, found: Survey, kind: type[errors.MirrorError]) -> None:
    """What may not be created or grown, or was mirrored to and is gone, stops the run before anything is made."""
    with pytest.raises(kind):
        topic_changes(some, found)


def test_warnings() -> None:
    """K14: a target that takes smaller records than its source is warned about, as is one that stamps records."""
    target = {
        **setting("max.message.bytes", "1048588", overridden=False),
        **setting("message.timestamp.type", "LogAppendTime"),
    }
    settings = {"us.orders": target}
    some = survey(target_topics=on_target(3), target_settings=settings, gone=("old",))
    found = list(topic_warnings(some, {"us.orders": 1}, settings))
    assert len(found) == 3
    assert "'old' was mirrored" in found[0]
    assert "up to 1048588 bytes (max.message.bytes), and its source 'orders' up to 5000000" in found[1]
    assert "message.timestamp.type=LogAppendTime" in found[2]
