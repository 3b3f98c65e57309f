"""``TargetCluster``: topics are created and grown, and group offsets read, as the mirror relies on it."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.group_model import GroupKind, GroupOffsets
from airflow_provider_mm2.mirror.model import LogOffsets, NewTopic, TopicPartition
from tests.contract.lab import Lab, Side, messages
from tests.contract.route import Route, no_tick


class Stop(Exception):
    """Raised by a tick to end a wait."""


def stop() -> None:
    """End the wait."""
    raise Stop


def new_topic(name: str, partitions: int = 1, **settings: str) -> NewTopic:
    """A topic to create, ``__`` in a setting's name standing for a dot."""
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return NewTopic(name=name, partitions=partitions, replication_factor=None, settings=dotted)


def test_created_topic_is_there(lab: Lab) -> None:
    """When creation returns, the topic can be described, has its settings, and its logs can be asked for."""
    topic = lab.new_name()
    lab.pair.target.create_topics([new_topic(topic, 2, cleanup__policy="compact")])
    assert lab.pair.target.describe_topics([topic])[topic].partitions == 2
    setting = lab.pair.target.topic_settings([topic])[topic]["cleanup.policy"]
    assert (setting.value, setting.overridden) == ("compact", True)
    parts = [TopicPartition(topic, index) for index in range(2)]
    assert set(lab.pair.target.log_offsets(parts).values()) == {LogOffsets(start=0, stable=0, end=0)}


def test_existing_topic_is_left_alone(lab: Lab) -> None:
    """Creating a topic that exists changes nothing of it, and the others of the call are created."""
    existing, new = lab.new_name(), lab.new_name()
    lab.pair.target.create_topics([new_topic(existing, 1, cleanup__policy="compact")])
    before = lab.pair.target.describe_topics([existing])
    lab.produce(Side.TARGET, TopicPartition(existing, 0), *messages(1))
    lab.pair.target.create_topics([new_topic(existing, 3), new_topic(new)])
    assert lab.pair.target.describe_topics([existing]) == before
    assert lab.pair.target.topic_settings([existing])[existing]["cleanup.policy"].value == "compact"
    assert new in lab.pair.target.describe_topics([new])


def test_create_nothing(lab: Lab) -> None:
    """Creating no topic is nothing to do."""
    lab.pair.target.create_topics([])


def test_grow_topic(lab: Lab) -> None:
    """When growth returns, the new partitions are there and the old records too."""
    topic = lab.new_name()
    lab.create_topic(Side.TARGET, topic)
    lab.produce(Side.TARGET, TopicPartition(topic, 0), *messages(2))
    lab.pair.target.grow_topic(topic, 3)
    assert lab.pair.target.describe_topics([topic])[topic].partitions == 3
    ends = lab.pair.target.log_offsets([TopicPartition(topic, index) for index in range(3)])
    assert [offsets.end for offsets in ends.values()] == [2, 0, 0]


@pytest.mark.parametrize("wanted", [1, 3])
def test_grown_topic_is_left_alone(lab: Lab, wanted: int) -> None:
    """Growing a topic that has as many partitions already, or more, changes nothing: another attempt was faster."""
    topic = lab.new_name()
    lab.create_topic(Side.TARGET, topic, partitions=3)
    lab.pair.target.grow_topic(topic, wanted)
    assert lab.pair.target.describe_topics([topic])[topic].partitions == 3


def test_committed_leaves_partitions_without_offset_out(lab: Lab) -> None:
    """Offset 0 is an offset; a partition or a group that never committed has none."""
    topic, group = lab.new_name(), lab.new_name()
    lab.create_topic(Side.TARGET, topic, partitions=3)
    parts = [TopicPartition(topic, index) for index in range(3)]
    lab.commit_offsets(Side.TARGET, group, {parts[0]: 0, parts[1]: 7})
    assert lab.pair.target.committed(group, parts, no_tick) == {parts[0]: 0, parts[1]: 7}
    assert lab.pair.target.committed(lab.new_name(), parts, no_tick) == {}
    assert lab.pair.target.committed(group, [], no_tick) == {}


def test_committed_of_a_missing_topic(lab: Lab, route: Route) -> None:
    """A partition that does not exist has no offset."""
    missing = TopicPartition(lab.new_name(), 0)
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 5})
    assert lab.pair.target.committed(route.group, [route.target(), missing], no_tick) == {route.target(): 5}


def test_pending_offsets_are_not_given(lab: Lab, route: Route) -> None:
    """Offsets in an open transaction keep a stable read waiting, also for the value before, until the tick ends it."""
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 3})
    copier = route.copier()
    copier.begin()
    copier.add([], {route.target(): 8}, no_tick)
    ticks = iter([no_tick, no_tick, stop])
    with pytest.raises(Stop):
        lab.pair.target.committed(route.group, [route.target()], lambda: next(ticks)())
    copier.commit(no_tick)
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): 8}


def test_aborted_offsets_are_nothing(lab: Lab, route: Route) -> None:
    """Offsets of an aborted transaction leave the ones before."""
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 3})
    copier = route.copier()
    copier.begin()
    copier.add([], {route.target(): 8}, no_tick)
    copier.abort()
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): 3}


def test_offsets_go_with_their_topic(lab: Lab, route: Route) -> None:
    """Deleting a target topic deletes the offsets that groups have on it, and a new topic of its name has none."""
    kept = TopicPartition(lab.new_name(), 0)
    lab.create_topic(Side.TARGET, kept.topic)
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 5, kept: 6})
    lab.delete_topic(Side.TARGET, route.target_topic)
    lab.create_topic(Side.TARGET, route.target_topic)
    assert lab.pair.target.committed(route.group, [route.target(), kept], no_tick) == {kept: 6}


def test_groups_and_their_topics(lab: Lab, route: Route) -> None:
    """A group is listed once it has offsets, with the topics on which it has any."""
    group, unused = lab.new_name(), lab.new_name()
    lab.commit_offsets(Side.TARGET, group, {route.target(): 1})
    listed = {found.name: found.kind for found in lab.pair.target.list_groups()}
    assert listed[group] is GroupKind.CLASSIC
    assert unused not in listed
    found = lab.pair.target.group_offsets([group, unused], no_tick)
    assert found == {group: GroupOffsets(offsets={route.target(): 1}), unused: GroupOffsets(offsets={})}


def test_progress_group_is_listed(lab: Lab, route: Route) -> None:
    """A group that only ever got offsets from transactions, and never a member, is listed like any other."""
    route.produce(*messages(1))
    route.copy(route.range())
    assert route.group in {found.name for found in lab.pair.target.list_groups()}
    found = lab.pair.target.group_offsets([route.group], no_tick)[route.group]
    assert isinstance(found, GroupOffsets)
    assert set(found.offsets) == {route.target()}
