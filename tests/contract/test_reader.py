"""``ClusterReader``: what a cluster says of itself, its topics and its logs."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader
from airflow_provider_mm2.mirror.errors import TopicDeleted
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from tests.contract.lab import BASE_MS, Lab, Side, messages
from tests.contract.route import Route
from tests.fakes.log import Message, Outcome


def reader_of(lab: Lab, side: Side) -> ClusterReader:
    """One side's reader."""
    return lab.pair.source if side is Side.SOURCE else lab.pair.target


def test_cluster_ids_differ(lab: Lab) -> None:
    """Each cluster tells its own id, the same each time."""
    source, target = lab.pair.source.cluster_id(), lab.pair.target.cluster_id()
    assert source
    assert source != target
    assert source == lab.pair.source.cluster_id()


@pytest.mark.parametrize("side", Side)
def test_list_topics_counts_partitions(lab: Lab, side: Side) -> None:
    """A topic is listed with its partition count, on its own cluster only."""
    topic = lab.new_name()
    lab.create_topic(side, topic, partitions=3)
    other = Side.TARGET if side is Side.SOURCE else Side.SOURCE
    assert reader_of(lab, side).list_topics()[topic] == 3
    assert topic not in reader_of(lab, other).list_topics()


def test_describe_leaves_missing_out(lab: Lab) -> None:
    """Topics that exist are described, the others left out without an error."""
    topic, missing = lab.new_name(), lab.new_name()
    lab.create_topic(Side.SOURCE, topic, partitions=2)
    found = lab.pair.source.describe_topics([topic, missing])
    assert list(found) == [topic]
    assert (found[topic].name, found[topic].partitions, found[topic].replication_factor) == (topic, 2, 1)
    assert found[topic].topic_id
    assert lab.pair.source.describe_topics([]) == {}


def test_recreated_topic_has_another_id(lab: Lab) -> None:
    """A topic that is deleted and made anew under its name is another topic, and its log is empty."""
    partition = TopicPartition(lab.new_name(), 0)
    lab.create_topic(Side.SOURCE, partition.topic)
    lab.produce(Side.SOURCE, partition, *messages(3))
    before = lab.pair.source.describe_topics([partition.topic])[partition.topic]
    lab.delete_topic(Side.SOURCE, partition.topic)
    assert lab.pair.source.describe_topics([partition.topic]) == {}
    lab.create_topic(Side.SOURCE, partition.topic)
    after = lab.pair.source.describe_topics([partition.topic])[partition.topic]
    assert after.topic_id != before.topic_id
    assert lab.pair.source.log_offsets([partition])[partition] == LogOffsets(start=0, stable=0, end=0)


