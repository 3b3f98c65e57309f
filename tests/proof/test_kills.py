"""Attempts killed with SIGKILL at every numbered step and at random moments; the retry leaves every record once."""

from __future__ import annotations

import random
import threading

import pytest

from tests.proof.attempt import Start
from tests.proof.campaign import Scenario, bring_before, land, retry_until_done, run_all
from tests.proof.conftest import SOAK, MakeTruth
from tests.proof.points import BY_NAME, POINTS, Action, Moment, Passing, Point, When

pytestmark = pytest.mark.broker

STEPS = sorted({point.step for point in POINTS})
ONLY_READING = (0, 3, 4, 9, 11)
"""Steps whose points, but those of a flow's first run, have no write between them."""

DELAYS_MS = (0.0, 1.0, 2.0, 4.0, 8.0) if SOAK else (1.0,)
"""How long after a call began an attempt is killed inside it."""


def killed_at(new_truth: MakeTruth, start: Start, point: Point, passing: Passing, *, delay_ms: float = 0.0) -> Scenario:
    """One kill at a point, and the retry."""

    def scenario() -> str:
        truth = new_truth()
        bring_before(start, truth, point, passing)
        killed = land(start, truth, point, passing, Action.KILL, delay_ms=delay_ms)
        assert killed.outcome().killed
        tries = retry_until_done(start, truth.flow)
        truth.assert_exact()
        return f"done in {len(tries)} tries"

    return scenario


COMMITS = 8
"""The step whose outcome depends on what was there before: every passing is killed."""


def passings_killed(point: Point, number: int) -> tuple[Passing, ...]:
    """Every passing in a soak and in the commit; else they take turns."""
    if SOAK or point.step == COMMITS or len(point.passings) == 1:
        return point.passings
    return (point.passings[number % 2],)


def points_killed(step: int) -> list[Point]:
    """Every point of a step in a soak; else, of points with no write between them, the first and the last."""
    points = [point for point in POINTS if point.step == step]
    if SOAK or step not in ONLY_READING:
        return points
    alike = [point for point in points if point.when is not When.FIRST_RUN]
    return [point for point in points if point not in alike[1:-1]]


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_kill_at_each_point(new_truth: MakeTruth, start: Start, step: int) -> None:
    """A kill at any point of a step, in the first chunk or a later one, costs a retry and nothing else (K03)."""
    scenarios: dict[str, Scenario] = {}
    for number, point in enumerate(points_killed(step)):
        for passing in passings_killed(point, number):
            for delay_ms in DELAYS_MS if point.moment is Moment.INSIDE else (0.0,):
                name = f"{point.name}, {passing.value}, {delay_ms:.0f} ms"
                scenarios[name] = killed_at(new_truth, start, point, passing, delay_ms=delay_ms)
    run_all(scenarios)


def test_kill_in_the_very_first_transaction(new_truth: MakeTruth, start: Start) -> None:
    """What a killed first transaction left on the target is nobody's data: the retry copies all, once."""
    truth = new_truth(partitions=1)
    truth.write(80)
    point = BY_NAME["step 8, before copier.commit"]
    killed = land(start, truth, point, Passing.FIRST, Action.KILL)
    assert killed.outcome().killed
    (target,) = map(truth.target_of, truth.source_partitions)
    assert truth.target.offsets([target], stable=False)[target] > 0, "nothing of the transaction had landed"
    assert truth.target.offsets([target])[target] == 0, "something of the open transaction can be read"
    last = retry_until_done(start, truth.flow)[-1]
    assert last.summary is not None
    assert last.summary["records"] == 80
    truth.assert_exact()


def killed_at_random(new_truth: MakeTruth, start: Start, seed: int, kills: int) -> Scenario:
    """Attempts at one flow, each killed from outside after a random time, with new records in between."""

    def scenario() -> str:
        chance = random.Random(seed)  # noqa: S311
        truth = new_truth(partitions=chance.choice([1, 3]))
        killed = done = 0
        longest_s = 0.6
        while killed < kills:
            truth.write(chance.choice([100, 400]))
            # Held once it has the lease: else most of the time would go by in waiting for that of the one before.
            victim = land(start, truth, BY_NAME["step 1, after membership.acquired"], Passing.FIRST, Action.HOLD)
            victim.release()
            threading.Event().wait(chance.uniform(0.0, longest_s))
            victim.kill()
            if victim.outcome().killed:
                killed += 1
            else:  # a fast machine
                done += 1
                longest_s = max(0.05, longest_s * 0.7)
        retry_until_done(start, truth.flow)
        truth.assert_exact()
        return f"{killed} killed, {done} done before"

    return scenario


def test_kill_at_random_moments(new_truth: MakeTruth, start: Start) -> None:
    """Kills at random moments, one after the other, leave every record once."""
    flows, kills = (24, 12) if SOAK else (3, 2)
    scenarios = {f"seed {seed}": killed_at_random(new_truth, start, seed, kills) for seed in range(flows)}
    run_all(scenarios)
