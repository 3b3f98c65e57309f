"""Reading group offsets in a child process: what becomes of it when the child dies, or is not heard to the end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.clusters.confluent import offset_fetch
from airflow_provider_mm2.mirror.clusters.confluent.offset_fetch import OffsetFetcher

CHILD = """
import json, os, signal, sys
sys.stdin.readline()
for line in sys.stdin:
    for group in json.loads(line)["groups"]:
        if group.startswith("deadly") or (group.startswith("once") and not os.path.exists({mark!r} + group)):
            open({mark!r} + group, "w").close()
            os.kill(os.getpid(), signal.SIGSEGV)
        print(json.dumps({{"group": group, "pid": os.getpid(), "partitions": []}}), flush=True)
    print("{{}}", flush=True)
"""


@pytest.fixture
def fetcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OffsetFetcher]:
    """Give a fetcher whose child dies as the client library does, of groups called so."""
    (tmp_path / "dying_child.py").write_text(CHILD.format(mark=str(tmp_path / "mark-")), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(offset_fetch, "CHILD", "dying_child")
    monkeypatch.setattr(offset_fetch, "AGAIN_S", 0.01)
    made = OffsetFetcher({"bootstrap.servers": "nowhere:1"})
    yield made
    made.close()


def fetch(fetcher: OffsetFetcher, *groups: str, limit_s: float = 5.0) -> dict[str, int]:
    """Ask for groups; the process that answered for each."""
    until = time.monotonic() + limit_s
    found = fetcher.fetch(groups, stable=True, limit_s=1, until=until, tick=lambda: None)
    return {group: answer["pid"] for group, answer in found.items()}


def test_one_child_serves_many_questions(fetcher: OffsetFetcher) -> None:
    """It is started once, and lives on for the next question."""
    first, second = fetch(fetcher, "a", "b"), fetch(fetcher, "c")
    assert set(first.values()) == set(second.values())
    assert set(first) | set(second) == {"a", "b", "c"}


def test_a_child_that_dies_is_asked_again(fetcher: OffsetFetcher) -> None:
    """What it had answered stands, and another child answers the rest."""
    found = fetch(fetcher, "a", "once", "b")
    assert list(found) == ["a", "once", "b"]
    assert found["a"] != found["once"]


@pytest.mark.thorough
def test_a_child_that_dies_again_and_again(fetcher: OffsetFetcher) -> None:
    """In the end that group alone is left out, within the time that was given; a later question is answered."""
    began = time.monotonic()
    assert sorted(fetch(fetcher, "a", "deadly", "b", limit_s=1.5)) == ["a", "b"]
    assert time.monotonic() - began < 10
    assert list(fetch(fetcher, "c")) == ["c"]


def test_a_question_that_was_broken_off(fetcher: OffsetFetcher) -> None:
    """Answers nobody waited for are not taken for those of the next question."""
    pid = fetch(fetcher, "a")["a"]
    os.kill(pid, signal.SIGSTOP)

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        fetcher.fetch(["b"], stable=True, limit_s=1, until=time.monotonic() + 5, tick=stop)
    assert list(fetch(fetcher, "c")) == ["c"]