def test_settings_tell_their_origin(lab: Lab) -> None:
    """Effective settings are given, and those set on the topic itself are marked."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, settings={"max.message.bytes": "2000000"})
    settings = lab.pair.source.topic_settings([topic])[topic]
    assert (settings["max.message.bytes"].value, settings["max.message.bytes"].overridden) == ("2000000", True)
    assert (settings["cleanup.policy"].value, settings["cleanup.policy"].overridden) == ("delete", False)


def test_settings_of_a_missing_topic(lab: Lab) -> None:
    """Settings of a topic that is not there are refused by name, never given as if all were default."""
    missing = lab.new_name()
    with pytest.raises(TopicDeleted) as caught:
        lab.pair.source.topic_settings([missing])
    assert caught.value.topic == missing


def test_asking_creates_nothing(lab: Lab) -> None:
    """No question about a topic that does not exist makes a broker create it."""
    missing = lab.new_name()
    lab.pair.source.describe_topics([missing])
    with pytest.raises(TopicDeleted):
        lab.pair.source.log_offsets([TopicPartition(missing, 0)])
    assert missing not in lab.pair.source.list_topics()


def test_offsets_of_a_missing_topic(lab: Lab, route: Route) -> None:
    """Offsets of a topic that does not exist are refused by its name, whatever else was asked."""
    missing = TopicPartition(lab.new_name(), 0)
    with pytest.raises(TopicDeleted) as caught:
        lab.pair.source.log_offsets([route.source(), missing])
    assert caught.value.topic == missing.topic


def test_offsets_of_plain_logs(lab: Lab, route: Route) -> None:
    """Without transactions the log is stable to its end, and it starts where retention has left it."""
    assert lab.pair.source.log_offsets([route.source()])[route.source()] == LogOffsets(start=0, stable=0, end=0)
    route.produce(*messages(10))
    lab.delete_records(Side.SOURCE, route.source(), 4)
    assert lab.pair.source.log_offsets([route.source()])[route.source()] == LogOffsets(start=4, stable=10, end=10)


def test_offsets_of_several_partitions(lab: Lab) -> None:
    """Each partition has its own offsets; asking for none gives none."""
    topic = lab.new_name()
    lab.create_topic(Side.TARGET, topic, partitions=2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    lab.produce(Side.TARGET, second, *messages(3))
    found = lab.pair.target.log_offsets([first, second])
    assert found == {first: LogOffsets(start=0, stable=0, end=0), second: LogOffsets(start=0, stable=3, end=3)}
    assert lab.pair.target.log_offsets([]) == {}


def test_offsets_at_a_time(lab: Lab, route: Route) -> None:
    """The first record stamped at or after a moment, below the LSO; none where all are earlier, or nothing is there."""
    part = route.source()
    assert lab.pair.source.offsets_at({part: BASE_MS}) == {part: None}
    stamps = (0, 1000, 1000, 5000, 3000, 9000)
    route.produce(*(Message(key=b"k", value=b"v", timestamp_ms=BASE_MS + stamp) for stamp in stamps))
    for moment, offset in ((-5, 0), (0, 0), (1, 1), (1000, 1), (1001, 3), (5001, 5), (9000, 5), (9001, None)):
        assert lab.pair.source.offsets_at({part: BASE_MS + moment}) == {part: offset}, moment
    assert lab.pair.source.offsets_at({}) == {}


def test_deleted_topics(lab: Lab) -> None:
    """Topics that were deleted cannot be described any more; one that is gone already is no error."""
    names = [lab.new_name(), lab.new_name()]
    for name in names:
        lab.create_topic(Side.TARGET, name)
    lab.pair.target.delete_topics([*names, lab.new_name()])
    assert lab.pair.target.describe_topics(names) == {}
    lab.pair.target.delete_topics(names)
    lab.pair.target.delete_topics([])


@pytest.mark.parametrize("outcome", [Outcome.COMMITTED, Outcome.ABORTED])
def test_offsets_count_markers(lab: Lab, route: Route, outcome: Outcome) -> None:
    """A transaction's end occupies an offset, whichever way it ended."""
    route.transaction(*messages(5), outcome=outcome)
    assert lab.pair.source.log_offsets([route.source()])[route.source()] == LogOffsets(start=0, stable=6, end=6)


def test_open_transaction_holds_stable_back(lab: Lab, route: Route) -> None:
    """The last stable offset stays at the start of the first open transaction until that one ends."""
    route.produce(*messages(2))
    opened = lab.open_transaction(Side.SOURCE, route.source(), *messages(3))
    route.transaction(*messages(4))
    assert lab.pair.source.log_offsets([route.source()])[route.source()] == LogOffsets(start=0, stable=2, end=10)
    opened.end(Outcome.ABORTED)
    assert lab.pair.source.log_offsets([route.source()])[route.source()] == LogOffsets(start=0, stable=11, end=11)


def test_close_twice(lab: Lab) -> None:
    """A cluster may be closed twice, also before it was ever used."""
    lab.pair.source.close()
    lab.pair.source.close()
    lab.pair.target.close()
    lab.pair.close()
