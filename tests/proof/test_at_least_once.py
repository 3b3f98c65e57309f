"""Attempts without transactions, killed or frozen at every step: a chunk may come twice, and no record is ever lost."""

from __future__ import annotations

import random
import threading

import pytest

from airflow_provider_mm2.mirror.state_model import Delivery
from tests.proof.attempt import Outcome, Start
from tests.proof.campaign import Scenario, bring_before, ended_well, land, retry_until_done, run_all
from tests.proof.conftest import SOAK, MakeTruth
from tests.proof.least_truth import assert_at_least_once
from tests.proof.points import BY_NAME, COMMIT_TIMED_OUT, POINTS, Action, Moment, Passing, Point
from tests.proof.test_kills import DELAYS_MS, passings_killed
from tests.proof.truth import Truth

pytestmark = pytest.mark.broker

BETWEEN_LEDGER_AND_PROGRESS = COMMIT_TIMED_OUT
"""The second tick of a commit: the ledger is written, the progress group is not."""

WRITES = tuple(point for point in (*POINTS, BETWEEN_LEDGER_AND_PROGRESS) if point.step in (5, 6, 7, 8))
READS = tuple(point for point in POINTS if point not in WRITES)


def failed(tries: list[Outcome]) -> int:
    """Attempts among some that did not succeed."""
    return sum(not outcome.done for outcome in tries)


def killed_at(new_truth: MakeTruth, start: Start, point: Point, passing: Passing, *, delay_ms: float) -> Scenario:
    """One kill at a point, and the retry."""

    def scenario() -> str:
        truth = new_truth(delivery=Delivery.AT_LEAST_ONCE)
        bring_before(start, truth, point, passing)
        killed = land(start, truth, point, passing, Action.KILL, delay_ms=delay_ms)
        assert killed.outcome().killed
        tries = retry_until_done(start, truth.flow)
        repeats = assert_at_least_once(truth, ended=1 + failed(tries))
        assert_told(tries[-1], repeats)
        return f"{repeats} repeats, done in {len(tries)} tries"

    return scenario


def assert_told(outcome: Outcome, repeats: int) -> None:
    """The run after a kill counts what it found beyond the recorded end."""
    assert outcome.summary is not None
    told = [text for text in outcome.summary["warnings"] if "cannot be told apart" in text]
    counted = sum(int(text.split(": ", 1)[1].split(" ", 1)[0].replace(",", "")) for text in told)
    assert counted == repeats, f"{repeats} repeats, told: {told}"


def scenarios_at(new_truth: MakeTruth, start: Start, points: tuple[Point, ...]) -> dict[str, Scenario]:
    """A kill at each of some points."""
    scenarios: dict[str, Scenario] = {}
    for number, point in enumerate(points):
        for passing in passings_killed(point, number):
            for delay_ms in DELAYS_MS if point.moment is Moment.INSIDE else (0.0,):
                name = f"{point.name}, {passing.value}, {delay_ms:.0f} ms"
                scenarios[name] = killed_at(new_truth, start, point, passing, delay_ms=delay_ms)
    return scenarios


@pytest.mark.slow
@pytest.mark.parametrize("step", sorted({point.step for point in WRITES}))
def test_kill_at_each_write(new_truth: MakeTruth, start: Start, step: int) -> None:
    """A kill at any point of the steps that write repeats one chunk at most and loses nothing."""
    run_all(scenarios_at(new_truth, start, tuple(point for point in WRITES if point.step == step)))


@pytest.mark.slow
def test_kill_at_other_points(new_truth: MakeTruth, start: Start) -> None:
    """A kill where nothing of a chunk is under way repeats nothing: preparing, reading, leaving, groups."""
    points = list(READS)
    if not SOAK:
        random.Random(7).shuffle(points)  # noqa: S311
    run_all(scenarios_at(new_truth, start, tuple(points if SOAK else points[:6])))


def test_what_a_kill_leaves(new_truth: MakeTruth, start: Start) -> None:
    """After the flush the data is visible and not counted; the next run tells it, goes on behind it and copies all."""
    truth = new_truth(partitions=1, delivery=Delivery.AT_LEAST_ONCE)
    truth.write(24)
    point = BY_NAME["step 8, before copier.commit"]
    killed = land(start, truth, point, Passing.FIRST, Action.KILL)
    assert killed.outcome().killed
    tries = retry_until_done(start, truth.flow)
    repeats = assert_at_least_once(truth, ended=1)
    assert_told(tries[-1], repeats)
    again = retry_until_done(start, truth.flow)[-1]
    assert again.records == 0
    assert_told(again, 0)


