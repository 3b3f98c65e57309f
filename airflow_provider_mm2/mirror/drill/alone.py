"""One drill or game day of a flow at a time, and whatever it makes taken away in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.drill.flow import journal_topic, lease_group
from airflow_provider_mm2.mirror.drill.stage import Clock
from airflow_provider_mm2.mirror.drill.traces import Traces
from airflow_provider_mm2.mirror.errors import LeaseHeld, MirrorError
from airflow_provider_mm2.mirror.recovery.work import Report
from airflow_provider_mm2.mirror.state.lease import held_lease


@contextmanager
def alone(
    traces: Traces, *, owner: str, tick: Tick, clock: Clock, report: Report, leave: Callable[[], None]
) -> Iterator[Tick]:
    """Be the one at work on drills of a flow; gives a tick that keeps it so.

    What a dead one left is taken away first, what this one makes in the end, also when it fails.

    :param leave: stops whoever is still at work.
    :raises DrillClash: somebody's own topic or group has a name that a drill needs; nothing was touched.
    :raises LeaseHeld: another drill of this flow is at work; says whose.
    """
    traces.check_names()
    traces.make_journal()
    try:
        with _sole(traces, owner, tick) as keep:
            try:
                with clock.phase("set up"):
                    traces.begin()
                yield keep
            except BaseException:
                leave()
                _clean_quietly(traces, report)
                raise
            with clock.phase("take away"):
                leave()
                traces.clean()
    except LeaseHeld:
        raise
    except BaseException:
        with suppress(MirrorError):  # what is left of it is told already
            traces.forget_lease()
        raise
    traces.forget_lease()


@contextmanager
def _sole(traces: Traces, owner: str, tick: Tick) -> Iterator[Tick]:
    flow = traces.flow
    group, topic = lease_group(flow), journal_topic(flow)
    with held_lease(flow, traces.pair.target, group=group, topic=topic, owner=owner, tick=tick) as lease:
        yield lease.keeping(tick)


def _clean_quietly(traces: Traces, report: Report) -> None:
    try:
        traces.clean()
    except MirrorError as error:
        report(f"not all of the drill could be taken away: {error.first_line}; the next drill does it")
