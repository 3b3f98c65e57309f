"""A ledger from its records: newest write, newest generation, tombstones, and entries that must meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import (
    decode_ledger,
    encode_key,
)
from airflow_provider_mm2.mirror.state_model import LedgerEntry
from tests.mirror.state.ledger_entries import (
    SHARD,
    TOPIC,
    entry,
    log_of,
    record,
    refused,
)


def test_empty_ledger() -> None:
    """A topic without records is a ledger that knows nothing."""
    assert decode_ledger(TOPIC, SHARD, []) == {}


def test_newest_write_of_an_entry_wins() -> None:
    """Of two writes of one entry the later one counts; the cleaner may have left both."""
    early, late = entry(3), entry(3, 5, sequence=2)
    found = decode_ledger(TOPIC, SHARD, log_of(early, late))
    assert found[TopicPartition("orders", 0)].entries == (late,)


def test_newest_generation_wins() -> None:
    """Only the newest generation of a partition counts, wherever its records lie, and others' stay as they are."""
    old, new = entry(100), entry(7, generation=2, source_topic_id="id-9")
    other = entry(5, topic="payments")
    found = decode_ledger(TOPIC, SHARD, log_of(new, other, old))
    assert found[TopicPartition("orders", 0)].entries == (new,)
    assert found[TopicPartition("payments", 0)].entries == (other,)


def test_damage_of_an_old_generation_counts() -> None:
    """A damaged record stops the reading though its generation would not count."""
    old = record(entry(100), offset=8)
    damaged = replace(old, value=(old.value or b"")[:-1])
    assert refused(damaged, record(entry(7, generation=2), offset=9)).offset == 8


@given(st.lists(st.lists(st.integers(1, 50), max_size=5), min_size=1, max_size=8), st.randoms())
def test_entries_are_put_in_source_order(chunks: list[list[int]], random: Any) -> None:
    """The entries of a partition come in source order, in whatever order the topic holds them."""
    chain: list[LedgerEntry] = []
    at = 0
    for sequence, counts in enumerate(chunks):
        chain.append(entry(*counts, first=at, sequence=sequence))
        at = chain[-1].next_offset + (0 if counts else 1)
        chain[-1] = replace(chain[-1], next_offset=at)
    shuffled = list(chain)
    random.shuffle(shuffled)
    found = decode_ledger(TOPIC, SHARD, log_of(*shuffled))[TopicPartition("orders", 0)]
    assert found.entries == tuple(chain)
    assert found.latest.next_offset == at
    assert found.records == sum(map(sum, chunks))


@pytest.mark.parametrize(
    "second",
    [
        entry(3, first=5, sequence=2),
        entry(3, first=3, sequence=2),
        entry(3, first=4, sequence=1),
        entry(3, first=4, sequence=0),
        entry(3, first=4, sequence=2, source_topic_id="another"),
    ],
    ids=["hole", "overlap", "same-write", "earlier-write", "another-topic"],
)
def test_entries_that_do_not_join_are_refused(second: LedgerEntry) -> None:
    """Two entries of one generation must meet, in the order of their writes and of one topic."""
    assert refused(record(entry(3), offset=1), record(second, offset=2)).offset == 2


def test_tombstone_removes() -> None:
    """A tombstone removes its entry, one for a key that is not there removes nothing, and a later write counts."""
    first, second = entry(3), entry(5, first=4, sequence=2)
    gone = LogRecord(offset=2, key=encode_key(first), value=None)
    found = decode_ledger(TOPIC, SHARD, [*log_of(first, second), gone])
    assert found[TopicPartition("orders", 0)].entries == (second,)
    assert decode_ledger(TOPIC, SHARD, [gone]) == {}
    again = decode_ledger(TOPIC, SHARD, [*log_of(first, second), gone, record(first, offset=3)])
    assert again[TopicPartition("orders", 0)].entries == (first, second)
