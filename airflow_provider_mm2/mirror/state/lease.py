"""One live holder of a shard or of the gate. The lease is liveness only; safety is the fence."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from airflow_provider_mm2.mirror.clusters.membership import Membership
from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import LeaseHeld, LeaseLost
from airflow_provider_mm2.mirror.flow import MirrorFlow

log = logging.getLogger(__name__)

WAKE_POLL_S = 1.5
"""A process that slept learns only from the group protocol whether it lost the lease; this long it listens first."""


class Lease:
    """A lease held through membership of a lock group; use as a context manager once acquired."""

    def __init__(self, membership: Membership, *, group: str, session_s: float) -> None:
        self._membership = membership
        self._group = group
        self._session_s = session_s
        self._polled = time.monotonic()

    def acquire(self, wait_s: float, tick: Tick) -> None:
        """Wait until the lease is ours.

        :param wait_s: longer than a dead holder's session, or its lease can never be taken over.
        :raises LeaseHeld: somebody else still holds it after ``wait_s``; says who.
        """
        began = time.monotonic()
        told = False
        while not self._membership.held:
            tick()
            self._membership.poll(0.2)
            waited = time.monotonic() - began
            if not told and waited > 3:
                told = True
                log.info("waiting for the lease %s, held by %s", self._group, self._holder())
            if waited > wait_s and not self._membership.held:
                raise LeaseHeld(group=self._group, holder=self._holder(), seconds=waited)
        self._polled = time.monotonic()

    def keep(self) -> None:
        """Serve the group protocol; after a sleep of half a session listen longer before believing the lease.

        :raises LeaseLost: it was taken away.
        """
        slept = time.monotonic() - self._polled
        self._membership.poll(WAKE_POLL_S if slept > self._session_s / 2 else 0)
        self._polled = time.monotonic()
        self._check()

    def keeping(self, tick: Tick) -> Tick:
        """A tick that also keeps the lease."""

        def keep() -> None:
            tick()
            self.keep()

        return keep

    def confirm(self) -> None:
        """Listen for as long as after a sleep, before a verdict that a lost lease would explain.

        :raises LeaseLost: it was taken away.
        """
        self._membership.poll(WAKE_POLL_S)
        self._polled = time.monotonic()
        self._check()

    def _check(self) -> None:
        if self._membership.lost or not self._membership.held:
            raise LeaseLost(group=self._group)

    def _holder(self) -> str:
        return self._membership.holder() or "a member that is joining or leaving"

    def __enter__(self) -> Lease:
        """Nothing more; see :meth:`acquire`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the group at once."""
        self._membership.leave()


@contextmanager
def held_lease(
    flow: MirrorFlow, target: TargetCluster, *, group: str, topic: str, owner: str, tick: Tick
) -> Iterator[Lease]:
    """Hold a lease, by the flow's own times.

    :param group: the lock group, which has the one partition of ``topic`` to give.
    :param tick: called while it is waited for.
    :raises LeaseHeld: somebody else still held it after ``lease_wait_s``.
    """
    membership = target.membership(group, topic, owner, flow.lease_session_s)
    with Lease(membership, group=group, session_s=flow.lease_session_s) as lease:
        lease.acquire(flow.lease_wait_s, tick)
        yield lease
