"""Many scenarios side by side: each is mostly waiting for a dead holder's lease to run out."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from airflow_provider_mm2.mirror.flow import MirrorFlow
from tests.proof.attempt import Attempt, Outcome, Start
from tests.proof.points import BY_NAME, Action, Fault, Passing, Point
from tests.proof.truth import Truth

log = logging.getLogger(__name__)

Scenario = Callable[[], str]
"""Gives in a few words what happened."""

IN_MID_COPY = BY_NAME["step 5, tick copier.copy"]
"""Where an attempt that is to stay alive is held: inside an open transaction with records in it."""

TRIES = 5
AT_ONCE = 6


def run_all(scenarios: Mapping[str, Scenario]) -> None:
    """Run all of them, a few at a time, and fail with every failure among them.

    :raises AssertionError: names each scenario that failed and why.
    """

    def run(name: str) -> str | None:
        began = time.monotonic()
        try:
            happened = scenarios[name]()
        except Exception:  # noqa: BLE001 - all are shown together
            failure = traceback.format_exc()
            log.info("FAILED %s: %s", name, failure)
            return f"--- {name}\n{failure}"
        log.info("%5.1f s  %s: %s", time.monotonic() - began, name, happened)
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        failures = [failure for failure in pool.map(run, scenarios) if failure]
    assert not failures, f"{len(failures)} of {len(scenarios)} failed:\n" + "\n".join(failures)


def bring_before(start: Start, truth: Truth, point: Point, passing: Passing) -> None:
    """Give the flow records to copy, and the run before that the passing needs."""
    truth.write(120)
    if point.needs_run_before(passing):
        retry_until_done(start, truth.flow)
        truth.write(60)


def land(
    start: Start,
    truth: Truth,
    point: Point,
    passing: Passing,
    action: Action,
    *,
    delay_ms: float = 0.0,
    owner: str | None = None,
) -> Attempt:
    """Start an attempt whose fault lands at a point; one that a busy machine ended before is followed by another.

    :raises AssertionError: the fault did not land, and the attempt did not end with a retriable error.
    """
    fault = Fault(point=point, action=action, nth=point.nth(passing), delay_ms=delay_ms)
    for _ in range(TRIES):
        attempt = start(truth.flow, fault, owner=owner or action.value)
        if attempt.await_landing():
            return attempt
        outcome = attempt.outcome()
        assert outcome.retriable, f"{fault.landing} did not happen: {outcome}\n{attempt.log}"
    raise AssertionError(f"{fault.landing} did not happen in {TRIES} tries")


def retry_until_done(start: Start, flow: MirrorFlow) -> list[Outcome]:
    """Run the flow without faults, again after every retriable error, as Airflow does.

    :returns: the outcomes, the last of them done.
    :raises AssertionError: an error that is not retriable, or no success after a few tries.
    """
    outcomes: list[Outcome] = []
    for number in range(TRIES):
        attempt = start(flow, owner=f"retry-{number}")
        outcome = attempt.outcome()
        outcomes.append(outcome)
        if outcome.done:
            return outcomes
        assert outcome.retriable, f"{outcome}\n{attempt.log}"
    raise AssertionError(f"no success: {[str(outcome) for outcome in outcomes]}")


def ended_well(attempt: Attempt) -> str:
    """Wait for its end: success, or an error that a retry cures.

    :raises AssertionError: it was killed, or ended with a verdict.
    """
    outcome = attempt.outcome()
    assert outcome.done or outcome.retriable, f"{outcome}\n{attempt.log}"
    return "done" if outcome.done else f"{outcome.error}"
