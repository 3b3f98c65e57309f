"""Commits without an answer and transactions that expire: never copied again from memory, never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from tests.conftest import MakeCluster
from tests.proof.attempt import Start
from tests.proof.campaign import IN_MID_COPY, land, retry_until_done
from tests.proof.conftest import MakeTruth
from tests.proof.points import BY_NAME, COMMIT_TIMED_OUT, Action, Fault, Passing
from tests.proof.repair import repaired_until_done
from tests.proof.rig import frozen_broker
from tests.proof.truth import Truth, make_truth

pytestmark = pytest.mark.broker

BEFORE_COMMIT = Fault(point=BY_NAME["step 8, before copier.commit"], action=Action.HOLD)
SLICES = 5
"""The commit has been without an answer for this many half seconds; less than a session in all."""


def commit_into_silence(start: Start, truth: Truth, target: LocalCluster, action: Action) -> None:
    """K30: let an attempt commit while the broker is frozen, until the commit has timed out several times."""
    timed_out = Fault(point=COMMIT_TIMED_OUT, action=action, nth=SLICES)
    attempt = start(truth.flow, BEFORE_COMMIT, timed_out, owner="commits")
    assert attempt.await_landing(0), attempt.outcome()
    with frozen_broker(target):
        attempt.release(0)
        assert attempt.await_landing(1), attempt.outcome()
    attempt.release(1)
    outcome = attempt.outcome()
    if action is Action.KILL:
        assert outcome.killed
    else:
        assert outcome.done or outcome.retriable, str(outcome)


def expire_in_silence(start: Start, truth: Truth, target: LocalCluster) -> str | None:
    """K31: freeze the broker in mid copy for longer than the transaction may last."""
    attempt = start(truth.flow, Fault(point=IN_MID_COPY, action=Action.HOLD, nth=2), owner="expires")
    assert attempt.await_landing(), attempt.outcome()
    with frozen_broker(target):
        attempt.release()
        outcome = attempt.outcome()
    assert outcome.retriable, str(outcome)
    return outcome.error


@pytest.mark.slow
def test_broker_falls_silent(pair: LocalPair, make_cluster: MakeCluster, start: Start, kafka_folder: Path) -> None:
    """A commit that timed out and one whose process died are not copied again; an expired one is, once (K30, K31)."""
    target = make_cluster()
    truth = make_truth(pair.addresses["source"], target.client_settings, partitions=1)
    truth.write(40, size=20)
    commit_into_silence(start, truth, target, Action.HOLD)
    retry_until_done(start, truth.flow)
    truth.assert_exact()

    truth.write(40, size=20)
    commit_into_silence(start, truth, target, Action.KILL)
    retried = retry_until_done(start, truth.flow)[-1]
    assert retried.records in (0, 40)
    truth.assert_exact()

    short = truth.flow.model_copy(update={"transaction_timeout_s": 5})
    truth.flow = short
    truth.write(120)
    expire_in_silence(start, truth, target)
    # What lay in the frozen broker's sockets can be written behind the abort: then the error says what to do.
    repaired_until_done(start, truth, target, kafka_folder, start(truth.flow, owner="first").outcome())
    truth.assert_exact()


def test_transaction_expires_in_mid_copy(new_truth: MakeTruth, start: Start) -> None:
    """An attempt that takes too long for a chunk is told that its time was over, and the retry completes (K31)."""
    truth = new_truth(transaction_timeout_s=5, partitions=1)
    truth.write(120)
    slow = land(start, truth, BY_NAME["step 6, after copier.flush"], Passing.FIRST, Action.HOLD)
    (target,) = map(truth.target_of, truth.source_partitions)

    def expired() -> bool:
        return truth.target.offsets([target])[target] == truth.target.offsets([target], stable=False)[target] > 0

    assert poll(expired, timeout_s=60, interval_s=0.2), "the broker did not end the transaction"
    slow.release()
    outcome = slow.outcome()
    assert outcome.error == "Fenced", str(outcome)
    assert "timed out" in outcome.text
    retry_until_done(start, truth.flow)
    truth.assert_exact()
