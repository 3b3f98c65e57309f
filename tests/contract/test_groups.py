"""Consumer groups: what they have committed, who is in them, and writing to those that nobody is in."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import GroupActive, OffsetsHeld, TopicDeleted
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Lab, Side
from tests.contract.route import Route, no_tick

KINDS = [GroupKind.CLASSIC, GroupKind.CONSUMER]


@pytest.fixture
def group(lab: Lab) -> str:
    """Give the name of a group that is not there yet."""
    return lab.new_name()


def offsets_of(lab: Lab, group: str) -> GroupOffsets:
    """What a target group has committed."""
    found = lab.pair.target.group_offsets([group], no_tick)[group]
    assert isinstance(found, GroupOffsets)
    return found


def state_of(lab: Lab, group: str) -> GroupState:
    """Who is in a target group."""
    found = lab.pair.target.describe_groups([group], no_tick)[group]
    assert isinstance(found, GroupState)
    return found


def commit(
    lab: Lab, group: str, offsets: dict[TopicPartition, int], metadata: dict[TopicPartition, str] | None = None
) -> object:
    """Commit a target group's offsets; what is said of it."""
    wanted = GroupOffsets(offsets=offsets, metadata=metadata or {})
    return lab.pair.target.commit_groups({group: wanted}, no_tick)[group]


def test_unknown_group(lab: Lab, group: str) -> None:
    """A group that the cluster does not know has no offsets and no members, and deleting it is fine."""
    assert offsets_of(lab, group) == GroupOffsets(offsets={})
    assert state_of(lab, group) == GroupState(name=group, exists=False)
    lab.pair.target.delete_group(group, no_tick)


def test_many_groups(lab: Lab, route: Route) -> None:
    """Groups are asked for in one call, more than go at a time, and each has its own offsets."""
    groups = [lab.new_name() for _ in range(300)]
    lab.commit_offsets(Side.SOURCE, groups[7], {route.source(): 7})
    lab.commit_offsets(Side.SOURCE, groups[299], {route.source(): 0})
    found = lab.pair.source.group_offsets(groups, no_tick)
    assert set(found) == set(groups)
    assert {name: got.offsets for name, got in found.items() if isinstance(got, GroupOffsets) and got.offsets} == {
        groups[7]: {route.source(): 7},
        groups[299]: {route.source(): 0},
    }


def test_commit(lab: Lab, route: Route, group: str) -> None:
    """Offsets of a group without members are written, and stand beside those it has."""
    other = TopicPartition(lab.new_name(), 0)
    lab.create_topic(Side.TARGET, other.topic)
    assert commit(lab, group, {other: 4}, {other: "step 3, \u00fc"}) == {}
    assert commit(lab, group, {route.target(): 5}) == {}
    both = {route.target(): 5, other: 4}
    assert offsets_of(lab, group) == GroupOffsets(offsets=both, metadata={other: "step 3, \u00fc"})
    assert state_of(lab, group) == GroupState(name=group, exists=True)


def test_commit_of_a_topic_that_is_gone(lab: Lab, route: Route, group: str) -> None:
    """One partition that is refused is told, and the others are written."""
    gone = TopicPartition(lab.new_name(), 0)
    refused = commit(lab, group, {route.target(): 5, gone: 1})
    assert isinstance(refused, dict)
    assert {part: type(error) for part, error in refused.items()} == {gone: TopicDeleted}
    assert offsets_of(lab, group) == GroupOffsets(offsets={route.target(): 5})


@pytest.mark.parametrize("kind", KINDS)
def test_active_group(lab: Lab, route: Route, group: str, kind: GroupKind) -> None:
    """K05: a group with a member is neither written nor deleted, and says who is in it."""
    lab.commit_offsets(Side.TARGET, group, {route.target(): 3})
    with lab.member(Side.TARGET, group, route.target_topic, kind):
        state = state_of(lab, group)
        assert state.exists
        assert [member.split()[0] for member in state.members] == ["somebody"]
        assert isinstance(commit(lab, group, {route.target(): 9}), GroupActive)
        with pytest.raises(GroupActive):
            lab.pair.target.delete_group(group, no_tick)
        listed = {found.name: found.kind for found in lab.pair.target.list_groups()}
        assert listed[group] is kind
    assert offsets_of(lab, group) == GroupOffsets(offsets={route.target(): 3})


def test_group_on_the_source(lab: Lab, route: Route, group: str) -> None:
    """Who is in a group can be asked of the source, too, where nothing can be written."""
    assert lab.pair.source.describe_groups([group], no_tick)[group] == GroupState(name=group, exists=False)
    with lab.member(Side.SOURCE, group, route.topic, GroupKind.CLASSIC):
        state = lab.pair.source.describe_groups([group], no_tick)[group]
        assert isinstance(state, GroupState)
        assert [member.split()[0] for member in state.members] == ["somebody"]


@pytest.mark.parametrize("kind", KINDS)
def test_group_that_members_left(lab: Lab, route: Route, group: str, kind: GroupKind) -> None:
    """A group that its members left is written again; only a classic one is marked as once used."""
    with lab.member(Side.TARGET, group, route.target_topic, kind):
        pass
    assert state_of(lab, group) == GroupState(name=group, exists=True, once_used=kind is GroupKind.CLASSIC)
    assert commit(lab, group, {route.target(): 9}) == {}
    assert offsets_of(lab, group) == GroupOffsets(offsets={route.target(): 9})


def test_once_used_group_made_anew(lab: Lab, route: Route, group: str) -> None:
    """A once used group that is deleted and committed to is one that nobody ever used."""
    with lab.member(Side.TARGET, group, route.target_topic, GroupKind.CLASSIC):
        pass
    lab.pair.target.delete_group(group, no_tick)
    assert not state_of(lab, group).exists
    commit(lab, group, {route.target(): 9})
    assert state_of(lab, group) == GroupState(name=group, exists=True)


def test_pending_offsets(lab: Lab, route: Route, group: str) -> None:
    """K67: offsets that an open transaction holds are given as they last were, and marked; others are not affected."""
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 3})
    lab.commit_offsets(Side.TARGET, group, {route.target(): 1})
    copier = route.copier()
    copier.begin()
    copier.add([], {route.target(): 8}, no_tick)
    found = lab.pair.target.group_offsets([route.group, group], no_tick)
    assert found == {
        route.group: GroupOffsets(offsets={route.target(): 3}, pending=frozenset({route.target()})),
        group: GroupOffsets(offsets={route.target(): 1}),
    }
    copier.abort()
    assert offsets_of(lab, route.group) == GroupOffsets(offsets={route.target(): 3})


def test_offsets_that_stay_held(lab: Lab, route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that does not end is named when stable offsets are asked for: no broker is to be waited for."""
    monkeypatch.setattr("airflow_provider_mm2.mirror.clusters.confluent.progress.COMMITTED_LIMIT_S", 1)
    monkeypatch.setattr("tests.fakes.reader.PENDING_LIMIT_S", 1)
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 3})
    copier = route.copier()
    copier.begin()
    copier.add([], {route.target(): 8}, no_tick)
    with pytest.raises(OffsetsHeld) as caught:
        lab.pair.target.committed(route.group, [route.target()], no_tick)
    assert caught.value.partitions == (str(route.target()),)
    copier.abort()
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): 3}
