"""From connectors to runs, numbered: each step may be done again, and one that was killed goes on from the first.

1. Stop the connectors, and see that no task of theirs is left.
2. Fence what is left of them, and read the source connector's offsets: they stand still.
3. See that no transaction is open on the target: all that was copied can be counted.
4. Seed these offsets as the flow's progress, shard by shard behind its lease and fence. The records at the end of each
   copy are looked for on the source first; where they contradict the offset nothing is written.
5. Record that runs mirror the flow: until here none may.
6. Disable the connector that copies, so that whoever resumes it late lets nothing come twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.flow_connectors import Action
from airflow_provider_mm2.mirror.errors import HandOverRefused, MirrorError, SeedRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.handover.report import HandedPartition, HandOverReport
from airflow_provider_mm2.mirror.handover.work import HandOverWork
from airflow_provider_mm2.mirror.interval.seeding import SeedReport, seed_flow
from airflow_provider_mm2.mirror.interval.survey import survey_flow
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.seed import Point, Seed, SeedKind
from airflow_provider_mm2.mirror.state.engines import with_engine
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord

log = logging.getLogger(__name__)

SEED = Seed(kind=SeedKind.CONNECTORS)


def to_runs(work: HandOverWork, *, apply: bool) -> HandOverReport:
    """Let runs go on where the connectors are.

    :raises HandOverRefused: there is nothing to hand over, or an offset is contradicted by what is on the target. The
        connectors go on then if they ran before.
    :raises ConnectorMissing: the connector that copies is not there, so nobody can say how far it is.
    :raises MirrorError: the connectors do not stop, or somebody else decides about the flow.
    """
    record = _check_begun(work)
    if not apply:
        return _shown(work, record)
    with work.under_lease() as (lease, tick):
        record = _check_begun(work)
        was_running = work.offsets.is_running(tick)
        work.say("stopping the connectors")
        work.offsets.stop(tick)
        seeded = None
        if record is None or record.engine is Engine.CONNECT:
            try:
                seeded = _take(work, lease, tick)
            except MirrorError:
                if was_running:
                    _let_go_on(work, lease)
                raise
        work.record(Engine.BOUNDED, lease, tick)
        work.offsets.disable(tick)
    return _report(work, record, seeded, applied=True)


def _take(work: HandOverWork, lease: Lease, tick: Tick) -> SeedReport:
    """Steps 2 to 4."""
    progress = work.offsets.stand_still(tick)
    work.see_settled(_targets(work, tick), tick)
    work.say(f"the connectors stand still; {len(progress)} partition(s) go on where they are")
    try:
        return _seed(work, progress, tick, lease=lease)
    except SeedRefused as refused:
        raise HandOverRefused(flow=work.flow.name, problems=refused.refused, cause=refused.cause) from refused


def _let_go_on(work: HandOverWork, lease: Lease) -> None:
    """Let connectors go on that ran before: nothing was handed over. What stopped it is what is told."""
    try:
        work.offsets.connectors.act(Action.RESUME, missing_ok=True, tick=lease.keep)
        work.say("the connectors go on as before")
    except MirrorError as error:
        log.warning(
            "the connectors of flow %s are stopped, and could not be resumed (%s); with engine: connect in its file "
            "`mm2 connect %s resume` lets them go on",
            work.flow.name,
            error.first_line,
            work.flow.name,
        )


def _shown(work: HandOverWork, record: FlowRecord | None) -> HandOverReport:
    """What would be done. While the connectors run their offsets move, so nothing is held against them yet."""
    if record is not None and record.engine is not Engine.CONNECT:
        return _report(work, record, None, applied=False)
    work.offsets.see_there(work.tick)
    progress = work.offsets.read(work.tick)
    if not work.offsets.is_running(work.tick):
        return _report(work, record, _seed(work, progress, work.tick), applied=False)
    reason = "the connectors are here and go on; they are stopped first, and what they have copied is looked at then"
    rows = [HandedPartition(source=part, old=None, new=offset, reason=reason) for part, offset in progress.items()]
    return replace(
        _report(work, record, None, applied=False), partitions=tuple(sorted(rows, key=lambda row: row.source))
    )


def _check_begun(work: HandOverWork) -> FlowRecord | None:
    record = work.standing()
    if record is None and not work.offsets.connectors.there(work.tick):
        problem = "nothing is recorded of it, and it has no connectors: it may simply run"
        raise HandOverRefused(flow=work.flow.name, problems=(problem,))
    return record


def _as_recorded(flow: MirrorFlow) -> MirrorFlow:
    """The flow as it stands on record until the last step."""
    return with_engine(flow, Engine.CONNECT)


def _targets(work: HandOverWork, tick: Tick) -> list[TopicPartition]:
    topics = survey_flow(_as_recorded(work.flow), work.pair, tick).target_topics
    return [TopicPartition(name, number) for name, info in topics.items() for number in range(info.partitions)]


def _seed(
    work: HandOverWork, progress: Mapping[TopicPartition, int], tick: Tick, *, lease: Lease | None = None
) -> SeedReport:
    """With the control lease it is written, else only looked at."""
    points = {
        part: Point(offset=offset, why="the connectors have copied up to here") for part, offset in progress.items()
    }
    return seed_flow(
        _as_recorded(work.flow),
        work.pair,
        SEED,
        topics=(),
        force=False,
        apply=lease is not None,
        owner=work.owner,
        tick=tick,
        points=points,
        lease=lease,
    )


def _report(
    work: HandOverWork, record: FlowRecord | None, seeded: SeedReport | None, *, applied: bool
) -> HandOverReport:
    return HandOverReport(
        flow=work.flow.name,
        before=None if record is None else record.engine,
        to=Engine.BOUNDED,
        applied=applied,
        partitions=() if seeded is None else tuple(HandedPartition.of_seed(row) for row in seeded.rows),
        connectors=tuple(sorted(work.offsets.connectors.there(work.tick))),
        refused=() if seeded is None else seeded.refused,
    )
