"""Reading group offsets in a process of its own, since the client library can end the process that asks.

librdkafka (2.16 and before, its issue 5040) crashes when a broker answers ``NOT_COORDINATOR`` to an admin client that
lists a group's offsets: while a cluster's coordinators move, which is when they are asked for most. Nothing in Python
can catch that, so it happens in a child, which is started anew and asked again.
"""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from typing import IO, Any

from airflow_provider_mm2.mirror.clusters.config import Settings
from airflow_provider_mm2.mirror.clusters.ports import Tick

log = logging.getLogger(__name__)

CHILD = "airflow_provider_mm2.mirror.clusters.confluent.offset_fetch_child"
AGAIN_S = 0.3
"""Pause after the child died: coordinators take a moment to settle."""


class OffsetFetcher:
    """Asks for group offsets; the child is started when it is first needed and ends with this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._child: subprocess.Popen[bytes] | None = None

    def fetch(
        self, groups: Collection[str], *, stable: bool, limit_s: float, until: float, tick: Tick
    ) -> dict[str, dict[str, Any]]:
        """What is said of each group: ``partitions`` as [topic, partition, offset, metadata, error code or None], or
        ``code`` and ``problem``. A group is left out when the child died of it again and again.

        :param limit_s: longest wait for one group's coordinator.
        :param until: time of the monotonic clock after which a child that died is not started again.
        """
        found: dict[str, dict[str, Any]] = {}
        left = [list(groups)]
        while left:
            asked = left.pop(0)
            for answer in self._ask(asked, stable=stable, limit_s=limit_s, tick=tick):
                found[answer.pop("group")] = answer
            missing = [group for group in asked if group not in found]
            if missing and time.monotonic() > until:
                break
            if missing:
                log.info("the client library ended while it read group offsets (its issue 5040); asking again")
                half = (len(missing) + 1) // 2  # a group that it always ends at is not to take the others with it
                left += [some for some in (missing[:half], missing[half:]) if some]
                time.sleep(AGAIN_S)
        return found

    def _ask(self, groups: list[str], *, stable: bool, limit_s: float, tick: Tick) -> Iterator[dict[str, Any]]:
        """Answers as they come; they end early when the child dies.

        A child that was not heard to the end is let go: what it still has to say would be taken for later answers.
        """
        is_whole = False
        try:
            child = self._running()
            _write(child.stdin, {"groups": groups, "stable": stable, "limit_s": limit_s})
            for line in _lines(child.stdout, tick):
                answer = json.loads(line)
                if not answer:
                    is_whole = True
                    return
                yield answer
        except BrokenPipeError:
            return  # it died before it read the question
        finally:
            if not is_whole:
                self.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            # What the library logs goes nowhere: the parent's own clients tell of the same connections.
            self._child = subprocess.Popen(  # noqa: S603 - this Python and a module of ours
                [sys.executable, "-m", CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            _write(self._child.stdin, dict(self._settings))
        return self._child

    def close(self) -> None:
        """Let the child go."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()


def _write(pipe: IO[bytes] | None, document: object) -> None:
    if pipe is None:
        raise BrokenPipeError
    pipe.write(json.dumps(document).encode() + b"\n")
    pipe.flush()


def _lines(pipe: IO[bytes] | None, tick: Tick) -> Iterator[bytes]:
    """Lines of a pipe until it ends, ticking while none comes."""
    if pipe is None:
        return
    rest = b""
    while True:
        tick()
        if not select.select([pipe], [], [], 0.1)[0]:
            continue
        data = os.read(pipe.fileno(), 1 << 20)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
