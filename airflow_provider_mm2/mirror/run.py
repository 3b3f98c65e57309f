"""One mirror run without Airflow: the file to read first.

A run is prepared once (step 0) and then copied shard by shard (steps 1 to 9, numbered in ``interval/replicate.py``).
Whatever calls it, operator, command line or test, calls these three functions.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timezone
from threading import Event
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import Stopped
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.acls import acl_row
from airflow_provider_mm2.mirror.interval.admission import Shard
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.interval.engine import check_engine
from airflow_provider_mm2.mirror.interval.forgetting import ForgetReport, forget_flow
from airflow_provider_mm2.mirror.interval.outlook import Outlook, foresee
from airflow_provider_mm2.mirror.interval.replicate import Report, replicate_shard
from airflow_provider_mm2.mirror.interval.seeding import SeedReport, seed_flow
from airflow_provider_mm2.mirror.interval.topics import Prepared, prepare_topics, recall_topics, setting_rows
from airflow_provider_mm2.mirror.model import PartitionResult, Progress, ShardResult, total
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.groups import finish_groups, show_groups
from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a whole run did."""

    flow: str
    bounds: RunBounds
    prepared: Prepared
    shards: tuple[ShardResult, ...]
    seconds: float
    groups: GroupsReport
    delivery: Delivery = Delivery.EXACTLY_ONCE

    @property
    def partitions(self) -> tuple[PartitionResult, ...]:
        """All partitions, by topic and number."""
        every = (part for shard in self.shards for part in shard.partitions)
        return tuple(sorted(every, key=lambda part: part.source))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What did not stop the run and is worth knowing."""
        of_shards = tuple(text for shard in self.shards for text in shard.warnings)
        return self.prepared.warnings + of_shards + self.groups.told

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 run --json``."""
        records, size = total(self.partitions)
        return {
            "flow": self.flow,
            "until": None if self.bounds.until is None else self.bounds.until.isoformat(),
            "delivery": self.delivery.value,
            "delivery_cost": self.delivery.cost,
            "records": records,
            "bytes": size,
            "transactions": sum(shard.transactions for shard in self.shards),
            "seconds": round(self.seconds, 3),
            "copy_seconds": round(sum(shard.copy_seconds for shard in self.shards), 3),
            "already_complete": records == 0,
            "created": list(self.prepared.created),
            "grown": list(self.prepared.grown),
            "altered": setting_rows(self.prepared.altered),
            "acls": [acl_row(acl) for acl in self.prepared.acls.create],
            "warnings": list(self.warnings),
            "groups": self.groups.summary(),
            "partitions": [partition_json(part) for part in self.partitions],
        }


def partition_json(part: PartitionResult) -> dict[str, Any]:
    """One partition of a run as plain values; ``start`` and ``end`` are source offsets, end not included."""
    return {
        "topic": part.source.topic,
        "partition": part.source.partition,
        "start": part.start,
        "end": part.end,
        "records": part.records,
        "target_topic": part.target_topic,
        "target_start": part.target_start,
        "target_end": part.target_end,
    }


def process_owner() -> str:
    """Who this process is, as a waiting run is told."""
    return f"{socket.gethostname()}:{os.getpid()}"


def no_report(progress: Progress) -> None:
    """Report nothing."""


def prepare(
    flow: MirrorFlow, pair: ClusterPair, *, bounds: RunBounds, owner: str = "", stop: Event | None = None
) -> Prepared:
    """Step 0: check the bounds and make the target ready.

    :raises MirrorError: refused; what had to be created may have been, no record was copied.
    """
    _check(flow, bounds)
    return prepare_topics(flow, pair, owner=owner or process_owner(), tick=stopper(stop or Event()))


def mirror_shard(
    flow: MirrorFlow,
    pair: ClusterPair,
    shard: int,
    *,
    bounds: RunBounds,
    prepared: Prepared | None = None,
    stop: Event | None = None,
    report: Report = no_report,
    owner: str = "",
) -> ShardResult:
    """Steps 1 to 9 for one shard of a flow that was prepared.

    :param prepared: what step 0 gave; None reads it from the clusters again (another process did step 0).
    :raises MirrorError: see ``replicate_shard``.
    """
    _check(flow, bounds)
    tick = stopper(stop or Event())
    ready = prepared or recall_topics(flow, pair, tick=tick)
    work = Shard(flow=flow, pair=pair, prepared=ready, number=shard, bounds=bounds)
    return replicate_shard(work, owner=owner or process_owner(), tick=tick, report=report)


def mirror_groups(flow: MirrorFlow, pair: ClusterPair, *, stop: Event | None = None, owner: str = "") -> GroupsReport:
    """Steps 10 to 14, once a run after all its shards: snapshot, checkpoints, group sync.

    :raises MirrorError: the data stays committed, and the next run makes up for the groups.
    """
    check_engine(flow)
    return finish_groups(flow, pair, owner=owner or process_owner(), tick=stopper(stop or Event()))


