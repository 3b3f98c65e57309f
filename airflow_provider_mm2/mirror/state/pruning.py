"""Letting go of those parts of the offset map whose records have expired on the target. Pure."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.state.ledger import encode_key
from airflow_provider_mm2.mirror.state_model import LedgerEntry, PartitionLedger, StateRecord


def prune(ledger: PartitionLedger, target_log_start: int) -> tuple[LedgerEntry | None, tuple[LedgerEntry, ...]]:
    """What to do with entries whose records have all expired on the target.

    The entry that tells the progress stays. All that is pruned becomes one entry without segments, under the first
    one's key, so that the mirror's start stays known; the others' keys are removed. Written in one transaction, or
    the others' removal after it (``unfenced.py``).

    :returns: the entry that stands for them, None when there is nothing to do, and the entries to remove.
    """
    gone: list[LedgerEntry] = []
    for entry in ledger.entries[:-1]:
        if entry.segments and entry.segments[-1].target_end > target_log_start:
            break
        gone.append(entry)
    if not any(entry.segments for entry in gone):
        return None, ()
    first, last = gone[0], gone[-1]
    records = sum(entry.records + entry.expired for entry in gone)
    return replace(last, first=first.first, segments=(), records=0, expired=records), tuple(gone[1:])


def to_removal(flow: str, shard: int, entry: LedgerEntry, turn: int = 0) -> StateRecord:
    """The record that removes an entry."""
    return StateRecord(topic=naming.ledger_topic(flow), partition=shard, key=encode_key(entry), value=None, turn=turn)
