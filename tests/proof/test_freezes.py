"""Attempts frozen with SIGSTOP that wake up when they are no longer wanted; SIGKILL does not find what this finds."""

from __future__ import annotations

import random
from enum import Enum

import pytest

from airflow_provider_mm2.local.wait import poll
from tests.proof.attempt import Attempt, Start
from tests.proof.campaign import IN_MID_COPY, Scenario, bring_before, ended_well, land, retry_until_done, run_all
from tests.proof.conftest import SOAK, MakeTruth
from tests.proof.points import POINTS, Action, Moment, Passing, Point
from tests.proof.truth import Truth

pytestmark = pytest.mark.broker


class Wake(Enum):
    """When the frozen attempt is woken."""

    UNDER_SUCCESSOR = "under a live successor"
    AFTER_SUCCESSOR = "after the successor finished"
    ALONE = "alone, after its session"


LEASE_WAIT_S = 15
"""An attempt woken before it has the lease waits this long while a live successor holds it."""

Freeze = tuple[Point, Passing, Wake]


def frozen_at(new_truth: MakeTruth, start: Start, point: Point, passing: Passing, wake: Wake) -> Scenario:
    """One attempt frozen at a point and woken; more records have come meanwhile."""

    def scenario() -> str:
        truth = new_truth(lease_wait_s=LEASE_WAIT_S)
        bring_before(start, truth, point, passing)
        delay_ms = 1.0 if point.moment is Moment.INSIDE else 0.0
        frozen = land(start, truth, point, passing, Action.FREEZE, delay_ms=delay_ms)
        truth.write(60)
        story = woken(truth, start, frozen, wake)
        tries = retry_until_done(start, truth.flow)
        truth.assert_exact()
        return f"{story}; then done in {len(tries)} tries"

    return scenario


def woken(truth: Truth, start: Start, frozen: Attempt, wake: Wake) -> str:
    """Wake it as asked; neither it nor its successor may end with a verdict that a retry does not cure."""
    if wake is Wake.ALONE:
        await_sessions_over(truth)
        frozen.wake()
        return f"woken: {ended_well(frozen)}"
    if wake is Wake.AFTER_SUCCESSOR:
        retry_until_done(start, truth.flow)
        frozen.wake()
        return f"woken: {ended_well(frozen)}"
    successor = land(start, truth, IN_MID_COPY, Passing.FIRST, Action.HOLD)
    frozen.wake()
    of_woken = ended_well(frozen)
    successor.release()
    return f"woken: {of_woken}; successor: {ended_well(successor)}"


def await_sessions_over(truth: Truth) -> None:
    """Wait until no lock group of the flow has a member."""
    groups = [f"mm2.{truth.flow.name}.{kind}.lease" for kind in ("control", "0")]

    def over() -> bool:
        found = truth.target.admin.describe_consumer_groups(groups, request_timeout=30)
        return not any(future.result(30).members for future in found.values())

    assert poll(over, timeout_s=60), "a frozen attempt's session did not end"


def chosen(part: int, parts: int, count: int) -> list[Freeze]:
    """A part of all freezes: every one of them in a soak, else ``count``, a seeded choice that has every step."""
    every = [(point, passing, wake) for point in POINTS for passing in point.passings for wake in Wake]
    if SOAK:
        return every[part::parts]
    random.Random(20).shuffle(every)  # noqa: S311
    turn: dict[int, int] = {}
    ranked: list[tuple[int, Freeze]] = []
    for freeze in every:
        turn[freeze[0].step] = turn.get(freeze[0].step, 0) + 1
        ranked.append((turn[freeze[0].step], freeze))
    taking_turns = [freeze for _, freeze in sorted(ranked, key=lambda item: item[0])]
    return taking_turns[: count * parts][part::parts]


PARTS = 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_woken_when_no_longer_wanted(new_truth: MakeTruth, start: Start, part: int) -> None:
    """An attempt that wakes up under or after its successor harms nothing and judges nothing (K28)."""
    scenarios = {
        f"{point.name}, {passing.value}, {wake.value}": frozen_at(new_truth, start, point, passing, wake)
        for point, passing, wake in chosen(part, PARTS, 8)
    }
    run_all(scenarios)
