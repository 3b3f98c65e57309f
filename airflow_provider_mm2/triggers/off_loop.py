"""Calls that block, made beside the event loop that all triggers of a triggerer share."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

T = TypeVar("T")

CALLS_AT_ONCE = 16
"""Threads for all triggers of this package together; the others wait their turn."""


@cache
def _pool(pid: int) -> ThreadPoolExecutor:
    """Threads of our own: those of ``asyncio.to_thread`` also look up host names for every other trigger, and a dead
    cluster would hold them for its time limit. By process, since threads do not survive a fork.
    """
    return ThreadPoolExecutor(max_workers=CALLS_AT_ONCE, thread_name_prefix="mm2-trigger")


async def off_loop(call: Callable[[], T]) -> T:
    """What a blocking call gives, made in a thread; what it logs is the trigger's.

    A cancelled wait leaves the call running: whoever cancels tells it to stop.
    """
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool(os.getpid()), context.run, _letting_go, call)


def _letting_go(call: Callable[[], T]) -> T:
    """Make the call and, when it fails, take the local variables out of the error's traceback.

    They hold clients, which end with their last reference: in the loop, where the error is looked at, that blocked it
    for seconds when the cluster was gone.
    """
    try:
        return call()
    except BaseException as error:
        link: BaseException | None = error
        while link is not None:
            traceback.clear_frames(link.__traceback__)
            link = link.__cause__ or link.__context__
        raise
