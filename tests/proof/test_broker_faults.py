"""Brokers die under a copy: it goes on or ends with an error, and after the repair every record is there once."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.conftest import MakeCluster
from tests.proof import rig
from tests.proof.attempt import Start
from tests.proof.campaign import IN_MID_COPY, land, retry_until_done
from tests.proof.conftest import SOAK
from tests.proof.eyes import Eyes
from tests.proof.points import BY_NAME, Action, Fault, Passing, Point
from tests.proof.repair import repaired_until_done
from tests.proof.snapshot import snapshot
from tests.proof.truth import Truth, make_truth

log = logging.getLogger(__name__)

pytestmark = pytest.mark.broker

ROUNDS = 6 if SOAK else 1
INSIDE_COMMIT = BY_NAME["step 8, inside copier.commit"]
AFTER_COMMIT = BY_NAME["step 8, after copier.commit"]
INSIDE_FLUSH = BY_NAME["step 6, inside copier.flush"]
INSIDE_ADD = BY_NAME["step 7, inside copier.add"]


@pytest.mark.slow
def test_source_broker_dies(pair: LocalPair, make_cluster: MakeCluster, start: Start) -> None:
    """A source that is killed before or in mid copy and comes back is mirrored exactly, and nothing is written to it.

    The comparison of the source covers runs that fail as well: killed, fenced, refused and cut off.
    """
    source = make_cluster()
    truth = make_truth(source.client_settings, pair.addresses["target"], lease_wait_s=15)
    truth.write(200)
    large = make_truth(source.client_settings, pair.addresses["target"], chunk={"bytes": 2_000_000, "seconds": 5})
    large.write(1600, size=12_000)  # more than a client reads ahead
    truth.source.commit("app", dict.fromkeys(truth.source_partitions, 50))
    before = snapshot(truth.source)
    assert before["groups"]["app"], "the snapshot does not see groups"

    killed = land(start, truth, BY_NAME["step 8, before copier.commit"], Passing.LATER, Action.KILL)
    assert killed.outcome().killed
    cut_off = land(start, truth, BY_NAME["step 4, before copier.assign"], Passing.FIRST, Action.HOLD)
    refused = start(truth.flow.model_copy(update={"lease_wait_s": 1}), owner="refused").outcome()
    assert refused.error == "LeaseHeld", str(refused)
    in_mid_copy = start(large.flow, Fault(point=IN_MID_COPY, action=Action.HOLD, nth=2), small_batches=False)
    assert in_mid_copy.await_landing(), in_mid_copy.outcome()
    source.kill()
    for attempt in (cut_off, in_mid_copy):
        attempt.release()
    rig.restart(source)
    for attempt in (cut_off, in_mid_copy):
        outcome = attempt.outcome()
        assert outcome.done or outcome.retriable, str(outcome)
    for mirrored in (truth, large):
        retry_until_done(start, mirrored.flow)
        mirrored.assert_exact()
    assert snapshot(Eyes(source.client_settings)) == before


Choose = Callable[[Truth], int]


def leader(truth: Truth) -> int:
    """The broker that leads the first target partition."""
    return rig.leader_of(truth.target, truth.target_of(truth.source_partitions[0]))


def transaction_coordinator(truth: Truth) -> int:
    """The broker that coordinates the shard's transactions."""
    return rig.transaction_coordinator(truth.target, f"mm2.{truth.flow.name}.0")


def group_coordinator(truth: Truth) -> int:
    """The broker that coordinates the progress group."""
    return rig.group_coordinator(truth.target, truth.progress_group)


CASUALTIES: tuple[tuple[Choose, Point], ...] = (
    (leader, INSIDE_FLUSH),
    (transaction_coordinator, INSIDE_COMMIT),
    *(((group_coordinator, INSIDE_ADD), (leader, INSIDE_COMMIT), (group_coordinator, INSIDE_FLUSH)) if SOAK else ()),
)


@pytest.mark.slow
def test_one_of_three_target_brokers_dies(
    pair: LocalPair, make_cluster: MakeCluster, start: Start, kafka_folder: Path
) -> None:
    """Of three brokers with three replicas one may die at any moment: the leader, or either coordinator."""
    target = make_cluster(brokers=3, properties={"min.insync.replicas": "2"})
    chance = random.Random(5)  # noqa: S311
    truth = make_truth(pair.addresses["source"], target.client_settings)
    truth.write(60)
    retry_until_done(start, truth.flow)
    for _ in range(ROUNDS):
        for choose, point in CASUALTIES:
            truth.write(120)
            broker = choose(truth)
            fault = Fault(
                point=point,
                action=Action.KILL,
                nth=2,
                delay_ms=chance.uniform(0, 6),
                victim=rig.process_of(target, broker).pid,
            )
            attempt = start(truth.flow, fault, owner="bereft")
            assert attempt.await_landing(), attempt.outcome()
            outcome = attempt.outcome()
            rig.restart(target, broker)
            story = repaired_until_done(start, truth, target, kafka_folder, outcome)
            truth.assert_exact()
            log.info("%s, %s: %s", choose.__name__, point.name, story)


@pytest.mark.slow
def test_only_target_broker_dies_in_commit(
    pair: LocalPair, make_cluster: MakeCluster, start: Start, kafka_folder: Path
) -> None:
    """A single broker that dies in a commit may hide what it acknowledged: told by name, whole after the repair."""
    target = make_cluster()
    chance = random.Random(6)  # noqa: S311
    truth = make_truth(pair.addresses["source"], target.client_settings)
    for number in range(ROUNDS):
        truth.write(120)
        fault = Fault(
            point=(AFTER_COMMIT, INSIDE_COMMIT)[number % 2],
            action=Action.KILL,
            nth=2,
            delay_ms=chance.uniform(0, 6),
            victim=rig.process_of(target).pid,
        )
        attempt = start(truth.flow, fault, owner="bereft")
        assert attempt.await_landing(), attempt.outcome()
        rig.restart(target)
        story = repaired_until_done(start, truth, target, kafka_folder, attempt.outcome())
        truth.assert_exact()
        log.info("%s: %s", fault.point.name, story)
