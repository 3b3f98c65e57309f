"""The ledger as one run keeps it: what chunks add, and that entries tile the source."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.interval.book import LedgerBook, counted_end
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.model import (
    CopiedRange,
    LogOffsets,
    LogRecord,
    RangeEnd,
    Segment,
    TopicInfo,
    TopicPartition,
)
from airflow_provider_mm2.mirror.state.ledger import ENTRY_LIMIT_BYTES, decode_ledger, encode_key, encode_value
from airflow_provider_mm2.mirror.state_model import FlowRecord, LedgerEntry, PartitionLedger

PART = TopicPartition("orders", 0)
RECORD = FlowRecord(
    flow="f",
    source_alias="us",
    target_alias="eu",
    policy="default",
    separator=".",
    source_cluster_id="A",
    target_cluster_id="B",
    shards=1,
)
EMPTY = LogOffsets(start=0, stable=0, end=0)
FACTS = PartitionFacts(
    source=PART,
    target=TopicPartition("us.orders", 0),
    source_topic=TopicInfo(name="orders", topic_id="S", partitions=1, replication_factor=1),
    target_topic=TopicInfo(name="us.orders", topic_id="T", partitions=1, replication_factor=1),
    ledger=None,
    group_offset=None,
    source_log=LogOffsets(start=0, stable=10_000_000, end=10_000_000),
    target_log=EMPTY,
    visible=0,
)


def copied(segments: list[Segment], next_offset: int) -> CopiedRange:
    """One chunk of the partition."""
    return CopiedRange(
        source=PART,
        next_offset=next_offset,
        segments=tuple(segments),
        records=sum(segment.count for segment in segments),
        bytes=0,
        leader_epoch=3,
        ended=RangeEnd.BOUND,
    )


def read_back(written: list[LedgerEntry]) -> PartitionLedger:
    """What a later run reads of the entries written, in the order they were written."""
    records = [
        LogRecord(offset=index, key=encode_key(entry), value=encode_value(entry)) for index, entry in enumerate(written)
    ]
    return decode_ledger("ledger", 0, records)[PART]


def test_first_transaction_writes_every_partition() -> None:
    """The first transaction has an entry for a partition of which nothing was copied yet."""
    book = LedgerBook(RECORD, {PART: FACTS})
    entries = book.take_unwritten()
    assert [(entry.first, entry.next_offset, entry.segments) for entry in entries] == [(0, 0, ())]
    assert book.take_unwritten() == []


def test_marker_is_foretold() -> None:
    """After 100 records in an empty partition the target ends at 101: our marker counts."""
    book = LedgerBook(RECORD, {PART: FACTS})
    book.add(copied([Segment(source_start=0, target_start=0, count=100)], 100))
    assert book.entry(PART).target_end == 101
    assert book.progress() == {FACTS.target: 100}


def test_nothing_written_means_no_marker() -> None:
    """A chunk that moves the position over invisible records only leaves the target's end where it was."""
    book = LedgerBook(RECORD, {PART: replace(FACTS, target_log=LogOffsets(start=0, stable=61, end=61))})
    book.add(copied([], 12))
    assert (book.entry(PART).target_end, book.entry(PART).next_offset) == (61, 12)


def test_strangers_between_chunks() -> None:
    """A chunk that lands behind the expected end shows the range that may hold strangers, our marker's place too."""
    book = LedgerBook(RECORD, {PART: FACTS})
    book.add(copied([Segment(source_start=0, target_start=0, count=10)], 10))
    assert book.hole_before(copied([Segment(source_start=10, target_start=11, count=1)], 11)) is None
    between = book.hole_before(copied([Segment(source_start=10, target_start=14, count=1)], 11))
    assert between is not None
    assert (between.start, between.end) == (10, 14)


def test_strangers_inside_a_chunk() -> None:
    """A hole on the target between two segments of one chunk is somebody else's; one on the source alone is not."""
    book = LedgerBook(RECORD, {PART: FACTS})
    first, next_ = Segment(source_start=0, target_start=0, count=10), Segment(source_start=15, target_start=10, count=5)
    assert list(book.holes_inside(copied([first, next_], 20))) == []
    (hole,) = book.holes_inside(copied([first, replace(next_, target_start=12)], 20))
    assert (hole.start, hole.end) == (10, 12)


def test_place_of_our_marker_is_looked_at() -> None:
    """What a stranger wrote between our last record and our marker is counted by the next run."""
    book = LedgerBook(RECORD, {PART: FACTS})
    assert counted_end(book.entry(PART)) == 0
    book.add(copied([Segment(source_start=0, target_start=0, count=10)], 10))
    assert (book.entry(PART).target_end, counted_end(book.entry(PART))) == (11, 10)
    assert counted_end(replace(book.entry(PART), target_end=40)) == 40


def test_run_writes_its_time_for_every_partition() -> None:
    """Also a partition without anything new gets the time it is mirrored through."""
    book = LedgerBook(RECORD, {PART: FACTS})
    book.take_unwritten()
    book.finish(PART, through_ms=77, pending=(5, 70))
    (entry,) = book.take_unwritten()
    assert (entry.through_ms, entry.pending) == (77, (5, 70))


def test_topic_of_holes_is_split() -> None:
    """A chunk with a hole behind every record is written as several small entries that join."""
    segments = [Segment(source_start=10 * i, target_start=i, count=1) for i in range(40_000)]
    book = LedgerBook(RECORD, {PART: FACTS})
    book.add(copied(segments, 400_000))
    entries = book.take_unwritten()
    assert len(entries) > 4
    assert all(len(encode_value(entry)) < 2 * ENTRY_LIMIT_BYTES for entry in entries)
    ledger = read_back(entries)
    assert [segment for entry in ledger.entries for segment in entry.segments] == segments
    assert ledger.latest.next_offset == 400_000


CHUNKS = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(1, 50)),
            max_size=6,
        ),
        st.integers(0, 5),
    ),
    max_size=12,
)


@given(CHUNKS)
def test_entries_tile_the_source(chunks: list[tuple[list[tuple[int, int]], int]]) -> None:
    """Whatever the chunks bring, what is read back has every segment once, joins, and tells the progress."""
    book = LedgerBook(RECORD, {PART: FACTS})
    written, every, position, end = book.take_unwritten(), [], 0, 0
    for pieces, tail in chunks:
        segments = []
        for hole, count in pieces:
            segments.append(Segment(source_start=position + hole, target_start=end, count=count))
            position, end = position + hole + count, end + count
        end += bool(segments)
        position += tail
        book.add(copied(segments, position))
        written += book.take_unwritten()
        every += segments
    ledger = read_back(written)
    assert ledger.latest.next_offset == position
    assert [segment for entry in ledger.entries for segment in entry.segments] == every
    assert ledger.records == sum(segment.count for segment in every)
    assert ledger.latest.target_end == end
