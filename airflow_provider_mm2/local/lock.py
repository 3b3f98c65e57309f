"""A lock between processes that ends with the process that holds it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from airflow_provider_mm2.local.errors import FolderBusy
from airflow_provider_mm2.local.wait import poll


@contextmanager
def locked(lock_file: Path, *, timeout_s: float = 300.0) -> Iterator[None]:
    """Hold ``lock_file`` for the block; the kernel frees it when the process dies, whatever way.

    The file stays: removing it would let two holders lock two different files of one name.

    :param lock_file: made with its folder when absent.
    :param timeout_s: seconds to wait for another holder.
    :raises FolderBusy: the other holder kept it longer than that.
    """
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("a") as handle:
        if not poll(lambda: _taken(handle), timeout_s=timeout_s, interval_s=0.1):
            raise FolderBusy(lock_file=str(lock_file), timeout_s=timeout_s)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def _taken(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
