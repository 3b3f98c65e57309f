"""Work beside the comparison: what a thread of its own does in order, and never far behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Self

AHEAD = 16
"""Pieces of work that may wait: each holds a batch of records."""


class Work(Protocol):
    """Does pieces of work one after the other."""

    def do(self, piece: Callable[[], None]) -> None:
        """Take one, to be done now or soon."""

    def wait(self) -> None:
        """Wait until all that was taken is done."""


class Now:
    """Does each at once."""

    def do(self, piece: Callable[[], None]) -> None:
        """Do it."""
        piece()

    def wait(self) -> None:
        """All is done."""


class Later:
    """Does them in a thread: hashing lets go of the interpreter's lock, so it costs the comparison no time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mm2-verify")
        self._waiting: deque[Future[None]] = deque()

    def do(self, piece: Callable[[], None]) -> None:
        """Take one; wait for the oldest where too many wait."""
        self._waiting.append(self._thread.submit(piece))
        while len(self._waiting) > AHEAD or (self._waiting and self._waiting[0].done()):
            self._waiting.popleft().result()

    def wait(self) -> None:
        """Wait for all."""
        while self._waiting:
            self._waiting.popleft().result()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End; what still waits is not done."""
        self._thread.shutdown(wait=True, cancel_futures=True)
