"""A mirror run that was frozen with SIGSTOP before a failover, and wakes up after it: it writes nothing any more."""

from __future__ import annotations

from contextlib import closing

import pytest

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.steps import Mode
from tests.proof.attempt import Start
from tests.proof.campaign import land, retry_until_done, run_all
from tests.proof.conftest import SOAK, MakeTruth
from tests.proof.points import BY_NAME, POINTS, Action, Passing, Point, Stage
from tests.proof.truth import Truth

pytestmark = pytest.mark.broker

NAMES = (
    "step 2, before copier.fence",
    "step 2, after copier.fence",
    "step 5, tick copier.copy",
    "step 8, before copier.commit",
)
"""Before its own fence, between that and the gate, while it copies, right before it commits."""

CHOSEN: tuple[Point, ...] = (
    tuple(point for point in POINTS if point.stage is Stage.SHARD and Passing.LATER in point.passings)
    if SOAK
    else tuple(BY_NAME[name] for name in NAMES)
)


def test_woken_after_the_freeze(new_truth: MakeTruth, start: Start) -> None:
    """It has fenced before the gate was shut, and is fenced; or fences after it, and reads that it is shut."""
    run_all({point.name: lambda point=point: frozen_at(new_truth, start, point) for point in CHOSEN})  # type: ignore[misc]


def frozen_at(new_truth: MakeTruth, start: Start, point: Point) -> str:
    """One run that is frozen there, over which the flow is failed over."""
    truth = new_truth()
    truth.write(60)
    retry_until_done(start, truth.flow)
    truth.write(120)
    frozen = land(start, truth, point, Passing.LATER, Action.FREEZE)
    fail_over(truth)
    before = logs(truth)
    frozen.wake()
    outcome = frozen.outcome()
    assert not outcome.done, str(outcome)
    assert outcome.error in ("Fenced", "FlowFrozen", "LeaseLost", "LeaseHeld"), str(outcome)
    assert logs(truth) == before
    late = start(truth.flow, owner="late").outcome()
    assert late.error == "FlowFrozen", str(late)
    assert logs(truth) == before
    return f"woken: {outcome.error}"


def fail_over(truth: Truth) -> None:
    """All of it, without the source."""
    with closing(connect(truth.flow, target_only=True)) as pair:
        failover = Failover(flow=truth.flow, pair=pair, owner="ops", tick=no_tick)
        assert failover.start(Order(mode=Mode.UNPLANNED), approve=True).state == "closed"


def logs(truth: Truth) -> dict[TopicPartition, LogOffsets]:
    """Where the logs of data and ledger begin and end, with all that is not committed."""
    parts = [*map(truth.target_of, truth.source_partitions)]
    parts.append(TopicPartition(f"mm2-offset-map.{truth.flow.name}.internal", 0))
    with closing(connect(truth.flow, target_only=True)) as pair:
        return dict(pair.target.log_offsets(parts))
