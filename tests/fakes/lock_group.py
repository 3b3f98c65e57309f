"""A lock group: the member that came first owns the one partition, the others wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes.cluster import FakeCluster


class LockGroup:
    """Members in the order in which they came; the first one owns the partition."""

    def __init__(self) -> None:
        self.members: list[FakeMembership] = []

    @property
    def owner(self) -> FakeMembership | None:
        """Who owns the partition."""
        return self.members[0] if self.members else None

    def expire(self) -> None:
        """End the owner's session."""
        if self.members:
            self.members.pop(0)


class FakeMembership:
    """``Membership`` on a fake cluster. Like the real client it learns of joining and of losing in ``poll`` only.

    A waiting poll lets the clock pass; heartbeats go on without polls, so only ``FakeCluster.expire_member`` ends a
    session.
    """

    def __init__(self, cluster: FakeCluster, group: str, owner: str, session_s: float) -> None:
        self._cluster = cluster
        self._group = cluster.locks.setdefault(group, LockGroup())
        self.owner = owner
        self.session_s = session_s
        self._held = False
        self._lost = False
        self._left = False

    def poll(self, timeout_s: float) -> None:
        """Join, or learn of the present assignment."""
        self._cluster.reach()
        if self._left:
            return
        if self._held and self._group.owner is not self:
            self._held, self._lost = False, True
        if self not in self._group.members:
            self._group.members.append(self)
        if self._group.owner is self:
            self._held = True
        else:
            self._cluster.clock.advance(timeout_s)

    @property
    def held(self) -> bool:
        """Whether the partition is ours by the last poll."""
        return self._held

    @property
    def lost(self) -> bool:
        """Whether it was ours and was taken away."""
        return self._lost

    def holder(self) -> str | None:
        """Client id of the owner."""
        self._cluster.reach()
        return None if self._group.owner is None else self._group.owner.owner

    def leave(self) -> None:
        """Leave; the next member owns the partition from now on."""
        self._held, self._left = False, True
        if self in self._group.members:
            self._group.members.remove(self)
