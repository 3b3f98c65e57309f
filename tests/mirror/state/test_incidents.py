"""What is accepted goes on record for ever, and nothing of it is written over."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.state.incidents import counted_up, describe, encode_key

FOREIGN = Incident(
    kind=IncidentKind.FOREIGN_WRITES,
    topic="orders",
    partition=0,
    at_ms=1,
    start=11,
    end=18,
    records=7,
    decided_by="on_foreign_writes: accept",
)


def test_foreign_writes_that_a_policy_accepts_are_counted_up() -> None:
    """One entry a partition, from the first offset to the last, with how often."""
    later = replace(FOREIGN, at_ms=9, start=30, end=31, records=1)
    (found,) = counted_up([later], [FOREIGN])
    assert (found.start, found.end, found.records, found.times) == (11, 31, 8, 2)
    assert encode_key(found) == encode_key(FOREIGN)


def test_what_somebody_forced_is_an_entry_of_its_own() -> None:
    """It neither takes the place of what a policy accepted nor is mixed with it."""
    forced = replace(FOREIGN, at_ms=9, start=30, end=31, records=1, decided_by="mm2 seed --from match --force by me")
    assert counted_up([forced], [FOREIGN]) == (forced,)
    assert encode_key(forced) != encode_key(FOREIGN)


def test_seeds_read_well() -> None:
    """A first one says where progress began, a later one from where to where it was set."""
    first = replace(FOREIGN, kind=IncidentKind.SEEDED, start=200, end=200, records=200, decided_by="x")
    assert describe(first) == "orders-0: progress began at 200, 200 record(s) before it (x)"
    later = replace(first, start=98, end=148, records=50)
    assert describe(later) == "orders-0: progress was set from 98 to 148, 50 record(s) between (x)"
