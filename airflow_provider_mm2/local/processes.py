"""Start, find and end the processes of a folder, by a mark on their command line or in their environment.

No pid is ever read from a file. A process belongs to a folder when it carries the folder's mark, so a stale state,
a half-written state or a pid that the system gave to somebody else cannot make us end a stranger; psutil compares
the creation time once more before each signal.
"""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from airflow_provider_mm2.local.errors import StillRunning
from airflow_provider_mm2.local.wait import poll

MARK = "-Dmm2.local="
VARIABLE = "MM2_LOCAL_FOLDER"

# Popen warns when it is collected while its child runs, and children that nobody waits for stay as zombies.
_children: list[subprocess.Popen[bytes]] = []


@atexit.register
def _disown() -> None:
    """Keep Popen from warning at exit about processes that outlive this one on purpose."""
    for child in _children:
        child.returncode = child.poll() or 0


def mark(folder: Path) -> str:
    """Give the JVM option that ties a process to ``folder``."""
    return f"{MARK}{folder.resolve()}"


def mark_for_all(folder: Path) -> dict[str, str]:
    """Give the variable that ties a program and all it starts to ``folder``, for those that take no JVM option."""
    return {VARIABLE: str(folder.resolve())}


def launch(
    command: Sequence[str], *, log_file: Path, env: Mapping[str, str | None] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that outlives this one, out of reach of the terminal's Ctrl-C, writing to ``log_file``.

    :param command: program and arguments; put ``mark(folder)`` among them to find the process again.
    :param log_file: both outputs are appended to it; its folder is made when absent.
    :param env: variables added to those of this process, ``None`` takes one away; ``mark_for_all(folder)`` among
        them ties children too.
    """
    _children[:] = [child for child in _children if child.poll() is None]
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - the command is built here, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={name: value for name, value in {**os.environ, **(env or {})}.items() if value is not None},
            start_new_session=True,
        )
    _children.append(child)
    return child


def find(folder: Path) -> list[psutil.Process]:
    """List the living processes that carry the mark of ``folder`` or of a folder inside it."""
    own = mark(folder)
    inside = own.rstrip(os.sep) + os.sep
    return [
        process
        for process in psutil.process_iter()
        if any(argument == own or argument.startswith(inside) for argument in _marks(process))
    ]


def find_exactly(folder: Path) -> list[psutil.Process]:
    """List the living processes that carry the mark of ``folder`` itself."""
    own = mark(folder)
    return [process for process in psutil.process_iter() if own in _marks(process)]


def _marks(process: psutil.Process) -> list[str]:
    """Give what of a process may be a mark: its arguments, and its variable in the form of an argument."""
    try:
        folder = process.environ().get(VARIABLE)
        return [*process.cmdline(), *([] if folder is None else [f"{MARK}{folder}"])]
    except psutil.Error:  # gone, a zombie, or of a user whose processes we may not read: none of ours
        return []


def end(folder: Path, *, grace_s: float = 20.0) -> list[int]:
    """End every process of ``folder``: SIGTERM, then SIGKILL for those still there after ``grace_s``.

    :param grace_s: seconds a process gets to stop cleanly; 0 sends SIGKILL at once.
    :returns: the pids that were ended.
    :raises StillRunning: a process outlived SIGKILL by ten seconds, or belongs to another user.
    """
    ended = left = find(folder)
    if grace_s > 0:
        left = _signal(left, psutil.Process.terminate, wait_s=grace_s)
    left = _signal(left, psutil.Process.kill, wait_s=10.0)
    if left:
        raise StillRunning(directory=str(folder), pids=", ".join(str(process.pid) for process in left))
    return [process.pid for process in ended]


def _signal(
    processes: list[psutil.Process], send: Callable[[psutil.Process], None], *, wait_s: float
) -> list[psutil.Process]:
    """Send one signal to all, and give those that are still there after ``wait_s``."""
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            send(process)
    poll(lambda: not any(map(alive, processes)), timeout_s=wait_s if processes else 0)
    _children[:] = [child for child in _children if child.poll() is None]
    return [process for process in processes if alive(process)]


def alive(process: psutil.Process) -> bool:
    """Tell whether a process still runs; one of which only the exit code is left does not.

    Of a killed JVM the main thread is a zombie first, while others still hold its ports and file locks.
    """
    try:
        return process.is_running() and (process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1)
    except psutil.NoSuchProcess:
        return False
