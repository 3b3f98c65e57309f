"""A flow that fails over and comes home, by the command line, under the same faults as a mirror run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.mirror.flow import MirrorFlow
from tests.proof.attempt import Outcome

COMMAND = (sys.executable, "-m", "airflow_provider_mm2.cli.main")
LIMIT_S = 300.0
TRIES = 8
BEGIN = {
    "planned": ("--apply", "--yes", "--quiet", "0"),
    "unplanned": ("--unplanned", "--apply", "--yes"),
    "failback": ("--apply", "--yes", "--quiet", "0"),
}


class Crossing:
    """One failover or failback: the process that begins it, seen as an attempt is, and those that go on.

    :param folder: gets the flow's file; what is started is tied to it.
    :param kind: ``planned``, ``unplanned`` or ``failback``.
    """

    def __init__(self, folder: Path, flow: MirrorFlow, kind: str) -> None:
        self._folder, self.kind = folder, kind
        self._file = folder / f"{flow.name}.yaml"
        self._file.write_text(flow.model_dump_json(exclude_unset=True), encoding="utf-8")  # JSON is YAML
        self._log = folder / f"{flow.name}-{kind}.log"
        self._command = "failback" if kind == "failback" else "failover"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, self._command, str(self._file), *BEGIN[kind]],
                env=self._environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether its first process is there."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._process.pid

    def release(self) -> None:
        """It is held nowhere."""

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        if self.running:
            psutil.Process(self.pid).kill()

    def outcome(self, limit_s: float = LIMIT_S) -> Outcome:
        """Wait for the end of the first process.

        :raises subprocess.TimeoutExpired: it did not end within the limit.
        """
        code = self._process.wait(limit_s)
        return Outcome(killed=True) if code < 0 else Outcome(error=f"exit {code}", retriable=True)

    def settle(self) -> str:
        """Go on until it is closed, as an operator would who reads what it says.

        :raises AssertionError: it is not, after a few tries.
        """
        story: list[str] = []
        for _ in range(TRIES):
            status = self._call("--status")
            if status.get("state") == "closed" and status.get("active_side") == self._goal:
                return f"{self.kind}: {', '.join([*story, 'closed'])}"
            under_way = status.get("state") in ("running", "awaiting approval")
            words = ("--resume", "--yes") if under_way else BEGIN[self.kind]
            document = self._call(*words)
            story.append(str(document.get("error", "went on")))
        raise AssertionError(f"{self.kind} is not closed: {story}, {self._call('--status')}\n{self._end_of_log()}")

    @property
    def _goal(self) -> str:
        return "source" if self.kind == "failback" else "target"

    def _call(self, *words: str) -> dict[str, Any]:
        """One more process; gives its document, or the error that it ended with."""
        called = subprocess.run(
            [*COMMAND, self._command, str(self._file), *words, "--json"],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{words}: exit {called.returncode}\n{called.stdout}\n{called.stderr}\n")
        lines = [line for line in called.stdout.splitlines() if line.startswith("{")]
        document: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return document if called.returncode == 0 else {"error": f"exit {called.returncode}", **document}

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(each for each in sys.path if each)
        return {**os.environ, **processes.mark_for_all(self._folder), "PYTHONPATH": path}

    def _end_of_log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-6000:]
