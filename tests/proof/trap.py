"""Ports that pass everything on, and let the attempt kill or freeze itself at one named point.

Only the tests use them: the shipped code has no switch for faults.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.model import CopierSettings
from tests.proof.points import Action, Fault, Moment, Stage

HOLD_LIMIT_S = 60.0
"""Longest hold: a test that fails must not leave an attempt that waits for ever."""

_SIGNALS = {Action.KILL: signal.SIGKILL, Action.FREEZE: signal.SIGSTOP}


def mark_of(folder: Path, index: int) -> Path:
    """File that says where a fault landed."""
    return folder / f"mark-{index}"


def release_of(folder: Path, index: int) -> Path:
    """File that ends a hold."""
    return folder / f"release-{index}"


class Trap:
    """Counts how often the faults' points are passed, and acts when the turn of one has come.

    :param folder: where the marks go, written and closed before it acts, and where a hold waits for its release.
    """

    def __init__(self, faults: Sequence[Fault], folder: Path) -> None:
        self.stage = Stage.PREPARE
        self._folder = folder
        self._waiting = dict(enumerate(faults))
        self._passed = dict.fromkeys(self._waiting, 0)

    def at(self, moment: Moment, call: str) -> None:
        """Act if this is a point of a fault and its turn has come."""
        for index in self._due(moment, call):
            self._act(index)

    def _due(self, moment: Moment, call: str) -> list[int]:
        """Count a passing; the faults whose turn it is."""
        here = (self.stage, moment, call)
        passed = [i for i, fault in self._waiting.items() if (fault.stage, fault.moment, fault.call) == here]
        for index in passed:
            self._passed[index] += 1
        return [index for index in passed if self._passed[index] >= self._waiting[index].nth]

    def _act(self, index: int) -> None:
        """Mark, then do it; after a freeze or a hold the attempt goes on."""
        fault = self._waiting.pop(index)
        mark_of(self._folder, index).write_text(fault.landing, encoding="utf-8")
        if fault.action is Action.HOLD:
            deadline = time.monotonic() + HOLD_LIMIT_S
            while not release_of(self._folder, index).exists() and time.monotonic() < deadline:
                time.sleep(0.02)
        else:
            os.kill(fault.victim or os.getpid(), _SIGNALS[fault.action])

    def inside(self, call: str, run: Callable[[], Any]) -> Any:
        """Run a call; if it is a point, a thread acts while it runs.

        A call that ends before the thread's delay is over was missed: at the next passing the delay is half.
        """
        due = self._due(Moment.INSIDE, call)
        if not due:
            return run()
        index = due[0]
        fault = self._waiting[index]
        missed = self._passed[index] - fault.nth
        delay_s = 0.0 if missed > 2 else fault.delay_ms / 1000 / 2**missed
        began, over = threading.Event(), threading.Event()

        def act() -> None:
            began.set()
            if not over.wait(delay_s):
                self._act(index)

        thread = threading.Thread(target=act, daemon=True)
        thread.start()
        began.wait()
        try:
            return run()
        finally:
            over.set()
            thread.join()


class Trapped:
    """An object whose method calls all pass the trap first and last."""

    def __init__(self, inner: Any, name: str, trap: Trap) -> None:
        self._inner = inner
        self._name = name
        self._trap = trap

    def __getattr__(self, name: str) -> Any:
        """The inner object's attribute; a method of it with the trap around."""
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            return self._call(f"{self._name}.{name}", value, arguments, named)

        return call

    def _call(self, call: str, method: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self._trap.at(Moment.BEFORE, call)
        result = self._trap.inside(call, lambda: method(*arguments, **named))
        self._trap.at(Moment.AFTER, call)
        return result


class TrappedCopier(Trapped):
    """A copy engine, also with the ticks inside its copy and its commit, but the first."""

    def copy(self, limits: Any, tick: Callable[[], None]) -> None:
        """Copy."""
        call = f"{self._name}.copy"
        self._call(call, self._inner.copy, (limits, self._ticking(call, tick)), {})

    def commit(self, tick: Callable[[], None]) -> None:
        """Commit."""
        call = f"{self._name}.commit"
        self._call(call, self._inner.commit, (self._ticking(call, tick),), {})

    def _ticking(self, call: str, tick: Callable[[], None]) -> Callable[[], None]:
        first = True

        def ticking() -> None:
            nonlocal first
            if not first:
                self._trap.at(Moment.TICK, call)
            first = False
            tick()

        return ticking


class TrappedMembership(Trapped):
    """A membership; the poll that brings the lock is the point ``membership.acquired``."""

    def poll(self, timeout_s: float) -> None:
        """Serve the group protocol."""
        before = self._inner.held
        self._inner.poll(timeout_s)
        if self._inner.held and not before:
            self._trap.at(Moment.AFTER, f"{self._name}.acquired")


class TrappedTarget(Trapped):
    """The target cluster; calls on state topics carry which one."""

    def read_state(self, partition: Any, tick: Callable[[], None], *, start: int = 0) -> Any:
        """Read a state topic."""
        kinds = {naming.gate_topic("")[:9]: "gate", naming.ledger_topic("")[:15]: "ledger"}
        kind = next((kind for prefix, kind in kinds.items() if partition.topic.startswith(prefix)), "groups")
        arguments, named = (partition, tick), {"start": start}
        return self._call(f"{self._name}.read_state {kind}", self._inner.read_state, arguments, named)

    def create_topics(self, topics: Any) -> None:
        """Create topics."""
        kind = "internal" if all(topic.name.endswith(".internal") for topic in topics) and topics else "data"
        self._call(f"{self._name}.create_topics {kind}", self._inner.create_topics, (topics,), {})

    def membership(self, group: str, topic: str, owner: str, session_s: float) -> Any:
        """Make a member of a lock group; those of a shard and of the groups begin their stages."""
        if group.endswith(".groups.lease"):
            self._trap.stage = Stage.GROUPS
        elif not group.endswith(".control.lease"):
            self._trap.stage = Stage.SHARD
        made = self._call(f"{self._name}.membership", self._inner.membership, (group, topic, owner, session_s), {})
        return TrappedMembership(made, "membership", self._trap)

    def state_writer(self, transactional_id: str) -> Any:
        """Make a state writer."""
        return Trapped(self._inner.state_writer(transactional_id), "writer", self._trap)


class TrappedPair:
    """Both clusters with the trap around."""

    def __init__(self, inner: ClusterPair, trap: Trap) -> None:
        self._inner = inner
        self._trap = trap
        self.source: Any = Trapped(inner.source, "source", trap)
        self.target: Any = TrappedTarget(inner.target, "target", trap)

    def copier(self, settings: CopierSettings) -> Any:
        """A copy engine with the trap around."""
        return TrappedCopier(self._inner.copier(settings), "copier", self._trap)

    def close(self) -> None:
        """Close both."""
        self._inner.close()