def locate_groups(
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    only: Collection[str] = (),
    apply: bool = False,
    refine: bool = False,
    stop: Event | None = None,
) -> GroupsReport:
    """Where groups stand on the target; with ``apply`` they are committed there.

    :param only: these groups, whatever the flow's patterns say; empty: all that the flow selects.
    :param refine: for a pair that MirrorMaker 2 filled: look for the record where its state gives no exact position.
    :raises MirrorError: nothing of the groups that were not told is written.
    """
    tick = stopper(stop or Event())
    return show_groups(flow, pair, only=only, apply=apply, refine=refine, owner=process_owner(), tick=tick)


def run_mirror(
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    bounds: RunBounds,
    stop: Event | None = None,
    report: Report = no_report,
    owner: str = "",
) -> RunSummary:
    """A whole run: prepare, then every shard in turn, then the groups.

    :raises MirrorError: shards before the one that failed are mirrored; a run again goes on where each one stands.
    """
    _check(flow, bounds)
    tick = stopper(stop or Event())
    return _mirror_all(flow, pair, bounds=bounds, tick=tick, report=report, owner=owner or process_owner())


def drain(
    flow: MirrorFlow, pair: ClusterPair, *, tick: Tick, report: Report = no_report, owner: str, lease: Lease
) -> RunSummary:
    """A whole run to the end of the logs, for somebody who holds the control lease.

    :param tick: called in every wait; it keeps that lease.
    :raises MirrorError: as :func:`run_mirror`.
    """
    bounds = RunBounds(until=None, since=None, started=datetime.now(timezone.utc))
    return _mirror_all(flow, pair, bounds=bounds, tick=tick, report=report, owner=owner, lease=lease)


def _mirror_all(
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    bounds: RunBounds,
    tick: Tick,
    report: Report,
    owner: str,
    lease: Lease | None = None,
) -> RunSummary:
    check_engine(flow)
    began = time.monotonic()
    prepared = prepare_topics(flow, pair, owner=owner, tick=tick, lease=lease)
    works = [
        Shard(flow=flow, pair=pair, prepared=prepared, number=number, bounds=bounds)
        for number in range(prepared.shards)
    ]
    shards = tuple(replicate_shard(work, owner=owner, tick=tick, report=report) for work in works)
    groups = finish_groups(flow, pair, owner=owner, tick=tick)
    return RunSummary(
        flow=flow.name,
        bounds=bounds,
        prepared=prepared,
        shards=shards,
        seconds=time.monotonic() - began,
        groups=groups,
        delivery=flow.delivery,
    )


def plan_flow(flow: MirrorFlow, pair: ClusterPair, *, bounds: RunBounds, stop: Event | None = None) -> Outlook:
    """What a run would do as things stand; touches nothing.

    :raises MirrorError: the flow as a whole cannot run.
    """
    check_engine(flow)
    return foresee(flow, pair, bounds=bounds, tick=stopper(stop or Event()))


def seed_progress(
    flow: MirrorFlow,
    pair: ClusterPair,
    seed: Seed,
    *,
    topics: Collection[str] = (),
    force: bool = False,
    apply: bool = False,
    owner: str = "",
    stop: Event | None = None,
) -> SeedReport:
    """Set the progress of partitions from somewhere else; without ``apply`` only show what that would do.

    :param topics: source topics of the flow; empty: all.
    :param force: also where records would be lost or copied once more.
    :raises MirrorError: see ``seed_flow``.
    """
    check_engine(flow)
    tick = stopper(stop or Event())
    who = owner or process_owner()
    return seed_flow(flow, pair, seed, topics=topics, force=force, apply=apply, owner=who, tick=tick)


def forget_progress(
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    topics: Collection[str] = (),
    apply: bool = False,
    owner: str = "",
    stop: Event | None = None,
) -> ForgetReport:
    """Remove what the flow has recorded of topics; without ``apply`` only show it.

    :param topics: source topics; empty: the flow itself.
    :raises MirrorError: see ``forget_flow``.
    """
    tick, who = stopper(stop or Event()), owner or process_owner()
    return forget_flow(flow, pair.target, topics=topics, apply=apply, owner=who, tick=tick)


def _check(flow: MirrorFlow, bounds: RunBounds) -> None:
    check_engine(flow)
    bounds.check()
    if flow.strict:
        bounds.check_width()


def stopper(stop: Event) -> Callable[[], None]:
    """A tick that ends a wait once somebody wants to stop."""

    def tick() -> None:
        if stop.is_set():
            raise Stopped

    return tick
