"""A failover in parts: each call ends with the step that it was asked to end with, and who approved is on record."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import PlanChanged
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import APPROVAL, CANARY, CLOSE, FREEZE, REPOINT, TRANSLATE, Mode
from tests.mirror.recovery.failover_world import FailoverWorld, order

PART = TopicPartition("us.orders", 0)


@pytest.fixture
def world() -> FailoverWorld:
    """Give a flow that has mirrored."""
    return FailoverWorld()


def done(report: FailoverReport) -> list[int]:
    """Give the numbers of the steps that are over."""
    return [number for number, note in sorted(report.steps.items()) if note.state.is_over]


def test_in_parts_to_the_end(world: FailoverWorld) -> None:
    """The parts leave what one call leaves, and each of them may be called again."""
    plan = world.failover().start(order(), until=TRANSLATE)
    assert (plan.state, done(plan)) == ("running", [1, 2, 3, 4, 5])
    assert plan.failover is not None
    digest = plan.failover.digest
    for until, steps, offsets in (
        (CANARY, 8, {"app": {PART: 61}, "idle": {PART: 101}}),
        (REPOINT, 9, {"app": {PART: 61}, "idle": {PART: 101}}),
    ):
        for _ in range(2):
            report = world.failover().resume(digest=digest, until=until)
            assert (report.state, done(report)) == ("running", list(range(1, steps + 1)))
            assert world.offsets() == offsets
    for act in (world.failover().resume, world.failover().rollback):
        with pytest.raises(PlanChanged):
            act(digest="another")
    assert world.failover().resume(until=CLOSE).state == "closed"


def test_an_end_behind_the_approval_passes_over_none(world: FailoverWorld) -> None:
    """Without the word of a person it waits, wherever it was to end; with an end before it, nothing is approved."""
    assert world.failover().start(order(), until=CANARY).state == "awaiting approval"
    for until in (APPROVAL, CANARY, CLOSE):
        assert world.failover().resume(until=until).state == "awaiting approval"
    report = world.failover().resume(approve=True, until=TRANSLATE)
    assert report.failover is not None
    assert report.failover.approved_by is None
    assert world.offsets() == {}


def test_the_end_of_an_unplanned_one(world: FailoverWorld) -> None:
    """The numbers are those of the table, also where steps are left out."""
    assert done(world.unplanned().start(order(Mode.UNPLANNED), until=FREEZE)) == [1, 4]


def test_somebody_else_approves(world: FailoverWorld) -> None:
    """The one who approves need not be the one at work; both are on record."""
    digest = world.failover().start(order()).to_json()["plan_digest"]
    with pytest.raises(PlanChanged):
        world.failover().resume(digest="another", by="boss")
    report = world.failover(owner="worker").resume(digest=digest, by="boss", until=APPROVAL).to_json()
    assert report["approved_by"] == "boss"
    step = report["steps"][APPROVAL - 1]
    assert (step["state"], step["by"], step["detail"]) == ("done", "worker", {"digest": digest, "by": "boss"})
