"""Attempts as child processes, seen from the test that starts, wakes and ends them."""

from __future__ import annotations

import json
import re
import signal
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.flow import MirrorFlow
from tests.proof.nursery import Nursery
from tests.proof.points import Action, Fault
from tests.proof.trap import mark_of, release_of

LIMIT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended: killed, or with an error of ours, or done."""

    killed: bool = False
    error: str | None = None
    retriable: bool = False
    text: str = ""
    summary: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        """Whether the run says that it succeeded."""
        return self.summary is not None

    @property
    def records(self) -> int:
        """Records that a successful run copied."""
        assert self.summary is not None, str(self)
        return int(self.summary["records"])

    def __str__(self) -> str:
        """Short, for messages."""
        if self.killed:
            return "killed"
        return "done" if self.done else f"{self.error} (retriable: {self.retriable}): {self.text}"


Start = Callable[..., "Attempt"]

CLIENT_ASSERTION = re.compile(r"rdkafka_\w+\.[ch]:\d+: \w+: Assertion `")


class Attempt:
    """One child process that runs a flow once, perhaps with faults.

    :param nursery: forks its process.
    :param folder: its files go into a new folder below; what it starts is tied to ``folder``.
    :param owner: the name it holds leases under.
    :param shard: run this shard alone, as one of several tasks does; else the whole flow.
    :param until: the interval's end; else all there is.
    :param small_batches: read a few records at a time, so that a chunk's limits count.
    """

    def __init__(
        self,
        nursery: Nursery,
        folder: Path,
        flow: MirrorFlow,
        *faults: Fault,
        owner: str = "attempt",
        shard: int | None = None,
        until: datetime | None = None,
        small_batches: bool = True,
    ) -> None:
        self.faults: Sequence[Fault] = faults
        self.folder = folder / f"{owner}-{uuid.uuid4().hex[:6]}"
        self.folder.mkdir()
        job = {
            "flow": flow.model_dump_json(),
            "faults": [fault.to_json() for fault in faults],
            "folder": str(self.folder),
            "owner": owner,
            "shard": shard,
            "until": None if until is None else until.isoformat(),
            "small_batches": small_batches,
        }
        job_file = self.folder / "job.json"
        job_file.write_text(json.dumps(job), encoding="utf-8")
        self._process = nursery.begin(job_file, folder=folder, log_file=self.folder / "log")

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The end of what it wrote."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-6000:]

    def landed(self, index: int = 0) -> bool:
        """Whether a fault has landed.

        :raises AssertionError: it landed somewhere else than it should.
        """
        mark = mark_of(self.folder, index)
        if not mark.exists() or not (where := mark.read_text(encoding="utf-8")):
            return False
        assert where == self.faults[index].landing, self._story()
        return True

    def await_landing(self, index: int = 0) -> bool:
        """Wait until a fault has landed and done what it does: the process is gone, standing still or holding.

        :returns: False when the attempt ended before the fault could land.
        :raises AssertionError: nothing of both within the limit.
        """

        def settled() -> bool:
            fault = self.faults[index]
            goes_on = fault.action is Action.HOLD or fault.victim is not None
            if goes_on and self.landed(index):
                return True
            return not self.running or (fault.action is Action.FREEZE and self._stands_still())

        self._until(settled, f"a landing ({self.faults[index].landing})")
        return self.landed(index)

    def _stands_still(self) -> bool:
        try:
            return psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED
        except psutil.NoSuchProcess:
            return False

    def wake(self) -> None:
        """SIGCONT."""
        psutil.Process(self._process.pid).resume()

    def release(self, index: int = 0) -> None:
        """End a hold."""
        release_of(self.folder, index).touch()

    def kill(self) -> None:
        """SIGKILL from outside."""
        self._process.kill()

    def outcome(self, limit_s: float = LIMIT_S) -> Outcome:
        """Wait for its end.

        The client library ends a process by an assertion of its own now and then, when a broker that was frozen or
        killed comes back: to whoever runs the attempts that is a kill like any other.

        :raises AssertionError: it did not end within the limit, or crashed, or died of something else than these.
        """
        self._until(lambda: not self.running, "its end", limit_s)
        file = self.folder / "outcome"
        if not file.exists():
            by_the_client = self._process.returncode == -signal.SIGABRT and CLIENT_ASSERTION.search(self.log)
            assert self._process.returncode == -signal.SIGKILL or by_the_client, self._story()
            return Outcome(killed=True)
        outcome = Outcome(**json.loads(file.read_text(encoding="utf-8")))
        assert outcome.error != "crash", outcome.text
        return outcome

    def end(self) -> None:
        """See to it that its process is gone."""
        self._process.kill()
        assert poll(lambda: not self.running, timeout_s=LIMIT_S), self.folder.name

    def _until(self, condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
        assert poll(condition, timeout_s=limit_s, interval_s=0.02), f"no sign of {what}\n{self._story()}"

    def _story(self) -> str:
        """Its log, and where it stands if it still runs."""
        if self.running and not self._stands_still():
            self._process.send_signal(signal.SIGUSR1)
            poll(lambda: "most recent call first" in self.log, timeout_s=5)
        faults = ", ".join(fault.landing for fault in self.faults) or "no fault"
        return f"{self.folder.name} ({faults}):\n{self.log}"


@contextmanager
def attempts(nursery: Nursery, folder: Path) -> Iterator[Start]:
    """Give a function that starts attempts: ``start(flow, fault=..., owner="second")``; all are gone at the end."""
    with ExitStack() as stack:

        def begin(*arguments: Any, **settings: Any) -> Attempt:
            attempt = Attempt(nursery, folder, *arguments, **settings)
            stack.callback(attempt.end)
            return attempt

        yield begin
