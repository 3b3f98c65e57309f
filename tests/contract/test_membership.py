"""``Membership``: one holder of a lock group at a time, and a newcomer never takes the lock away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from airflow_provider_mm2.mirror.clusters.membership import Membership
from tests.contract.lab import Lab, Side

LIMIT_S = 60.0
SESSION_S = 6.0

Join = Callable[[str], Membership]


@pytest.fixture
def join(lab: Lab) -> Iterator[Join]:
    """Make members-to-be of one lock group; all leave when the test is over."""
    topic, group = lab.new_name(), lab.new_name()
    lab.create_topic(Side.TARGET, topic)
    members: list[Membership] = []

    def make(owner: str) -> Membership:
        members.append(lab.pair.target.membership(group, topic, owner, SESSION_S))
        return members[-1]

    yield make
    for member in members:
        member.leave()


def poll_until_held(member: Membership, *others: Membership) -> None:
    """Let all members serve the group until ``member`` holds the lock."""
    deadline = time.monotonic() + LIMIT_S
    while not member.held:
        assert time.monotonic() < deadline, "the lock was not obtained"
        for each in (member, *others):
            each.poll(0.1)


def test_alone_holds(join: Join) -> None:
    """A member alone gets the lock, and is known as its holder by its name."""
    member = join("host-1:100")
    assert not member.held
    poll_until_held(member)
    assert member.held
    assert not member.lost
    assert (member.holder() or "").startswith("host-1:100")


def test_nobody_holds(join: Join) -> None:
    """A lock that its holder has left is nobody's."""
    member = join("host-1:100")
    poll_until_held(member)
    member.leave()
    assert member.holder() is None


def test_newcomer_waits(join: Join) -> None:
    """A second member does not get the lock while the first lives, and the first notices nothing."""
    first = join("first")
    poll_until_held(first)
    second = join("second")
    for _ in range(40):
        second.poll(0.1)
        first.poll(0.1)
        assert first.held
        assert not second.held
    assert not first.lost
    assert (second.holder() or "").startswith("first")


def test_successor_after_leaving(join: Join) -> None:
    """A waiting member gets the lock once the holder has left, long before a session could end."""
    first = join("first")
    poll_until_held(first)
    second = join("second")
    for _ in range(10):
        second.poll(0.1)
        first.poll(0.1)
    first.leave()
    assert not first.held
    assert not first.lost
    poll_until_held(second)
    assert (second.holder() or "").startswith("second")


def test_leave_twice(join: Join) -> None:
    """Leaving twice is fine, also for a member that never held the lock or never polled."""
    member = join("member")
    poll_until_held(member)
    member.leave()
    member.leave()
    assert not member.held
    never = join("never")
    never.leave()
    never.leave()
    assert not never.held


def test_locks_are_apart(lab: Lab, join: Join) -> None:
    """Groups over one topic are locks of their own."""
    topic = lab.new_name()
    lab.create_topic(Side.TARGET, topic)
    shards = [lab.pair.target.membership(lab.new_name(), topic, "owner", SESSION_S) for _ in range(2)]
    for shard in shards:
        poll_until_held(shard)
    assert all(shard.held for shard in shards)
    for shard in shards:
        shard.leave()
