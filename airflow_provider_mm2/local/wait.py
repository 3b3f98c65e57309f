"""Wait for a condition with a deadline: the one place that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def poll(check: Callable[[], T], *, timeout_s: float, interval_s: float = 0.05) -> T:
    """Call ``check`` until it gives something true or the time is over.

    :param check: called at least once, also with a timeout of 0.
    :param timeout_s: seconds from now, 0 or more; the last call may start at the deadline.
    :param interval_s: seconds between two calls.
    :returns: the first true result, else the last result.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        result = check()
        if result or time.monotonic() >= deadline:
            return result
        time.sleep(interval_s)
