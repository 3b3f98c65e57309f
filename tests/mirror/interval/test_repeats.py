"""Without transactions: what a run opens its ledger with, what it lets pass, and what it tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_mm2.mirror import errors
from airflow_provider_mm2.mirror.interval.book import LedgerBook, counted_end
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts, judge
from airflow_provider_mm2.mirror.interval.repeats import among_warnings, change_warning, found_warnings, holes_of
from airflow_provider_mm2.mirror.model import LogOffsets, Segment
from airflow_provider_mm2.mirror.state.unfenced import CLAIM
from airflow_provider_mm2.mirror.state_model import Delivery, PartitionLedger
from tests.mirror.interval.test_book import FACTS as NEW
from tests.mirror.interval.test_book import PART, RECORD, copied
from tests.mirror.interval.test_plan import ENTRY, FACTS

LEAST = Delivery.AT_LEAST_ONCE


def facts(**changes: object) -> PartitionFacts:
    """A partition whose newest entry was written without a transaction: 100 records, and no marker behind them."""
    latest = replace(ENTRY, delivery=LEAST, target_end=100)
    log = LogOffsets(start=0, stable=100, end=100)
    made = replace(FACTS, ledger=PartitionLedger(entries=(latest,)), target_log=log)
    return replace(made, **changes)  # type: ignore[arg-type]


def with_repeats() -> PartitionFacts:
    """The same, with 20 records behind the recorded end."""
    return facts(visible=20, target_log=LogOffsets(start=0, stable=120, end=120))


def test_repeats_stop_nothing() -> None:
    """Records behind an end that was recorded without a transaction may be our own; behind another they are foreign."""
    assert judge(with_repeats()) is None
    assert isinstance(judge(replace(FACTS, visible=20)), errors.ForeignWrites)


def test_group_behind_the_ledger_stops_nothing() -> None:
    """A group that lags is what a kill between the two writes leaves; one that is ahead never is."""
    assert judge(facts(group_offset=70)) is None
    assert isinstance(judge(facts(group_offset=170)), errors.ProgressDisagrees)
    assert isinstance(judge(replace(FACTS, group_offset=70)), errors.ProgressDisagrees)


def test_what_was_found_is_told() -> None:
    """The count and the recorded end are told, that nobody can say whose records they are, and a group that lagged."""
    (told,) = found_warnings([with_repeats(), replace(FACTS, visible=20), FACTS])
    assert "us.orders-0: 20 record(s) beyond the recorded end 100: repeats of an attempt that died, or foreign" in told
    assert "cannot be told apart" in told
    (lag,) = found_warnings([facts(group_offset=70)])
    assert "stood at 70, behind the ledger's 100" in lag
    (many,) = found_warnings([facts(visible=errors.COUNT_LIMIT)])
    assert "more than" in many
    assert list(among_warnings([(FACTS.target, 3)])) == [
        "us.orders-0: 3 record(s) came among those of this run: repeats of an attempt that died, or foreign; with "
        "delivery at_least_once they cannot be told apart"
    ]


def test_change_is_told() -> None:
    """A run that delivers in another way than recorded says so, with what it costs."""
    assert change_warning(RECORD, RECORD.delivery) == ()
    (told,) = change_warning(RECORD, LEAST)
    assert told.startswith("delivery changes from exactly_once to at_least_once: records of a chunk can be")
    (told,) = change_warning(replace(RECORD, delivery=LEAST), RECORD.delivery)
    assert "at_least_once to exactly_once" in told


def test_attempt_claims_every_partition() -> None:
    """Before any record an attempt without a fence has an entry to write for each partition, far above the last one."""
    for fact, start in ((NEW, 0), (facts(), 100)):
        (entry,) = LedgerBook(RECORD, {PART: fact}, delivery=LEAST).take_unwritten()
        assert (entry.sequence, entry.next_offset, entry.delivery) == (CLAIM, start, LEAST)
    assert LedgerBook(RECORD, {PART: FACTS}).take_unwritten() == []


def test_claim_counts_repeats_as_passed() -> None:
    """What was found behind the recorded end lies before the claimed one, so it is told once."""
    book = LedgerBook(RECORD, {PART: with_repeats()}, delivery=LEAST)
    (entry,) = book.take_unwritten()
    assert (entry.target_end, counted_end(entry)) == (120, 120)
    assert list(holes_of(book, copied([Segment(source_start=100, target_start=120, count=5)], 105))) == []


def test_no_marker_behind_a_chunk() -> None:
    """A chunk ends where its last record does."""
    book = LedgerBook(RECORD, {PART: NEW}, delivery=LEAST)
    book.add(copied([Segment(source_start=0, target_start=0, count=10)], 10))
    assert (book.entry(PART).target_end, counted_end(book.entry(PART))) == (10, 10)


def test_holes_before_and_inside_a_chunk() -> None:
    """Every hole on the target is found: before the first record and between segments."""
    book = LedgerBook(RECORD, {PART: facts()}, delivery=LEAST)
    chunk = copied(
        [
            Segment(source_start=100, target_start=103, count=2),
            Segment(source_start=102, target_start=105, count=2),
            Segment(source_start=104, target_start=109, count=1),
        ],
        105,
    )
    assert [(hole.start, hole.end) for hole in holes_of(book, chunk)] == [(100, 103), (107, 109)]


@pytest.mark.parametrize("delivery", list(Delivery))
def test_changed_delivery_begins_a_new_entry(delivery: Delivery) -> None:
    """A single repeat behind the last record is not taken for a marker: the new entry ends where the log did."""
    fact = facts() if delivery is Delivery.EXACTLY_ONCE else FACTS
    fact = replace(fact, target_log=LogOffsets(start=0, stable=101, end=101))
    (entry,) = LedgerBook(RECORD, {PART: fact}, delivery=delivery).take_unwritten()
    assert (entry.first, entry.next_offset, entry.segments, entry.records) == (100, 100, (), 0)
    assert (entry.delivery, entry.target_end, counted_end(entry)) == (delivery, 101, 101)
    assert entry.sequence > ENTRY.sequence
