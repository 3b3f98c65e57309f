"""The judgement of a mirror with ``at_least_once``: nothing lost, order kept but for repeats, repeats bounded."""

from __future__ import annotations

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.proof.eyes import Record
from tests.proof.truth import Truth, assert_same

CHUNK_RECORDS = 64
"""Most records of one chunk: 4,096 bytes of values above 130 bytes each, a batch of 20 beyond them, and tombstones."""


def assert_at_least_once(truth: Truth, *, ended: int) -> int:
    """Everything committed on the source is on the target; the state says where, exactly; give how many came twice.

    :param ended: attempts that did not end well: each may have left one chunk that was not counted.
    :raises AssertionError: says what is missing, out of order, or repeated too often.
    """
    sources = truth.source_partitions
    targets = [truth.target_of(part) for part in sources]
    stable = truth.source.offsets(sources)
    here, there = truth.source.read(sources), truth.target.read(targets)
    ledger, committed = truth.ledger(), truth.progress()
    repeats = 0
    for part, target in zip(sources, targets, strict=True):
        written = truth.written.get(part.partition, [])
        assert_same(f"{part} itself", list(here[part].values()), written)
        repeats += _repeats(target, list(there[target].values()), written)
        latest = ledger[part].latest
        assert latest.next_offset == stable[part], f"{part}: ledger {latest.next_offset}, source {stable[part]}"
        assert committed[target] == latest.next_offset, f"{target}: group {committed[target]}, ledger {latest}"
        assert ledger[part].records == len(here[part])
        mapped = [
            (segment.source_start + index, segment.target_start + index)
            for entry in ledger[part].entries
            for segment in entry.segments
            for index in range(segment.count)
        ]
        assert [source for source, _ in mapped] == list(here[part]), f"{part}: the map has not the visible records"
        assert all(there[target].get(at) == here[part][source] for source, at in mapped)
        assert [at for _, at in mapped] == sorted(at for _, at in mapped)
    assert repeats <= CHUNK_RECORDS * ended, f"{repeats} repeats by {ended} attempts"
    return repeats


def _repeats(target: TopicPartition, found: list[Record], written: list[Record]) -> int:
    """How many records came again; each comes first behind the one that is before it on the source."""
    assert_same(f"{target}, each record where it came first", list(dict.fromkeys(found)), written)
    return len(found) - len(written)
