"""Two attempts at once: one waits for the other or says who holds it, and nothing is copied twice."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tests.proof.attempt import Attempt, Start
from tests.proof.campaign import IN_MID_COPY, Scenario, ended_well, land, retry_until_done, run_all
from tests.proof.conftest import MakeTruth
from tests.proof.points import BY_NAME, Action, Fault, Passing
from tests.proof.truth import BASE_MS, Truth

pytestmark = pytest.mark.broker


def zombie_commits(new_truth: MakeTruth, start: Start) -> Scenario:
    """K28: attempt 1 sleeps with a full transaction, attempt 2 copies everything, attempt 1 wakes and commits."""

    def scenario() -> str:
        truth = new_truth()
        truth.write(100)
        first = land(start, truth, BY_NAME["step 8, before copier.commit"], Passing.FIRST, Action.FREEZE)
        second = retry_until_done(start, truth.flow)[-1]
        assert second.records == 200
        first.wake()
        outcome = first.outcome()
        assert outcome.error in ("Fenced", "LeaseLost"), str(outcome)
        assert retry_until_done(start, truth.flow)[-1].records == 0
        truth.assert_exact()
        return str(outcome.error)

    return scenario


def same_shard_twice(new_truth: MakeTruth, start: Start) -> Scenario:
    """K29: the second run of a shard says who holds it; one that may wait longer waits, and finds it complete."""

    def scenario() -> str:
        truth = new_truth(lease_wait_s=2)
        truth.write(100)
        holder = land(start, truth, IN_MID_COPY, Passing.FIRST, Action.HOLD, owner="the-holder")
        refused = start(truth.flow, owner="refused").outcome()
        assert (refused.error, refused.retriable) == ("LeaseHeld", True), str(refused)
        assert "another run holds it" in refused.text
        assert "the-holder" in refused.text
        waits = start(truth.flow.model_copy(update={"lease_wait_s": 60}), owner="waits")
        holder.release()
        assert holder.outcome().records == 200
        assert waits.outcome().records == 0
        truth.assert_exact()
        return "refused, then waited"

    return scenario


def two_shards_at_once(new_truth: MakeTruth, start: Start) -> Scenario:
    """K29: two tasks of one flow, a shard each, do not fence each other."""

    def scenario() -> str:
        truth = new_truth(partitions=8, shards=2)
        truth.write(100)
        assert retry_until_done(start, truth.flow)[-1].records == 800
        truth.write(100)
        tasks = [start(truth.flow, shard=shard, owner=f"task-{shard}") for shard in range(2)]
        copied = [task.outcome().records for task in tasks]
        assert sum(copied) == 800
        assert 0 not in copied, "the test's partitions are all in one shard"
        truth.assert_exact()
        return f"{copied}"

    return scenario


def two_flows_at_once(new_truth: MakeTruth, start: Start) -> Scenario:
    """K29: two flows that write under one prefix do not fence each other."""

    def scenario() -> str:
        truths: list[Truth] = [new_truth(), new_truth()]
        for truth in truths:
            truth.write(200)
        runs = [start(truth.flow) for truth in truths]
        assert [run.outcome().records for run in runs] == [400, 400]
        for truth in truths:
            truth.assert_exact()
        return "both done"

    return scenario


def three_intervals_at_once(new_truth: MakeTruth, start: Start) -> Scenario:
    """K13: three intervals at once leave every record once, in source order."""

    def scenario() -> str:
        truth = new_truth(cut="interval")
        for hour in range(3):
            truth.write(100, hour=hour)
        begin = datetime.fromtimestamp(BASE_MS / 1000, timezone.utc)
        runs: dict[int, Attempt] = {
            hour: start(truth.flow, owner=f"hour-{hour}", until=begin + timedelta(hours=hour + 1)) for hour in (2, 0, 1)
        }
        ends = {hour: ended_well(run) for hour, run in runs.items()}
        last = start(truth.flow, until=begin + timedelta(hours=3)).outcome()
        assert last.done, str(last)
        truth.assert_exact()
        return f"{ends}"

    return scenario


def intervals_out_of_order(new_truth: MakeTruth, start: Start) -> Scenario:
    """K13: the last interval first copies all three; the others then find theirs complete."""

    def scenario() -> str:
        truth = new_truth(cut="interval", partitions=1)
        for hour in range(3):
            truth.write(100, hour=hour)
        begin = datetime.fromtimestamp(BASE_MS / 1000, timezone.utc)
        copied = [start(truth.flow, until=begin + timedelta(hours=hour + 1)).outcome().records for hour in (2, 0, 1)]
        assert copied == [300, 0, 0]
        truth.assert_exact()
        return f"{copied}"

    return scenario


def growth_beside_another(new_truth: MakeTruth, start: Start) -> Scenario:
    """Two attempts that both see that the target must grow: the one that comes late takes it as it is."""

    def scenario() -> str:
        truth = new_truth()
        truth.write(60)
        retry_until_done(start, truth.flow)
        truth.grow(4)
        truth.write(60)
        late = Fault(point=BY_NAME["step 0, after target.topic_settings"], action=Action.HOLD)
        held = start(truth.flow, late, owner="late")
        assert held.await_landing(), held.outcome()
        retry_until_done(start, truth.flow)
        held.release()
        assert held.outcome().done, str(held.outcome())
        truth.assert_exact()
        return "both done"

    return scenario


def first_run_beside_another(new_truth: MakeTruth, start: Start) -> Scenario:
    """An attempt that looked for the flow record before another wrote it sees no damage in the ledger it finds."""

    def scenario() -> str:
        truth = new_truth()
        truth.write(60)
        land(start, truth, BY_NAME["step 0, after target.create_topics internal"], Passing.FIRST, Action.KILL).outcome()
        between = [BY_NAME[f"step 0, after target.read_state {kind}"] for kind in ("ledger", "gate")]
        late = start(truth.flow, *(Fault(point=point, action=Action.HOLD) for point in between), owner="late")
        assert late.await_landing(0), late.outcome()
        retry_until_done(start, truth.flow)
        late.release(0)
        assert late.await_landing(1), late.outcome()
        late.release(1)
        outcome = late.outcome()
        assert outcome.done or outcome.retriable, str(outcome)
        retry_until_done(start, truth.flow)
        truth.assert_exact()
        return "done" if outcome.done else str(outcome.error)

    return scenario


SCENARIOS = (
    zombie_commits,
    same_shard_twice,
    two_shards_at_once,
    two_flows_at_once,
    three_intervals_at_once,
    intervals_out_of_order,
    growth_beside_another,
    first_run_beside_another,
)


def test_two_attempts_at_once(new_truth: MakeTruth, start: Start) -> None:
    """Attempts beside each other, as the scenarios' own sentences say (K13, K28, K29)."""
    run_all({f"{scenario.__doc__}": scenario(new_truth, start) for scenario in SCENARIOS})
