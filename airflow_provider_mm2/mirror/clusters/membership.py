"""What is needed of a lock group, as a Protocol: one member owns its one partition, and so holds the lock."""

from __future__ import annotations

from typing import Protocol


class Membership(Protocol):
    """Membership of a lock group: the member that owns the group's one partition holds the lock."""

    def poll(self, timeout_s: float) -> None:
        """Serve the group protocol for at most ``timeout_s`` seconds."""

    @property
    def held(self) -> bool:
        """Whether the partition is ours now."""

    @property
    def lost(self) -> bool:
        """Whether it was ours once and has been taken away; never becomes false again."""

    def holder(self) -> str | None:
        """Client id of the member that owns the partition, None when nobody does."""

    def leave(self) -> None:
        """Leave the group at once, so that a successor need not wait for the session to end."""
