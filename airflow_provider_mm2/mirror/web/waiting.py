"""Waiting for somebody else's code, or for a state, with a tick all the while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from airflow_provider_mm2.mirror.clusters.ports import Tick

T = TypeVar("T")

TICK_S = 0.5
"""Under the second within which a tick is owed."""


def ticked(call: Callable[[], T], tick: Tick) -> T:
    """What a call gives that blocks for as long as a service takes, up to its own limit.

    Where the tick raises, the call is left to end by itself: what it wrote is found when the work is taken up again.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(call())
        except BaseException as error:  # noqa: BLE001 # raised again by the caller
            failed.append(error)

    tick()  # who has lost a lease meanwhile sends nothing any more
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        tick()
        thread.join(TICK_S)
    if failed:
        raise failed[0]
    return done[0]


def wait_until(check: Callable[[], bool], tick: Tick, *, limit_s: float, interval_s: float = 0.2) -> bool:
    """Whether it was so within the limit; asked at least once."""
    deadline = time.monotonic() + limit_s
    while not check():
        if time.monotonic() >= deadline:
            return False
        pause(tick, interval_s)
    return True


def pause(tick: Tick, seconds: float) -> None:
    """Let time pass between two questions."""
    tick()
    time.sleep(min(seconds, TICK_S))
