"""End the Java processes of a folder when the process that owns it dies, even by SIGKILL.

The guard is a small process of its own that looks at its owner twice a second: the kernel's parent death signal
would do the same on Linux alone, and only while the very thread that started the broker lives.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

import psutil

from airflow_provider_mm2.local import processes

logger = logging.getLogger(__name__)


def guard_folder(folder: Path, *, owner_pid: int | None = None) -> None:
    """Tie all processes started in ``folder`` or below it, now or later, to the life of one process.

    They end within about a second of the owner. The guard itself ends right after.

    :param owner_pid: the process to watch, this one by default.
    """
    owner = psutil.Process(owner_pid)
    program = [sys.executable, "-m", __name__, str(folder.resolve()), str(owner.pid), repr(owner.create_time())]
    processes.launch(program, log_file=folder / "guard.log")


def watch(folder: Path, owner_pid: int, owner_create_time: float) -> None:
    """Wait for the owner to end, then end what runs in ``folder``."""
    try:
        owner = psutil.Process(owner_pid)
        # A clock set in between moves the creation time a little; another process with this pid is far off.
        while abs(owner.create_time() - owner_create_time) < 5 and processes.alive(owner):
            time.sleep(0.5)
    except psutil.NoSuchProcess:
        logger.info("process %d was gone before its guard began", owner_pid)
    # A process the owner started last may have no mark yet, between its fork and its exec: look once more.
    processes.end(folder, grace_s=0)
    time.sleep(0.5)
    processes.end(folder, grace_s=0)


if __name__ == "__main__":
    os.chdir("/")  # the folder it was started in may be deleted
    watch(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