def killed_at_random(new_truth: MakeTruth, start: Start, seed: int, kills: int) -> Scenario:
    """Attempts at one flow, each killed from outside after a random time, with new records in between."""

    def scenario() -> str:
        chance = random.Random(seed)  # noqa: S311
        truth: Truth = new_truth(partitions=chance.choice([1, 3]), delivery=Delivery.AT_LEAST_ONCE)
        killed = done = 0
        longest_s = 0.6
        while killed < kills:
            truth.write(chance.choice([100, 400]))
            victim = land(start, truth, BY_NAME["step 1, after membership.acquired"], Passing.FIRST, Action.HOLD)
            victim.release()
            threading.Event().wait(chance.uniform(0.0, longest_s))
            victim.kill()
            if victim.outcome().killed:
                killed += 1
            else:  # a fast machine
                done += 1
                longest_s = max(0.05, longest_s * 0.7)
        tries = retry_until_done(start, truth.flow)
        repeats = assert_at_least_once(truth, ended=killed + failed(tries))
        return f"{killed} killed, {done} done before, {repeats} repeats"

    return scenario


def test_kill_at_random_moments(new_truth: MakeTruth, start: Start) -> None:
    """Kills at random moments, one after the other, lose nothing and repeat a chunk each at most."""
    flows, kills = (24, 12) if SOAK else (3, 2)
    scenarios = {f"seed {seed}": killed_at_random(new_truth, start, seed, kills) for seed in range(flows)}
    run_all(scenarios)


def frozen_at(new_truth: MakeTruth, start: Start, point: Point, delay_ms: float) -> Scenario:
    """An attempt that sleeps at a point while another one copies all there is, and more has come when it wakes."""

    def scenario() -> str:
        truth = new_truth(delivery=Delivery.AT_LEAST_ONCE)
        truth.write(120)
        frozen = land(start, truth, point, Passing.FIRST, Action.FREEZE, delay_ms=delay_ms)
        truth.write(60)
        tries = retry_until_done(start, truth.flow)
        frozen.wake()
        story = ended_well(frozen)
        truth.write(20)
        tries += retry_until_done(start, truth.flow)
        repeats = assert_at_least_once(truth, ended=1 + failed(tries))
        return f"woken: {story}, {repeats} repeats"

    return scenario


FREEZES = (
    ("step 2, after copier.fence", 0.0),
    ("step 5, tick copier.copy", 0.0),
    ("step 8, before copier.commit", 0.0),
    ("step 8, inside copier.commit", 1.0),
    (BETWEEN_LEDGER_AND_PROGRESS.name, 0.0),
    ("step 8, inside copier.see", 1.0),
    *((("step 6, inside copier.flush", 1.0), ("step 8, inside copier.commit", 4.0)) if SOAK else ()),
)


@pytest.mark.slow
def test_woken_after_its_successor(new_truth: MakeTruth, start: Start) -> None:
    """Nothing fences an attempt that slept, and still it loses nothing and takes no progress back when it wakes up."""
    run_all({f"{name}, {delay:.0f} ms": frozen_at(new_truth, start, BY_NAME[name], delay) for name, delay in FREEZES})


def changed_after_a_kill(new_truth: MakeTruth, start: Start, first: Delivery) -> Scenario:
    """A flow whose way of delivery is changed after an attempt was killed, and changed back after another one."""

    def scenario() -> str:
        (other,) = set(Delivery) - {first}
        truth = new_truth(delivery=first, transaction_timeout_s=5)
        ended = 0
        for delivery in (first, other, first):
            truth.flow = truth.flow.model_copy(update={"delivery": delivery})
            truth.write(120)
            point = BY_NAME["step 8, before copier.commit"]
            killed = land(start, truth, point, Passing.FIRST, Action.KILL)
            assert killed.outcome().killed
            ended += 1
        tries = retry_until_done(start, truth.flow)
        repeats = assert_at_least_once(truth, ended=ended + failed(tries))
        return f"{repeats} repeats, done in {len(tries)} tries"

    return scenario


@pytest.mark.slow
def test_changed_after_kills(new_truth: MakeTruth, start: Start) -> None:
    """The way of delivery can be changed in both directions, whatever the attempt before left."""
    run_all({f"{first.value} first": changed_after_a_kill(new_truth, start, first) for first in Delivery})
