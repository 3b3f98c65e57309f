"""Processes are found by the mark on their command line, and strangers are left alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.wait import poll

Sleeper = Callable[..., subprocess.Popen[bytes]]
IGNORES_SIGTERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Sleeper]:
    """Start processes that do nothing for a minute, ended after the test."""
    started = []

    def start(*arguments: str, program: str = "import time; time.sleep(60)") -> subprocess.Popen[bytes]:
        process = processes.launch([sys.executable, "-S", "-c", program, *arguments], log_file=tmp_path / "sleeper.log")
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def pids(found: list[psutil.Process]) -> list[int]:
    return sorted(process.pid for process in found)


def test_finds_its_own_alone(sleeper: Sleeper, tmp_path: Path) -> None:
    """A folder's processes and those of folders inside are found, not those of a folder with a longer name."""
    own = sleeper(processes.mark(tmp_path / "a"))
    inner = sleeper(processes.mark(tmp_path / "a" / "b"))
    sleeper(processes.mark(tmp_path / "ab"))
    sleeper(str(tmp_path / "a"))
    expected = sorted([own.pid, inner.pid])
    assert poll(lambda: pids(processes.find(tmp_path / "a")) == expected, timeout_s=10)
    assert pids(processes.find_exactly(tmp_path / "a")) == [own.pid]


def test_ends_its_own_alone(sleeper: Sleeper, tmp_path: Path) -> None:
    """Ending a folder ends what carries its mark and nothing else."""
    own, stranger = sleeper(processes.mark(tmp_path / "a")), sleeper(str(tmp_path / "a"))
    assert poll(lambda: processes.find(tmp_path / "a"), timeout_s=10)
    assert processes.end(tmp_path / "a") == [own.pid]
    assert own.poll() is not None
    assert stranger.poll() is None


def test_kills_what_does_not_stop(sleeper: Sleeper, tmp_path: Path) -> None:
    """A process that ignores SIGTERM is killed when its time is over."""
    process = sleeper(processes.mark(tmp_path), program=IGNORES_SIGTERM)
    assert poll(lambda: (tmp_path / "sleeper.log").read_bytes(), timeout_s=10)
    assert processes.end(tmp_path, grace_s=0.1) == [process.pid]
    assert process.wait() == -9


def test_nothing_to_end(tmp_path: Path) -> None:
    """Ending a folder without processes does nothing, whether it exists or not."""
    assert processes.end(tmp_path / "absent") == []
