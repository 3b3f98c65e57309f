"""Run a module in a process of its own, so that its CPU seconds and its peak memory are its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Job = Mapping[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a child answered, and what it took from start to exit, imports included.

    ``peak_bytes`` is the most resident memory it had.
    """

    answer: Answer
    wall_s: float
    cpu_s: float
    peak_bytes: int


def run_child(module: str, job: Job) -> Finished:
    """Run ``python -m module`` with a job on its standard input and its answer on its standard output.

    :raises RuntimeError: the child failed; its error is on standard error.
    """
    began = time.monotonic()
    child = subprocess.Popen([sys.executable, "-m", module], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("no pipes")
    with child.stdin, child.stdout:
        child.stdin.write(json.dumps(job).encode())
        child.stdin.close()
        answer = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{module} ended with {child.returncode}")
    done = json.loads(answer)
    return Finished(
        answer=done,
        wall_s=time.monotonic() - began,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_bytes=done.pop("peak_bytes"),
    )


def serve(work: Callable[[Job], Answer]) -> None:
    """Be the child: read the job, do it, write the answer."""
    answer = work(json.load(sys.stdin))
    json.dump({**answer, "peak_bytes": peak_bytes()}, sys.stdout)


def peak_bytes() -> int:
    """Peak resident memory of this program; what ``getrusage`` says is at least that of whoever started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
