"""A process that has imported all that an attempt needs, and forks itself for each: ``python -m tests.proof.nursery``.

Half of the processor time of a short attempt was the import of the mirror. The nursery has no client and no thread, so
a fork of it is what a fresh process is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from airflow_provider_mm2.local import processes
from tests.proof import child

ROOT = Path(__file__).resolve().parents[2]


class Nursery:
    """The forking process, seen from the test's; any thread may ask it.

    :param folder: the process and all it forks are tied to it.
    """

    def __init__(self, folder: Path) -> None:
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **processes.mark_for_all(folder), "PYTHONPATH": str(ROOT)},
            start_new_session=True,
            text=True,
        )

    def begin(self, job_file: Path, *, folder: Path, log_file: Path) -> Forked:
        """Begin an attempt.

        :param folder: what the attempt starts itself is tied to it.
        """
        log_file.touch()  # a story may be told before the attempt has written
        job = {"job": str(job_file), "log": str(log_file), "variables": processes.mark_for_all(folder)}
        return Forked(self, int(self.ask(job)))

    def ask(self, question: dict[str, Any]) -> Any:
        """Give its answer."""
        with self._turn:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


class Forked:
    """One forked process, with what ``Popen`` has for it."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._nursery = nursery

    def poll(self) -> int | None:
        """Its return code when it has ended: minus the signal that killed it."""
        if self.returncode is None:
            self.returncode = self._nursery.ask({"poll": self.pid})
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def main() -> None:
    """Fork for each job, tell of each fork, until the test's process closes the pipe."""
    for line in iter(sys.stdin.readline, ""):
        question = json.loads(line)
        if "poll" in question:
            answer = _return_code(question["poll"])
        elif not (answer := os.fork()):
            _become(question)
            return child.main(question["job"])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    return None


def _return_code(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _become(job: dict[str, Any]) -> None:
    """Let go of all that is the nursery's: session, pipes, mark."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(job["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for own, taken in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(own, taken)
    os.close(nothing)
    os.close(log)
    os.environ.update(job["variables"])


if __name__ == "__main__":
    main()
