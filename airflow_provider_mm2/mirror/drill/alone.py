"""One drill or game day of a flow at a time, and whatever it makes taken away in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from airflow_provider_mm2.mirror.clusters.ports import Tick, no_tick
from airflow_provider_mm2.mirror.drill.flow import journal_topic, lease_group
from airflow_provider_mm2.mirror.drill.stage import Clock
from airflow_provider_mm2.mirror.drill.traces import Traces, names_left
from airflow_provider_mm2.mirror.errors import DrillUnderWay, GroupActive, LeaseHeld, MirrorError, TopicDeleted
from airflow_provider_mm2.mirror.recovery.work import Report
from airflow_provider_mm2.mirror.state.lease import Lease, held_lease

WAKE_S = 3.0
"""A wait that is longer is told."""
LOOK_S = 1.0
"""How often it is seen whether there is still somebody to wait for."""


@contextmanager
def alone(
    traces: Traces,
    *,
    owner: str,
    tick: Tick,
    clock: Clock,
    report: Report,
    leave: Callable[[], None],
    left: list[str],
) -> Iterator[Tick]:
    """Be the one at work on drills of a flow; gives a tick that keeps it so.

    What a dead one left is taken away first, what this one makes in the end, also when it fails or is asked to stop.

    :param leave: stops whoever is still at work.
    :param left: gets the names of what could not be taken away: looked at before anybody else has a turn.
    :raises DrillClash: somebody's own topic or group has a name that a drill needs; nothing was touched.
    :raises DrillUnderWay: another drill of this flow is at work; says whose.
    """
    traces.check_names()
    try:
        with _sole(traces, owner, tick, report) as lease:
            try:
                with clock.phase("set up"):
                    traces.begin()
                yield lease.keeping(tick)
            except BaseException:
                leave()
                _clean_quietly(replace(traces, tick=lease.keep), report)
                raise
            with clock.phase("take away"):
                leave()
                replace(traces, tick=lease.keep).clean()
                left += names_left(traces.left())
    except BaseException:
        with suppress(MirrorError):  # what is left of it is told already
            replace(traces, tick=no_tick).forget_lease()
        raise
    with suppress(GroupActive):  # another one waits for its turn, and takes it away
        replace(traces, tick=no_tick).forget_lease()


@contextmanager
def _sole(traces: Traces, owner: str, tick: Tick, report: Report) -> Iterator[Lease]:
    """Hold the lease; whoever waited while the journal was taken away waits for that of the next one."""
    flow = traces.flow
    group, topic = lease_group(flow), journal_topic(flow)
    waiting = _Waiting(traces, tick, report)
    with ExitStack() as stack:
        lease: Lease | None = None
        while lease is None:
            traces.make_journal()
            held = held_lease(flow, traces.pair.target, group=group, topic=topic, owner=owner, tick=waiting)
            with suppress(_JournalGone):
                lease = waiting.whose(lambda held=held: stack.enter_context(held))  # type: ignore[misc]
            if lease is not None and not traces.has_journal():
                stack.pop_all().close()
                lease = None
        yield lease


class _JournalGone(Exception):
    """The one who was waited for has taken the journal away, and with it what the lease is of."""


class _Waiting:
    """The tick of a wait for the lease: tells of it once, and sees when there is nothing to wait for any more."""

    def __init__(self, traces: Traces, tick: Tick, report: Report) -> None:
        self._traces, self._tick, self._report = traces, tick, report
        self._began = self._looked = time.monotonic()
        self._is_told = False

    def __call__(self) -> None:
        """Called several times a second."""
        self._tick()
        now, flow = time.monotonic(), self._traces.flow
        if now - self._began > WAKE_S and not self._is_told:
            self._is_told = True
            self._report(f"another drill or game day of the flow is at work; waiting for {flow.lease_wait_s:.0f} s")
        if now - self._looked > LOOK_S:
            self._looked = now
            if not self._traces.has_journal():
                raise _JournalGone
            if now - self._began > flow.lease_wait_s:
                raise LeaseHeld(group=lease_group(flow), holder="its member is not told", seconds=now - self._began)

    def whose(self, acquire: Callable[[], Lease]) -> Lease:
        """Take the lease.

        :raises DrillUnderWay: somebody else has it.
        """
        try:
            return acquire()
        except TopicDeleted as error:
            raise _JournalGone from error
        except LeaseHeld as error:
            raise DrillUnderWay(
                flow=self._traces.flow.real, holder=error.holder, seconds=time.monotonic() - self._began
            ) from error


def _clean_quietly(traces: Traces, report: Report) -> None:
    report("taking away what was made")
    try:
        traces.clean()
    except MirrorError as error:
        report(f"not all of it could be taken away: {error.first_line}; the next drill or game day of the flow does it")
