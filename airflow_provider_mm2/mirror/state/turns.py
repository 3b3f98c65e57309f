"""The records of a write of the ledger, in turns of which each leaves a state that is true (``unfenced.py``). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.gate import KEY
from airflow_provider_mm2.mirror.state.ledger import to_record
from airflow_provider_mm2.mirror.state.pruning import to_removal
from airflow_provider_mm2.mirror.state.unfenced import turns_of
from airflow_provider_mm2.mirror.state_model import LedgerEntry, StateRecord


def in_turns(
    flow: str, shard: int, entries: Sequence[LedgerEntry], removed: Sequence[LedgerEntry]
) -> list[StateRecord]:
    """New entries before removals, the newest of each partition last; turn 0 is left to what goes on record of it.

    :param entries: those to be written, of each partition in source order.
    :param removed: those to be removed.
    """
    turns = [turn + 1 for turn in turns_of(entries)]
    records = [to_record(flow, shard, entry, turn) for entry, turn in zip(entries, turns, strict=True)]
    return records + removals(flow, shard, removed, after=max(turns, default=0))


def removals(flow: str, shard: int, removed: Sequence[LedgerEntry], *, after: int = 0) -> list[StateRecord]:
    """Removals one after the other, the oldest first: what is left is a map that begins later, never an older progress.

    :param after: the last turn of what is to be there before.
    """
    return [
        to_removal(flow, shard, entry, after + 1 + turn) for entry, turn in zip(removed, turns_of(removed), strict=True)
    ]


def watched_by(flow: str, shard: int) -> dict[TopicPartition, bytes | None]:
    """What must not change under an attempt at a shard: its partition of the ledger, and the flow record in the gate.

    Other shards put incidents on record beside the flow record.
    """
    return {TopicPartition(naming.ledger_topic(flow), shard): None, TopicPartition(naming.gate_topic(flow), 0): KEY}
