"""A condition that has to hold for a time."""

from __future__ import annotations

from airflow_provider_mm2.mirror.conditions.finding import Finding, Holding
from airflow_provider_mm2.mirror.conditions.look import pause_s
from tests.fakes.clock import FakeClock

MET, NOT_MET = Finding(met=True, text="it is so"), Finding(met=False, text="it is not")


def test_one_look_is_enough_without_a_time() -> None:
    """A condition that need not hold is met at once, in its own words."""
    holding = Holding(0)
    assert holding.add(NOT_MET) is NOT_MET
    assert holding.left_s is None
    assert holding.add(MET) is MET


def test_it_has_to_hold_without_a_break() -> None:
    """Each break begins the count anew, and so does a look that failed."""
    clock = FakeClock()
    holding = Holding(60, clock=clock.monotonic)
    assert not holding.add(MET).met
    clock.advance(59)
    assert holding.add(MET).text == "it is so, for 59 of 60 s"
    assert holding.left_s == 1
    assert not holding.add(NOT_MET).met
    clock.advance(10)
    assert not holding.add(MET).met
    holding.forget()
    clock.advance(60)
    assert not holding.add(MET).met
    clock.advance(60)
    assert holding.add(MET).met


def test_looks_are_close_enough() -> None:
    """What has to hold is looked at ten times in it, but never more than ten times a second."""
    assert pause_s(0, 60) == 60
    assert pause_s(60, 60) == 6
    assert pause_s(60, 2) == 2
    assert pause_s(0.5, 60) == 0.1
