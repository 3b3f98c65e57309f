"""Brokers of the target die under a copy without transactions: it goes on, or a retry does; nothing is lost."""

from __future__ import annotations

import logging
import random

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.conftest import MakeCluster
from tests.proof import rig
from tests.proof.attempt import Start
from tests.proof.campaign import retry_until_done
from tests.proof.conftest import SOAK
from tests.proof.least_truth import assert_at_least_once
from tests.proof.points import BY_NAME, Action, Fault, Point
from tests.proof.test_broker_faults import (
    AFTER_COMMIT,
    INSIDE_COMMIT,
    INSIDE_FLUSH,
    Choose,
    group_coordinator,
    leader,
)
from tests.proof.truth import Truth, make_truth

log = logging.getLogger(__name__)

pytestmark = pytest.mark.broker

ROUNDS = 6 if SOAK else 1
INSIDE_COPY = BY_NAME["step 5, inside copier.copy"]


def only(truth: Truth) -> int:
    """The one broker there is."""
    return 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("brokers", "casualties"),
    [
        (3, ((leader, INSIDE_FLUSH), (group_coordinator, INSIDE_COMMIT), *([(leader, INSIDE_COMMIT)] if SOAK else []))),
        (1, ((only, INSIDE_COPY), (only, AFTER_COMMIT), *([(only, INSIDE_COMMIT)] if SOAK else []))),
    ],
    ids=["one of three", "the only one"],
)
def test_a_target_broker_dies(
    pair: LocalPair,
    make_cluster: MakeCluster,
    start: Start,
    brokers: int,
    casualties: tuple[tuple[Choose, Point], ...],
) -> None:
    """A broker that dies at any moment costs repeats of a chunk and a retry that helps, and no record."""
    target = make_cluster(brokers=brokers, properties={"min.insync.replicas": str((brokers + 1) // 2)})
    chance = random.Random(8)  # noqa: S311
    truth = make_truth(pair.addresses["source"], target.client_settings, delivery=Delivery.AT_LEAST_ONCE)
    truth.write(60)
    ended = sum(not outcome.done for outcome in retry_until_done(start, truth.flow))
    for choose, point in casualties * ROUNDS:
        truth.write(120)
        broker, delay_ms = choose(truth), chance.uniform(0, 6)
        victim = rig.process_of(target, broker).pid
        fault = Fault(point=point, action=Action.KILL, nth=2, delay_ms=delay_ms, victim=victim)
        attempt = start(truth.flow, fault, owner="bereft")
        assert attempt.await_landing(), attempt.outcome()
        rig.restart(target, broker)
        outcome = attempt.outcome(240)
        assert outcome.done or outcome.retriable, str(outcome)
        tries = [outcome] if outcome.done else [outcome, *retry_until_done(start, truth.flow)]
        ended += sum(not each.done for each in tries)
        repeats = assert_at_least_once(truth, ended=ended)
        log.info("%s, %s: %s, %d repeats so far", choose.__name__, point.name, [str(each) for each in tries], repeats)
