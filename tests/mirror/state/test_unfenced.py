"""The ledger without fences: whatever part of a write arrives, and whoever is late, what is read is true."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.interval.book import LedgerBook
from airflow_provider_mm2.mirror.model import LogRecord, Segment
from airflow_provider_mm2.mirror.state.ledger import decode_ledger, split_segments, to_record
from airflow_provider_mm2.mirror.state.pruning import prune, to_removal
from airflow_provider_mm2.mirror.state.unfenced import CLAIM, claim, turns_of
from airflow_provider_mm2.mirror.state_model import Delivery, LedgerEntry, PartitionLedger
from tests.hypothesis_profiles import is_long
from tests.mirror.interval.test_book import FACTS, PART, RECORD, copied
from tests.mirror.state.ledger_entries import SHARD, TOPIC, entry, log_of

LEAST = Delivery.AT_LEAST_ONCE


def least(*counts: int, first: int = 0, sequence: int = 1, **changes: object) -> LedgerEntry:
    """An entry of the mode."""
    made = entry(*counts, first=first, sequence=sequence)
    return replace(made, delivery=LEAST, **changes)  # type: ignore[arg-type]


def read(*entries: LedgerEntry) -> PartitionLedger:
    """What a reader makes of entries in the order in which they lie in the topic."""
    (found,) = decode_ledger(TOPIC, SHARD, log_of(*entries)).values()
    return found


def test_claims_rise_above_all_that_was_written() -> None:
    """A claim lies above whatever an earlier attempt wrote, and so does the next one."""
    assert claim(0) == CLAIM
    assert claim(CLAIM) == claim(CLAIM + 5) == 2 * CLAIM


def test_late_write_of_an_overtaken_attempt_is_passed_over() -> None:
    """An entry that an earlier attempt wrote late does not take back what the later one wrote under its key."""
    newer, late = least(3, 5, sequence=CLAIM + 1), least(3, sequence=2)
    assert read(newer, late).entries == (newer,)


def test_late_entry_under_a_new_key_is_passed_over() -> None:
    """An entry that an overtaken attempt began has no place behind those of the later one."""
    newer, late = least(3, 5, sequence=CLAIM + 1), least(2, first=7, sequence=3)
    assert read(newer, late).entries == (newer,)
    assert read(late, newer).entries == (newer,)


def test_with_transactions_the_later_write_counts() -> None:
    """Where attempts are fenced nobody is late, and the order in the topic decides."""
    first, second = entry(3, sequence=5), entry(3, 5, sequence=2)
    assert read(first, second).entries == (second,)


def test_turns_follow_each_partition() -> None:
    """Entries of one partition take turns in their order; those of others begin anew."""
    mine = [least(3), least(2, first=4, sequence=2)]
    other = replace(least(1), partition=1)
    assert turns_of([mine[0], other, mine[1]]) == [0, 0, 1]


@pytest.mark.thorough
@settings(max_examples=200 if is_long() else 6)  # each writes a map of tens of thousands of segments
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_every_prefix_of_a_write_is_a_true_ledger(closes: list[int]) -> None:
    """After each record of each write the ledger joins, and its progress is one that was reached before."""
    book = LedgerBook(RECORD, {PART: FACTS}, delivery=LEAST)
    log: list[LogRecord] = []
    reached, position = {0}, 0
    for chunk in [0, *closes]:
        if log:
            holes = 1 + chunk * 6000  # so many segments that entries are closed on the way
            segments = [
                Segment(source_start=position + 2 * at, target_start=position + at, count=1) for at in range(holes)
            ]
            position += 2 * holes
            book.add(copied(segments, position))
            reached |= {group[-1].source_end for group in split_segments(tuple(segments), 0)} | {position}
        entries = book.take_unwritten()
        turns = turns_of(entries)
        records = [to_record("f", 0, each, turn) for each, turn in zip(entries, turns, strict=True)]
        for record in sorted(records, key=lambda record: record.turn):
            log.append(LogRecord(offset=len(log), key=record.key, value=record.value))
            (found,) = decode_ledger("ledger", 0, log).values()
            assert found.latest.next_offset <= position
            assert found.records == sum(each.records for each in found.entries)
    assert found.latest.next_offset == position


def test_pruning_that_stops_halfway() -> None:
    """The entry that stands for expired ones is written before they are removed, and counts alone from then on."""
    entries = [least(3), least(3, first=4, sequence=2), least(3, first=8, sequence=3)]
    (one, two, three) = (replace(each, delivery=LEAST) for each in entries)
    kept, removed = prune(PartitionLedger(entries=(one, two, three)), target_log_start=10**6)
    assert kept is not None
    halfway = read(one, two, three, kept)
    assert halfway.entries == (kept, three)
    gone = [to_removal("f", 0, each) for each in removed]
    log = [*log_of(one, two, three, kept), *(LogRecord(offset=9, key=each.key, value=None) for each in gone)]
    (found,) = decode_ledger(TOPIC, SHARD, log).values()
    assert found.entries == halfway.entries
