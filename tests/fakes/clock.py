"""Time that moves only when a test, or a fake that waits, moves it."""

from __future__ import annotations

from collections.abc import Callable

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


class FakeClock:
    """A clock for both clusters of a pair; ``watchers`` are called after each move."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms
        self.watchers: list[Callable[[], None]] = []

    def monotonic(self) -> float:
        """Seconds, for code that takes ``time.monotonic``."""
        return self.now_ms / 1000

    def time(self) -> float:
        """Seconds since 1970, for code that takes ``time.time``."""
        return self.now_ms / 1000

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ms += round(seconds * 1000)
        for watcher in self.watchers:
            watcher()
